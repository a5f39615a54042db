"""A pass as one object for machines."""

from __future__ import annotations

import math
from typing import Any

from stream_bayes.evaluation.corpora import Counts
from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.metrics import MetricsSummary, one_minus_roca_percent
from stream_bayes.evaluation.protocol import PassResult

FEW = 30
"""Ham or spam; with less than that, a note says so."""


def described(run: PassResult, summary: MetricsSummary, counts: Counts) -> dict[str, Any]:
    """All figures, not rounded; None for a metric that does not exist."""
    intervals = zip(summary.values._fields, summary.low, summary.high, strict=True)
    return {
        "filter": run.filter_name,
        "corpus": run.corpus,
        "feedback": run.feedback,
        "messages": summary.messages,
        "spam": summary.spam,
        "unlabelled": run.unlabelled,
        "labels_used": int(run.learned.sum()),
        "labels_waiting": run.waiting,
        "asked": _asked(run),
        "stopped": run.stopped,
        "threshold": summary.threshold,
        **{name: number(value) for name, value in summary.values._asdict().items()},
        "intervals": {name: [number(low), number(high)] for name, low, high in intervals},
        "members_one_minus_roca_percent": {name: number(value) for name, value in member_areas(run).items()},
        "messages_per_second": number(run.messages_per_second),
        "cpu_microseconds_per_message": number(run.cpu_microseconds),
        "stages": {name: {"cpu_seconds": cpu, "wall_seconds": wall} for name, (cpu, wall) in run.stages.items()},
        "peak_memory_mb": run.peak_memory_mb,
        "memory_mb": list(run.memory_mb),
        "problems": dict(counts.problems),
        "notes": notes(run, summary, counts),
    }


def member_areas(run: PassResult) -> dict[str, float]:
    """The (1-ROCA)% of each part of a filter that combines several."""
    return {name: one_minus_roca_percent(run.spam, log_odds) for name, log_odds in run.members.items()}


def notes(run: PassResult, summary: MetricsSummary, counts: Counts) -> list[str]:
    """What one should know of these figures."""
    ham = summary.messages - summary.spam
    messages, unlabelled = (counted(number, "message") for number in (run.messages, run.unlabelled))
    remarks = {
        "there were no messages with a label, so there are no metrics": not summary.messages,
        "no ham came: what needs both classes does not exist": summary.spam and not ham,
        "no spam came: what needs both classes does not exist": ham and not summary.spam,
        f"{unlabelled} without a label: scored, but not evaluated": run.unlabelled,
        f"only {ham:,} ham and {summary.spam:,} spam came: with fewer than {FEW} of either, chance decides much": (
            0 < min(ham, summary.spam) < FEW
        ),
        f"{run.filter_name} was stopped before the end of the corpus, after {messages}: its figures are those so far": (
            run.stopped
        ),
        f"{counted(run.waiting, 'label')} had not come by the end of the stream": run.waiting,
        f"{run.filter_name} states probabilities and no doubt about them: the strategy had to do with those": (
            run.asked is not None and run.asked.stand_in
        ),
    }
    left_out = [
        f"{count} left out as {kind}, such as {counts.examples[kind]}" for kind, count in counts.problems.items()
    ]
    return [*(remark for remark, holds in remarks.items() if holds), *left_out]


def _asked(run: PassResult) -> dict[str, Any] | None:
    """What became of the questions; the accuracy is the true one, the audit's is what it would have been taken for."""
    if run.asked is None:
        return None
    audit = None if run.asked.audit is None else run.asked.audit._asdict()
    return {**run.asked.counts, "accuracy": number(run.accuracy), "audit": audit}


def number(value: float) -> float | None:
    """As JSON can have it: None where there is none."""
    return value if math.isfinite(value) else None
