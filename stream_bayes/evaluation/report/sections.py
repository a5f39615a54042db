"""The parts of a report that are words and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import expit

from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.metrics import BINS, NAMES, MetricsSummary
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.evaluation.report.chart import colour
from stream_bayes.evaluation.report.findings import reliability_bins, worst_mistakes
from stream_bayes.evaluation.report.markup import element, figure, table, text
from stream_bayes.evaluation.report.passes import NamedPass
from stream_bayes.evaluation.serialization import member_areas
from stream_bayes.evaluation.timing import MAKE

_TILES = ("one_minus_roca_percent", "ham_error_percent", "spam_error_percent", "spam_error_at_ham_0_1_percent")
_LOSSES = ("log_loss", "calibration_error")
_LONGEST_NOTE = 500


def heading(shown: Sequence[NamedPass]) -> str:
    """What was run over what."""
    first = shown[0]
    share = f" ({100.0 * first.summary.spam / first.summary.messages:.1f} %)" if first.summary.messages else ""
    stream = f"{counted(first.summary.messages, 'message')}, {first.summary.spam:,} spam{share}"
    words = f"{first.run.corpus}: {stream}, feedback {first.run.feedback}"
    learned = f"{counted(int(first.run.learned.sum()), 'label')} learned"
    return element("header", element("h1", "Spam filter report"), element("p", text(f"{words}, {learned}")))


def notes(remarks: Sequence[str]) -> str:
    """What one should know of the figures, before them."""
    items = [element("li", text(remark, _LONGEST_NOTE)) for remark in remarks]
    return element("ul", *items, class_="notes") if items else ""


def legend(shown: Sequence[NamedPass]) -> str:
    """Which colour is which pass."""
    items = (
        element("li", element("span", class_=f"swatch {colour(place)}"), text(each.name))
        for place, each in enumerate(shown)
    )
    return element("ul", *items, class_="legend")


def tiles(each: NamedPass) -> str:
    """The figures that matter most, large, with their intervals."""
    parts = [
        _tile(NAMES[name], figure(getattr(each.summary.values, name)), _interval(each.summary, name))
        for name in (*_TILES, *_LOSSES)
    ]
    parts.append(_tile("CPU µs a message", figure(each.run.cpu_microseconds), "features, predict and learn"))
    parts.append(_tile("messages a second", figure(each.run.messages_per_second), "wall time in the filter"))
    return element("div", *parts, class_="tiles")


def metrics_table(shown: Sequence[NamedPass]) -> str:
    """All metrics of all passes with their intervals; the best of each marked, leaving out passes ended early."""
    whole = [each.summary.values for each in shown if not each.run.stopped]
    best = {name: _best([getattr(values, name) for values in whole]) for name in NAMES}
    rows = [
        [text(each.name), *(_cell(each.summary, name, best[name] if len(shown) > 1 else None) for name in NAMES)]
        for each in shown
    ]
    return table(
        ["filter", *map(text, NAMES.values())], rows, "All metrics with bootstrap intervals of 95 %; less is better"
    )


def members_table(each: NamedPass) -> str:
    """(1-ROCA)% of the filter and of each part of it alone, the best first."""
    areas = sorted(member_areas(each.run).items(), key=lambda pair: (np.isnan(pair[1]), pair[1]))
    together = [
        element("strong", "all together"),
        element("strong", figure(each.summary.values.one_minus_roca_percent)),
    ]
    rows = [together, *([text(name), figure(area)] for name, area in areas)]
    return table(["member", NAMES["one_minus_roca_percent"]], rows, f"Each member of {text(each.name)} alone")


def reliability_table(each: NamedPass) -> str:
    """The reliability diagram of a pass in numbers."""
    bins = reliability_bins(each.run)
    rows = [
        [f"{place / BINS:.3f} to {(place + 1) / BINS:.3f}", f"{count:,}", figure(predicted), figure(observed)]
        for place, (count, predicted, observed) in enumerate(zip(*bins[:3], strict=True))
        if count
    ]
    words = table(["interval", "messages", "mean predicted", "share of spam"], rows, f"Bins of {text(each.name)}")
    return element("details", element("summary", "The same in numbers"), words)


def mistakes(each: NamedPass, subjects: Mapping[str, str]) -> str:
    """The mails a pass was most wrong about, by subject."""
    threshold = each.summary.threshold
    parts = []
    for kind, places in zip(("Ham called spam", "Spam passed"), worst_mistakes(each.run, threshold), strict=True):
        rows = [_mistake(each.run, place, subjects) for place in places]
        heads = ["subject", "label", "probability of spam"]
        parts.append(table(heads, rows, kind) if rows else element("p", f"{kind}: none."))
    return "".join(parts)


def speed_table(shown: Sequence[NamedPass]) -> str:
    """CPU and wall time of a message by stage, and memory."""
    stages = list(dict.fromkeys(name for each in shown for name in each.run.stages if name != MAKE))
    heads = [
        "filter",
        *(f"{text(name)}, µs" for name in stages),
        "CPU in the filter, µs",
        "messages a second",
        "make, ms, once",
        "peak MB",
    ]
    most = max((each.run.cpu_microseconds for each in shown if each.run.messages), default=0.0)
    rows = [
        [
            text(each.name),
            *(_stage(each.run, name) for name in stages),
            _bar(each.run.cpu_microseconds, most),
            figure(each.run.messages_per_second),
            figure(1e3 * each.run.stages.get(MAKE, (np.nan, np.nan))[0]),
            f"{each.run.peak_memory_mb:,.0f}",
        ]
        for each in shown
    ]
    return table(heads, rows, "Time of a message by stage: CPU, and wall below it")


def _tile(name: str, value: str, note: str) -> str:
    parts = (element("dt", text(name)), element("dd", value, class_="value"), element("dd", note, class_="note"))
    return element("dl", *parts, class_="tile")


def _interval(summary: MetricsSummary, name: str) -> str:
    low = getattr(summary.low, name)
    high = getattr(summary.high, name)
    return "no interval" if np.isnan(low) else f"{figure(low)} to {figure(high)}"


def _cell(summary: MetricsSummary, name: str, best: float | None) -> str:
    value = getattr(summary.values, name)
    shown = element("strong", figure(value), class_="best") if value == best else figure(value)
    return shown + element("span", _interval(summary, name), class_="note")


def _best(values: Sequence[float]) -> float | None:
    return min((value for value in values if not np.isnan(value)), default=None)


def _mistake(run: PassResult, place: int, subjects: Mapping[str, str]) -> list[str]:
    name = run.ids[place]
    subject = subjects.get(name, "").strip()
    shown = element("bdi", text(subject)) if subject else element("em", "no subject")
    mail = shown + element("span", text(name), class_="note")
    return [mail, "spam" if run.spam[place] else "ham", _probability(float(run.log_odds[place]))]


def _probability(log_odds: float) -> str:
    """Four places, and never 0 or 1."""
    probability = float(expit(log_odds))
    if probability < 1e-4:
        return "below 0.0001"
    return "above 0.9999" if probability > 0.9999 else f"{probability:.4f}"


def _stage(run: PassResult, name: str) -> str:
    cpu, wall = run.stages.get(name, (np.nan, np.nan))
    number = run.messages / 1e6 if run.messages else np.nan
    return figure(cpu / number) + element("span", figure(wall / number), class_="note")


def _bar(value: float, most: float) -> str:
    share = 100.0 * value / most if most and not np.isnan(value) else 0.0
    return figure(value) + element("span", class_="gauge", style=f"width:{share:.1f}%")
