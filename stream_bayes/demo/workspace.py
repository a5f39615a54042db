"""The folder of a demo: log, settings, checkpoints and chart."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from stream_bayes.errors import ParameterError

BUCKETS = 1 << 19
"""Enough for some thousand mails; a checkpoint then has 36 MB instead of 200."""
MAX_OPEN_REQUESTS = 25
"""Label requests that are open at the same time."""
CHECKPOINT_SECONDS = 9.0


class Workspace:
    """The files of a demo.

    Parameters
    ----------
    folder
        Created if it does not exist; by default a new temporary folder. A folder with a demo in it is refused.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="stream-bayes-demo-")) if folder is None else folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.database = self.folder / "demo.db"
        self.settings = self.folder / "stream_bayes.toml"
        self.checkpoints = self.folder / "checkpoints"
        self.picture = self.folder / "learning_curve.svg"
        self.worker_log = self.folder / "worker.log"
        for path in (self.database, self.settings, self.checkpoints):
            if path.exists():
                message = f"{path} is there already: name another folder, or remove this one"
                raise ParameterError(message)

    @property
    def url(self) -> str:
        """The address of the log."""
        return f"sqlite:///{self.database}"

    def write_settings(self, budget: int) -> None:
        """Write the settings of the worker, also for use after the demo."""
        content = f"""\
# Written by stream-bayes demo. `stream-bayes config --config {self.settings}` shows all settings there are.
log = {_quote(self.url)}

[learner]
parameters = {{ buckets = {BUCKETS} }}

[labels]
budget = {budget}
max_open_requests = {MAX_OPEN_REQUESTS}

[commit]
milliseconds = 50

[checkpoint]
folder = {_quote(str(self.checkpoints))}
seconds = {CHECKPOINT_SECONDS}
keep = 2

[status]
seconds = 0.5
"""
        self.settings.write_text(content, encoding="utf-8")


def _quote(text: str) -> str:
    # JSON strings are TOML strings.
    return json.dumps(text)
