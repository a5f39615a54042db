"""Gaussian discriminant analysis: numbers, jointly normal given the class with unknown mean and covariance."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from stream_bayes.errors import EvidenceError, ParameterError, UnlearnError
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, IntArray
from stream_bayes.features.vocabulary import pack_json, unpack_json
from stream_bayes.kernels.common.cholesky import solve
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.kernels.gaussian.covariance import (
    DIAGONAL,
    SHARED,
    Assumptions,
    GroupCovariance,
    has_one_group,
    is_spherical,
    measure,
    new_spread,
)
from stream_bayes.kernels.gaussian.discriminant import centre, fold_discriminant
from stream_bayes.kernels.gaussian.pair_moments import PairMoments, first_misfit, lacks_what_all_had, seen_places
from stream_bayes.kernels.naive_bayes.gaussian import data_variance
from stream_bayes.learners.base.arrays import padded
from stream_bayes.learners.base.generative_classifier import GenerativeClassifier, no_posterior
from stream_bayes.learners.base.labels import Label, check_label
from stream_bayes.learners.base.numeric_features import (
    SLACK,
    FeatureMoments,
    SampleMoments,
    as_normal_prior,
    check_numbers,
    check_prior,
    merged,
    pooled_posterior,
    unlearning_scale,
)
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import NormalInverseGamma
from stream_bayes.typing import FloatArray
from stream_bayes.validation import one_of, truth

# By place the kernel's FULL, SHARED, DIAGONAL, SPHERICAL, SHARED_SPHERICAL.
FORMS = ("full", "shared", "diagonal", "spherical", "shared-spherical")


class MvNormalEstimate(NamedTuple):
    """An estimate of the mean vector and the covariance matrix of a class."""

    names: list[FeatureName]
    """The features by row and column."""
    mean: FloatArray
    covariance: FloatArray


class GaussianDiscriminant(GenerativeClassifier):
    """Gaussian discriminant analysis: in each class the features are jointly normal, mean and covariance unknown.

    Parameters
    ----------
    covariance
        "full": each class has its own; "shared": all have the same, so that the plug-in log-odds are linear;
        "diagonal": each class has its own variances and no correlations, which is `GaussianNB`; "spherical": one
        variance for all features of a class; "shared-spherical": one variance for all features of all classes, so that
        the boundary of two classes of equal probability bisects their means.
    prior
        Normal-inverse-gamma prior of each feature's mean and variance in each class, independent between features.
        None: maximum likelihood, and the plug-in predictive. A class without a value of a feature then makes every
        value of it impossible; where an event is impossible in all classes, their probabilities are all the same.
    class_prior_count
        Pseudo-count of each class, also without a prior; 0 gives class frequencies: maximum likelihood.
    classes
        Labels known beforehand; others join when they are first learned.
    predictive
        "posterior": a multivariate Student's t, wide while there is little data; "plug-in": the normal with
        maximum-likelihood means and covariance S / n (shared: all S / all n; spherical: all squares / all values), as
        scikit-learn's quadratic and linear discriminant analysis have it. Where that is singular, as it is with no more
        events than features, the normal has the posterior's location and Psi / degrees instead; without a prior,
        correlations whose eigenvalues are 1e-6 or more. `mean` and `covariance_of` then state plug-in values.
    unbiased
        Whether plug-in covariances are unbiased: S / (n - 1). What is shared is divided by the number of its values
        less that of the means fitted to them.

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
        prior: NormalInverseGamma | None = NormalInverseGamma(0.0, 0.01, 1.0, 1.0),
        class_prior_count: float = 1.0,
        classes: tuple[Label, ...] | None = None,
        predictive: str = "posterior",
        unbiased: bool = False,
    ) -> None:
        super().__init__(class_prior_count, classes, buckets=None)
        self.covariance = one_of(covariance, "covariance", FORMS)
        self.prior = check_prior(prior)
        self.predictive = one_of(predictive, "predictive", ("posterior", "plug-in"))
        self.unbiased = truth("unbiased", unbiased, ParameterError)
        self._evidence = PairMoments(np.zeros(len(self._labels)), *np.zeros((3, len(self._labels), 0, 0)))

    def posterior(self, feature: FeatureName, label: Any) -> NormalInverseGamma:
        """Mean and variance of a feature in a class; a common variance has the evidence of all that share it."""
        code = self._labels.code(label)
        column = int(self._vocabulary.lookup([feature])[0])
        form = FORMS.index(self.covariance)
        codes = range(len(self._labels)) if has_one_group(form) else [code]
        columns = range(len(self._vocabulary)) if is_spherical(form) else [column]
        pooled = [self._moments(each, place) for each in codes for place in columns]
        posterior = pooled_posterior(self.prior, self._moments(code, column), pooled)
        if posterior is None:
            raise no_posterior(feature, label)
        return posterior

    def mean(self, label: Any) -> dict[FeatureName, float]:
        """The mean of each feature in a class: its plug-in value, or the posterior's; the prior's without a value."""
        code = self._known_code(label)
        prior = as_normal_prior(self.prior)
        means = {}
        for column, name in enumerate(self._vocabulary.names):
            own = self._moments(code, column)
            if own.weight > 0.0 or self.prior is not None:
                share = 0.0 if self._plugs_in and own.weight > 0.0 else prior.strength / (prior.strength + own.weight)
                means[name] = own.mean + share * (prior.mean - own.mean)
        return means

    def covariance_of(self, label: Any) -> tuple[list[FeatureName], FloatArray]:
        """Names, and the covariance matrix in a class: its plug-in value, or that expected by the posterior.

        The latter is infinite where 2 shape + n is not above 2. It also stands where the plug-in value is singular.
        """
        columns, factor, spread = self._measured(label, plug_in=self._plugs_in)
        plain = spread.plain[-1] | (self.prior is None)
        return self._names(columns), _covariance(factor, np.where(plain, spread.variance[-1], _expected(spread)))

    def linear_form(self, positive: Any, negative: Any) -> tuple[dict[FeatureName, float], float]:
        """Weights and bias of the plug-in log-odds, linear since the covariance C is shared.

        With means p and q the weights are C^-1 (p - q), and the bias is the log prior odds less half of
        p' C^-1 p - q' C^-1 q. With one variance the weights are (p - q) / variance, and the log-odds of two labels of
        equal probability are 0 half-way between the means, and on all of the plane that bisects them.
        """
        if not has_one_group(FORMS.index(self.covariance)):
            message = (
                "the log-odds are linear with covariance='shared' and 'shared-spherical' only; "
                f"this learner has {self.covariance!r}"
            )
            raise EvidenceError(message)
        columns, factor, spread = self._measured(positive, plug_in=True)
        codes = (self._known_code(positive), self._known_code(negative))
        deviations = np.sqrt(spread.variance[0])
        means = np.array([self._centres(code, columns, spread) for code in codes])
        if np.isnan(means).any():
            message = "without a prior a label has no mean of a feature that it has no value of, and no log-odds"
            raise EvidenceError(message)
        weights = solve(factor, (means[0] - means[1]) / deviations) / deviations
        # (p + q)' C^-1 (p - q) = p' C^-1 p - q' C^-1 q
        bias = self._prior_log_odds(positive, negative) - 0.5 * float((means[0] + means[1]) @ weights)
        return dict(zip(self._names(columns), weights.tolist(), strict=True)), bias

    @property
    def _has_prior(self) -> bool:
        return self.prior is not None

    @property
    def _plugs_in(self) -> bool:
        return self.predictive == "plug-in" or self.prior is None

    def _log_base(self, rows: Rows) -> float:
        return -0.5 * math.log(math.pi) * len(seen_places(rows.columns, self._evidence.weight))

    def _counts_of(self, code: int) -> dict[FeatureName, Any]:
        return {name: self._moments(code, column).weight for column, name in enumerate(self._vocabulary.names)}

    def _ml_parameters(self, code: int) -> MvNormalEstimate:
        form = FORMS.index(self.covariance)
        size = len(self._vocabulary)
        columns = np.flatnonzero(self._evidence.weight[code].diagonal()[:size])
        group = slice(None) if has_one_group(form) else slice(code, code + 1)
        weight = self._evidence.weight[group, :size, :size].sum(axis=0)
        scatter = self._evidence.scatter[group, :size, :size].sum(axis=0)
        mean = self._evidence.mean[code][columns, columns]
        if is_spherical(form):
            variance = data_variance(float(np.trace(scatter)), float(np.trace(weight)), 0.0, False)
            return MvNormalEstimate(self._names(columns), mean, variance * np.eye(len(columns)))
        both = weight[np.ix_(columns, columns)]
        covariance = np.zeros_like(both)
        np.divide(scatter[np.ix_(columns, columns)], both, out=covariance, where=both > 0.0)
        return MvNormalEstimate(
            self._names(columns), mean, np.diag(covariance.diagonal()) if form == DIAGONAL else covariance
        )

    def _posterior_parameters(self, label: Label, *, mode: bool) -> MvNormalEstimate:
        columns, factor, spread = self._measured(label, plug_in=False)
        mean = self._centres(self._labels.code(label), columns, spread)
        names = self._names(columns)
        degrees = spread.degrees[-1]
        if not mode:
            return MvNormalEstimate(names, mean, _covariance(factor, _expected(spread)))
        # The joint mode: the density of each mean that shares a covariance adds half a power of its determinant.
        form = FORMS.index(self.covariance)
        counts = self._evidence.weight.diagonal(axis1=1, axis2=2)
        classes = max(int(np.count_nonzero(counts.any(axis=1))), 1) if has_one_group(form) else 1
        width = len(columns)
        powers = 2.0 + classes * (width if is_spherical(form) else 1)
        if form <= SHARED:
            powers = 2.0 * width + classes
        return MvNormalEstimate(names, mean, _covariance(factor, spread.variance[-1] * degrees / (degrees + powers)))

    def _draw_events(self, code: int, count: int, random: np.random.Generator) -> list[dict[FeatureName, Any]]:
        label = list(self._labels)[code]
        columns, factor, spread = self._measured(label, plug_in=self._plugs_in)
        form = FORMS.index(self.covariance)
        strength = as_normal_prior(self.prior).strength + self._evidence.weight[code][columns, columns]
        draws = random.standard_normal((count, len(columns)))
        if not self._plugs_in and len(columns):
            degrees = spread.degrees[-1]
            shared = (count, 1) if form != DIAGONAL else (count, len(columns))
            degrees = degrees if form == DIAGONAL else degrees.min()
            draws = draws * np.sqrt((strength + 1.0) / strength) / np.sqrt(random.chisquare(degrees, shared) / degrees)
        # A factor of the correlations may follow scales that differ between features, as the density has it.
        events = self._centres(code, columns, spread) + (draws @ factor.T) * np.sqrt(spread.variance[-1])
        names = self._names(columns)
        missing = np.flatnonzero(strength == 0.0)
        if len(missing):
            raise no_posterior(names[missing[0]], label)
        return [dict(zip(names, row, strict=True)) for row in events.tolist()]

    def _centres(self, code: int, columns: IntArray, spread: GroupCovariance) -> FloatArray:
        """The mean of each feature as a prediction takes it; NaN where there is neither value nor prior."""
        prior = as_normal_prior(self.prior)
        centres = [
            math.fsum(centre(column, code, bool(spread.plain[-1, place]), prior, self._evidence))
            for place, column in enumerate(columns)
        ]
        return np.array(centres)

    def _reserve(self) -> None:
        classes = len(self._labels)
        names = len(self._vocabulary)
        room = self._evidence.weight.shape[1]
        room = room if names <= room else max(names, 2 * room)
        if self._evidence.weight.shape[:2] != (classes, room):
            tables = (padded(array, (classes, room, room)) for array in self._evidence[1:])
            self._evidence = PairMoments(padded(self._evidence.class_weight, (classes,)), *tables)

    def _fold_events(self, batch: Batch, rows: Rows, joint: Joint, class_prior_count: float, *, score: bool) -> None:
        model = self._assumptions(plug_in=self._plugs_in)
        fold_discriminant(rows, score, class_prior_count, self._labels.declared, model, self._evidence, joint)

    def _check_values(self, batch: Batch) -> None:
        check_numbers(batch)

    def _check_unlearn(self, batch: Batch, rows: Rows, label: int, weight: float) -> None:
        smallest = 2.0 * unlearning_scale(self.prior)
        place = first_misfit(rows.columns, rows.values, label, weight, SLACK, smallest, self._evidence)
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
        return Assumptions(FORMS.index(self.covariance), plug_in, self.unbiased, as_normal_prior(self.prior))

    def _moments(self, code: int, column: int) -> FeatureMoments:
        if code < 0 or column < 0:
            return FeatureMoments(0.0, 0.0, 0.0)
        return FeatureMoments(*(float(array[code, column, column]) for array in self._evidence[1:]))

    def _names(self, columns: IntArray) -> list[FeatureName]:
        names = self._vocabulary.names
        return [names[column] for column in columns]

    def _measured(self, label: Any, *, plug_in: bool) -> tuple[IntArray, FloatArray, GroupCovariance]:
        """Columns with evidence, the factor of their correlations in a class, and their variances."""
        code = self._known_code(label)
        model = self._assumptions(plug_in=plug_in)
        columns = seen_places(np.arange(len(self._vocabulary)), self._evidence.weight)
        spread = new_spread(1 if has_one_group(model.form) else code + 1, len(columns))
        measure(len(spread.ready) - 1, columns, model, self._evidence, spread)
        factor = np.tril(spread.matrix[-1]) if model.form <= SHARED else np.eye(len(columns))
        return columns, factor, spread


def _expected(spread: GroupCovariance) -> FloatArray:
    """The expected variances by the posterior."""
    degrees = spread.degrees[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        expected: FloatArray = spread.variance[-1] * (degrees / np.maximum(degrees - 2.0, 0.0))
    return expected


def _covariance(factor: FloatArray, variances: FloatArray) -> FloatArray:
    """The matrix of factored correlations and variances; of infinite variances those without correlation stay 0."""
    correlations = factor @ factor.T
    deviations = np.sqrt(variances)
    matrix = np.zeros_like(factor)
    np.multiply(correlations, np.outer(deviations, deviations), out=matrix, where=correlations != 0.0)
    return matrix
