"""`stream-bayes rebuild`."""

from __future__ import annotations

import json

import typer

from stream_bayes.cli.app import Json
from stream_bayes.cli.run import Config, Group, LogUrl, opened, settings_from, stop_on_signals


def rebuild(config: Config = None, log: LogUrl = None, group: Group = None, as_json: Json = False) -> None:
    """Make a new model from the whole log, with the settings of now.

    The inputs are learned again in the order of the journal, and nothing is put out. The new checkpoints replace those
    of before, once they are written. Stop the worker first. --json prints its messages as JSON, one a line.
    """
    from stream_bayes.worker import Worker
    from stream_bayes.worker.reports import report_to_stderr

    settings = settings_from(config, log, group)
    report_to_stderr(as_json=as_json)
    with opened(settings) as source:
        worker = Worker(settings, source)
        stop_on_signals(worker)
        worker.rebuild()
    for shard in worker.shards.values():
        figures = shard.engine.metrics.figures(numbers=shard.engine.model.predicts_numbers)
        made = {"partition": shard.number, "labels_learned": shard.engine.model_version, **figures}
        typer.echo(json.dumps({**made, "checkpoints": str(shard.folder.folder)}, indent=None if as_json else 2))
