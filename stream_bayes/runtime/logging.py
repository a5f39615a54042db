"""The log lines of a worker on standard error, as text or as JSON."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from stream_bayes.config import Settings

logger = logging.getLogger("stream_bayes.runtime")


class LogFormatter(logging.Formatter):
    """Formats a line: time, level, message and fields, as text or as a JSON object."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """The line of a log record."""
        at = datetime.fromtimestamp(record.created, UTC)
        fields: dict[str, Any] = getattr(record, "fields", {})
        if self._as_json:
            content = {"at": at.isoformat(), "level": record.levelname.lower(), "event": record.getMessage(), **fields}
            return json.dumps(content, default=str)
        shown = "  ".join(f"{name}={_short(value)}" for name, value in fields.items())
        level = "" if record.levelno <= logging.INFO else f"{record.levelname} "
        return f"{at:%H:%M:%S} {level}{record.getMessage()}  {shown}".rstrip()


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000.0 else f"{value:.0f}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return "none" if value is None else str(value)


def log_start(settings: Settings) -> None:
    """Log what a worker reads, for which group, and where its checkpoints are."""
    fields = {
        "log": settings.log,
        "group": settings.group,
        "topics": f"{settings.topics.observations}, {settings.topics.labels}",
        "checkpoints": str(settings.checkpoint_folder),
    }
    logger.info("started", extra={"fields": fields})


def report_to_stderr(*, as_json: bool) -> None:
    """Write everything that the package logs to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(as_json=as_json))
    root = logging.getLogger("stream_bayes")
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    root.propagate = False
