"""The words for spam and ham, in labels and in the names of files and folders."""

from __future__ import annotations

import re
from typing import Final

from stream_bayes.evaluation.corpora.mail import problem, shown

SPAM: Final = "spam"
HAM: Final = "ham"
UNLABELLED: Final = "unlabelled"
_LABELS: Final = {
    **dict.fromkeys(("spam", "junk", "yes", "true", "1", "1.0"), SPAM),
    **dict.fromkeys(("ham", "good", "no", "false", "0", "0.0"), HAM),
    **dict.fromkeys((UNLABELLED, "unlabeled", "unknown"), UNLABELLED),
}
_ALLOWED: Final = "spam/ham, junk/good, yes/no, true/false or 1/0, or unlabelled"
_SPAM_NAMES: Final = frozenset({"spam", "spams", "junk"})
_HAM_NAMES: Final = frozenset({"ham", "hams", "good", "notspam", "nonspam", "notjunk", "nonjunk"})
_NOT: Final = re.compile(r"\b(not?|non)[^a-z]+(?=spam|junk)")


def parse_label(value: object) -> str | None:
    """Parse a label: "spam", "ham" or "unlabelled"; None for anything else. Numbers and booleans count as their text.

    Examples
    --------
    >>> parse_label(" Junk "), parse_label(False), parse_label(1.0), parse_label("2")
    ('spam', 'ham', 'spam', None)
    """
    if isinstance(value, str | bool | int | float):
        return _LABELS.get(str(value).strip().lower())
    return None


def read_label(value: object, place: str, otherwise: str = "") -> str | None:
    """The label of a message: None if it is marked as unknown, `otherwise` if it is empty, else an error."""
    if isinstance(value, str) and not value.strip():
        value = otherwise
        if not value:
            raise problem("missing-label", place, f"no label; expected {_ALLOWED}")
    word = parse_label(value)
    if word is None:
        raise problem("bad-label", place, f"the label {shown(repr(value), 60)} is none of {_ALLOWED}")
    return None if word == UNLABELLED else word


def label_in_name(name: str) -> str:
    """The label in the name of a file or folder; "" if it has none or both.

    Examples
    --------
    >>> [label_in_name(name) for name in ("easy_ham_2", "spam-2", ".Junk", "not spam", "spamassassin", "ham+spam")]
    ['ham', 'spam', 'spam', 'ham', '', '']
    """
    words = set(re.split(r"[^a-z]+", _NOT.sub("not", name.lower())))
    found = [label for label, names in ((SPAM, _SPAM_NAMES), (HAM, _HAM_NAMES)) if words & names]
    return found[0] if len(found) == 1 else ""
