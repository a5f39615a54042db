"""One page for one pass or several beside each other: no network, no scripts, everything in one file.

findings    curves, bins and worst mistakes, as arrays
axes        numbers to places, ticks
chart       one SVG picture out of small parts
charts      the four pictures
sections    tiles and tables
page        what stands around them
style       how the page looks
labels      the page of strategies side by side, label_picture what it shows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from stream_bayes.evaluation.metrics import MetricsSummary
from stream_bayes.evaluation.protocol import PassResult
from stream_bayes.evaluation.report import charts, sections
from stream_bayes.evaluation.report.findings import window_of, worst_ids, worst_mistakes
from stream_bayes.evaluation.report.markup import element, text
from stream_bayes.evaluation.report.page import page
from stream_bayes.evaluation.report.passes import NamedPass, named

__all__ = ["NAME", "report_page", "worst_ids", "worst_mistakes", "write_report"]

NAME = "report.html"


def write_report(
    folder: Path,
    runs: Sequence[PassResult],
    summaries: Sequence[MetricsSummary],
    subjects: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Path:
    """Write the page of these passes into a folder, which is made where there is none, and return where it is.

    The first pass is the one in front. `subjects` has the subject of each message of `worst_ids(runs)`, by id; those of
    others are not looked at. `notes` are what one should know of the figures.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    path.write_text(report_page(runs, summaries, subjects, notes), encoding="utf-8")
    return path


def report_page(
    runs: Sequence[PassResult],
    summaries: Sequence[MetricsSummary],
    subjects: Mapping[str, str],
    notes: Sequence[str] = (),
) -> str:
    """The page as text: HTML that is well-formed XML too."""
    shown = named(runs, summaries)
    parts = [sections.heading(shown), sections.notes(notes), *_parts(shown, subjects)]
    return page(f"{shown[0].run.corpus}: spam filter report", parts, _footer(shown))


def _parts(shown: Sequence[NamedPass], subjects: Mapping[str, str]) -> list[str]:
    first = shown[0]
    others = [
        element("details", element("summary", text(each.name)), sections.mistakes(each, subjects)) for each in shown[1:]
    ]
    wrong = [element("h3", text(first.name)) if others else "", sections.mistakes(first, subjects), *others]
    members = [_section("Members", sections.members_table(first))] if first.run.members else []
    return [
        sections.legend(shown),
        sections.tiles(first),
        _section("Metrics" if len(shown) == 1 else "Comparison", sections.metrics_table(shown)),
        element("div", *_charts(shown), class_="charts"),
        *members,
        _section("Worst mistakes", element("div", *wrong, class_="mistakes")),
        _section("Speed", sections.speed_table(shown)),
    ]


def _charts(shown: Sequence[NamedPass]) -> list[str]:
    window = window_of(len(shown[0].run.spam))
    return [
        _section("Learning curve", charts.learning_chart(shown), "(1-ROCA)% of all messages so far"),
        _section("Error rate", charts.error_chart(shown), f"misclassified among the last {window:,} messages"),
        _section("ROC", charts.roc_chart(shown), "dots: the threshold in use; an edge stands for 0"),
        _section(
            "Reliability",
            charts.reliability_chart(shown) + sections.reliability_table(shown[0]),
            "predicted against observed; bars: messages on a logarithmic scale",
        ),
    ]


def _section(title: str, content: str, lead: str = "") -> str:
    return element("section", element("h2", title), element("p", lead, class_="lead") if lead else "", content)


def _footer(shown: Sequence[NamedPass]) -> str:
    words = "Each message was scored before its label was known. Intervals: 95 %, by bootstrap over messages. "
    return words + f"Called spam above a probability of {shown[0].summary.threshold:g}."
