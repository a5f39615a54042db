"""The four charts of a report, each with all passes in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stream_bayes.evaluation.metrics import BINS
from stream_bayes.evaluation.report.axes import Axis, decade_above, decade_below
from stream_bayes.evaluation.report.chart import (
    BOTTOM,
    HEIGHT,
    across,
    bar,
    chart,
    curve,
    dot,
    frame,
    rule,
    upwards,
    whisker,
    words,
)
from stream_bayes.evaluation.report.findings import (
    Bins,
    Curve,
    error_curve,
    learning_curve,
    reliability_bins,
    roc_curve,
    window_of,
)
from stream_bayes.evaluation.report.markup import figure, short
from stream_bayes.evaluation.report.passes import NamedPass

_COUNTS_TOP = 400.0
_COUNTS_BOTTOM = 460.0
_TALL = _COUNTS_BOTTOM + 24.0


def learning_chart(shown: Sequence[NamedPass]) -> str:
    """(1-ROCA)% of the stream so far against messages, on a logarithmic scale."""
    curves = [learning_curve(each.run) for each in shown]
    values = np.concatenate([found.y for found in curves])
    if not len(values):
        return nothing("learning", "Learning curve", "There is no (1-ROCA)% before both labels have come.")
    positive = values[values > 0.0]
    low = max(decade_below(float(positive.min())), 1e-4) if len(positive) else 0.1
    high = max(decade_above(float(values.max())) if values.any() else 1.0, 10.0 * low)
    x = across("messages", 0.0, _longest(shown))
    y = upwards("(1-ROCA)% so far", low, high, logarithmic=True)
    last = [f"{each.name} {figure(found.y[-1])}" for each, found in zip(shown, curves, strict=True) if len(found.y)]
    said = f"(1-ROCA)% of all messages so far; at the end: {', '.join(last)}."
    return chart("learning", "Learning curve", said, [*frame(x, y), *_lines(x, y, shown, curves)])


def error_chart(shown: Sequence[NamedPass]) -> str:
    """Misclassified messages over a moving window, against messages."""
    curves = [error_curve(each.run, each.summary.threshold) for each in shown]
    values = np.concatenate([found.y for found in curves])
    if not len(values):
        return nothing("errors", "Moving error rate", "There were no messages.")
    x = across("messages", 0.0, _longest(shown))
    y = upwards("misclassified %", 0.0, max(1.05 * float(values.max()), 1.0))
    window = window_of(max(len(each.run.spam) for each in shown))
    said = f"Misclassified messages among the last {window:,}, in percent."
    return chart("errors", "Moving error rate", said, [*frame(x, y), *_lines(x, y, shown, curves)])


def roc_chart(shown: Sequence[NamedPass]) -> str:
    """Ham error against spam error at every cut of the scores, both scales logarithmic."""
    curves = [roc_curve(each.run) for each in shown]
    both = [each for each, found in zip(shown, curves, strict=True) if len(found.x)]
    if not both:
        return nothing("roc", "ROC curve", "There is no ROC curve without both ham and spam.")
    hams = max(each.summary.messages - each.summary.spam for each in both)
    spams = max(each.summary.spam for each in both)
    x = across("ham misclassified %", _floor(hams), 100.0, logarithmic=True)
    y = upwards("spam misclassified %", _floor(spams), 100.0, logarithmic=True, bottom=BOTTOM + _TALL - HEIGHT)
    guide = [rule(x, y, (0.1, y.low), (0.1, y.high))] if x.low < 0.1 else []
    dots = [_working_point(x, y, place, each) for place, each in enumerate(shown) if each in both]
    said = "Spam misclassified against ham misclassified at every cut of the scores, in percent, on logarithmic axes. "
    said += "What lies on an edge is 0. Dots: the threshold that was used. Dashed: 0.1 % of the ham."
    marks = [*frame(x, y), *guide, *_lines(x, y, shown, curves, steps=True), *dots]
    # As tall as the reliability diagram beside it.
    return chart("roc", "ROC curve on logarithmic axes", said, marks, height=_TALL)


def reliability_chart(shown: Sequence[NamedPass]) -> str:
    """How often it was spam against the probability that was given, and the messages in each bin."""
    bins = [reliability_bins(each.run) for each in shown]
    x = across("predicted probability of spam", 0.0, 1.0)
    y = upwards("share that was spam", 0.0, 1.0)
    marks = [*frame(x, y), rule(x, y, (0.0, 0.0), (1.0, 1.0))]
    for place in reversed(range(len(shown))):
        marks += _reliability(x, y, bins[place], place, shown[place].name)
    if len(shown) == 1:
        marks += _intervals(x, y, bins[0])
    said = f"Share of spam in {BINS} intervals of the predicted probability; on the dashed line they agree. "
    said += f"Bars: messages in each interval, {shown[0].name}."
    marks += _counts(x, bins[0], shown[0].name)
    return chart("reliability", "Reliability diagram", said, marks, height=_TALL)


def nothing(name: str, title: str, reason: str) -> str:
    """A chart that has nothing to show, and says why."""
    return chart(name, title, reason, [words(270.0, 190.0, reason, anchor="middle")])


def _lines(
    x: Axis, y: Axis, shown: Sequence[NamedPass], curves: Iterable[Curve], *, steps: bool = False
) -> Iterable[str]:
    drawn = [
        curve(x.at(found.x), y.at(found.y), place, each.name, steps=steps)
        for place, (each, found) in enumerate(zip(shown, curves, strict=True))
    ]
    # The first pass lies on top of the others.
    return reversed(drawn)


def _working_point(x: Axis, y: Axis, place: int, each: NamedPass) -> str:
    ham = each.summary.values.ham_error_percent
    spam = each.summary.values.spam_error_percent
    said = f"{each.name}: ham {figure(ham)} %, spam {figure(spam)} % at threshold {each.summary.threshold:g}"
    return dot(x.place(ham), y.place(spam), place, said)


def _reliability(x: Axis, y: Axis, bins: Bins, place: int, name: str) -> list[str]:
    filled = np.flatnonzero(bins.counts)
    across_ = x.at(bins.predicted[filled])
    up = y.at(bins.observed[filled])
    marks = [curve(across_, up, place, name)]
    for at, height, cell in zip(across_, up, filled, strict=True):
        shares = f"predicted {bins.predicted[cell]:.3f}, observed {bins.observed[cell]:.3f}"
        marks.append(dot(float(at), float(height), place, f"{name}: {shares}, {bins.counts[cell]:,} messages"))
    return marks


def _intervals(x: Axis, y: Axis, bins: Bins) -> list[str]:
    filled = np.flatnonzero(bins.counts)
    ends = zip(x.at(bins.predicted[filled]), y.at(bins.low[filled]), y.at(bins.high[filled]), strict=True)
    return [whisker(float(at), float(low), float(high), 0) for at, low, high in ends]


def _counts(x: Axis, bins: Bins, name: str) -> list[str]:
    """Bars as high as the logarithm of the counts, with the counts over them."""
    most = float(np.log1p(bins.counts.max())) or 1.0
    heights = (_COUNTS_BOTTOM - _COUNTS_TOP) * np.log1p(bins.counts) / most
    width = (x.end - x.begin) / BINS
    marks = []
    for place, count in enumerate(bins.counts.tolist()):
        left = x.begin + place * width
        top = _COUNTS_BOTTOM - float(heights[place])
        said = f"{name}: {count:,} messages from {place / BINS:.3f} to {(place + 1) / BINS:.3f}"
        marks.append(bar((left + 2.0, top), (width - 4.0, _COUNTS_BOTTOM - top), 0, said))
        marks.append(words(left + width / 2.0, top - 4.0, short(count), anchor="middle", kind="count"))
    return [*marks, words(x.begin - 8.0, _COUNTS_BOTTOM, "messages", anchor="end", kind="count")]


def _longest(shown: Sequence[NamedPass]) -> float:
    return float(max(1, *(len(each.run.spam) for each in shown)))


def _floor(messages: int) -> float:
    """A decade below what one mistake is, so that a single one does not lie on the edge."""
    return min(decade_below(50.0 / messages), 10.0)
