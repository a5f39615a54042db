"""Gaussian discriminant analysis: numbers, jointly normal given the class with unknown mean and covariance."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from stream_bayes.errors import EvidenceError, InputError, UnlearnError
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, Features, IntArray
from stream_bayes.features.vocabulary import pack_json, unpack_json
from stream_bayes.kernels.compiled import FloatArray
from stream_bayes.kernels.discriminant import (
    SHARED,
    Assumptions,
    PairMoments,
    Spread,
    centre,
    fold_discriminant,
    measure,
    new_spread,
    seen_places,
)
from stream_bayes.kernels.gaussian import NormalPrior
from stream_bayes.kernels.rows import RESIDUE, Joint, Rows
from stream_bayes.learners.base import Additive, of_kind, one_of
from stream_bayes.learners.classifier import ColumnClassifier
from stream_bayes.learners.labels import Label, check_label
from stream_bayes.learners.naive_bayes.base import padded
from stream_bayes.learners.naive_bayes.gaussian import LARGEST_VALUE, SLACK
from stream_bayes.learners.predictions import LabelPredictions
from stream_bayes.posteriors import NormalInverseGamma
from stream_bayes.posteriors.checked import non_negative
from stream_bayes.snapshot import Arrays

# By place the kernel's FULL, SHARED, DIAGONAL, SPHERICAL.
FORMS = ("full", "shared", "diagonal", "spherical")
SMALLEST_ROOM = 8
# The square of the largest value, so many times over in every event, is still finite.
LARGEST_WEIGHT = 1e12


class GaussianDiscriminant(ColumnClassifier, Additive):
    """Gaussian discriminant analysis: in each class the features are jointly normal, mean and covariance unknown.

    Parameters
    ----------
    covariance
        "full": each class has its own; "shared": all have the same, so that the plug-in log-odds are linear;
        "diagonal": each class has its own variances and no correlations, which is `GaussianNB`; "spherical": one
        variance for all features of a class.
    prior
        Normal-inverse-gamma prior of each feature's mean and variance in each class, independent between features.
    class_prior_count
        Pseudo-count of each class; 0 gives class frequencies.
    classes
        Labels known beforehand; others join when they are first learned.
    predictive
        "posterior": a multivariate Student's t, wide while there is little data; "plug-in": the normal with the means
        and the unbiased covariance of the data, S / (n - 1), shared: S / (n - number of classes). Where that has not
        full rank, the normal has the posterior's location and Psi / degrees instead.

    Notes
    -----
    With n events of mean m and scatter matrix S: strength + n, location (strength mean + n m) / (strength + n), degrees
    2 shape + n, and Psi = 2 scale I + S + strength n / (strength + n) (m - mean)(m - mean)'. An event has a
    multivariate t with these degrees and scale matrix Psi (1 + 1 / (strength + n)) / degrees. Some of the features have
    the submatrix and the same degrees, so a feature missing from a prediction is marginalised out, exactly, and one
    that comes late changes nothing before it. Shared: S and degrees are sums over the classes. Spherical: shape + half
    the values of all features, scale + half their squares, and a t with those degrees.

    Where events that were learned lack features, each entry of S comes from the events that had both and is scaled to
    all that had one, by sqrt(n_ii n_jj) / n_ij; each feature keeps its exact own posterior, and the joint t takes the
    fewest degrees. Such a matrix may be indefinite, and then its correlations are moved to the nearest that are not.

    The variance of the log-odds is by the delta method, and takes the classes as independent, also where they share a
    covariance: there it is too large.

    k features cost O(k^2) to learn and memory for the square of all names; to predict costs O(k^3) a class after its
    evidence or the set of features has changed, O(k^2) else, within one call.

    Examples
    --------
    >>> model = GaussianDiscriminant(prior=NormalInverseGamma(mean=0, strength=0.5, shape=2, scale=0.5))
    >>> for x, y, label in ((0, 0, "a"), (1, 1, "a"), (2, 2, "a"), (0, 2, "b"), (1, 1, "b"), (2, 0, "b")):
    ...     model.learn_one({"x": x, "y": y}, label)
    >>> {label: round(p, 4) for label, p in model.predict_proba_one({"x": 2, "y": 1.5}).items()}
    {'a': 0.7978, 'b': 0.2022}
    >>> names, matrix = model.covariance_of("b")
    >>> names, matrix.round(4).tolist()
    (['x', 'y'], [[0.6857, -0.3143], [-0.3143, 0.6857]])
    """

    _evidence: PairMoments
    _vocabulary: Vocabulary

    def __init__(
        self,
        covariance: str = "full",
        prior: NormalInverseGamma = NormalInverseGamma(0.0, 0.01, 1.0, 1.0),
        class_prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        predictive: str = "posterior",
    ) -> None:
        super().__init__(classes, buckets=None)
        self.covariance = one_of(covariance, "covariance", FORMS)
        self.prior = of_kind(prior, "prior", NormalInverseGamma)
        self.class_prior_count = non_negative("class_prior_count", class_prior_count)
        self.predictive = one_of(predictive, "predictive", ("posterior", "plug-in"))
        self._evidence = PairMoments(np.zeros(len(self._labels)), *np.zeros((3, len(self._labels), 0, 0)))

    def class_posterior(self) -> dict[Label, float]:
        """Pseudo-counts of the Dirichlet posterior over the labels."""
        weights = self._evidence.class_weight
        return {
            label: self.class_prior_count + float(weights[code])
            for code, label in enumerate(self._labels)
            if code < self._labels.declared or weights[code] > 0.0
        }

    def posterior(self, feature: FeatureName, label: Any) -> NormalInverseGamma:
        """Mean and variance of a feature in a class; a common variance has the evidence of all that share it."""
        code, column = self._labels.code(label), int(self._vocabulary.lookup([feature])[0])
        own = self._cell(code, column)
        pooled = [own]
        if self.covariance == "shared":
            pooled = [self._cell(other, column) for other in range(len(self._labels))]
        elif self.covariance == "spherical":
            pooled = [self._cell(code, other) for other in range(len(self._vocabulary))]
        shape = self.prior.shape + sum(one.shape - self.prior.shape for one in pooled)
        scale = self.prior.scale + sum(one.scale - self.prior.scale for one in pooled)
        return NormalInverseGamma(own.mean, own.strength, shape, scale)

    def mean(self, label: Any) -> dict[FeatureName, float]:
        """Expected mean of each feature in a class; the prior's where the class has no values."""
        code = self._labels.code(label)
        return {name: self._cell(code, column).mean for column, name in enumerate(self._vocabulary.names)}

    def covariance_of(self, label: Any) -> tuple[list[FeatureName], FloatArray]:
        """Names, and the expected covariance matrix in a class; infinite where 2 shape + n is not above 2."""
        columns, correlations, spread = self._measured(label, plug_in=False)
        surplus = np.maximum(spread.degrees[-1] - 2.0, 0.0)
        with np.errstate(divide="ignore"):
            deviations = np.sqrt(spread.variance[-1] * (spread.degrees[-1] / surplus))
        matrix = np.zeros_like(correlations)
        np.multiply(correlations, np.outer(deviations, deviations), out=matrix, where=correlations != 0.0)
        return self._names(columns), matrix

    def linear_form(self, positive: Any, negative: Any) -> tuple[dict[FeatureName, float], float]:
        """Weights and bias of the plug-in log-odds, linear since the covariance C is shared.

        With means p and q the weights are C^-1 (p - q), and the bias is the log prior odds less half of
        p' C^-1 p - q' C^-1 q.
        """
        if self.covariance != "shared":
            message = f"the log-odds are linear with covariance='shared' only; this learner has {self.covariance!r}"
            raise EvidenceError(message)
        columns, correlations, spread = self._measured(positive, plug_in=True)
        codes, prior = (self._known(positive), self._known(negative)), NormalPrior(*self.prior)
        deviations, plain = np.sqrt(spread.variance[0]), bool(spread.plain[0].all())
        means = np.array([[centre(i, code, plain, prior, self._evidence) for i in columns] for code in codes])
        weights = np.linalg.solve(correlations, (means[0] - means[1]) / deviations) / deviations
        counts = self.class_posterior()
        ratio = math.log(counts[check_label(positive)] / counts[check_label(negative)])
        # (p + q)' C^-1 (p - q) = p' C^-1 p - q' C^-1 q
        bias = ratio - 0.5 * float((means[0] + means[1]) @ weights)
        return dict(zip(self._names(columns), weights.tolist(), strict=True)), bias

    def unlearn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Take one event back, as if it had never come; refused when it cannot have been learned."""
        batch = self._one(x)
        self._check_values(batch)
        weight = non_negative("weight", w, InputError)
        label = self._labels.code(check_label(y))
        if weight == 0.0:
            return
        if label < 0 or self._evidence.class_weight[label] < weight - RESIDUE:
            message = f"label {y!r} has less evidence than the weight {weight:g} to take back"
            raise UnlearnError(message)
        rows = self._rows(batch, self._find(batch), np.array((label,)), np.array((-weight,)))
        if (rows.columns < 0).any() or not self._can_unlearn(rows.columns, rows.values, label, weight):
            message = f"{dict(x)!r} cannot be taken back from {y!r}: no such event was learned"
            raise UnlearnError(message)
        self._run(batch, rows, score=False)

    def _can_unlearn(self, columns: IntArray, values: FloatArray, label: int, weight: float) -> bool:
        """Whether what is left can be counts and scatters of events, up to rounding."""
        whole = self._evidence.weight[label].copy()
        pairs = np.ix_(columns, columns)
        count, mean, scatter = (array[label][pairs] for array in self._evidence[1:])
        whole[pairs] = left = count - weight
        # The events that had both features are among those that had one, and these among all.
        nested = (whole[columns] <= left.diagonal()[:, None] + RESIDUE).all()
        within = (whole.diagonal() <= self._evidence.class_weight[label] - weight + RESIDUE).all()
        # Welford backwards; and a co-scatter is no larger than the scatters of the two allow.
        offset = values[:, None] - mean
        remaining = left > RESIDUE
        share = np.divide(count, left, out=np.ones_like(left), where=remaining)
        rest = scatter - weight * offset * offset.T * share
        squares = scatter.diagonal() + weight * (values**2 + mean.diagonal() ** 2)
        slack = SLACK * (2.0 * self.prior.scale + squares)
        bound = np.sqrt(np.maximum(rest.diagonal(), 0.0) + slack)
        possible = (rest.diagonal() >= -slack).all() and (np.abs(rest) <= np.outer(bound, bound)).all()
        return bool((left >= -RESIDUE).all() and nested and within and possible)

    def _reserve(self) -> None:
        classes, room = len(self._labels), self._evidence.weight.shape[1]
        if len(self._vocabulary) > room:
            room = max(len(self._vocabulary), 2 * room, SMALLEST_ROOM)
        if self._evidence.weight.shape[:2] != (classes, room):
            tables = (padded(array, (classes, room, room)) for array in self._evidence[1:])
            self._evidence = PairMoments(padded(self._evidence.class_weight, (classes,)), *tables)

    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        model = self._assumptions(plug_in=self.predictive == "plug-in")
        fold_discriminant(rows, score, self.class_prior_count, self._labels.declared, model, self._evidence, joint)

    def _learn(
        self, batch: Batch, labels: IntArray, new_labels: list[Label], weights: FloatArray, *, score: bool
    ) -> LabelPredictions:
        if weights.max(initial=0.0) > LARGEST_WEIGHT:
            message = f"weights must be at most {LARGEST_WEIGHT:g}, so that sums of squares are finite"
            raise InputError(message)
        return super()._learn(batch, labels, new_labels, weights, score=score)

    def _check_values(self, batch: Batch) -> None:
        if batch.texts:
            message = f"feature {min(batch.texts, key=repr)!r} is a text: Gaussian features are numbers"
            raise InputError(message)
        if len(batch.values) and np.abs(batch.values).max() > LARGEST_VALUE:
            message = f"values must lie between -{LARGEST_VALUE:g} and {LARGEST_VALUE:g}, so that squares are finite"
            raise InputError(message)

    def _absorb(self, other: Self) -> None:
        codes, new_labels = self._labels.codes(other._labels)
        columns = self._vocabulary.register(other._vocabulary.names)
        self._labels.register(new_labels)
        self._reserve()
        places, size = np.ix_(codes, columns, columns), len(columns)
        self._evidence.class_weight[codes] += other._evidence.class_weight
        mine = [array[places] for array in self._evidence[1:]]
        theirs = [array[:, :size, :size] for array in other._evidence[1:]]
        total = mine[0] + theirs[0]
        share = np.divide(theirs[0], total, out=np.zeros_like(total), where=total > 0.0)
        offset = theirs[1] - mine[1]
        # Chan, Golub and LeVeque: the scatter of two samples is theirs plus that between their means.
        between = offset * offset.transpose(0, 2, 1) * (mine[0] * share)
        self._evidence.scatter[places] = mine[2] + theirs[2] + between
        self._evidence.mean[places] = mine[1] + offset * share
        self._evidence.weight[places] = total

    def _scale(self, factor: float) -> None:
        for array in (self._evidence.class_weight, self._evidence.weight, self._evidence.scatter):
            np.multiply(array, factor, out=array)
        if factor == 0.0:
            self._evidence.mean[:] = 0.0

    def _arrays(self) -> Arrays:
        size = len(self._vocabulary)
        arrays: Arrays = {"labels": pack_json(list(self._labels)), **self._vocabulary.state()}
        arrays["class_weight"] = self._evidence.class_weight.copy()
        for name in PairMoments._fields[1:]:
            arrays[name] = getattr(self._evidence, name)[:, :size, :size].copy()
        return arrays

    def _restore(self, arrays: Arrays) -> None:
        self._labels.register(unpack_json(arrays["labels"]))
        self._vocabulary = Vocabulary.from_state(arrays)
        classes, size = len(self._labels), len(self._vocabulary)
        shapes = ((classes,), *((classes, size, size),) * 3)
        for name, shape in zip(PairMoments._fields, shapes, strict=True):
            if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
                message = f"array {name!r} has shape {arrays[name].shape}, expected {shape}, all finite"
                raise ValueError(message)
        evidence = PairMoments(*(arrays[name] for name in PairMoments._fields))
        squares = evidence.scatter.diagonal(axis1=1, axis2=2)
        if min(array.min(initial=0.0) for array in (evidence.class_weight, evidence.weight, squares)) < 0.0:
            message = "weights and sums of squares must be 0 or more"
            raise ValueError(message)
        self._evidence = evidence

    def _assumptions(self, *, plug_in: bool) -> Assumptions:
        return Assumptions(FORMS.index(self.covariance), plug_in, NormalPrior(*self.prior))

    def _cell(self, code: int, column: int) -> NormalInverseGamma:
        """Posterior of one feature in one class, by itself."""
        if code < 0 or column < 0:
            return self.prior
        return self.prior.update_moments(*(float(array[code, column, column]) for array in self._evidence[1:]))

    def _known(self, label: Any) -> int:
        if check_label(label) not in self.class_posterior():
            message = f"label {label!r} was neither learned nor declared"
            raise InputError(message)
        return self._labels.code(label)

    def _names(self, columns: IntArray) -> list[FeatureName]:
        names = self._vocabulary.names
        return [names[column] for column in columns]

    def _measured(self, label: Any, *, plug_in: bool) -> tuple[IntArray, FloatArray, Spread]:
        """Columns with evidence, their correlations in a class, and their variances."""
        code, model = self._known(label), self._assumptions(plug_in=plug_in)
        columns = seen_places(np.arange(len(self._vocabulary)), self._evidence.weight)
        spread = new_spread(1 if model.form == SHARED else code + 1, len(columns))
        measure(len(spread.ready) - 1, columns, model, self._evidence, spread)
        factor = np.tril(spread.matrix[-1]) if model.form <= SHARED else np.eye(len(columns))
        return columns, factor @ factor.T, spread
