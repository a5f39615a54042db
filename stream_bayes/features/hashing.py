"""From texts to batches: words hashed into buckets, and how often each comes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.features.batch import Batch
from stream_bayes.features.values import IntArray
from stream_bayes.features.vocabulary import HashedVocabulary
from stream_bayes.kernels.common.words import Bytes, CodePoints, count_words

_CODE_POINTS = 0x110000


def hash_words(texts: Iterable[str], buckets: int) -> Batch:
    """Count the words of each text, in buckets: a batch for any learner of counts with that many `buckets`.

    A word is a run of letters and digits (what `str.isalnum` calls so), as long as it can be, each letter in lower
    case by itself. Its bucket is the same in every process, and another than that of a feature of this name in a dict:
    give a learner texts or dicts, not both. `hash_words([word], buckets).columns` says which it is.

    Examples
    --------
    >>> batch = hash_words(["Free money, FREE money!", "lunch?"], buckets=2**20)
    >>> batch.row_starts, batch.values
    (array([0, 2, 3]), array([2., 2., 1.]))
    """
    shift = 65 - len(HashedVocabulary(buckets)).bit_length()
    arena, starts = _arena(texts)
    return Batch(*count_words(arena, starts, _letters(), shift), names=None, buckets=buckets)


def _arena(texts: Any) -> tuple[Bytes, IntArray]:
    """All texts as one run of bytes, and where each begins."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        message = f"texts are a list of strings; got {type(texts).__name__}"
        raise InputError(message)
    known = list(texts)
    try:
        joined = "".join(known)
    except TypeError:
        place = next(place for place, text in enumerate(known) if not isinstance(text, str))
        message = f"text {place} is no string but of type {type(known[place]).__name__}"
        raise InputError(message) from None
    if joined.isascii():
        arena = joined.encode()
        sizes = map(len, known)
    else:
        # surrogatepass: a mail may hold bytes that are not valid text.
        parts = [text.encode("utf-8", "surrogatepass") for text in known]
        arena = b"".join(parts)
        sizes = map(len, parts)
    starts = np.zeros(len(known) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(sizes, np.int64, len(known)), out=starts[1:])
    return np.frombuffer(arena, dtype=np.uint8), starts


@cache
def _letters() -> CodePoints:
    """The lower case of every letter and digit, by code point; 0 for all other characters."""
    codes = np.arange(_CODE_POINTS, dtype=np.int32)
    characters = codes.astype("<u4").view("<U1")
    letters = np.where(np.strings.isalnum(characters), codes, 0).astype(np.int32)
    for code in np.flatnonzero(np.strings.isupper(characters) | np.strings.istitle(characters)).tolist():
        if letters[code]:
            letters[code] = ord(chr(code).lower()[0])
    return letters
