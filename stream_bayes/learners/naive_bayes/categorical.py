"""Categorical naive Bayes: which value each feature has."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Self, cast

import numpy as np

from stream_bayes.errors import InputError, MergeError
from stream_bayes.features import Batch, HashedVocabulary, Names, Vocabulary, open_vocabulary
from stream_bayes.features.values import Category, FeatureName, Features, IntArray, check_name
from stream_bayes.features.vocabulary import refuse_change, unpack_json
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.naive_bayes.categorical import CategoryCounts, fold_categorical
from stream_bayes.learners.base.arrays import padded
from stream_bayes.learners.base.column_classifier import NO_LABEL, NO_WEIGHT
from stream_bayes.learners.base.generative_classifier import nothing_to_draw, without_prior
from stream_bayes.learners.base.input_checks import check_kinds
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.naive_bayes.base import NaiveBayes
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import Dirichlet
from stream_bayes.typing import BoolArray, FloatArray
from stream_bayes.validation import check_scale, non_negative


class CategoricalNB(NaiveBayes):
    """Naive Bayes on features with a few values each: texts, booleans or numbers taken as names.

    Parameters
    ----------
    prior_count
        Pseudo-count of each value of a feature in each class; 0 gives maximum likelihood. A class then makes a value
        that it never had impossible; where an event is impossible in all classes, their probabilities are all the same.
    class_prior_count
        Pseudo-count of each class, also without a prior; 0 gives class frequencies: maximum likelihood.
    classes
        Labels known beforehand; others join when they are first learned.
    buckets
        Hash values into this many columns (a power of two) instead of keeping them.

    Notes
    -----
    P(value | class) = (prior_count + n) / (prior_count K + n_feature), K the values of the feature learned so far; a
    new value counts as one more. A feature that is missing, or None, is marginalised out. A feature keeps its type: a
    text where there were numbers is refused. Corrections are exact. Hashed, types are not remembered, and where two
    values share a bucket, K and corrections are only as good as the hash. Counts of words are no input for it: each
    number is a value of its own, and a word that is missing says nothing. `BernoulliNB` learns presence.

    Examples
    --------
    >>> model = CategoricalNB(prior_count=1.0)
    >>> model.learn_one({"outlook": "sunny", "windy": False}, "no")
    >>> model.learn_one({"outlook": "rainy", "windy": False}, "yes")
    >>> model.predict_proba_one({"outlook": "rainy"})
    {'no': 0.333, 'yes': 0.667}
    >>> model.categories("outlook"), model.posterior("outlook", "yes")
    (['sunny', 'rainy'], Dirichlet((1, 2)))
    """

    _evidence: CategoryCounts
    _evidence_kind = CategoryCounts
    _takes_counts = False
    _categorical = True
    _sizes: IntArray

    def __init__(
        self,
        prior_count: float = 1.0,
        class_prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        buckets: int | None = None,
    ) -> None:
        self._features: Vocabulary | HashedVocabulary = open_vocabulary(buckets)
        self._value_kinds: dict[FeatureName, str] = {}
        super().__init__(class_prior_count, classes, buckets)
        self.prior_count = non_negative("prior_count", prior_count)
        check_scale("prior_count", self.prior_count)
        # The feature each column with evidence belongs to, and, derived, how many columns each feature has.
        self._feature_of = np.zeros(len(self._evidence.cells), dtype=np.int64)
        self._refresh()

    def categories(self, feature: FeatureName) -> list[Any]:
        """The values of a feature learned so far, in the order of `posterior`."""
        return self._cells_of(feature)[0]

    def posterior(self, feature: FeatureName, label: Any) -> Dirichlet:
        """The distribution of a feature's values in a class."""
        if not self._has_prior:
            raise without_prior()
        counts = self._feature_counts(feature, self._labels.code(label))
        if len(counts) < 2:
            message = f"feature {feature!r} has no posterior yet: it takes two values; so far {label!r} has {counts}"
            raise InputError(message)
        return Dirichlet(tuple(self.prior_count + count for count in counts.values()))

    @property
    def _has_prior(self) -> bool:
        return self.prior_count > 0.0

    def _log_base(self, rows: Rows) -> float:
        return 0.0

    def _feature_counts(self, feature: FeatureName, code: int) -> dict[Any, float]:
        """How often a class had each value of a feature."""
        values, columns = self._cells_of(feature)
        counts = self._evidence.cells[columns, code].tolist() if code >= 0 else [0.0] * len(columns)
        return dict(zip(values, counts, strict=True))

    def _counts_of(self, code: int) -> dict[FeatureName, Any]:
        names = cast(list[Any], self._kept_names())
        counts: dict[FeatureName, Any] = {}
        for column in np.flatnonzero(self._used()).tolist():
            name = names[column]
            counts.setdefault(name[0], {})[name[2]] = float(self._evidence.cells[column, code])
        return counts

    def _ml_parameters(self, code: int) -> dict[FeatureName, dict[Any, float]]:
        counts = self._counts_of(code)
        return {feature: _shares(own, 0.0) for feature, own in counts.items() if sum(own.values()) > 0.0}

    def _posterior_parameters(self, label: Label, *, mode: bool) -> dict[FeatureName, dict[Any, float]]:
        counts = self._counts_of(self._labels.code(label))
        if not mode:
            return {feature: _shares(own, self.prior_count) for feature, own in counts.items()}
        return {
            feature: dict(zip(own, self.posterior(feature, label).mode if len(own) > 1 else (1.0,), strict=True))
            for feature, own in counts.items()
        }

    def _draw_events(self, code: int, count: int, random: np.random.Generator) -> list[dict[FeatureName, Any]]:
        events: list[dict[FeatureName, Any]] = [{} for _ in range(count)]
        for feature, counts in self._counts_of(code).items():
            if not self._has_prior and sum(counts.values()) == 0.0:
                raise nothing_to_draw(feature, list(self._labels)[code])
            shares = _shares(counts, self.prior_count)
            values = list(shares)
            for event, place in zip(events, random.choice(len(values), count, p=list(shares.values())), strict=True):
                event[feature] = values[place]
        return events

    def _cells_of(self, feature: FeatureName) -> tuple[list[Any], list[int]]:
        """The values of a feature that have evidence, and their columns."""
        names = self._kept_names()
        place = self._features.lookup([feature])[0]
        columns = np.flatnonzero((self._feature_of == place) & self._evidence.cells.any(axis=1))
        return [cast(Category, names[column])[2] for column in columns], columns.tolist()

    def _height(self, name: str) -> int:
        return len(self._features if name == "feature_weight" else self._vocabulary)

    def _check_new(self, batch: Batch, names: Sequence[FeatureName], found: IntArray) -> None:
        super()._check_new(batch, names, found)
        for feature, kind, _ in cast(Sequence[Category], names):
            if self._value_kinds.get(feature, kind) != kind:
                refuse_change(feature, f"a {self._value_kinds[feature]}", f"a {kind}")

    def _check_types(self, batch: Batch, learned: BoolArray) -> None:
        if self.buckets is None and isinstance(batch.names, Names):
            check_kinds(batch, learned, self._value_kinds, lambda name: name[:2])

    def _register_names(self, batch: Batch, names: list[Any]) -> IntArray:
        self._features.register([feature for feature, _, _ in names])
        self._value_kinds |= {check_name(feature): kind for feature, kind, _ in names}
        return super()._register_names(batch, names)

    def _drop_names(self, count: int, texts: Set[FeatureName]) -> None:
        super()._drop_names(count, texts)
        if isinstance(self._vocabulary, Vocabulary):
            # Features are registered with their first value.
            self._value_kinds = {name[0]: name[1] for name in cast(list[Category], self._vocabulary.names)}
            self._features.truncate(len(self._value_kinds))

    def _rows(self, batch: Batch, found: IntArray, labels: IntArray, weights: FloatArray) -> Rows:
        # Two values in one bucket stay two pairs: they belong to different features.
        return Rows(batch.row_starts, found[batch.columns], batch.values, labels, weights)

    def _score_one(self, x: Features) -> Sequence[float]:
        batch = self._one(x)
        return self._score_row(batch, self._rows(batch, self._find(batch), NO_LABEL, NO_WEIGHT))

    def _learn_known(self, x: Features, label: int, weight: float) -> bool:
        batch = self._one(x)
        found = self._find(batch)
        if len(found) and found.min() < 0:
            return False
        self._learn_row(batch, self._rows(batch, found, np.array((label,)), np.array((weight,))))
        return True

    def _fold_events(self, batch: Batch, rows: Rows, joint: Joint, class_prior_count: float, *, score: bool) -> None:
        names = cast(Sequence[Category], batch.names)
        features = self._features.lookup([name[0] for name in names])[batch.columns]
        fold_categorical(
            rows,
            features,
            score,
            class_prior_count,
            self._labels.declared,
            self.prior_count,
            self._sizes,
            self._feature_of,
            self._evidence,
            joint,
        )

    def _check_rest(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        if self.buckets is not None:
            return  # two features of one event may share a bucket, which then has more weight than the class
        present = self._features.lookup([name[0] for name in cast(Sequence[Category], batch.names)])
        weights = self._evidence.feature_weight[:, label]
        self._check_coverage(weights, ~np.isin(np.arange(len(weights)), present), label, weight)

    def _grow(self) -> None:
        self._sizes = padded(self._sizes, (len(self._evidence.feature_weight),))
        self._feature_of = padded(self._feature_of, (len(self._evidence.cells),))

    def _adopt(self, other: Self) -> tuple[IntArray, IntArray]:
        for feature, kind in other._value_kinds.items():
            if self._value_kinds.get(feature, kind) != kind:
                message = f"feature {feature!r} is a {self._value_kinds[feature]} here and a {kind} there"
                raise MergeError(message)
        if isinstance(other._features, Vocabulary):
            self._features.register(other._features.names)
        self._value_kinds |= other._value_kinds
        codes, columns = super()._adopt(other)
        used = other._evidence.cells[: len(columns)].any(axis=1)
        theirs = self._feature_places(other)[other._feature_of[: len(columns)]]
        mine = self._feature_of[columns]
        lower = used & ((theirs < mine) | ~self._evidence.cells[columns].any(axis=1))
        self._feature_of[columns[lower]] = theirs[lower]
        return codes, columns

    def _feature_places(self, other: Self) -> IntArray:
        if isinstance(other._features, Vocabulary):
            return self._features.lookup(other._features.names)
        return np.arange(len(self._features))

    def _places(self, name: str, columns: IntArray, other: Self) -> IntArray:
        return self._feature_places(other) if name == "feature_weight" else columns

    def _refresh(self) -> None:
        used = self._evidence.cells.any(axis=1)
        self._sizes = np.bincount(self._feature_of[used], minlength=len(self._evidence.feature_weight))

    def _arrays(self) -> Arrays:
        arrays = super()._arrays() | {"feature_of": self._feature_of[: len(self._vocabulary)].copy()}
        return arrays | {f"feature_{name}": array for name, array in self._features.state().items()}

    def _restore(self, arrays: Arrays) -> None:
        if isinstance(self._features, Vocabulary):
            self._features = Vocabulary.from_state({"names": arrays["feature_names"], "texts": arrays["feature_texts"]})
            self._value_kinds = {name[0]: name[1] for name in unpack_json(arrays["names"])}
        self._feature_of = arrays["feature_of"].astype(np.int64)
        if self._feature_of.max(initial=0) >= max(len(self._features), 1) or self._feature_of.min(initial=0) < 0:
            message = "a value belongs to a feature that is not there"
            raise ValueError(message)
        super()._restore(arrays)


def _shares(counts: dict[Any, float], pseudo_count: float) -> dict[Any, float]:
    """The share of each value, with a pseudo-count for each."""
    total = sum(counts.values()) + pseudo_count * len(counts)
    return {value: (count + pseudo_count) / total for value, count in counts.items()}
