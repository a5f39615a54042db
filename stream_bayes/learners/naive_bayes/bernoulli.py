"""Bernoulli naive Bayes: which words a message holds, and which it does not."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stream_bayes.features import Batch
from stream_bayes.features.values import FeatureName
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.naive_bayes.bernoulli import Derived, Presences, fold_bernoulli
from stream_bayes.kernels.naive_bayes.count_levels import Levels, empty_levels, level_counts
from stream_bayes.kernels.naive_bayes.count_powers import HEAVY, Powers, empty_powers, sort_powers
from stream_bayes.learners.base.arrays import padded
from stream_bayes.learners.base.generative_classifier import as_event, by_name, without_prior
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.naive_bayes.base import NaiveBayes, slack, table_of, vocabulary_size
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import Beta
from stream_bayes.typing import FloatArray, IntArray
from stream_bayes.validation import check_scale, of_kind

SMALLEST_PRIOR = 1e-20


class BernoulliNB(NaiveBayes):
    """Naive Bayes on the presence of words, exact including the absent ones, at a cost free of the vocabulary's size.

    Parameters
    ----------
    prior
        Prior of the probability that a message of a class holds a word. None: maximum likelihood. A class then makes a
        message with a word that it never had impossible, and one without a word that all its messages have; where a
        message is impossible in all classes, their probabilities are all the same.
    class_prior_count
        Pseudo-count of each class, also without a prior; 0 gives class frequencies: maximum likelihood.
    classes
        Labels known beforehand; others join when they are first learned.
    buckets
        Hash names into this many columns (a power of two) instead of keeping them.

    Notes
    -----
    theta_cj | data ~ Beta(a + n_cj, b + N_c - n_cj). The vocabulary is what has been learned so far; each of its words
    that a message lacks is evidence too. A value counts as present unless it is zero or False; a text
    {"sender": "bob"} is the presence of ("sender", "bob"). One event costs its own words, plus the number of different
    counts words have (at most the square root of twice the words read), never the vocabulary. While weights
    are whole and nothing was forgotten, the order of events does not change a single bit. Corrections are exact.

    Examples
    --------
    >>> model = BernoulliNB(prior=Beta(1, 1))
    >>> model.learn_one({"cheap": True, "pills": True}, "spam")
    >>> model.learn_one({"lunch": True}, "ham")
    >>> model.predict_proba_one({"cheap": True})
    {'spam': 0.667, 'ham': 0.333}
    >>> model.posterior("cheap", "spam")
    Beta(2, 1)
    """

    _evidence: Presences
    _evidence_kind = Presences
    _allowed = "presence is 0 for absent, or a number up to 2**31 for present"
    _vocabulary_size: int
    _pseudo_counts: Beta | tuple[float, float]
    _derived: Derived
    _levels: Levels
    _powers: Powers

    def __init__(
        self,
        prior: Beta | None = Beta(1.0, 1.0),
        class_prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        buckets: int | None = None,
    ) -> None:
        super().__init__(class_prior_count, classes, buckets)
        self.prior = None if prior is None else of_kind(prior, "prior", Beta)
        self._pseudo_counts = self.prior or (0.0, 0.0)
        # Powers of the reciprocal up to the twelfth are summed.
        check_scale("prior", *self._pseudo_counts, smallest=SMALLEST_PRIOR, largest=1.0 / SMALLEST_PRIOR)
        self._tables = (table_of(self._pseudo_counts[0]), table_of(self._pseudo_counts[1]))
        # Counts are whole until a fractional weight or forgetting makes them fractions; that decides which of the two
        # structures stands for the absent words, and is part of the state.
        self._whole = True
        self._refresh()

    def posterior(self, word: FeatureName, label: Any) -> Beta:
        """The probability that a message of the class holds the word."""
        if self.prior is None:
            raise without_prior()
        present = self._cell(self._evidence.cells, word, label)
        absent = max(self._class_entry(self._evidence.class_weight, label) - present, 0.0)
        return self.prior.update_counts(present, absent)

    @property
    def _has_prior(self) -> bool:
        return self.prior is not None

    def _log_base(self, rows: Rows) -> float:
        return 0.0

    def _ml_parameters(self, code: int) -> dict[FeatureName, float]:
        names = self._kept_names()
        shares = self._evidence.cells[: len(names), code] / self._evidence.class_weight[code]
        return by_name(names, np.minimum(shares, 1.0), self._used())

    def _posterior_parameters(self, label: Label, *, mode: bool) -> dict[FeatureName, float]:
        posteriors = {word: self.posterior(word, label) for word in self._counts_of(self._labels.code(label))}
        return {word: posterior.mode if mode else posterior.mean for word, posterior in posteriors.items()}

    def _draw_events(self, code: int, count: int, random: np.random.Generator) -> list[dict[FeatureName, Any]]:
        names = self._kept_names()
        present, absent = self._pseudo_counts
        total = present + absent + float(self._evidence.class_weight[code])
        shares = np.where(self._used(), (present + self._evidence.cells[: len(names), code]) / total, 0.0)
        drawn = (np.flatnonzero(random.random(len(names)) < shares).tolist() for _ in range(count))
        return [as_event({names[column]: 1 for column in columns}, self._vocabulary.texts) for columns in drawn]

    def _fold_events(self, batch: Batch, rows: Rows, joint: Joint, class_prior_count: float, *, score: bool) -> None:
        single = len(rows.labels) == 1 and (rows.labels[0] < 0 or rows.weights.item().is_integer())
        if single or not self._whole:
            self._fold_rows(rows, joint, class_prior_count, score=score)
            return
        fractions = np.flatnonzero((rows.labels >= 0) & (rows.weights != np.floor(rows.weights)))
        if len(fractions) == 0:
            self._fold_rows(rows, joint, class_prior_count, score=score)
            return
        # The row with the first fraction is still predicted from whole counts, as it would be in a loop.
        first = int(fractions[0])
        count = len(rows.labels)
        self._fold_rows(_between(rows, 0, first), _joint_between(joint, 0, first), class_prior_count, score=score)
        turning = _between(rows, first, first + 1)
        unlabelled = turning._replace(labels=np.full(1, -1))
        self._fold_rows(unlabelled, _joint_between(joint, first, first + 1), class_prior_count, score=score)
        self._whole = False
        self._refresh()
        self._fold_rows(turning, _joint_between(joint, 0, 0), class_prior_count, score=False)
        rest = _joint_between(joint, first + 1, count)
        self._fold_rows(_between(rows, first + 1, count), rest, class_prior_count, score=score)

    def _fold_rows(self, rows: Rows, joint: Joint, class_prior_count: float, *, score: bool) -> None:
        self._make_room(rows)
        self._vocabulary_size = fold_bernoulli(
            rows,
            score,
            class_prior_count,
            self._labels.declared,
            *self._pseudo_counts,
            *self._tables,
            self._vocabulary_size,
            self._whole,
            self._evidence,
            self._derived,
            self._levels,
            self._powers,
            joint,
        )

    def _make_room(self, rows: Rows) -> None:
        """Room for the distinct counts there can be once the rows are learned."""
        if not self._whole or not (rows.labels >= 0).any():
            return
        # k distinct counts of distinct words add up to at least k (k + 1) / 2 uses.
        uses = float(self._evidence.class_total.max(initial=0.0)) + len(rows.columns) * max(rows.weights.max(), 0.0)
        needed = min(int(np.sqrt(2.0 * uses)), len(self._evidence.cells)) + 2
        if needed > self._levels.counts.shape[1]:
            shape = (len(self._labels), 2 * needed)
            counts, words, size = self._levels
            self._levels = Levels(padded(counts, shape), padded(words, shape), size)

    def _amounts(self, values: FloatArray) -> FloatArray:
        return np.where(values != 0.0, 1.0, 0.0)

    def _check_rest(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        size = int(self._levels.size[label])
        left = self._evidence.class_weight[label] - weight
        if self._whole and size and self._levels.counts[label, size - 1] <= left:
            return  # no word is in more messages than will be left
        words = np.arange(len(self._evidence.cells))
        if not self._whole and left > 2.0 * HEAVY * self._powers.largest_mass[label]:
            words = self._powers.heavy[label, : self._powers.heavy_count[label]]  # the light ones are in fewer
        lacking = ~np.isin(words, rows.columns[rows.values != 0.0])
        self._check_coverage(self._evidence.cells[words, label], lacking, label, weight)

    def _sum_again(self, code: int) -> None:
        super()._sum_again(code)
        most = self._evidence.cells[:, code].max(initial=0.0)
        self._evidence.class_weight[code] = max(self._evidence.class_weight[code], most)

    def _scale(self, factor: float) -> None:
        self._whole = self._whole and factor in (0.0, 1.0)
        super()._scale(factor)

    def _adopt(self, other: Self) -> tuple[IntArray, IntArray]:
        places = super()._adopt(other)
        self._whole = self._whole and other._whole
        return places

    def _grow(self) -> None:
        columns, classes = self._evidence.cells.shape
        levels = self._levels
        shape = (classes, levels.counts.shape[1])
        self._levels = Levels(
            padded(levels.counts, shape), padded(levels.words, shape), padded(levels.size, (classes,))
        )
        self._derived = Derived(*(padded(array, (classes,)) for array in self._derived))
        if not self._whole:
            powers = self._powers
            self._powers = powers._replace(
                sums=padded(powers.sums, (classes, powers.sums.shape[1])),
                heavy=padded(powers.heavy, (classes, columns)),
                heavy_count=padded(powers.heavy_count, (classes,)),
                place=padded(powers.place, (columns, classes), fill=-1),
                largest_mass=padded(powers.largest_mass, (classes,)),
            )

    def _refresh(self) -> None:
        """Count again what follows from the evidence."""
        cells = self._evidence.cells
        weights = self._evidence.class_weight
        columns, classes = cells.shape
        self._vocabulary_size = vocabulary_size(cells)
        used = np.count_nonzero(cells, axis=0).astype(np.int64)
        sums = np.zeros((3, classes))
        certain = np.zeros(classes, dtype=np.int64)
        self._derived = Derived(used, sums[0], sums[1], sums[2], certain, np.zeros(classes, dtype=np.bool_))
        self._levels = level_counts(cells) if self._whole else empty_levels(classes, 0)
        self._powers = empty_powers(classes, 0 if self._whole else columns)
        if not self._whole:
            for code in range(classes):
                sort_powers(self._powers, code, cells, self._pseudo_counts[1] + float(weights[code]))

    def _arrays(self) -> Arrays:
        arrays = super()._arrays() | {"whole": np.array(self._whole)}
        if not self._whole:
            # Power sums remember the order of events in their last bits; saved, a restart goes on exactly.
            height = len(self._vocabulary)
            trimmed = self._powers._replace(heavy=self._powers.heavy[:, :height], place=self._powers.place[:height])
            arrays |= {f"powers_{name}": array.copy() for name, array in trimmed._asdict().items()}
        return arrays

    def _restore(self, arrays: Arrays) -> None:
        self._whole = bool(arrays["whole"])
        super()._restore(arrays)
        cells = self._evidence.cells
        weights = self._evidence.class_weight
        if (cells > weights + slack(weights)).any() or (self._whole and (cells != np.floor(cells)).any()):
            message = "a word is in more messages than there are, or counts called whole are not"
            raise ValueError(message)
        if not self._whole:
            powers = Powers(*(arrays[f"powers_{name}"] for name in Powers._fields))
            _check_powers(powers, self._powers)
            self._powers = powers


def _check_powers(powers: Powers, sorted_anew: Powers) -> None:
    """Refuse arrays that are not those of the same counts: the kernels use them as indices, unchecked."""
    pairs = zip(powers, sorted_anew, strict=True)
    fits = all(mine.shape == theirs.shape and mine.dtype == theirs.dtype for mine, theirs in pairs)
    fits = fits and bool((powers.heavy_count >= 0).all() and np.isfinite(powers.sums).all())
    for code, count in enumerate(powers.heavy_count.tolist() if fits else ()):
        heavy = powers.heavy[code, :count]
        fits = fits and bool(((heavy >= 0) & (heavy < len(powers.place))).all())
        fits = fits and powers.place[heavy, code].tolist() == list(range(count))
        fits = fits and int((powers.place[:, code] >= 0).sum()) == count
    if not fits:
        message = "the power sums do not fit the counts"
        raise ValueError(message)


def _between(rows: Rows, begin: int, end: int) -> Rows:
    return rows._replace(
        row_starts=rows.row_starts[begin : end + 1], labels=rows.labels[begin:end], weights=rows.weights[begin:end]
    )


def _joint_between(joint: Joint, begin: int, end: int) -> Joint:
    return Joint(joint.log[begin:end], joint.mean[begin:end], joint.variance[begin:end], joint.known[begin:end])
