"""The counters of the worker and of the page in the text format of Prometheus."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from stream_bayes.events import Status
from stream_bayes.web.readmodel.state_store import StateStore

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[Mapping[str, str], float | None]


class Family(NamedTuple):
    """A metric, with a sample for each set of labels."""

    name: str
    kind: str
    help: str
    samples: list[Sample]

    def lines(self) -> Iterator[str]:
        """As Prometheus reads them; what is not known is left out."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self.samples:
            if value is not None and not math.isnan(value):
                yield f"{self.name}{_braced(labels)} {value!r}"


# Each with its kind, the field of a status event, and what it is.
_OF_STATUS = (
    ("events_total", "counter", "events_in", "Events taken since the beginning of the stream."),
    ("predictions_total", "counter", "predictions", "Predictions made."),
    ("labels_learned_total", "counter", "labels_learned", "Labels learned."),
    ("labels_requested_total", "counter", "labels_requested", "Labels asked for."),
    ("labels_remaining", "gauge", "labels_remaining", "Labels that may still be asked for."),
    ("open_requests", "gauge", "open_requests", "Questions that wait for an answer."),
    ("duplicates_total", "counter", "duplicates", "Observations ignored since their id had been seen."),
    ("forwarded_total", "counter", "forwarded", "Labels sent on to the partition of their observation."),
    ("lag", "gauge", "lag", "Records that wait to be read."),
    ("checkpoint_age_seconds", "gauge", "checkpoint_age_seconds", "Since the newest checkpoint, when it was said."),
)
_AUDIT = {
    "accuracy": "By questions drawn by chance, without bias.",
    "low": "Where its interval of 95 % begins.",
    "high": "Where it ends.",
    "answers": "That it rests on.",
}
_OF_PAGE = {
    "labels_sent": "Labels that were sent from this page.",
    "corrections_sent": "Corrections that were sent from this page.",
    "leases": "Questions handed to labellers.",
    "login_failures": "Wrong tokens.",
}


def exposition(desk: StateStore, silent_after: float, login_failures: int) -> str:
    """All of it; a worker is up if it has said something within so many seconds."""
    with desk.read_lock():
        statuses = [status for _, status in sorted(desk.history.newest.items())]
        waiting, taken = desk.questions.count(time.monotonic())
        counts = dict(desk.counts)
        well = desk.ready and desk.problem is None
    heard = max((status.at for status in statuses), default=None)
    has_stopped = all(status.stopped for status in statuses)
    working = heard is not None and not has_stopped and (datetime.now(UTC) - heard).total_seconds() <= silent_after
    up = Family(
        "stream_bayes_worker_up",
        "gauge",
        "1 if a worker has said something lately and was not stopped.",
        [({}, float(working))],
    )
    counts["login_failures"] = login_failures
    families = [up, *_worker(statuses), *_page(counts, waiting, taken, up=well)]
    return "".join(f"{line}\n" for family in families for line in family.lines())


def _worker(statuses: list[Status]) -> Iterator[Family]:
    now = datetime.now(UTC)
    places = [{"group": status.group, "partition": str(status.partition)} for status in statuses]
    each = list(zip(places, statuses, strict=True))
    for name, kind, field, text in _OF_STATUS:
        samples: list[Sample] = [(place, _number(getattr(status, field))) for place, status in each]
        yield Family(f"stream_bayes_{name}", kind, text, samples)
    ages: list[Sample] = [(place, (now - status.at).total_seconds()) for place, status in each]
    yield Family("stream_bayes_status_age_seconds", "gauge", "Since the worker said how it is doing.", ages)
    for name, text, field, label in (
        ("dead_letters_total", "Records that could not be used, by code.", "dead_letters_by_code", "code"),
        ("label_outcomes_total", "What became of questions and labels.", "label_outcomes", "outcome"),
        ("stage_seconds_total", "Time spent since the worker started.", "stage_seconds", "stage"),
    ):
        spread = [(place, key, value) for place, status in each for key, value in getattr(status, field).items()]
        counted: list[Sample] = [({**place, label: key}, float(value)) for place, key, value in spread]
        yield Family(f"stream_bayes_{name}", "counter", text, counted)
    for name, text in _AUDIT.items():
        audits: list[Sample] = [
            (place, None if status.audit is None else float(getattr(status.audit, name))) for place, status in each
        ]
        yield Family(f"stream_bayes_audit_{name}", "gauge", text, audits)
    figures = sorted({name for status in statuses for name in status.metrics})
    for name in figures:
        found: list[Sample] = [(place, _number(status.metrics.get(name))) for place, status in each]
        yield Family(f"stream_bayes_metric_{name}", "gauge", f"{name}, of the predictions whose label has come.", found)


def _page(counts: Mapping[str, int], waiting: int, taken: int, *, up: bool) -> Iterable[Family]:
    for name, text in _OF_PAGE.items():
        yield Family(f"stream_bayes_web_{name}_total", "counter", text, [({}, float(counts[name]))])
    yield Family("stream_bayes_web_questions_open", "gauge", "Questions that wait here.", [({}, float(waiting))])
    yield Family("stream_bayes_web_questions_taken", "gauge", "Those that labellers have.", [({}, float(taken))])
    yield Family("stream_bayes_web_log_up", "gauge", "1 if the log can be read.", [({}, float(up))])


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _braced(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
