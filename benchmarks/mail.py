"""The spam filter on real mail: time against Vowpal Wabbit, latency of one mail, memory, then accuracy."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import mail_accuracy
from benchmarks.mail_accuracy import Group, read_groups
from benchmarks.measure import seconds
from stream_bayes.evaluation.baselines.base import CHARACTERS, words_of
from stream_bayes.evaluation.baselines.vowpal_wabbit import OPTIONS
from stream_bayes.evaluation.corpora import Mail
from stream_bayes.evaluation.corpora.listing import CORPORA_VARIABLE
from stream_bayes.evaluation.protocol import TENTHS
from stream_bayes.evaluation.timing import memory_mb
from stream_bayes.kernels.mail.decode import MAX_RAW
from stream_bayes.mail.filter import SpamFilter
from stream_bayes.typing import FloatArray

TIMED = "spamassassin"
BATCH = 256
REPEATS = 9
EVENTS = 1_000
# More than the caches of the machine hold, or hold of it at one core's disposal.
WALKED_BYTES = 64 * 2**20
OURS: dict[str, Callable[[], SpamFilter]] = {"default": SpamFilter, "light": SpamFilter.light}


class Way(NamedTuple):
    """Something to time: its object is created and freed outside of the measured part."""

    make: Callable[[], Any]
    act: Callable[[Any], object]

    def seconds(self) -> float:
        """CPU time of acting once."""
        return seconds(partial(self.act, self.make()))


class Rival(NamedTuple):
    """What ours is compared with: which of ours, the options, how much of a mail, and the largest ratio of times."""

    ours: str
    options: str
    characters: int
    target: float | None


RIVALS = {
    "Vowpal Wabbit --ngram 2": Rival("default", f"{OPTIONS} --ngram 2", MAX_RAW, 1.3),
    "Vowpal Wabbit, words": Rival("light", OPTIONS, MAX_RAW, 0.5),
    "Vowpal Wabbit --ngram 2, first 4,000 bytes": Rival("default", f"{OPTIONS} --ngram 2", CHARACTERS, None),
    "Vowpal Wabbit, words, first 4,000 bytes": Rival("light", OPTIONS, CHARACTERS, None),
}


def run(console: Console) -> None:
    """Print all tables; without corpora, one line."""
    folder = os.environ.get(CORPORA_VARIABLE)
    if not folder:
        console.print(f"SpamFilter is not measured: {CORPORA_VARIABLE} names no folder of corpora")
        return
    groups = read_groups(Path(folder))
    mails = next((list(group.streams[0]) for group in groups if group.name == TIMED), None)
    if mails is None:
        console.print(f"SpamFilter's time is not measured: {folder} has no corpus named {TIMED}")
    else:
        time_tables(console, mails)
        latency_table(console, mails)
    memory_table(console, groups)
    mail_accuracy.run(console, groups)


def time_tables(console: Console, mails: Sequence[Mail]) -> None:
    """CPU time from raw bytes, and from lines for Vowpal Wabbit, as it is fastest; the cleaning apart."""
    ways = {name: Way(partial(touched, make), partial(learn_in_batches, mails)) for name, make in OURS.items()}
    ways |= {f"{name}, untouched": Way(make, partial(learn_in_batches, mails)) for name, make in OURS.items()}
    sizes = {rival.characters for rival in RIVALS.values()}
    ways |= {f"cleaning {size}": Way(lambda: mails, partial(lines_of, size)) for size in sizes}
    if find_spec("vowpalwabbit") is None:
        console.print("SpamFilter is compared with nothing: Vowpal Wabbit is not here (pip has it for Linux on x86_64)")
    else:
        lines = {size: lines_of(size, mails) for size in sizes}
        ways |= {
            name: Way(partial(workspace, rival.options), partial(vw_pass, lines[rival.characters]))
            for name, rival in RIVALS.items()
        }
    # The first turn compiles and loads; in turns, so that a disturbance of the machine hits all of them alike.
    turns = [{name: way.seconds() for name, way in ways.items()} for _ in range(REPEATS + 1)][1:]
    best = {name: min(turn[name] for turn in turns) / len(mails) * 1e6 for name in ways}
    console.print(time_table(best, len(mails)))
    console.print(
        f"Shortest of {REPEATS} turns. Every pass has a new model; making and freeing it is not timed, nor, for ours, "
        "asking the system for the memory of its tables; Vowpal Wabbit takes that of its weights while it learns. Ours "
        "begins from raw bytes; Vowpal Wabbit from lines of text that were made before: parse, predict, learn. Cut at "
        "4,000 bytes it ranks better, as in the tables below; whole is the text that ours is given."
    )
    console.print(like_for_like(best))


def like_for_like(best: dict[str, float]) -> str:
    """The ratios with ours as Vowpal Wabbit is: given its memory by the system while it learns."""
    ratios = [
        f"{rival.ours} {best[f'{rival.ours}, untouched'] / best[name]:.2f} of {name}"
        for name, rival in RIVALS.items()
        if name in best
    ]
    return f"Like for like, ours taking its memory while it learns as well: {'; '.join(ratios) or 'no peer'}"


def time_table(best: dict[str, float], count: int) -> Table:
    title = f"SpamFilter: predict + learn, CPU microseconds a mail, {count:,} raw mails of {TIMED}, new models"
    table = Table(title=title)
    for column in ("way", "CPU", "ours / this", "target, at most", "CPU, cleaning counted", "ours / this"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for name in OURS:
        table.add_row(f"{name}, from raw bytes", f"{best[name]:.1f}")
        table.add_row(f"{name}, taking its memory counted", f"{best[f'{name}, untouched']:.1f}")
    for name, rival in RIVALS.items():
        if name in best:
            ours = best[rival.ours]
            bare = best[name]
            cleaned = best[name] + best[f"cleaning {rival.characters}"]
            ratio = f"{rival.ours} {ours / bare:.2f}"
            target = "" if rival.target is None else f"{rival.target:g}"
            cells = f"{bare:.1f}", ratio, target, f"{cleaned:.1f}", f"{ours / cleaned:.2f}"
            table.add_row(name, *cells)
    return table


def touched(make: Callable[[], SpamFilter]) -> SpamFilter:
    """A new model that has all its memory."""
    model = make()
    model.prefault()
    return model


def learn_in_batches(mails: Sequence[Mail], model: SpamFilter) -> None:
    """One pass in batches over raw bytes."""
    for begin in range(0, len(mails), BATCH):
        part = mails[begin : begin + BATCH]
        model.test_then_train(model.batch([mail.raw for mail in part]), [mail.label for mail in part])


def lines_of(characters: int, mails: Sequence[Mail]) -> list[str]:
    """The mails as Vowpal Wabbit takes them."""
    return [f"{1 if mail.label == 'spam' else -1} | {words_of(mail.raw, characters)}" for mail in mails]


def workspace(options: str) -> Any:
    """A new model of Vowpal Wabbit, which is freed with its last reference."""
    return import_module("vowpalwabbit").Workspace(options)


def vw_pass(lines: Sequence[str], model: Any) -> None:
    """One pass of the cheapest calls that predict first."""
    for line in lines:
        example = model.parse(line)
        model.predict(example)
        model.learn(example)
        model.finish_example(example)


def latency_table(console: Console, mails: Sequence[Mail]) -> None:
    """Time of single mails, with data caches that hold what the last mail left, and with cold ones."""
    title = f"one mail: predict_proba_one + learn_one, microseconds, {EVENTS:,} mails"
    table = Table(title=title)
    for column in ("filter", "caches", "wall, p50", "p99", "CPU, p50", "p99"):
        table.add_column(column, justify="left" if column in ("filter", "caches") else "right")
    walked = np.ones(WALKED_BYTES // 8)
    cold = f"cold: {WALKED_BYTES >> 20} MiB are read in between"
    for name, make in OURS.items():
        for caches, array in (("warm", walked[:0]), (cold, walked)):
            times = np.quantile(latencies(make(), mails, array), (0.5, 0.99), axis=0).T.ravel()
            table.add_row(name, caches, *(f"{value:,.0f}" for value in times))
    console.print(table)


def latencies(model: SpamFilter, mails: Sequence[Mail], walked: FloatArray) -> FloatArray:
    """Microseconds of each of the last mails, wall and CPU, after the others were learned."""
    learn_in_batches(mails[:-EVENTS], model)
    measured = mails[-EVENTS:]
    times = np.empty((len(measured), 2))
    for row, mail in zip(times, measured, strict=True):
        walked.sum()
        wall = time.perf_counter_ns()
        cpu = time.thread_time_ns()
        model.predict_proba_one(mail.raw)
        model.learn_one(mail.raw, mail.label)
        row[:] = time.perf_counter_ns() - wall, time.thread_time_ns() - cpu
    return times * 1e-3


def memory_table(console: Console, groups: Sequence[Group]) -> None:
    """Resident memory of the process after each tenth of all mails there are, one corpus after the other."""
    mails = [mail for group in groups if group.as_given for stream in group.streams for mail in stream]
    table = Table(title=f"memory of the process, MB, over {len(mails):,} mails of all corpora")
    for column in ("filter", "tables, full", "before", *(f"{tenth}/10" for tenth in range(1, TENTHS + 1)), "growth"):
        table.add_column(column, justify="left" if column == "filter" else "right")
    for name, make in OURS.items():
        model = make()
        seen = [memory_mb()]
        for part in np.array_split(np.arange(len(mails)), TENTHS):
            learn_in_batches(mails[part[0] : part[-1] + 1], model)
            seen.append(memory_mb())
        growth = f"{seen[-1] - seen[1]:+.1f}"
        table.add_row(name, f"{model.memory_bytes / 1e6:.0f}", *(f"{value:.0f}" for value in seen), growth)
        del model
    console.print(table)
    console.print("Growth: after the first tenth, which touches the tables; the target is none.")
