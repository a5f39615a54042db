"""Gram regression: every linear model of a stream from its means and scatter, with no second look at the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from stream_bayes.errors import EvidenceError, ParameterError, shown
from stream_bayes.features import Vocabulary
from stream_bayes.features.values import FeatureName, Features
from stream_bayes.learners.base.weight_names import INTERCEPT, by_text
from stream_bayes.learners.gram.design import Design
from stream_bayes.learners.gram.evidence import log_evidence, maximum, maximum_or_none
from stream_bayes.learners.gram.learner import GramLearner
from stream_bayes.learners.gram.moments import restricted
from stream_bayes.learners.gram.penalties import Penalty, strengths_for, weights_of
from stream_bayes.learners.gram.results import (
    BiasVariance,
    EvidenceMaximum,
    Fit,
    Path,
    Sampling,
    SelectionStep,
    Subset,
    gaussian_log_likelihood,
)
from stream_bayes.learners.gram.selection import best_subsets, select, univariate_r_squared
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_scale, each, finite, non_negative, positive


class GramRegression(GramLearner):
    """Linear regression from X'X, X'y and y'y alone: all penalties and strengths after one pass over a stream.

    Parameters
    ----------
    strength
        Strength of the ridge penalty behind predictions: the prior of a weight is N(0, noise / strength).
    noise_variance
        What the variance of the noise is expected to be.
    noise_degrees
        How many events that expectation is worth. Above 2 the predicted variance is finite from the start.
    intercept
        Whether there is one; it is never penalised.
    buckets
        Hash names into this many columns (a power of two up to 4096) instead of keeping them.

    Notes
    -----
    Kept are n = sum of weights, the means of features and target, and the scatter around them, moved by Welford's
    update: mean + w / (n + w) (u - mean), S + w n / (n + w) (u - mean)(u - mean)'. A feature absent from an event is 0,
    so one may come at any time. Learning, merging and forgetting cost O(d^2), and so does unlearning after a check of
    O(d^3): an event is refused when the scatter without it would have a negative eigenvalue, for then it cannot have
    been learned. All are exact up to rounding. X and y below are centred if there is an intercept, and as they came if
    not.

    `solve` minimises |y - Xw|^2 / 2 + P(w):

    - "ridge": P = strength |w|^2 / 2, scikit-learn's Ridge(alpha=strength);
    - "lasso": P = strength |w|_1, its Lasso(alpha=strength / n);
    - "elastic-net": P = strength (share |w|_1 + (1 - share) |w|^2 / 2), its ElasticNet(alpha=strength / n,
      l1_ratio=share);
    - "lp": P = strength sum |w|^power / power, for a power between 1, which is the LASSO, and 2, which is ridge;
    - "none": P = 0, and of all solutions the one of least |w|.

    Predictions are those of the conjugate prior w ~ N(0, v / strength), an intercept with no prior to speak of, and
    v ~ inverse gamma: with k = strength, Student's t with noise_degrees + n degrees, mean y_mean + z'w, z = x - x_mean,
    and squared scale noise (1 + 1 / n + z'(S + k)^-1 z), where (noise_degrees + n) noise is noise_degrees
    noise_variance plus the least |y - Xw|^2 + k |w|^2. A feature never learned adds its square over k. With less than
    one event 1 / n is held at 1: before any, the target is expected at 0, its level as uncertain as one target is.

    The first prediction after a change costs O(d^3): to predict before each event learned, take
    BayesianLinearRegression. Targets that the features explain but for a share of 1e-14, and columns that others
    explain but for 1e-12, count as explained: that is how far sums of squares reach. LASSO and elastic net meet the
    conditions of their minimum to a hundredth of the L1 penalty; a strength so small that rounding does not allow it
    is refused with NumericalError.

    Examples
    --------
    >>> model = GramRegression(strength=0.5)
    >>> for x, y in ((0, 1.0), (1, 2.9), (2, 5.1), (3, 7.0)):
    ...     model.learn_one({"x": x}, y)
    >>> fit = model.solve("none")
    >>> round(fit.weights["x"], 4), round(fit.intercept, 4), round(fit.residual_squares, 4)
    (2.02, 0.97, 0.018)
    >>> round(model.predict_one({"x": 4}), 4), round(model.degrees_of_freedom(0.5), 4)
    (8.5909, 0.9091)
    """

    def __init__(
        self,
        strength: float = 1.0,
        noise_variance: float = 1.0,
        noise_degrees: float = 4.0,
        intercept: bool = True,
        buckets: int | None = None,
    ) -> None:
        super().__init__(strength, noise_variance, noise_degrees, intercept, buckets)

    def solve(
        self,
        penalty: str = "ridge",
        strength: float | None = None,
        share: float = 0.5,
        standardise: bool = False,
        power: float = 1.5,
    ) -> Fit:
        """The weights of least squares under a penalty; the strength is the learner's own if not given.

        `share` is that of the LASSO in an elastic net, `power` that of an lp penalty. To standardise is to penalise the
        weights of features divided by their standard deviations; the answer is on the scale of the data either way.
        """
        design = self._taught()
        under = Penalty.on(design, penalty, share, standardise=standardise, power=power)
        size = 0.0 if penalty == "none" else self._strength(strength)
        weights, degrees = weights_of(design, under, size, np.zeros(len(design.columns)))
        named = dict(zip(self._names(design.columns), weights.tolist(), strict=True))
        level = self._intercept(design, weights)
        root = under.sampling_root(size)
        sampling = None if root is None else Sampling(root, design.means if self.intercept else None)
        return Fit(named, level, degrees, design.squares(weights), self.buckets, design.count, sampling)

    def path(
        self,
        penalty: str = "ridge",
        strengths: Sequence[float] | int | None = None,
        share: float = 0.5,
        standardise: bool = False,
        power: float = 1.5,
    ) -> Path:
        """The weights for many strengths, from the largest on, each starting from the one before.

        Without strengths, or given how many, they are spread evenly in their logarithm over all that happens.
        """
        if penalty == "none":
            message = "there is no path without a penalty: take solve('none')"
            raise ParameterError(message)
        design = self._taught()
        under = Penalty.on(design, penalty, share, standardise=standardise, power=power)
        sizes = strengths_for(design, under, strengths)
        weights = np.zeros((len(sizes), len(design.columns)))
        degrees = np.zeros(len(sizes))
        for row, size in enumerate(sizes.tolist()):
            start = weights[max(row - 1, 0)]
            weights[row], degrees[row] = weights_of(design, under, size, start)
        levels = np.array([self._intercept(design, row) for row in weights])
        squares = np.array([design.squares(row) for row in weights])
        return Path(self._names(design.columns), sizes, weights, levels, degrees, squares)

    def strengths(
        self,
        penalty: str = "ridge",
        strengths: Sequence[float] | int | None = None,
        share: float = 0.5,
        standardise: bool = False,
        power: float = 1.5,
    ) -> FloatArray:
        """The strengths of `path` with these arguments, the largest first."""
        design = self._taught()
        under = Penalty.on(design, penalty, share, standardise=standardise, power=power)
        return strengths_for(design, under, strengths)

    def squared_errors(self, path: Path) -> FloatArray:
        """The sum of squared errors of the events learned here, for every strength of another learner's path."""
        design = self._taught()
        places = {name: place for place, name in enumerate(path.names)}
        known = [places.get(name, -1) for name in self._names(design.columns)]
        padded = np.pad(path.weights, ((0, 0), (0, 1)))
        rows = zip(padded[:, known], path.intercepts.tolist(), strict=True)
        return np.array([design.squares_around(weights, level) for weights, level in rows])

    def degrees_of_freedom(self, strength: float | None = None, standardise: bool = False) -> float:
        """Sum of s^2 / (s^2 + strength) over the singular values of X: how many weights a ridge fit is worth."""
        design = self._taught()
        spectrum = design.standardised if standardise else design.spectrum
        return float(spectrum.kept(self._strength(strength)).sum())

    def log_evidence(self, prior_precision: float, noise_variance: float) -> float:
        """The log density of the targets: log N(y; 0, noise_variance I + X X' / prior_precision), with n terms.

        Without an intercept that is the evidence of BayesianLinearRegression(intercept=False). With one it is
        log N(Cy; 0, noise_variance I + C X X' C / prior_precision), where C takes means away: the evidence of
        scikit-learn's BayesianRidge, with no prior on the intercept, the same however far from 0 the targets are.
        BayesianLinearRegression(intercept=True) has that prior on its intercept too; the density of its targets as they
        came is another, and on centred data lower by log(1 + n / (prior_precision noise_variance)) / 2. The singular
        values are found once for all precisions and variances.
        """
        precision = positive("prior_precision", prior_precision)
        noise = positive("noise_variance", noise_variance)
        check_scale("prior_precision", precision)
        check_scale("noise_variance", noise)
        return log_evidence(self._design().spectrum, float(self._moments.events[0]), precision, noise)

    def maximise_evidence(self) -> EvidenceMaximum:
        """The prior precision and the noise variance under which `log_evidence` is largest.

        EvidenceError says that it rises without a bound, towards no noise or towards weights of 0. With an intercept
        and n - 1 features or more it always does towards no noise; then its highest peak is the answer, if there is
        one.
        """
        design = self._taught()
        return maximum(design.spectrum, design.count, intercept=self.intercept)

    def order_evidence(self, orders: Sequence[Sequence[FeatureName]]) -> list[EvidenceMaximum]:
        """The largest evidence of each of several sets of features, such as the lags or powers of each order.

        The order with the largest `log_evidence` is the likeliest, were all as likely before: terms that explain no
        more than chance would lower it. An empty set, and one whose evidence is largest with all weights 0, has the
        evidence of noise alone, with an infinite `prior_precision`.
        """
        designs = [self.restrict(names)._taught() for names in orders]
        return [maximum_or_none(design.spectrum, design.count, intercept=self.intercept) for design in designs]

    def select(self, direction: str = "forward", count: int | None = None) -> list[SelectionStep]:
        """Features in the order a search takes them in, or throws them out, with the squares left after each.

        "forward" and "backward" are stepwise: each step is the best one by the residual sum of squares and costs
        O(d^2), and features that depend on others join last and leave first. "filter" takes features in by what each
        explains alone, the largest `univariate_r_squared` first, whatever the others explain.
        """
        design = self._taught()
        order, squares = select(design, direction, count)
        return [SelectionStep(*step) for step in zip(self._names(design.columns[order]), squares.tolist(), strict=True)]

    def univariate_r_squared(self) -> dict[FeatureName, float]:
        """The share of the squares of the target that each feature explains alone, the largest first.

        With an intercept that is its squared correlation with the target.
        """
        design = self._taught()
        shares = univariate_r_squared(design)
        order = np.argsort(-shares, kind="stable")
        return dict(zip(self._names(design.columns[order]), shares[order].tolist(), strict=True))

    def best_subsets(self) -> list[Subset]:
        """For every number of features, from 0 on, those under which least squares leaves the least.

        All 2^d subsets of up to 20 features are looked at. Those of features that depend on each other are left out, so
        that the last subset has as many as the rank.
        """
        design = self._taught()
        masks, squares = best_subsets(design)
        names = self._names(design.columns)
        found = zip(masks.tolist(), squares.tolist(), strict=True)
        return [
            Subset(tuple(name for place, name in enumerate(names) if mask >> place & 1), left)
            for mask, left in found
            if math.isfinite(left)
        ]

    def restrict(self, names: Sequence[FeatureName]) -> GramRegression:
        """A learner of the same parameters and events that has seen these features only: exact, as sums are.

        Its evidence, cross-validation and fits are those of the smaller model: so orders of an autoregression, or
        degrees of a polynomial, are compared after one pass.
        """
        if not isinstance(self._vocabulary, Vocabulary):
            message = "features that were hashed cannot be told apart: take a learner with buckets=None"
            raise ParameterError(message)
        wanted = list(names)
        places = self._vocabulary.lookup(wanted)
        if (places < 0).any() or len(set(wanted)) < len(wanted):
            message = f"names must be different features that were learned; got {shown(wanted)}"
            raise ParameterError(message)
        texts = {name[0] for name in wanted if isinstance(name, tuple) and name[0] in self._vocabulary.texts}
        smaller = self.clone()
        smaller._vocabulary.register(wanted, texts)
        smaller._moments = restricted(self._moments, places)
        return smaller

    def log_likelihood(
        self, weights: Mapping[FeatureName, float], intercept: float = 0.0, noise_variance: float | None = None
    ) -> float:
        """The logarithm of p(targets | these weights) with normal noise: -(n log(2 pi v) + squares / v) / 2.

        `squares` is the sum of (y - intercept - x'weights)^2 over the events learned; features not named have weight 0.
        Without a variance v, at the likeliest one, squares / n.
        """
        design = self._taught()
        given = {name: finite(f"weight of {shown(name)}", weight) for name, weight in weights.items()}
        names = self._names(design.columns)
        unknown = [name for name in given if name not in names]
        if unknown:
            message = f"no event had a feature {shown(unknown[0])}"
            raise ParameterError(message)
        own = np.array([given.get(name, 0.0) for name in names])
        squares = design.squares_around(own, finite("intercept", intercept))
        return gaussian_log_likelihood(design.count, squares, noise_variance)

    def log_likelihood_curve(
        self, name: FeatureName, values: Sequence[float], noise_variance: float | None = None
    ) -> FloatArray:
        """The profile log-likelihood of one weight: at each value, with all other weights at their likeliest.

        With a known variance v it is a parabola, its maximum at least squares, where -1 / its second derivative is the
        square of the weight's standard error. Without one, the variance is at its likeliest for each value.
        """
        design = self._taught()
        names = self._names(design.columns)
        if name not in names:
            message = f"no event had a feature {shown(name)}"
            raise ParameterError(message)
        squares = design.profile_squares(names.index(name), np.array(each(finite, "value", values)))
        return np.array([gaussian_log_likelihood(design.count, left, noise_variance) for left in squares.tolist()])

    def bias_variance(
        self,
        x: Features,
        weights: Mapping[FeatureName, float],
        strength: float | None = None,
        noise_variance: float | None = None,
    ) -> BiasVariance:
        """Bias and variance of the ridge prediction of an event, were these weights the truth.

        Over targets drawn again for the events learned: bias = E[prediction] - truth, and variance = noise_variance
        (1 / n + z'(S + k)^-1 S (S + k)^-1 z) with z = x - x_mean; without an intercept X'X for S, x for z and no 1 / n.
        The true intercept goes by the name "intercept", unless a feature has it; with an intercept of its own the
        learner finds any. The noise variance is the one the learner now expects, if not given.
        """
        design = self._taught()
        size = self._strength(strength)
        noise = self._posterior().noise if noise_variance is None else positive("noise_variance", noise_variance)
        true = {name: finite(f"weight of {shown(name)}", weight) for name, weight in weights.items()}
        names = self._names(design.columns)
        event = self._event(x)
        level = 0.0 if INTERCEPT in names else true.pop(INTERCEPT, 0.0)
        # What a feature that no event had does to the target, no prediction can know.
        unknown = math.fsum(event[name] * true.get(name, 0.0) for name in event.keys() - set(names))
        own, truth = (np.array([known.get(name, 0.0) for name in names]) for known in (event, true))
        bias, variance = bias_variance(design, own, truth, level, size)
        return BiasVariance(bias - unknown, noise * variance)

    def _estimates(self) -> dict[str, float]:
        if not self._moments.events[0] > 0.0:
            return {}
        fit = self.solve()
        return by_text(fit.weights, fit.intercept if self.intercept else None)

    def _taught(self) -> Design:
        design = self._design()
        if design.count == 0.0:
            message = "nothing was learned yet, so there is nothing to solve"
            raise EvidenceError(message)
        return design

    def _strength(self, strength: float | None) -> float:
        own = self.strength if strength is None else non_negative("strength", strength)
        check_scale("strength", own)
        return own

    def _intercept(self, design: Design, weights: FloatArray) -> float:
        if not self.intercept:
            return 0.0
        return math.fsum([design.target_mean, *(-design.means * weights).tolist()])


def bias_variance(
    design: Design, event: FloatArray, weights: FloatArray, intercept: float, strength: float
) -> tuple[float, float]:
    """Bias of the prediction of an event, and its variance where that of the noise is 1.

    In the directions of U, a share s^2 / (s^2 + k) of the true weights is found, and noise moves them by s / (s^2 + k).
    Centred targets have no level; otherwise X'1 intercept is taken for an effect of the features.
    """
    spectrum = design.spectrum
    away = event - design.means if design.intercept else event
    z = spectrum.vectors.T @ away
    true = spectrum.vectors.T @ weights
    gain = spectrum.gain(strength)
    bias = -float((z * spectrum.lost(strength)) @ true)
    if not spectrum.full:
        # Of what is at right angles to all events, nothing is found.
        bias -= float((away - spectrum.vectors @ z) @ (weights - spectrum.vectors @ true))
    variance = float(np.sum((z * gain) ** 2))
    if design.intercept:
        return bias, variance + 1.0 / design.count
    level = intercept * design.count * (spectrum.vectors.T @ design.means)
    return bias + float((z * gain) @ (level / spectrum.singular)) - intercept, variance
