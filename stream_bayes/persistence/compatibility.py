"""The check whether a checkpoint fits an engine: its compatibility key against that of the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stream_bayes.errors import CheckpointMismatch

LOG = "log"
"""The key of the identity of the log: the numbers of checkpoints are offsets in its journal."""
PARTITIONS = "partitions"
"""The key of the number of partitions that share the label budget; older checkpoints do not have it."""
_MAX_SHOWN = 80
_ABSENT = object()


def check_compatibility(path: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Raise `CheckpointMismatch` for a checkpoint of another log, or of an engine with other settings."""
    if theirs.get(LOG) != ours.get(LOG):
        message = (
            f"{path} is of another log, so it says nothing of this one: name the folder of this log's own checkpoints, "
            "or a new one, with --checkpoints or checkpoint.folder"
        )
        raise CheckpointMismatch(message)
    then = theirs.get(PARTITIONS)
    now = ours.get(PARTITIONS)
    if then is not None and now is not None and then != now:
        message = f"{path} is of an engine for {shared_differently(then, now)}"
        raise CheckpointMismatch(message)
    differing = differences(*({**key, PARTITIONS: None} for key in (theirs, ours)))
    if differing:
        message = (
            f"{path} is of an engine with other settings: {'; '.join(differing)}. Go back to those settings, "
            "name another checkpoint folder, or make a new model from the log with `stream-bayes rebuild`"
        )
        raise CheckpointMismatch(message)


def shared_differently(then: Any, now: Any) -> str:
    """The end of a message about a changed number of partitions: why it matters and what to do."""
    return (
        f"{then} partition{'s' * (then != 1)}, and there are {now} now: their shares of the label budget would not add "
        "up. Go back to that number, or use another group, which has a budget of its own"
    )


def differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """A line for each setting, by its path, that a checkpoint and the running settings do not agree on."""
    # As JSON has them: a tuple is a list there.
    return list(_differing("", json.loads(json.dumps(theirs)), json.loads(json.dumps(ours))))


def _differing(path: str, theirs: Any, ours: Any) -> Iterator[str]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in dict.fromkeys((*theirs, *ours)):
            inner = f"{path}.{name}" if path else name
            yield from _differing(inner, theirs.get(name, _ABSENT), ours.get(name, _ABSENT))
    elif theirs != ours and _text(theirs) != _text(ours):
        yield f"{path}: {_shown(theirs)} in the checkpoint, {_shown(ours)} in the settings"


def _text(value: Any) -> str:
    return "nothing" if value is _ABSENT else json.dumps(value)


def _shown(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."
