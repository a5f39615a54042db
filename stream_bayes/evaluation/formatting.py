"""Numbers and headings as text, for the terminal and for the HTML report."""

from __future__ import annotations

import math

from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.metrics import MetricsSummary
from stream_bayes.evaluation.protocol import PassResult


def format_number(value: float, digits: int = 3) -> str:
    """The number with this many significant digits; a dash if it is not finite.

    >>> format_number(0.08613), format_number(12.5), format_number(98765.4), format_number(float("nan"))
    ('0.0861', '12.5', '98,765', '–')
    >>> format_number(0.0)
    '0'
    """
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 1000.0:
        return f"{value:,.0f}"
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{min(max(decimals, 0), 8)}f}"


def format_ratio(value: float) -> str:
    """The ratio with two decimals; a dash if it is not finite.

    >>> format_ratio(0.416), format_ratio(float("inf"))
    ('0.42', '-')
    """
    return f"{value:.2f}" if math.isfinite(value) else "-"


def format_percent(share: float) -> str:
    """The share in percent; a dash if it does not exist.

    >>> format_percent(0.1341), format_percent(float("nan"))
    ('13.4 %', '-')
    """
    return "-" if math.isnan(share) else f"{100.0 * share:.1f} %"


def abbreviate_count(count: float) -> str:
    """The count in at most four characters.

    >>> abbreviate_count(7), abbreviate_count(3812), abbreviate_count(12_345), abbreviate_count(2_500_000)
    ('7', '3.8k', '12k', '2.5M')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.{1 if count < 10 * size else 0}f}{letter}"
    return f"{count:.0f}"


def format_stream(run: PassResult, summary: MetricsSummary) -> str:
    """The name of the stream, its number of messages and how many of them are spam."""
    share = f" ({100.0 * summary.spam / summary.messages:.1f} %)" if summary.messages else ""
    return f"{run.corpus}: {counted(summary.messages, 'message')}, {summary.spam:,} spam{share}"
