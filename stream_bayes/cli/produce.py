"""`stream-bayes produce`."""

from __future__ import annotations

import json
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from stream_bayes.cli.app import Json, replace_what_cannot_be_written
from stream_bayes.cli.run import PARTITIONS, Config, settings_from, writable
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import CorpusError, LogUnavailable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from stream_bayes.cli.observation_index import ObservationIndex
    from stream_bayes.cli.produce_writer import CorpusProducer
    from stream_bayes.evaluation.corpora import Corpus, Mail

_TO = "The log: sqlite:///path/to/file.db, or kafka://host:port,host:port; by default that of the settings."
_LABELS = "Labels come with the mails, as events of their own N mails later, or not at all."
_ON_ERROR = "What is wrong in the corpus ends the writing (fail) or is left out and counted (skip)."
_CHECK = "Look first which mails the log has already; --no-check leaves it to the worker to notice them."
_TICKS = 10
"""Transactions a second where there is a rate."""
_PAUSE = 0.2


def produce(
    corpus: Annotated[Path, typer.Argument(help="A file or a folder of mail.", show_default=False)],
    to: Annotated[str | None, typer.Option("--to", metavar="URL", help=_TO, show_default=False)] = None,
    labels: Annotated[str, typer.Option(metavar="with|later:N|none", help=_LABELS)] = "with",
    rate: Annotated[float | None, typer.Option(metavar="N", help="Mails a second; else as fast as it goes.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N mails.")] = None,
    on_error: Annotated[str, typer.Option(metavar="fail|skip", help=_ON_ERROR)] = "fail",
    partitions: Annotated[int | None, typer.Option(min=1, help=PARTITIONS)] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help=_CHECK)] = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write a corpus of mails into a log, for a worker to filter.

    A mail that is in the log already is not written again; if its label is another now, since it was moved to Junk for
    example, a correction is sent. The id of a mail from a file is a digest of the message, whatever the file is called;
    a mail that is in the corpus twice is written once. JSON lines and CSV may give ids of their own; without ids, rows
    with equal text are different mails. To know what is there the whole topic is read first. With --no-check
    it is not: a worker ignores the mails whose ids it still remembers (engine.dedup_window).

    Ctrl-C ends it after a whole transaction.
    """
    from rich.console import Console

    from stream_bayes.cli.interruption import interruption
    from stream_bayes.cli.observation_index import ObservationIndex
    from stream_bayes.cli.produce_writer import CorpusProducer, open_labelling
    from stream_bayes.evaluation.corpora import open_corpus

    replace_what_cannot_be_written()
    labelling = open_labelling(labels)
    pace = _pace(rate)
    settings = settings_from(config, to)
    mails = open_corpus(corpus, on_error=on_error, label="unlabelled" if labelling.kind == "none" else None)
    began = time.monotonic()
    topics = settings.topics
    with (
        writable(settings, partitions) as log,
        ObservationIndex(log, topics.observations, topics.labels, abstain_label=settings.labels.abstain_label) as index,
        interruption() as pressed,
        _bar(Console(stderr=True), limit) as bar,
    ):
        producer = CorpusProducer(
            log,
            topics.observations,
            topics.labels,
            labelling,
            at_once=pace.at_once,
            index=index,
            id_bytes=settings.events.id_bytes,
        )
        producer.leaves_out = on_error == "skip"
        if check:
            _check(index, bar, pressed)
        else:
            index.skip_to_end()
        _write(producer, islice(_told_of_labels(mails), limit), pace, bar, pressed)
    done = _described(producer, mails, settings.log, time.monotonic() - began, stopped=bool(pressed))
    typer.echo(json.dumps(done, indent=2) if as_json else f"{_as_text(done)}\n{_next(config, to)}")
    if pressed:
        raise typer.Exit(STOPPED)


class _Pace(NamedTuple):
    """How fast mails are written."""

    rate: float | None
    at_once: int

    def wait(self, written: int, began: float, pressed: Sequence[int]) -> None:
        """Until it is time for the next mails, or Ctrl-C."""
        while self.rate is not None and not pressed:
            left = began + written / self.rate - time.monotonic()
            if left <= 0.0:
                return
            time.sleep(min(left, 1.0 / _TICKS))


def _pace(rate: float | None) -> _Pace:
    from stream_bayes.cli.produce_writer import MAILS_AT_ONCE
    from stream_bayes.errors import ParameterError

    if rate is None:
        return _Pace(None, MAILS_AT_ONCE)
    if not 0.0 < rate < 1e9:
        message = f"rate must be a number of mails a second above 0; got {rate!r}"
        raise ParameterError(message)
    return _Pace(rate, min(MAILS_AT_ONCE, max(1, int(rate / _TICKS))))


class _Bar(NamedTuple):
    """Progress on a terminal; elsewhere nothing."""

    rich: Progress
    task: TaskID

    def show(self, producer: CorpusProducer, seconds: float) -> None:
        done = producer.written + producer.already_there + producer.copies
        now = f"{done / max(seconds, 1e-9):,.0f} mails/s"
        self.rich.update(self.task, completed=done, now=now, refresh=True)


@contextmanager
def _bar(console: Any, total: int | None) -> Iterator[_Bar]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TextColumn("{task.fields[now]}")
    shown = console.is_terminal and not console.is_dumb_terminal
    with Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not shown) as rich:
        yield _Bar(rich, rich.add_task("writing", total=total, now=""))


def _check(index: ObservationIndex, bar: _Bar, pressed: Sequence[int]) -> None:
    """Read which mails are in the log, up to its end or Ctrl-C."""
    due = time.monotonic() + _PAUSE
    task = bar.rich.add_task("reading what is there", total=index.unread, now="", visible=False)
    for passed in index.scan():
        if pressed:
            break
        bar.rich.update(task, advance=passed)
        if time.monotonic() >= due:
            bar.rich.update(task, visible=True, refresh=True)
            due = time.monotonic() + _PAUSE
    bar.rich.remove_task(task)


def _told_of_labels(mails: Iterable[Mail]) -> Iterator[Mail]:
    """The mails; where one has no label, what to do then."""
    try:
        yield from mails
    except CorpusError as problem:
        if problem.kind != "missing-label":
            raise
        message = f"{problem}. Mail without labels is written with --labels none"
        raise CorpusError(message, problem.kind) from problem


def _write(producer: CorpusProducer, mails: Iterator[Mail], pace: _Pace, bar: _Bar, pressed: Sequence[int]) -> None:
    """All mails; on Ctrl-C, or where the corpus has a problem, what is staged is still written and no more."""
    began = due = time.monotonic()
    try:
        for mail in mails:
            if pressed:
                break
            before = producer.written
            producer.add(mail)
            now = time.monotonic()
            if producer.written > before:
                pace.wait(producer.written, began, pressed)
            if now >= due:
                bar.show(producer, now - began)
                due = now + _PAUSE
    except LogUnavailable:
        raise
    except BaseException:
        producer.flush()
        raise
    producer.flush() if pressed else producer.finish()


def _described(producer: CorpusProducer, corpus: Corpus, log: str, seconds: float, *, stopped: bool) -> dict[str, Any]:
    return {
        "log": log,
        "mails": producer.written,
        "labels": producer.labels_written,
        "corrections": producer.corrections,
        "already_there": producer.already_there,
        "copies": producer.copies,
        "labels_kept": producer.labels_kept,
        "labels_not_sent": producer.labels_waiting,
        "left_out": dict(corpus.counts.problems + Counter(producer.left_out)),
        "seconds": round(seconds, 3),
        "stopped": stopped,
    }


def _as_text(done: dict[str, Any]) -> str:
    from stream_bayes.evaluation.corpora.mail import counted

    text = f"wrote {counted(done['mails'], 'mail')} and {counted(done['labels'], 'label')} to {done['log']}"
    if done["already_there"]:
        text += f"; {done['already_there']:,} {'was' if done['already_there'] == 1 else 'were'} there already"
    if done["copies"]:
        copies = "1 copy" if done["copies"] == 1 else f"{done['copies']:,} copies"
        text += f"; {copies} within the corpus {'was' if done['copies'] == 1 else 'were'} not written again"
    if done["labels_kept"]:
        text += f"; {counted(done['labels_kept'], 'label')} given by people kept"
    if done["corrections"]:
        text += f"; {counted(done['corrections'], 'correction')} among the labels"
    if done["labels_not_sent"]:
        text += f"; {counted(done['labels_not_sent'], 'label')} not sent"
    left_out = [f"  left out: {number:,} {kind}" for kind, number in done["left_out"].items()]
    return "\n".join([text, *left_out])


def _next(config: Path | None, to: str | None) -> str:
    """How to go on, with the same settings."""
    options = [("--config", config), ("--log", to)]
    command = ["stream-bayes", "run", *(str(part) for option in options if option[1] is not None for part in option)]
    return f"To filter them: {shlex.join(command)}"
