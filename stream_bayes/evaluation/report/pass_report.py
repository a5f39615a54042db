"""The HTML report of one pass or of several passes side by side: what its tables show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.formatting import format_number, format_stream
from stream_bayes.evaluation.metrics import BINS, NAMES, MetricsSummary
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.evaluation.report.curves import error_window, reliability_bins, worst_mistakes
from stream_bayes.evaluation.report.pass_charts import (
    NamedPass,
    error_chart,
    learning_chart,
    reliability_chart,
    roc_chart,
)
from stream_bayes.evaluation.report.rendering import render
from stream_bayes.evaluation.serialization import member_areas
from stream_bayes.evaluation.timing import MAKE

REPORT_FILE = "report.html"
_TILE_METRICS = (
    *("one_minus_roca_percent", "ham_error_percent", "spam_error_percent", "spam_error_at_ham_0_1_percent"),
    *("log_loss", "calibration_error"),
)


class Figure(NamedTuple):
    """One number as text, with a smaller note below it."""

    value: str
    note: str
    name: str = ""
    best: bool = False


class Mistake(NamedTuple):
    """A message that a filter classified wrongly."""

    subject: str
    id: str
    label: str
    probability: str


class Speed(NamedTuple):
    """The time and the memory of one pass, as text."""

    name: str
    stages: list[Figure]
    cpu: str
    cpu_share: str
    """CPU time in percent of the slowest pass."""
    messages_per_second: str
    make: str
    peak_memory: str


def write_report(
    folder: Path,
    runs: Sequence[PassResult],
    summaries: Sequence[MetricsSummary],
    subjects: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Path:
    """Write the report of these passes into a folder, which is made if it does not exist, and return its path.

    The first pass is the one in front. `subjects` maps the ids of `worst_ids(runs)` to subjects; other ids are ignored.
    `notes` are remarks on the figures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / REPORT_FILE
    path.write_text(report_page(runs, summaries, subjects, notes), encoding="utf-8")
    return path


def report_page(
    runs: Sequence[PassResult],
    summaries: Sequence[MetricsSummary],
    subjects: Mapping[str, str],
    notes: Sequence[str] = (),
) -> str:
    """The report as HTML that is well-formed XML too."""
    passes = name_passes(runs, summaries)
    first = passes[0]
    return render(
        "report.html.jinja",
        corpus=first.run.corpus,
        heading=_heading(first),
        notes=notes,
        names=[each.name for each in passes],
        tiles=_tiles(first),
        metric_names=list(NAMES.values()),
        metrics=_metric_rows(passes),
        learning_chart=learning_chart(passes),
        error_chart=error_chart(passes),
        error_window=error_window(len(first.run.spam)),
        roc_chart=roc_chart(passes),
        reliability_chart=reliability_chart(passes),
        bins=_bin_rows(first),
        fused_area=format_number(first.summary.values.one_minus_roca_percent),
        members=_member_rows(first),
        mistakes=[_mistakes(each, subjects) for each in passes],
        stage_heads=[f"{name}, µs" for name in _stage_names(passes)],
        speeds=_speeds(passes),
        threshold=f"{first.summary.threshold:g}",
    )


def name_passes(runs: Sequence[PassResult], summaries: Sequence[MetricsSummary]) -> list[NamedPass]:
    """Name each pass by its filter, and by the corpus and the feedback where they differ between passes."""
    if not runs or len(runs) != len(summaries):
        message = f"a report is of one pass or more with a summary for each; got {len(runs)} and {len(summaries)}"
        raise ParameterError(message)
    names = [", ".join([run.filter_name, *_differences(run, runs)]) for run in runs]
    return [
        NamedPass(name if names.count(name) == 1 else f"{name} ({number})", run, summary)
        for number, (name, run, summary) in enumerate(zip(names, runs, summaries, strict=True), start=1)
    ]


def _differences(run: PassResult, runs: Sequence[PassResult]) -> list[str]:
    parts = []
    if len({other.corpus for other in runs}) > 1:
        parts.append(run.corpus)
    if len({other.feedback for other in runs}) > 1:
        parts.append(run.feedback)
    if run.stopped and len(runs) > 1:
        parts.append(f"the first {run.messages:,}")
    return parts


def _heading(first: NamedPass) -> str:
    learned = counted(int(first.run.learned.sum()), "label")
    return f"{format_stream(first.run, first.summary)}, feedback {first.run.feedback}, {learned} learned"


def _metric(summary: MetricsSummary, name: str, best: float | None = None) -> Figure:
    """A metric with its interval."""
    value = getattr(summary.values, name)
    low = getattr(summary.low, name)
    high = getattr(summary.high, name)
    interval = "no interval" if np.isnan(low) else f"{format_number(low)} to {format_number(high)}"
    return Figure(format_number(value), interval, NAMES[name], value == best)


def _tiles(first: NamedPass) -> list[Figure]:
    cpu = format_number(first.run.cpu_microseconds)
    speed = format_number(first.run.messages_per_second)
    return [
        *(_metric(first.summary, name) for name in _TILE_METRICS),
        Figure(cpu, "features, predict and learn", "CPU µs a message"),
        Figure(speed, "wall time in the filter", "messages a second"),
    ]


def _metric_rows(passes: Sequence[NamedPass]) -> list[tuple[str, list[Figure]]]:
    """All metrics of all passes. The best value of each is marked; a pass that was ended early is never the best."""
    complete = [each.summary.values for each in passes if not each.run.stopped]
    best: dict[str, float | None] = {}
    for name in NAMES:
        values = [getattr(metrics, name) for metrics in complete]
        known = [value for value in values if not np.isnan(value)]
        best[name] = min(known, default=None) if len(passes) > 1 else None
    return [(each.name, [_metric(each.summary, name, best[name]) for name in NAMES]) for each in passes]


def _bin_rows(first: NamedPass) -> list[tuple[str, str, str, str]]:
    """The reliability diagram in numbers."""
    bins = reliability_bins(first.run)
    return [
        (
            f"{cell / BINS:.3f} to {(cell + 1) / BINS:.3f}",
            f"{bins.counts[cell]:,}",
            format_number(bins.predicted[cell]),
            format_number(bins.observed[cell]),
        )
        for cell in np.flatnonzero(bins.counts).tolist()
    ]


def _member_rows(first: NamedPass) -> list[tuple[str, str]]:
    """(1-ROCA)% of each member of a filter alone, the best first."""
    areas = sorted(member_areas(first.run).items(), key=lambda pair: (np.isnan(pair[1]), pair[1]))
    return [(name, format_number(area)) for name, area in areas]


def _mistakes(each: NamedPass, subjects: Mapping[str, str]) -> dict[str, list[Mistake]]:
    """The messages about which a pass was most wrong, by the kind of the mistake."""
    false_positives, false_negatives = worst_mistakes(each.run, each.summary.threshold)
    return {
        "Ham called spam": [_mistake(each.run, row, subjects) for row in false_positives],
        "Spam passed": [_mistake(each.run, row, subjects) for row in false_negatives],
    }


def _mistake(run: PassResult, row: int, subjects: Mapping[str, str]) -> Mistake:
    message_id = run.ids[row]
    label = "spam" if run.spam[row] else "ham"
    return Mistake(subjects.get(message_id, "").strip(), message_id, label, _probability(float(run.log_odds[row])))


def _probability(log_odds: float) -> str:
    """The probability with four decimals, and never as 0 or 1."""
    probability = float(expit(log_odds))
    if probability < 1e-4:
        return "below 0.0001"
    return "above 0.9999" if probability > 0.9999 else f"{probability:.4f}"


def _stage_names(passes: Sequence[NamedPass]) -> list[str]:
    return list(dict.fromkeys(name for each in passes for name in each.run.stages if name != MAKE))


def _speeds(passes: Sequence[NamedPass]) -> list[Speed]:
    stages = _stage_names(passes)
    slowest = max((each.run.cpu_microseconds for each in passes if each.run.messages), default=0.0)
    return [_speed(each, stages, slowest) for each in passes]


def _speed(each: NamedPass, stages: Sequence[str], slowest: float) -> Speed:
    run = each.run
    cpu = run.cpu_microseconds
    share = 100.0 * cpu / slowest if slowest and not np.isnan(cpu) else 0.0
    return Speed(
        name=each.name,
        stages=[_stage(run, name) for name in stages],
        cpu=format_number(cpu),
        cpu_share=f"{share:.1f}",
        messages_per_second=format_number(run.messages_per_second),
        make=format_number(1e3 * run.stages.get(MAKE, (np.nan, np.nan))[0]),
        peak_memory=f"{run.peak_memory_mb:,.0f}",
    )


def _stage(run: PassResult, name: str) -> Figure:
    """The CPU time and the wall time of a message in a stage, in microseconds."""
    cpu, wall = run.stages.get(name, (np.nan, np.nan))
    millions = run.messages / 1e6 if run.messages else np.nan
    return Figure(format_number(cpu / millions), format_number(wall / millions))
