"""Evidence tables of a mail filter; a snapshot holds only rows of buckets that some mail had."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from scipy.special import digamma

from stream_bayes.kernels.mail.evidence import GRADIENT, HAM, LOST, MEAN, SPAM, WEIGHT, Table
from stream_bayes.kernels.mail.fold import STEPPED, Evidence
from stream_bayes.kernels.mail.sources import FEW_BITS
from stream_bayes.mail.filter.composition import VIEW_NAMES, views_of
from stream_bayes.persistence.snapshot import Arrays

# Grams have two numbers more, and rows that do not cross a line of the cache.
WIDTHS = (8, 4, 4, 4, 4)
# Of the Beta prior of every bucket, on both sides.
PRIOR_COUNT = 0.35
LOGS = digamma(np.arange(4096) + PRIOR_COUNT).astype(np.float32)
_COUNTS = slice(HAM, SPAM + 1)
_PAGE = 4096
# The arrays besides the tables.
_SUMS = ("biases", "totals", "novelties")
# No weight comes near it, and what is below it can be learned on.
_LARGEST = 1e6
_MAX_COUNTED = 2**31
_ROUNDING = 1e-9


def new_evidence(buckets: int, members: Collection[str]) -> Evidence:
    """Empty tables; a view that no member uses has no table."""
    tables: dict[str, Table] = {}
    views = views_of(members)
    for name, width in zip(VIEW_NAMES, WIDTHS, strict=True):
        rows = buckets if name in VIEW_NAMES[:2] else 2**FEW_BITS
        # Zeros that were never written take no memory.
        tables[name] = np.zeros((rows if name in views else 0, width), dtype=np.float32)
    return Evidence(
        grams=tables["gram"],
        words=tables["word"],
        structure=tables["structure"],
        senders=tables["senders"],
        hosts=tables["hosts"],
        biases=np.zeros((STEPPED, 2)),
        totals=np.zeros(2),
        novelties=np.zeros(2),
    )


def tables_of(evidence: Evidence) -> tuple[Table, ...]:
    """The tables of all views, in order."""
    return evidence.grams, evidence.words, evidence.structure, evidence.senders, evidence.hosts


def memory_bytes(evidence: Evidence) -> int:
    """The memory of the tables when every bucket has been touched."""
    return sum(table.nbytes for table in tables_of(evidence))


def prefault(evidence: Evidence) -> None:
    """Write to every page of the tables what is there."""
    for table in tables_of(evidence):
        table.view(np.uint32)[:: _PAGE // (4 * table.shape[1]), HAM] += np.uint32(0)


def copy_evidence(evidence: Evidence, target: Evidence) -> None:
    """Overwrite other tables of the same shape, in the memory they have."""
    for old, new in zip(tables_of(target), tables_of(evidence), strict=True):
        np.copyto(old, new)
    np.copyto(target.biases, evidence.biases)
    np.copyto(target.totals, evidence.totals)
    np.copyto(target.novelties, evidence.novelties)


def evidence_arrays(evidence: Evidence) -> Arrays:
    """Copies for a snapshot."""
    arrays: Arrays = {name: getattr(evidence, name).copy() for name in _SUMS}
    for name, table in zip(VIEW_NAMES, tables_of(evidence), strict=True):
        counts = table.view(np.uint32)[:, _COUNTS]
        rows = np.flatnonzero(counts.any(axis=1))
        arrays[f"{name}.buckets"] = rows.astype(np.uint32)
        arrays[f"{name}.counts"] = counts[rows]
        arrays[f"{name}.weights"] = np.delete(table[rows], _COUNTS, axis=1)
    return arrays


def restore_evidence(evidence: Evidence, arrays: Arrays) -> None:
    """Write what `evidence_arrays` gave into tables that are empty."""
    for name in _SUMS:
        new = arrays[name]
        old = getattr(evidence, name)
        if new.dtype != old.dtype or new.shape != old.shape or not np.isfinite(new).all():
            message = f"{name} must be {old.size} finite numbers"
            raise ValueError(message)
        old[:] = new
    if (evidence.totals < 0.0).any() or (evidence.biases[:, 1] < 0.0).any():
        message = "sums of squares and numbers of mails cannot be negative"
        raise ValueError(message)
    total, weight = evidence.novelties
    if not 0.0 <= total <= weight * (1.0 + _ROUNDING):
        message = f"the mean novelty of learned mails lies between 0 and 1; got {total:g} / {weight:g}"
        raise ValueError(message)
    for name, table in zip(VIEW_NAMES, tables_of(evidence), strict=True):
        _restore_table(name, table, *(arrays[f"{name}.{part}"] for part in ("buckets", "counts", "weights")))


def _restore_table(name: str, table: Table, buckets: Any, counts: Any, weights: Any) -> None:
    shapes = ((len(buckets),), (len(buckets), 2), (len(buckets), table.shape[1] - 2))
    types = (np.uint32, np.uint32, np.float32)
    parts = (buckets, counts, weights)
    if any(part.shape != shape or part.dtype != kind for part, shape, kind in zip(parts, shapes, types, strict=True)):
        message = f"the table {name!r} needs buckets, two counts and {table.shape[1] - 2} weights each"
        raise ValueError(message)
    if len(buckets) and (buckets[-1] >= len(table) or (np.diff(buckets.astype(np.int64)) <= 0).any()):
        message = f"the buckets of the table {name!r} must rise, and there are {len(table)}"
        raise ValueError(message)
    if not counts.any(axis=1).all() or (counts >= _MAX_COUNTED).any():
        message = f"the table {name!r} has buckets without a mail, or with more than can be counted on"
        raise ValueError(message)
    others = [column for column in range(table.shape[1]) if not HAM <= column <= SPAM]
    if not _can_be_learned_on(weights, others):
        message = f"the table {name!r} has weights, sums of squares or variances that cannot be"
        raise ValueError(message)
    table[np.ix_(buckets, others)] = weights
    table.view(np.uint32)[buckets, _COUNTS] = counts


def _can_be_learned_on(weights: Any, columns: list[int]) -> bool:
    """Whether these are numbers of the sizes that learning leads to, and goes on from."""
    sound = np.isfinite(weights).all()
    for values, column in zip(weights.T, columns, strict=True):
        if column in (WEIGHT, MEAN):
            sound &= (np.abs(values) < _LARGEST).all()
        elif column == GRADIENT:
            sound &= (values >= 0.0).all()
        elif column == LOST:
            sound &= ((values >= 0.0) & (values <= 1.0)).all()
    return bool(sound)
