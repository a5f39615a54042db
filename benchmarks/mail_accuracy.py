"""What the spam filter, its members and the peers make of every corpus: one pass, predict, then learn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from stream_bayes.errors import CorpusError
from stream_bayes.evaluation import baselines
from stream_bayes.evaluation.corpora import Mail, open_corpus
from stream_bayes.evaluation.factory import OWN_FILTERS, open_filter
from stream_bayes.evaluation.metrics import all_metrics, one_minus_roca_percent
from stream_bayes.evaluation.protocol import PassResult, warm_up
from stream_bayes.evaluation.protocol import run as run_filter
from stream_bayes.evaluation.serialization import member_areas
from stream_bayes.evaluation.stream import Stream

# Its mails of one kind came long before those of the other: the order as given says one thing, a shuffle another.
SHUFFLED = {"spamassassin": (1, 2, 3)}
# Six mailboxes in one file, each a stream of its own, by what the ids begin with.
PARTED = {"enron_spam"}
# So slow that they get the first stream of each corpus only.
SLOW = {"sklearn-sgd", "sklearn-naive-bayes", "bogofilter"}
WORDS = "vowpal-wabbit"
PAIRS = "vowpal-wabbit-2-grams"
# (1-ROCA)% to reach.
MARKS = {"spamassassin": 0.086, "spamassassin, shuffled": 0.063, "enron_spam": 0.055, "sms_spam_collection": 1.10}
REGIMES = ("immediate", "delayed:100", "delayed:1000", "first:1000", "partial:0.1")
WORST_RATIO = 1.05


class Group(NamedTuple):
    """Streams whose figures are averaged."""

    name: str
    streams: tuple[Stream, ...]
    as_given: bool

    def title(self) -> str:
        """With how many streams and mails there are."""
        several = f", {len(self.streams)} streams" if len(self.streams) > 1 else ""
        return f"{self.name}{several}, {sum(1 for stream in self.streams for _ in stream):,} mails"


class Result(NamedTuple):
    """One pass, or the mean of several."""

    one_minus_roca_percent: float
    log_loss: float
    calibration_error: float
    cpu_microseconds: float


Results = dict[str, dict[str, Result]]
"""By filter and stream."""


def read_groups(folder: Path) -> list[Group]:
    """Every corpus of the folder, in memory: as given and, where that tells more, shuffled."""
    groups = []
    for path in sorted(folder.iterdir()):
        try:
            corpus = open_corpus(path, on_error="skip")
        except CorpusError:
            continue
        mails = list(corpus)
        name = corpus.name
        groups.append(Group(name, tuple(_streams(name, mails)), as_given=True))
        if name in SHUFFLED:
            shuffles = tuple(Stream(f"{name}, shuffle {seed}", mails, seed) for seed in SHUFFLED[name])
            groups.append(Group(f"{name}, shuffled", shuffles, as_given=False))
    return groups


def _streams(name: str, mails: list[Mail]) -> Iterator[Stream]:
    if name not in PARTED:
        yield Stream(name, mails)
        return
    parts: dict[str, list[Mail]] = {}
    for mail in mails:
        parts.setdefault(mail.id.partition("/")[0], []).append(mail)
    for part, own in parts.items():
        yield Stream(part, own)


def run(console: Console, groups: Sequence[Group]) -> None:
    """Print the table of each corpus, ours against the peers, and ours against its members."""
    results: Results = {name: {} for name in (*OWN_FILTERS, *baselines.available())}
    for name, how in baselines.missing().items():
        console.print(f"{name} is not here: {how}")
    for name in results:
        warm_up(partial(open_filter, name))
    for group in groups:
        measure(group, results)
        console.print(accuracy_table(group, results))
    console.print(against_peers(groups, results))
    console.print("CPU time in these tables is that of one pass each, so the machine is in it.")
    console.print(
        f"Ratios are on the same streams; {', '.join(sorted(SLOW))} are given the first stream of a corpus only."
    )
    against_members(console, groups)


def measure(group: Group, results: Results) -> None:
    """Run every filter over the streams of a corpus."""
    for name, own in results.items():
        for stream in group.streams[:1] if name in SLOW else group.streams:
            done = run_filter(partial(open_filter, name), stream)
            metrics = all_metrics(done.spam, done.log_odds)
            figures = metrics.one_minus_roca_percent, metrics.log_loss, metrics.calibration_error
            own[stream.corpus] = Result(*figures, done.cpu_microseconds)


def mean(own: Mapping[str, Result], streams: Sequence[Stream]) -> Result:
    """Over these streams."""
    return Result(*np.mean([own[stream.corpus] for stream in streams], axis=0).tolist())


def streams_of(group: Group, own: Mapping[str, Result]) -> list[Stream]:
    """Those that a filter was given."""
    return [stream for stream in group.streams if stream.corpus in own]


def accuracy_table(group: Group, results: Results) -> Table:
    table = Table(title=f"{group.title()}: one pass, predict, then learn")
    for column in ("filter", "streams", "(1-ROCA)%", "log loss", "calibration error", "CPU us a mail"):
        table.add_column(column, justify="left" if column == "filter" else "right")
    for name, own in results.items():
        given = streams_of(group, own)
        area, loss, error, cpu = mean(own, given)
        table.add_row(name, str(len(given)), f"{area:.4f}", f"{loss:.4f}", f"{error:.4f}", f"{cpu:,.0f}")
    return table


def against_peers(groups: Sequence[Group], results: Results) -> Table:
    """Ours over theirs on the same streams."""
    table = Table(title="(1-ROCA)% of ours against the marks and the peers; every ratio is to be below 1")
    columns = "corpus", "default", "mark", "nearest peer", "default / it", "light / VW words", "light / VW pairs"
    for column in columns:
        table.add_column(column, justify="left" if column in ("corpus", "nearest peer") else "right")
    for group in groups:
        ratios = {name: ratio("default", name, group, results) for name in results if name not in OWN_FILTERS}
        nearest = max(ratios, key=lambda name: ratios[name], default="")
        cells = [f"{mean(results['default'], group.streams).one_minus_roca_percent:.4f}"]
        cells += [f"{MARKS[group.name]:g}" if group.name in MARKS else "", nearest]
        cells += [f"{ratios[nearest]:.2f}" if nearest else ""]
        cells += [f"{ratio('light', name, group, results):.2f}" if name in results else "" for name in (WORDS, PAIRS)]
        table.add_row(group.name, *cells)
    return table


def ratio(ours: str, peer: str, group: Group, results: Results) -> float:
    """Of the mean (1-ROCA)% of one of ours to a peer's, on the streams that the peer was given."""
    given = streams_of(group, results[peer])
    areas = [mean(results[name], given).one_minus_roca_percent for name in (ours, peer)]
    return quotient(*areas)


def quotient(ours: float, theirs: float) -> float:
    """1 where neither has made a mistake."""
    return ours / theirs if theirs else (math.inf if ours else 1.0)


class Areas(NamedTuple):
    """(1-ROCA)% of the fusion and of each member, in one pass or the mean of several."""

    fused: float
    members: dict[str, float]

    def best(self) -> str:
        """The name of the best member."""
        return min(self.members, key=lambda name: self.members[name])

    def ratio(self) -> float:
        """Fusion over best member."""
        return quotient(self.fused, self.members[self.best()])


def areas_of(done: PassResult) -> Areas:
    return Areas(one_minus_roca_percent(done.spam, done.log_odds), member_areas(done))


def mean_areas(passes: Sequence[Areas]) -> Areas:
    names = passes[0].members
    members = {name: float(np.mean([areas.members[name] for areas in passes])) for name in names}
    return Areas(float(np.mean([areas.fused for areas in passes])), members)


def against_members(console: Console, groups: Sequence[Group]) -> None:
    """The fusion and its best member under every regime of feedback."""
    table = Table(title="(1-ROCA)% of the default and of its best member, by corpus and by which labels are told when")
    for column in ("corpus", "feedback", "default", "best member", "its own", "ratio", "worst stream"):
        table.add_column(column, justify="left" if column in ("corpus", "feedback", "best member") else "right")
    default = partial(open_filter, "default")
    ratios = []
    single = []
    for group in groups:
        for regime in REGIMES:
            passes = [areas_of(run_filter(default, each, feedback=regime)) for each in group.streams]
            together = mean_areas(passes)
            apart = [areas.ratio() for areas in passes]
            best = together.best()
            cells = f"{together.fused:.4f}", best, f"{together.members[best]:.4f}"
            table.add_row(group.name, regime, *cells, f"{together.ratio():.3f}", f"{max(apart):.3f}")
            ratios.append(together.ratio())
            single += apart
        table.add_section()
    console.print(table)
    console.print(f"Fusion over best member, by corpus: {spread(ratios)}; by single stream: {spread(single)}")
    console.print(f"Targets, by corpus: worst at most {WORST_RATIO:g}, geometric mean below 1.")


def spread(ratios: Sequence[float]) -> str:
    return f"worst {max(ratios):.3f}, geometric mean {math.exp(np.mean(np.log(ratios))):.3f}"
