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


def label_word(value: object) -> str | None:
    """ "spam", "ham", "unlabelled", or None for anything else; a number or a truth value counts as its word.

    Examples
    --------
    >>> label_word(" Junk "), label_word(False), label_word(1.0), label_word("2")
    ('spam', 'ham', 'spam', None)
    """
    if isinstance(value, str | bool | int | float):
        return _LABELS.get(str(value).strip().lower())
    return None


def read_label(value: object, place: str, otherwise: str = "") -> str | None:
    """The label of a message: None if it is said to be unknown, `otherwise` if nothing is said, else an error."""
    if isinstance(value, str) and not value.strip():
        value = otherwise
        if not value:
            raise problem("missing-label", place, f"no label; expected {_ALLOWED}")
    word = label_word(value)
    if word is None:
        raise problem("bad-label", place, f"the label {shown(repr(value), 60)} is none of {_ALLOWED}")
    return None if word == UNLABELLED else word


def label_in_name(name: str) -> str:
    """What the words of a file's or folder's name say, or "" if they say nothing or both.

    Examples
    --------
    >>> [label_in_name(name) for name in ("easy_ham_2", "spam-2", ".Junk", "not spam", "spamassassin", "ham+spam")]
    ['ham', 'spam', 'spam', 'ham', '', '']
    """
    words = set(re.split(r"[^a-z]+", _NOT.sub("not", name.lower())))
    found = [label for label, names in ((SPAM, _SPAM_NAMES), (HAM, _HAM_NAMES)) if words & names]
    return found[0] if len(found) == 1 else ""
