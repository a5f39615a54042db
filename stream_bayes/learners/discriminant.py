"""Gaussian discriminant analysis: numbers, jointly normal given the class with unknown mean and covariance."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from stream_bayes.errors import EvidenceError, InputError, UnlearnError
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, IntArray
from stream_bayes.features.vocabulary import pack_json, unpack_json
from stream_bayes.kernels.common.cholesky import solve
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.gaussian.covariance import SHARED, Assumptions, GroupCovariance, measure, new_spread
from stream_bayes.kernels.gaussian.discriminant import centre, fold_discriminant
from stream_bayes.kernels.gaussian.pair_moments import PairMoments, first_misfit, lacks_what_all_had, seen_places
from stream_bayes.kernels.naive_bayes.gaussian import NormalPrior
from stream_bayes.learners.base.additive_classifier import AdditiveClassifier
from stream_bayes.learners.base.arrays import padded
from stream_bayes.learners.base.labels import Label, check_label
from stream_bayes.learners.base.numeric_features import SLACK, SampleMoments, check_numbers, check_prior, merged
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import NormalInverseGamma
from stream_bayes.typing import FloatArray
from stream_bayes.validation import one_of

# By place the kernel's FULL, SHARED, DIAGONAL, SPHERICAL.
FORMS = ("full", "shared", "diagonal", "spherical")


class GaussianDiscriminant(AdditiveClassifier):
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
        "posterior": a multivariate Student's t, wide while there is little data; "plug-in": the normal with
        maximum-likelihood means and covariance S / n (shared: all S / all n; spherical: all squares / all values), as
        scikit-learn's quadratic and linear discriminant analysis have it. Where that is singular, as it is with no
        more events than features, the normal has the posterior's location and Psi / degrees instead.

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
    fewest degrees. Then 2 scale I + S may be indefinite, and its correlations are moved to the nearest that are not.
    With such gaps put the prior mean near the data: it moves features of different n by different strength (mean - m) /
    (strength + n), and the joint distance takes the difference for one of the event.

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

    posterior_kinds: ClassVar[tuple[str, ...]] = ("feature", "word")

    def __init__(
        self,
        covariance: str = "full",
        prior: NormalInverseGamma = NormalInverseGamma(0.0, 0.01, 1.0, 1.0),
        class_prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        predictive: str = "posterior",
    ) -> None:
        super().__init__(class_prior_count, classes, buckets=None)
        self.covariance = one_of(covariance, "covariance", FORMS)
        self.prior = check_prior(prior)
        self.predictive = one_of(predictive, "predictive", ("posterior", "plug-in"))
        self._evidence = PairMoments(np.zeros(len(self._labels)), *np.zeros((3, len(self._labels), 0, 0)))

    def posterior(self, feature: FeatureName, label: Any) -> NormalInverseGamma:
        """Mean and variance of a feature in a class; a common variance has the evidence of all that share it."""
        code = self._labels.code(label)
        column = int(self._vocabulary.lookup([feature])[0])
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
        columns, factor, spread = self._measured(label, plug_in=False)
        surplus = np.maximum(spread.degrees[-1] - 2.0, 0.0)
        with np.errstate(divide="ignore"):
            deviations = np.sqrt(spread.variance[-1] * (spread.degrees[-1] / surplus))
        correlations = factor @ factor.T
        matrix = np.zeros_like(factor)
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
        columns, factor, spread = self._measured(positive, plug_in=True)
        codes = (self._known(positive), self._known(negative))
        prior = NormalPrior(*self.prior)
        deviations = np.sqrt(spread.variance[0])
        plain = bool(spread.plain[0].all())
        means = np.array([[sum(centre(i, code, plain, prior, self._evidence)) for i in columns] for code in codes])
        weights = solve(factor, (means[0] - means[1]) / deviations) / deviations
        one, other = (self.class_posterior()[check_label(label)] for label in (positive, negative))
        if min(one, other) == 0.0:
            message = "a label without events or pseudo-count has no finite log-odds"
            raise EvidenceError(message)
        # (p + q)' C^-1 (p - q) = p' C^-1 p - q' C^-1 q
        bias = math.log(one / other) - 0.5 * float((means[0] + means[1]) @ weights)
        return dict(zip(self._names(columns), weights.tolist(), strict=True)), bias

    def _reserve(self) -> None:
        classes = len(self._labels)
        names = len(self._vocabulary)
        room = self._evidence.weight.shape[1]
        room = room if names <= room else max(names, 2 * room)
        if self._evidence.weight.shape[:2] != (classes, room):
            tables = (padded(array, (classes, room, room)) for array in self._evidence[1:])
            self._evidence = PairMoments(padded(self._evidence.class_weight, (classes,)), *tables)

    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        model = self._assumptions(plug_in=self.predictive == "plug-in")
        fold_discriminant(rows, score, self.class_prior_count, self._labels.declared, model, self._evidence, joint)

    def _check_values(self, batch: Batch) -> None:
        check_numbers(batch)

    def _check_unlearn(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        place = first_misfit(rows.columns, rows.values, label, weight, SLACK, 2.0 * self.prior.scale, self._evidence)
        if place >= 0:
            name = self._name_at(batch, rows, place)
            message = f"feature {name!r} = {rows.values[place]:g} cannot be taken back: no such event was learned"
            raise UnlearnError(message)
        if lacks_what_all_had(rows.columns, label, weight, self._evidence):
            message = "this event lacks a feature that every such event of the label had: it was never learned"
            raise UnlearnError(message)

    def _absorb(self, other: Self) -> None:
        codes, columns = self._adopt(other)
        places = np.ix_(codes, columns, columns)
        size = len(columns)
        self._evidence.class_weight[codes] += other._evidence.class_weight
        mine = SampleMoments(*(array[places] for array in self._evidence[1:]))
        theirs = SampleMoments(*(array[:, :size, :size] for array in other._evidence[1:]))
        for array, both in zip(self._evidence[1:], merged(mine, theirs), strict=True):
            array[places] = both

    def _arrays(self) -> Arrays:
        size = len(self._vocabulary)
        tables = {name: getattr(self._evidence, name)[:, :size, :size].copy() for name in PairMoments._fields[1:]}
        labels = pack_json(list(self._labels))
        class_weight = self._evidence.class_weight.copy()
        return {"labels": labels, **self._vocabulary.state(), "class_weight": class_weight, **tables}

    def _restore(self, arrays: Arrays) -> None:
        self._labels.register(map(check_label, unpack_json(arrays["labels"])))
        self._restore_names(arrays)
        classes = len(self._labels)
        size = len(self._vocabulary)
        shapes = ((classes,), *((classes, size, size),) * 3)
        for name, shape in zip(PairMoments._fields, shapes, strict=True):
            array = arrays[name]
            if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
                message = f"array {name!r} has {array.dtype} of shape {array.shape}, expected finite float64 of {shape}"
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

    def _measured(self, label: Any, *, plug_in: bool) -> tuple[IntArray, FloatArray, GroupCovariance]:
        """Columns with evidence, the factor of their correlations in a class, and their variances."""
        code = self._known(label)
        model = self._assumptions(plug_in=plug_in)
        columns = seen_places(np.arange(len(self._vocabulary)), self._evidence.weight)
        spread = new_spread(1 if model.form == SHARED else code + 1, len(columns))
        measure(len(spread.ready) - 1, columns, model, self._evidence, spread)
        factor = np.tril(spread.matrix[-1]) if model.form <= SHARED else np.eye(len(columns))
        return columns, factor, spread
