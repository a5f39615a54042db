"""Description of the label requests of a checkpoint, for `stream-bayes inspect`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_bayes.cli.run import load_command_settings
from stream_bayes.errors import StreamBayesError

if TYPE_CHECKING:
    from stream_bayes.active import LabelBudget, LabelSelector
    from stream_bayes.config import LabelSettings
    from stream_bayes.persistence.checkpoint import Checkpoint

_MAX_NAME_LENGTH = 60
_MAX_NAMED = 5
# Shown as `requested` and `audited`.
_COUNTED = ("requested", "audited")


def label_settings(path: Path, config: Path | None) -> LabelSettings | None:
    """Return the label settings of the file, else those of the working directory if the checkpoint belongs to them."""
    from stream_bayes.engine.label_requests import strategy_of

    if config is not None:
        return load_command_settings(config).labels
    with suppress(StreamBayesError, OSError):
        settings = load_command_settings(None)
        if (settings.checkpoint_folder / settings.group).resolve() in path.resolve().parents:
            strategy_of(settings.labels)
            return settings.labels
    return None


def describe_requests(checkpoint: Checkpoint, settings: LabelSettings | None) -> dict[str, Any]:
    """Describe the label requests and their outcomes, the audit and the labellers; empty if there are none."""
    from stream_bayes.engine.state import selector_state

    selector = _selector(checkpoint, settings)
    try:
        selector.restore(*selector_state(checkpoint.scalars, checkpoint.arrays))
    except (KeyError, TypeError, ValueError):
        return {}
    open_ids = [request.title or str(place) for place, request in selector.requests.items()]
    estimate = selector.audit.estimate()
    budget = selector.budget
    return {
        "requests": {
            **{"requested": budget.used, "audited": budget.audited, "open": open_ids},
            "outcomes": {name: count for name, count in sorted(selector.counts.items()) if name not in _COUNTED},
        },
        "budget": {"used": budget.used, **(_remaining_budget(budget, checkpoint) if settings else {})},
        "audit": None if estimate is None else estimate._asdict(),
        "labellers": selector.labellers.figures(),
    }


def _selector(checkpoint: Checkpoint, settings: LabelSettings | None) -> LabelSelector:
    from stream_bayes.active import LabelSelector
    from stream_bayes.engine.label_requests import selector_for

    if settings is None:
        return LabelSelector()
    compatibility_key = checkpoint.compatibility_key
    return selector_for(
        settings, int(compatibility_key.get("partition", 0)), int(compatibility_key.get("partitions", 1))
    )


def _remaining_budget(budget: LabelBudget, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the remaining budget at the time of the checkpoint, under the present limits."""
    from stream_bayes.units import milliseconds

    clock = int(checkpoint.scalars["clock"])
    figures: dict[str, Any] = {"left": budget.left(clock), "total": budget.total}
    if budget.per_period is not None:
        start = clock - milliseconds("period", budget.period)
        used = sum(time > start for time in budget.state()["times"])
        figures |= {"per_period": budget.per_period, "period": budget.period, "used_in_period": used}
    return figures


def request_lines(description: dict[str, Any]) -> dict[str, list[str]]:
    """Format the description as lines by section."""
    if "requests" not in description:
        return {}
    requests = description["requests"]
    audit = description["audit"]
    return {
        "requests": [
            f"{requests['requested']} requested, {requests['audited']} of them drawn at random",
            *(
                [f"{len(requests['open'])} open: {_format_ids(requests['open'])}"]
                if requests["open"]
                else ["none open"]
            ),
            *(f"{name} = {count}" for name, count in requests["outcomes"].items()),
        ],
        "budget": [_format_budget(description["budget"])],
        "audit": [_format_audit(audit)] if audit else [],
        "labellers": [_format_labeller(*each) for each in description["labellers"].items()],
    }


def _format_ids(ids: list[str]) -> str:
    shown = ", ".join(f"{name[:_MAX_NAME_LENGTH]!r}" for name in ids[:_MAX_NAMED])
    more = len(ids) - _MAX_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _format_budget(budget: dict[str, Any]) -> str:
    if "left" not in budget:
        return f"{budget['used']} used; with the --config of the worker: what is left"
    limits = [] if budget["total"] is None else [f"{budget['total']} in all"]
    if "per_period" in budget:
        limits.append(f"{budget['per_period']} per {budget['period']}, {budget['used_in_period']} used in the last")
    return f"{budget['used']} used, {budget['left']} left now: {'; '.join(limits)}"


def _format_audit(audit: dict[str, float]) -> str:
    interval = f"{audit['low']:.3f} to {audit['high']:.3f} with 95 %"
    answers = f"{audit['answers']} {'answer' if audit['answers'] == 1 else 'answers'}"
    return f"accuracy {audit['accuracy']:.3f} ({interval}), by {answers} to requests drawn at random"


def _format_labeller(name: str, figures: dict[str, float]) -> str:
    interval = f"{figures['low']:.3f} to {figures['high']:.3f} with 95 %"
    checked = f"{figures['checked']:.0f} of {figures['labels']:.0f} labels checked"
    return f"{name[:_MAX_NAME_LENGTH]!r}: agreement {figures['agreement']:.3f} ({interval}), {checked}"
