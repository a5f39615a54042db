"""`stream-bayes produce`."""

from __future__ import annotations

import json
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from stream_bayes.cli.app import ORDER, Json, replace_unencodable_output
from stream_bayes.cli.run import PARTITIONS, Config, load_command_settings, open_log_for_writing
from stream_bayes.cli.startup import STOPPED
from stream_bayes.errors import CorpusError, LogUnavailable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from stream_bayes.cli.observation_index import ObservationIndex
    from stream_bayes.cli.produce_writer import CorpusProducer
    from stream_bayes.evaluation.corpora import Corpus, Mail

_TO = "The log: sqlite:///path/to/file.db, or kafka://host:port,host:port; by default that of the settings."
_LABELS = "Send labels with the mails, as separate events N mails later, or not at all."
_ON_ERROR = "A message that cannot be used ends the command (fail) or is skipped and counted (skip)."
_CHECK = "Check first which mails are in the log already; with --no-check the worker detects duplicates."
_COMMITS_PER_SECOND = 10
"""Transactions per second, if there is a rate."""
_REDRAW_SECONDS = 0.2
_OF_THE_CORPUS = frozenset({"missing-date", "temporary-file"})
"""Problems of a corpus as a whole, which remain if messages are left out."""


def produce(
    corpus: Annotated[Path, typer.Argument(help="A file or a folder of mail.", show_default=False)],
    to: Annotated[str | None, typer.Option("--to", metavar="URL", help=_TO, show_default=False)] = None,
    labels: Annotated[str, typer.Option(metavar="with|later:N|none", help=_LABELS)] = "with",
    rate: Annotated[float | None, typer.Option(metavar="N", help="Mails per second; by default no limit.")] = None,
    order: Annotated[str, typer.Option(metavar="auto|time|mixed|stored", help=ORDER)] = "auto",
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N mails.")] = None,
    on_error: Annotated[str, typer.Option(metavar="fail|skip", help=_ON_ERROR)] = "fail",
    partitions: Annotated[int | None, typer.Option(min=1, help=PARTITIONS)] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help=_CHECK)] = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write a corpus of mails to a log, for a worker to filter.

    A mail that is in the log already is not written again; if its label has changed, for example because it was moved
    to Junk, a correction is sent. The id of a mail from a file is a digest of the message, whatever the name of the
    file; a mail that is in the corpus twice is written once. JSON lines and CSV may have ids; without ids, rows with
    equal text are different mails. The whole topic is read first to find known mails. With --no-check it is not: a
    worker ignores the mails whose ids are in its window (engine.dedup_window).

    Ctrl-C stops it after a complete transaction.
    """
    from rich.console import Console

    from stream_bayes.cli.interruption import defer_interrupt
    from stream_bayes.cli.observation_index import ObservationIndex
    from stream_bayes.cli.produce_writer import CorpusProducer, parse_label_timing
    from stream_bayes.evaluation.corpora import open_corpus

    replace_unencodable_output()
    timing = parse_label_timing(labels)
    pace = _make_pace(rate)
    settings = load_command_settings(config, to)
    label = "unlabelled" if timing.kind == "none" else None
    mails = open_corpus(corpus, on_error=on_error, label=label, order=order)
    started_at = time.monotonic()
    topics = settings.topics
    with (
        open_log_for_writing(settings, partitions) as log,
        ObservationIndex(log, topics.observations, topics.labels, abstain_label=settings.labels.abstain_label) as index,
        defer_interrupt() as interrupts,
        _progress_bar(Console(stderr=True), limit) as bar,
    ):
        producer = CorpusProducer(
            log,
            topics.observations,
            topics.labels,
            timing,
            batch_size=pace.batch_size,
            index=index,
            id_bytes=settings.events.id_bytes,
        )
        producer.skips_errors = on_error == "skip"
        if check:
            _scan_log(index, bar, interrupts)
        else:
            index.skip_to_end()
        _write_mails(producer, islice(mails, limit), pace, bar, interrupts)
    done = _describe(producer, mails, settings.log, time.monotonic() - started_at, stopped=bool(interrupts))
    if as_json:
        typer.echo(json.dumps(done, indent=2))
    else:
        typer.echo(_format_result(done))
        if _wrote_something(done):
            typer.echo(_next_command(config, to))
    if interrupts:
        raise typer.Exit(STOPPED)


class _Pace(NamedTuple):
    """The rate of writing, and the mails per transaction."""

    rate: float | None
    batch_size: int

    def wait(self, written: int, started_at: float, interrupts: Sequence[int]) -> None:
        """Sleep until the next mails are due, or Ctrl-C."""
        while self.rate is not None and not interrupts:
            remaining = started_at + written / self.rate - time.monotonic()
            if remaining <= 0.0:
                return
            time.sleep(min(remaining, 1.0 / _COMMITS_PER_SECOND))


def _make_pace(rate: float | None) -> _Pace:
    from stream_bayes.cli.produce_writer import BATCH_SIZE
    from stream_bayes.errors import ParameterError

    if rate is None:
        return _Pace(None, BATCH_SIZE)
    if not 0.0 < rate < 1e9:
        message = f"rate must be a number of mails a second above 0; got {rate!r}"
        raise ParameterError(message)
    return _Pace(rate, min(BATCH_SIZE, max(1, int(rate / _COMMITS_PER_SECOND))))


class _ProgressBar(NamedTuple):
    """Progress bar (rich.progress); nothing is shown without a terminal."""

    rich: Progress
    task: TaskID

    def show(self, producer: CorpusProducer, seconds: float) -> None:
        done = producer.written + producer.already_there + producer.copies
        now = f"{done / max(seconds, 1e-9):,.0f} mails/s"
        self.rich.update(self.task, completed=done, now=now, refresh=True)


@contextmanager
def _progress_bar(console: Any, total: int | None) -> Iterator[_ProgressBar]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TextColumn("{task.fields[now]}")
    shown = console.is_terminal and not console.is_dumb_terminal
    with Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not shown) as rich:
        yield _ProgressBar(rich, rich.add_task("writing", total=total, now=""))


def _scan_log(index: ObservationIndex, bar: _ProgressBar, interrupts: Sequence[int]) -> None:
    """Scan the mails in the log, until its end or Ctrl-C."""
    due = time.monotonic() + _REDRAW_SECONDS
    task = bar.rich.add_task("reading what is there", total=index.unread, now="", visible=False)
    for count in index.scan():
        if interrupts:
            break
        bar.rich.update(task, advance=count)
        if time.monotonic() >= due:
            bar.rich.update(task, visible=True, refresh=True)
            due = time.monotonic() + _REDRAW_SECONDS
    bar.rich.remove_task(task)


def _explain(problem: CorpusError, written: int) -> CorpusError:
    """Add to the error about a message how many mails were written before it, and how to go on."""
    from stream_bayes.evaluation.corpora.mail import counted

    before = f"{counted(written, 'mail')} before it went into the log"
    message = f"{problem}. {before}; --on-error skip leaves such messages out"
    if problem.kind == "missing-label":
        message += ". Mail without labels is written with --labels none"
    return CorpusError(message, problem.kind)


def _write_mails(
    producer: CorpusProducer, mails: Iterator[Mail], pace: _Pace, bar: _ProgressBar, interrupts: Sequence[int]
) -> None:
    """Write all mails; after Ctrl-C or a problem of the corpus only what is staged is written."""
    started_at = time.monotonic()
    due = started_at
    try:
        for mail in mails:
            if interrupts:
                break
            before = producer.written
            producer.add(mail)
            now = time.monotonic()
            if producer.written > before:
                pace.wait(producer.written, started_at, interrupts)
            if now >= due:
                bar.show(producer, now - started_at)
                due = now + _REDRAW_SECONDS
    except LogUnavailable:
        raise
    except CorpusError as problem:
        producer.flush()
        if producer.skips_errors or problem.kind in _OF_THE_CORPUS:
            raise
        raise _explain(problem, producer.written) from problem
    except BaseException:
        producer.flush()
        raise
    producer.flush() if interrupts else producer.finish()


def _describe(producer: CorpusProducer, corpus: Corpus, log: str, seconds: float, *, stopped: bool) -> dict[str, Any]:
    # The order does not matter if nothing was written.
    order_note = corpus.counts.order_note if producer.written or producer.labels_written else ""
    notes = (order_note, producer.conflict_note)
    return {
        "log": log,
        "mails": producer.written,
        "labels": producer.labels_written,
        "corrections": producer.corrections,
        "already_there": producer.already_there,
        "copies": producer.copies,
        "conflicting_copies": producer.conflicts,
        "labels_kept": producer.labels_kept,
        "labels_not_sent": producer.labels_waiting,
        "order": corpus.counts.order,
        "warnings": [note for note in notes if note],
        "left_out": dict(corpus.counts.problems + Counter(producer.skipped)),
        "seconds": round(seconds, 3),
        "stopped": stopped,
    }


def _wrote_something(done: dict[str, Any]) -> bool:
    return bool(done["mails"] or done["labels"])


def _format_result(done: dict[str, Any]) -> str:
    from stream_bayes.evaluation.corpora.mail import counted
    from stream_bayes.evaluation.corpora.ordering import DESCRIPTIONS, STORED

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
    lines = [f"  left out: {number:,} {kind}" for kind, number in done["left_out"].items()]
    if done["order"] != STORED and _wrote_something(done):
        lines.insert(0, f"  {DESCRIPTIONS[done['order']]}")
    return "\n".join([text, *lines, *(f"  warning: {warning}" for warning in done["warnings"])])


def _next_command(config: Path | None, to: str | None) -> str:
    """Return the command that filters the mails, with the same settings."""
    options = [("--config", config), ("--log", to)]
    command = ["stream-bayes", "run", *(str(part) for option in options if option[1] is not None for part in option)]
    return f"To filter them: {shlex.join(command)}"
