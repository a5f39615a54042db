"""What `stream-bayes inspect` says of the questions of a checkpoint."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_bayes.cli.run import settings_from
from stream_bayes.errors import StreamBayesError

if TYPE_CHECKING:
    from stream_bayes.active import LabelBudget, LabelSelector
    from stream_bayes.config import LabelSettings
    from stream_bayes.persistence.checkpoint import Checkpoint

_LONGEST_NAME = 60
_MAX_NAMED = 5
# Counted as `asked` and `by_chance` already.
_COUNTED = ("asked", "audited")


def label_settings(path: Path, config: Path | None) -> LabelSettings | None:
    """Those of the file that is given; else those of here, if the checkpoint is where these settings have theirs."""
    from stream_bayes.engine.label_requests import strategy_of

    if config is not None:
        return settings_from(config).labels
    with suppress(StreamBayesError, OSError):
        settings = settings_from(None)
        if (settings.checkpoint_folder / settings.group).resolve() in path.resolve().parents:
            strategy_of(settings.labels)
            return settings.labels
    return None


def describe_questions(checkpoint: Checkpoint, settings: LabelSettings | None) -> dict[str, Any]:
    """What was asked and what became of it, the audit and the labellers; nothing where there is none of it."""
    from stream_bayes.engine.state import selector_state

    selector = _selector(checkpoint, settings)
    try:
        selector.restore(*selector_state(checkpoint.scalars, checkpoint.arrays))
    except (KeyError, TypeError, ValueError):
        return {}
    # Of a question that an older version asked only the place is known.
    waiting = [entry[-1] or str(entry[0]) for entry in selector.requests.state()["open"]]
    estimate = selector.audit.estimate()
    budget = selector.budget
    return {
        "questions": {
            **{"asked": budget.used, "by_chance": budget.audited, "open": waiting},
            "outcomes": {name: count for name, count in sorted(selector.counts.items()) if name not in _COUNTED},
        },
        "budget": {"used": budget.used, **(_left(budget, checkpoint) if settings else {})},
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


def _left(budget: LabelBudget, checkpoint: Checkpoint) -> dict[str, Any]:
    """By the clock of the checkpoint, and by limits that are those of now."""
    from stream_bayes.units import milliseconds

    clock = int(checkpoint.scalars["clock"])
    figures: dict[str, Any] = {"left": budget.left(clock), "total": budget.total}
    if budget.per_period is not None:
        begin = clock - milliseconds("period", budget.period)
        lately = sum(time > begin for time in budget.state()["times"])
        figures |= {"per_period": budget.per_period, "period": budget.period, "used_in_period": lately}
    return figures


def lines_of_questions(description: dict[str, Any]) -> dict[str, list[str]]:
    """For each section the lines that people read."""
    if "questions" not in description:
        return {}
    questions = description["questions"]
    audit = description["audit"]
    return {
        "questions": [
            f"{questions['asked']} asked, {questions['by_chance']} of them drawn by chance",
            *([f"{len(questions['open'])} open: {_named(questions['open'])}"] if questions["open"] else ["none open"]),
            *(f"{name} = {count}" for name, count in questions["outcomes"].items()),
        ],
        "budget": [_of_budget(description["budget"])],
        "audit": [_of_audit(audit)] if audit else [],
        "labellers": [_of_labeller(*each) for each in description["labellers"].items()],
    }


def _named(ids: list[str]) -> str:
    shown = ", ".join(f"{name[:_LONGEST_NAME]!r}" for name in ids[:_MAX_NAMED])
    more = len(ids) - _MAX_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _of_budget(budget: dict[str, Any]) -> str:
    if "left" not in budget:
        return f"{budget['used']} used; with the --config of the worker: what is left"
    limits = [] if budget["total"] is None else [f"{budget['total']} in all"]
    if "per_period" in budget:
        limits.append(f"{budget['per_period']} per {budget['period']}, {budget['used_in_period']} used in the last")
    return f"{budget['used']} used, {budget['left']} left now: {'; '.join(limits)}"


def _of_audit(audit: dict[str, float]) -> str:
    interval = f"{audit['low']:.3f} to {audit['high']:.3f} with 95 %"
    answers = f"{audit['answers']} {'answer' if audit['answers'] == 1 else 'answers'}"
    return f"accuracy {audit['accuracy']:.3f} ({interval}), by {answers} to questions drawn by chance"


def _of_labeller(name: str, figures: dict[str, float]) -> str:
    interval = f"{figures['low']:.3f} to {figures['high']:.3f} with 95 %"
    checked = f"{figures['checked']:.0f} of {figures['labels']:.0f} labels checked"
    return f"{name[:_LONGEST_NAME]!r}: agreement {figures['agreement']:.3f} ({interval}), {checked}"
