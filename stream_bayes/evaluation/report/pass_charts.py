"""The four charts of a report, each with a series for every pass: learning curve, error rate, ROC and reliability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stream_bayes.evaluation.formatting import abbreviate_count, format_number
from stream_bayes.evaluation.metrics import BINS, MetricsSummary
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.evaluation.report.curves import (
    Bins,
    Curve,
    error_curve,
    error_window,
    learning_curve,
    reliability_bins,
    roc_curve,
)
from stream_bayes.evaluation.report.svg import (
    BOTTOM,
    HEIGHT,
    WIDTH,
    Axis,
    Chart,
    SvgMark,
    axis_marks,
    bar_mark,
    decade_above,
    decade_below,
    guide_line,
    horizontal_axis,
    interval_mark,
    line_marks,
    point_mark,
    stacked,
    text_mark,
    vertical_axis,
)

_COUNTS_TOP = 400.0
_COUNTS_BOTTOM = 460.0
# The ROC chart is as tall as the reliability diagram beside it, which has bars below it.
_TALL = _COUNTS_BOTTOM + 24.0


class NamedPass(NamedTuple):
    """One pass with its metrics and its name in the report."""

    name: str
    run: PassResult
    summary: MetricsSummary


def learning_chart(passes: Sequence[NamedPass]) -> Chart:
    """(1-ROCA)% of the stream so far against messages, on a logarithmic scale."""
    curves = [learning_curve(each.run) for each in passes]
    values = np.concatenate([curve.y for curve in curves])
    if not len(values):
        return empty_chart("learning", "Learning curve", "There is no (1-ROCA)% before both labels have come.")
    positive = values[values > 0.0]
    low = max(decade_below(float(positive.min())), 1e-4) if len(positive) else 0.1
    high = max(decade_above(float(values.max())) if values.any() else 1.0, 10.0 * low)
    x = horizontal_axis("messages", 0.0, _longest(passes))
    y = vertical_axis("(1-ROCA)% so far", low, high, logarithmic=True)
    finals = [
        f"{each.name} {format_number(curve.y[-1])}" for each, curve in zip(passes, curves, strict=True) if len(curve.y)
    ]
    description = f"(1-ROCA)% of all messages so far; at the end: {', '.join(finals)}."
    return Chart("learning", "Learning curve", description, [*axis_marks(x, y), *_lines(x, y, passes, curves)])


def error_chart(passes: Sequence[NamedPass]) -> Chart:
    """The share of misclassified messages in a moving window, against messages."""
    curves = [error_curve(each.run, each.summary.threshold) for each in passes]
    values = np.concatenate([curve.y for curve in curves])
    if not len(values):
        return empty_chart("errors", "Moving error rate", "There were no messages.")
    x = horizontal_axis("messages", 0.0, _longest(passes))
    y = vertical_axis("misclassified %", 0.0, max(1.05 * float(values.max()), 1.0))
    window = error_window(max(len(each.run.spam) for each in passes))
    description = f"Misclassified messages among the last {window:,}, in percent."
    return Chart("errors", "Moving error rate", description, [*axis_marks(x, y), *_lines(x, y, passes, curves)])


def roc_chart(passes: Sequence[NamedPass]) -> Chart:
    """Ham error against spam error at every threshold, on logarithmic scales."""
    curves = [roc_curve(each.run) for each in passes]
    both = [each for each, curve in zip(passes, curves, strict=True) if len(curve.x)]
    if not both:
        return empty_chart("roc", "ROC curve", "There is no ROC curve without both ham and spam.")
    hams = max(each.summary.messages - each.summary.spam for each in both)
    spams = max(each.summary.spam for each in both)
    x = horizontal_axis("ham misclassified %", _lowest_rate(hams), 100.0, logarithmic=True)
    bottom = BOTTOM + _TALL - HEIGHT
    y = vertical_axis("spam misclassified %", _lowest_rate(spams), 100.0, logarithmic=True, bottom=bottom)
    guide = [guide_line(x, y, (0.1, y.low), (0.1, y.high))] if x.low < 0.1 else []
    points = [_threshold_point(x, y, series, each) for series, each in enumerate(passes) if each in both]
    description = (
        "Spam misclassified against ham misclassified at every threshold, in percent, on logarithmic axes. "
        "A rate on an edge is 0. Dots: the threshold that was used. Dashed: 0.1 % of the ham."
    )
    marks = [*axis_marks(x, y), *guide, *_lines(x, y, passes, curves, steps=True), *points]
    return Chart("roc", "ROC curve on logarithmic axes", description, marks, height=_TALL)


def reliability_chart(passes: Sequence[NamedPass]) -> Chart:
    """The reliability diagram: the share of spam against the predicted probability, and the messages in each bin."""
    bins = [reliability_bins(each.run) for each in passes]
    x = horizontal_axis("predicted probability of spam", 0.0, 1.0)
    y = vertical_axis("share that was spam", 0.0, 1.0)
    lines = [_reliability_marks(x, y, bins[series], series, each.name) for series, each in enumerate(passes)]
    marks = [*axis_marks(x, y), guide_line(x, y, (0.0, 0.0), (1.0, 1.0)), *stacked(lines)]
    if len(passes) == 1:
        marks += _interval_marks(x, y, bins[0])
    description = (
        f"Share of spam in {BINS} intervals of the predicted probability; on the dashed line they agree. "
        f"Bars: messages in each interval, {passes[0].name}."
    )
    marks += _count_marks(x, bins[0], passes[0].name)
    return Chart("reliability", "Reliability diagram", description, marks, height=_TALL)


def empty_chart(name: str, title: str, reason: str) -> Chart:
    """A chart without data that says why it has none."""
    return Chart(name, title, reason, [text_mark(WIDTH / 2.0, HEIGHT / 2.0, reason, anchor="middle")])


def _lines(
    x: Axis, y: Axis, passes: Sequence[NamedPass], curves: Sequence[Curve], *, steps: bool = False
) -> list[SvgMark]:
    return stacked(
        line_marks(x.positions(curve.x), y.positions(curve.y), series, each.name, steps=steps)
        for series, (each, curve) in enumerate(zip(passes, curves, strict=True))
    )


def _threshold_point(x: Axis, y: Axis, series: int, each: NamedPass) -> SvgMark:
    """The errors at the threshold that was used."""
    ham = each.summary.values.ham_error_percent
    spam = each.summary.values.spam_error_percent
    errors = f"ham {format_number(ham)} %, spam {format_number(spam)} %"
    title = f"{each.name}: {errors} at threshold {each.summary.threshold:g}"
    return point_mark(x.position(ham), y.position(spam), series, title)


def _reliability_marks(x: Axis, y: Axis, bins: Bins, series: int, name: str) -> list[SvgMark]:
    filled = np.flatnonzero(bins.counts)
    xs = x.positions(bins.predicted[filled])
    ys = y.positions(bins.observed[filled])
    marks = line_marks(xs, ys, series, name)
    for left, top, cell in zip(xs.tolist(), ys.tolist(), filled, strict=True):
        rates = f"predicted {bins.predicted[cell]:.3f}, observed {bins.observed[cell]:.3f}"
        marks.append(point_mark(left, top, series, f"{name}: {rates}, {bins.counts[cell]:,} messages"))
    return marks


def _interval_marks(x: Axis, y: Axis, bins: Bins) -> list[SvgMark]:
    filled = np.flatnonzero(bins.counts)
    xs = x.positions(bins.predicted[filled]).tolist()
    lows = y.positions(bins.low[filled]).tolist()
    highs = y.positions(bins.high[filled]).tolist()
    return [interval_mark(left, low, high, 0) for left, low, high in zip(xs, lows, highs, strict=True)]


def _count_marks(x: Axis, bins: Bins, name: str) -> list[SvgMark]:
    """Bars as high as the logarithm of the counts, with the counts above them."""
    highest = float(np.log1p(bins.counts.max())) or 1.0
    heights = (_COUNTS_BOTTOM - _COUNTS_TOP) * np.log1p(bins.counts) / highest
    width = (x.end - x.begin) / BINS
    marks = []
    for cell, count in enumerate(bins.counts.tolist()):
        left = x.begin + cell * width
        top = _COUNTS_BOTTOM - float(heights[cell])
        title = f"{name}: {count:,} messages from {cell / BINS:.3f} to {(cell + 1) / BINS:.3f}"
        marks.append(bar_mark((left + 2.0, top), (width - 4.0, _COUNTS_BOTTOM - top), 0, title))
        marks.append(text_mark(left + width / 2.0, top - 4.0, abbreviate_count(count), anchor="middle", kind="count"))
    return [*marks, text_mark(x.begin - 8.0, _COUNTS_BOTTOM, "messages", anchor="end", kind="count")]


def _longest(passes: Sequence[NamedPass]) -> float:
    return float(max(1, *(len(each.run.spam) for each in passes)))


def _lowest_rate(messages: int) -> float:
    """A power of ten below the rate of a single mistake, so that it does not lie on the edge of the chart."""
    return min(decade_below(50.0 / messages), 10.0)
