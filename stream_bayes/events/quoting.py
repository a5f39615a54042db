"""Other people's words in our messages."""

from __future__ import annotations

LONGEST_NAME = 60


def shown(value: object) -> str:
    """A name or value of somebody else's as part of a message: short, in quotes, on one line, harmless to print."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…")
