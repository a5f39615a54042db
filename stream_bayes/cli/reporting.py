"""The page that `stream-bayes evaluate --report` writes."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

from stream_bayes.cli.passes import Passes, Task
from stream_bayes.evaluate.corpora import Mail
from stream_bayes.evaluate.report import NAME, worst_ids, write_report
from stream_bayes.features.display import subject


def page_in(folder: Path) -> Path:
    """Where `write_page` writes to."""
    return folder / NAME


def write_page(folder: Path, passes: Passes, task: Task) -> Path:
    """Write the report of these passes; the corpus is read again for the subjects of the worst mistakes."""
    runs, summaries, _ = zip(*passes.done, strict=True)
    wanted = worst_ids(runs, task.threshold)
    subjects = {mail.id: subject(mail.raw) for mail in _found(task, wanted)}
    return write_report(folder, runs, summaries, subjects, passes.notes())


def _found(task: Task, wanted: Set[str]) -> Iterator[Mail]:
    left = set(wanted)
    # What is wrong in the corpus has been said; it is no reason to lose the report now.
    mails = iter(task.source._replace(problems="count").open())
    while left:
        mail = next(mails, None)
        if mail is None:
            return
        if mail.id in left:
            left.remove(mail.id)
            yield mail
