"""`stream-bayes rebuild`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from stream_bayes.cli.app import Json
from stream_bayes.cli.run import (
    Checkpoints,
    Config,
    Group,
    LogUrl,
    check_engine_settings,
    load_command_settings,
    open_existing_log,
    open_group_log,
    stop_on_signals,
)
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import RecoveryError

if TYPE_CHECKING:
    from stream_bayes.config import Settings
    from stream_bayes.runtime.partition_processor import PartitionProcessor

_WIDTH = 24


def rebuild(
    config: Config = None,
    log: LogUrl = None,
    group: Group = None,
    checkpoints: Checkpoints = None,
    as_json: Json = False,
) -> None:
    """Rebuild the model from the whole log, with the present settings.

    The inputs are learned again in the order of the journal; no output is written. The new checkpoints replace the old
    ones once they are written; Ctrl-C before that changes nothing. Stop the workers first. --json prints the model of
    each partition and all log messages as JSON lines.
    """
    from stream_bayes.runtime import Worker
    from stream_bayes.runtime.logging import report_to_stderr

    settings = load_command_settings(config, log, group, checkpoints)
    check_engine_settings(settings)
    _check_processed(settings)
    report_to_stderr(as_json=as_json)
    with open_group_log(settings) as source:
        worker = Worker(settings, source)
        stop_on_signals(worker)
        if not worker.rebuild():
            raise typer.Exit(STOPPED)
    for processor in worker.processors.values():
        made = _describe(processor)
        typer.echo(json.dumps(made) if as_json else _format_text(made))


def _check_processed(settings: Settings) -> None:
    with open_existing_log(settings) as source:
        if not any(source.end_offsets(settings.journal).values()):
            message = f"nothing was processed for group {settings.group!r} in this log yet"
            raise RecoveryError(message)


def _describe(processor: PartitionProcessor) -> dict[str, Any]:
    engine = processor.engine
    return {
        "partition": processor.number,
        "labels_learned": engine.model_version,
        **engine.metric_figures(),
        "checkpoints": str(processor.checkpoint_store.folder),
    }


def _format_text(made: dict[str, Any]) -> str:
    rows = [f"  {name.replace('_', ' '):<{_WIDTH}}{_format_value(made[name])}" for name in made if name != "partition"]
    return "\n".join([f"partition {made['partition']}", *rows])


def _format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
