"""The result of a pass as a dict for JSON, and notes on its figures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_bayes.evaluation.corpora import Counts
from stream_bayes.evaluation.corpora.mail import counted
from stream_bayes.evaluation.corpora.ordering import DESCRIPTIONS, STORED, long_run_note
from stream_bayes.evaluation.filters import HAM, SPAM
from stream_bayes.evaluation.metrics import MetricsSummary, one_minus_roca_percent
from stream_bayes.evaluation.protocol import PassResult

FEW = 30
"""The least number of ham and of spam messages without a note."""


def pass_to_dict(run: PassResult, summary: MetricsSummary, counts: Counts) -> dict[str, Any]:
    """The result of a pass as a dict: all figures, not rounded; None for a metric that does not exist."""
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
        "requests": _requests(run),
        "stopped": run.stopped,
        "order": counts.order,
        "threshold": summary.threshold,
        **{name: finite_or_none(value) for name, value in summary.values._asdict().items()},
        "intervals": {name: [finite_or_none(low), finite_or_none(high)] for name, low, high in intervals},
        "members_one_minus_roca_percent": {name: finite_or_none(value) for name, value in member_areas(run).items()},
        "messages_per_second": finite_or_none(run.messages_per_second),
        "cpu_microseconds_per_message": finite_or_none(run.cpu_microseconds),
        "stages": {name: {"cpu_seconds": cpu, "wall_seconds": wall} for name, (cpu, wall) in run.stages.items()},
        "peak_memory_mb": run.peak_memory_mb,
        "memory_mb": list(run.memory_mb),
        "problems": dict(counts.problems),
        "notes": pass_notes(run, summary, counts),
    }


def member_areas(run: PassResult) -> dict[str, float]:
    """The (1-ROCA)% of each member of a filter that combines several."""
    return {name: one_minus_roca_percent(run.spam, log_odds) for name, log_odds in run.members.items()}


def pass_notes(run: PassResult, summary: MetricsSummary, counts: Counts) -> list[str]:
    """Remarks on the figures of a pass."""
    ham = summary.messages - summary.spam
    messages = counted(run.messages, "message")
    unlabelled = counted(run.unlabelled, "message")
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
        f"{run.filter_name} states no uncertainty of its probabilities: the strategy used the probabilities alone": (
            run.requests is not None and run.requests.probabilities_only
        ),
    }
    left_out = [
        f"{count} left out as {kind}, such as {counts.examples[kind]}" for kind, count in counts.problems.items()
    ]
    first = SPAM if len(run.spam) and run.spam[0] else HAM
    changed = np.flatnonzero(run.spam != run.spam[:1])
    first_run = int(changed[0]) if len(changed) else len(run.spam)
    remarks[long_run_note(first, first_run, summary.spam, ham)] = True
    return [*order_notes(counts), *(remark for remark, holds in remarks.items() if remark and holds), *left_out]


def order_notes(counts: Counts) -> list[str]:
    """The note on the order of a corpus; none if it is the stored one."""
    return [] if counts.order == STORED else [f"the messages came {DESCRIPTIONS[counts.order]}"]


def _requests(run: PassResult) -> dict[str, Any] | None:
    """The counts of requests, the true accuracy, and the estimate of the audit."""
    if run.requests is None:
        return None
    audit = None if run.requests.audit is None else run.requests.audit._asdict()
    return {**run.requests.counts, "accuracy": finite_or_none(run.accuracy), "audit": audit}


def finite_or_none(value: float) -> float | None:
    """The number; None, as JSON has it, if it is not finite."""
    return value if math.isfinite(value) else None
