"""The passes of a report under the names they have in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stream_bayes.errors import ParameterError
from stream_bayes.evaluation.metrics import MetricsSummary
from stream_bayes.evaluation.protocol import PassResult


class NamedPass(NamedTuple):
    """One pass with its figures and its name."""

    name: str
    run: PassResult
    summary: MetricsSummary


def named(runs: Sequence[PassResult], summaries: Sequence[MetricsSummary]) -> list[NamedPass]:
    """Each pass by its filter, with whatever else tells it from the others."""
    if not runs or len(runs) != len(summaries):
        message = f"a report is of one pass or more with a summary for each; got {len(runs)} and {len(summaries)}"
        raise ParameterError(message)
    names = [", ".join([run.filter_name, *_apart(run, runs)]) for run in runs]
    return [
        NamedPass(name if names.count(name) == 1 else f"{name} ({place + 1})", run, summary)
        for place, (name, run, summary) in enumerate(zip(names, runs, summaries, strict=True))
    ]


def _apart(run: PassResult, runs: Sequence[PassResult]) -> list[str]:
    """What is not the same for all passes."""
    streams = {other.corpus for other in runs}
    regimes = {other.feedback for other in runs}
    stopped = [f"the first {run.messages:,}"] if run.stopped and len(runs) > 1 else []
    own = [own for own, all_of_them in ((run.corpus, streams), (run.feedback, regimes)) if len(all_of_them) > 1]
    return [*own, *stopped]
