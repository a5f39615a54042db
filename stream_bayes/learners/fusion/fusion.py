"""Log-odds fusion: stacking or Bayesian model averaging of classifiers, with online calibration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from stream_bayes.errors import ParameterError, shown
from stream_bayes.features import Batch
from stream_bayes.features.values import Features, IntArray
from stream_bayes.kernels.fusion.calibration import fold_calibration
from stream_bayes.kernels.fusion.combination import fold_evidence, fold_stack, mix
from stream_bayes.learners.base.classifier import Classifier, Prepared
from stream_bayes.learners.base.input_checks import Events
from stream_bayes.learners.base.label_predictions import LabelPredictions
from stream_bayes.learners.base.labels import Label, Many, check_batch, check_label
from stream_bayes.learners.base.two_labels import declared_labels
from stream_bayes.learners.beta_bernoulli import BetaBernoulli
from stream_bayes.learners.fusion.members import MemberPredictions, Members, check_learners
from stream_bayes.learners.fusion.reliability import Reliability, ReliabilityRecord
from stream_bayes.learners.fusion.weights import LARGEST_SUM, LogisticWeights, check_precision
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import LabelPredictive, Normal
from stream_bayes.typing import FloatArray
from stream_bayes.validation import one_of, positive

# A standard deviation of 100 in log-odds: ignorance that more of would not show.
MAX_VARIANCE = 1e4
LARGEST_BOUND = 500.0
MAPS = ("platt", "beta", "none")
_CALIBRATION_WEIGHTS = {
    "platt": ("slope", "intercept"),
    "beta": ("towards second", "towards first", "intercept"),
    "none": (),
}


class LogOddsFusion(Classifier):
    """Stacking or Bayesian model averaging of classifiers of two labels, with online calibration.

    Parameters
    ----------
    learners
        Classifiers as prototypes: the fusion learns on copies of its own that start with no data, and never touches
        those given. Their `classes` must be these two labels, in any order; if they are not declared, the copies
        get them.
    method
        "stacking": a weighted sum of the log-odds, its weights learned from every event. "averaging": Bayesian model
        averaging, each learner weighted by the evidence of what it predicted so far.
    calibration
        "platt", "beta" or "none": the map from the combined log-odds to those that are answered.
    prior_precision
        Prior precision of the weights of the stack around an even 1/K each, and of its intercept around 0.
    calibration_precision
        Prior precision of the weights of the calibration around the identity.
    largest_log_odds
        Log-odds are clipped at this size before they are stacked and before they are calibrated.
    classes
        The two labels; log-odds are those of the second.

    Notes
    -----
    stacking: s = w'x + b of the learners' log-odds x, (w, b) normal with covariance P. Each event, with h = P (x, 1),
    q = (x, 1)'h, k = 1 / sqrt(1 + pi q / 8), p = sigmoid(k s): (w, b) += h k (y - p), P -= h h' k^2 p (1 - p), the
    moments of the posterior, in a factored form. averaging: p = sum of share x p(learner), the shares proportional to
    exp(sum of log p(y)), with no clipping. An event of weight w adds w times the evidence.

    Every stage learns from the predictions of the stages before it, made before any of them learned the event. The
    calibration is applied by its mean, so it is the identity before any data; its variance, that of the stack and those
    of the learners, taken as independent, are the ignorance that `predictive_one` reports. The order of events matters,
    so there is no merging and no unlearning.

    What one learner refuses none has learned. Learners that forget (forgetting < 1) may refuse in mid-step: where there
    are k of them, k - 1 are copied whole at each call that learns, as is every learner of a class that is not of this
    package; batches share that cost. An interrupt from outside may come between two learners: load a snapshot then.

    Examples
    --------
    >>> from stream_bayes import Beta
    >>> coins = BetaBernoulli(prior=Beta(8, 2)), BetaBernoulli(prior=Beta(2, 2))
    >>> model = LogOddsFusion(coins, method="averaging", calibration="none")
    >>> for label in (True, True, True, False):
    ...     model.learn_one({}, label)
    >>> {name: round(share, 4) for name, share in model.weights().items()}
    {'BetaBernoulli': 0.5949, 'BetaBernoulli 2': 0.4051}
    >>> round(model.predict_proba_one({})[True], 4)
    0.7206
    """

    posterior_kinds: ClassVar[tuple[str, ...]] = ("weight",)

    def __init__(
        self,
        learners: tuple[Classifier, ...],
        method: str = "stacking",
        calibration: str = "platt",
        prior_precision: float = 10.0,
        calibration_precision: float = 10.0,
        largest_log_odds: float = 300.0,
        classes: tuple[Label, Label] = (False, True),
    ) -> None:
        self._labels = declared_labels(classes)
        self.classes = self._labels.pair.labels
        # Also what makes `clone` carry no data: whatever learners it is given, a constructor keeps none of theirs.
        self.learners = check_learners(learners, self.classes)
        self.method = one_of(method, "method", ("stacking", "averaging"))
        self.calibration = one_of(calibration, "calibration", MAPS)
        self.prior_precision = check_precision("prior_precision", prior_precision)
        self.calibration_precision = check_precision("calibration_precision", calibration_precision)
        self.largest_log_odds = _check_bound(largest_log_odds)
        count = len(self.learners)
        self._members = Members(self.learners, self.classes)
        self._stack = LogisticWeights([1.0 / count] * count + [0.0], self.prior_precision)
        self._evidence = np.zeros(count)
        self._calibration = Calibration(self.calibration, self.calibration_precision, self.largest_log_odds)
        self._record = ReliabilityRecord()

    @property
    def members(self) -> dict[str, Classifier]:
        """The learners as far as they have learned, by name: to look at, not to teach."""
        names: dict[str, Classifier] = {}
        for learner in self._members.learners:
            kind = type(learner).__name__
            same = sum(type(other).__name__ == kind for other in names.values())
            names[f"{kind} {same + 1}" if same else kind] = learner
        return names

    def weights(self) -> dict[str, Normal | float]:
        """By learner: the posterior of its weight in the stack, and of the intercept; or its share of the average."""
        if self.method == "stacking":
            return dict(zip([*self.members, "intercept"], self._stack.marginals(), strict=True))
        shares = np.exp(self._evidence - self._evidence.max())
        return dict(zip(self.members, (shares / shares.sum()).tolist(), strict=True))

    def _estimates(self) -> dict[str, Normal | float]:
        return self.weights()

    def _evidence_summary(self) -> dict[str, Any]:
        weights = {name: w.mean if isinstance(w, Normal) else w for name, w in self.weights().items()}
        return {"weight of each member": weights}

    def calibration_weights(self) -> dict[str, Normal]:
        """The weights of the calibration, none when there is none."""
        return self._calibration.weights()

    def log_evidence(self) -> dict[str, float]:
        """By learner: the sum of log p(y) over the events, each predicted before it was learned."""
        return dict(zip(self.members, self._evidence.tolist(), strict=True))

    def reliability(self, bins: int = 15) -> Reliability:
        """The calibration over all events learned: predicted probabilities against observed frequencies."""
        return self._record.reliability(bins)

    def predict_proba_one(self, x: Features, **_: Any) -> dict[Label, float]:
        """The probability of both labels."""
        return self._predict(self._members.one(x)).probabilities_of(0)

    def predictive_one(self, x: Features) -> LabelPredictive:
        """The probabilities with their variance, from that of the weights, the learners and the calibration."""
        return self._predict(self._members.one(x)).predictive(0)

    def predictive_many(self, events: Batch | Events) -> LabelPredictions:
        """Predictions for many events; nothing is learned."""
        return self._predict(self._members.parts(events))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Teach one event to every learner, the stack and the calibration; all or nothing."""
        self._learn(self._members.one(x), [check_label(y)], [w])

    def batch(self, events: Events) -> Batch:
        """Events as a batch that holds them in the form of each learner."""
        return self._members.batch(events)

    def test_then_train(self, events: Batch | Events, y: Many, w: Many | None = None) -> LabelPredictions:
        """Predict each row, then learn it: one pass for each learner, one over their log-odds.

        A plain `Batch` is given to every learner as it is, so they must all take its form.
        """
        return self._learn(self._members.parts(events), y, w)

    def _predict(self, parts: Sequence[Batch]) -> LabelPredictions:
        rows = len(parts[0])
        return self._fold(self._members.predict(parts), np.full(rows, -1, dtype=np.int64), np.zeros(rows))

    def _learn(self, parts: Sequence[Batch], y: Any, w: Any) -> LabelPredictions:
        labels, weights = check_batch(len(parts[0]), y, w)
        outcomes, _ = self._labels.codes(labels)
        known = [None if outcome < 0 else self.classes[outcome] for outcome in outcomes.tolist()]
        self._members.check(parts, known)
        return self._fold(self._members.prepare(parts, known, weights).learn(), outcomes, weights)

    def _check_learnable(self, events: Batch, y: Sequence[Label | None]) -> None:
        self._labels.codes(y)
        self._members.check(self._members.parts(events), y)

    def _prepare(self, events: Batch, y: Sequence[Label | None], weights: FloatArray) -> Prepared[LabelPredictions]:
        outcomes, _ = self._labels.codes(y)
        members = self._members.prepare(self._members.parts(events), y, weights)
        return Prepared(lambda: self._fold(members.learn(), outcomes, weights), members.take_back)

    @property
    def _may_fail(self) -> bool:
        return super()._may_fail or self._members.may_fail

    def _fold(self, predictions: MemberPredictions, outcomes: IntArray, weights: FloatArray) -> LabelPredictions:
        """The stages in order, each a fold over all rows with a state of its own; none of them can fail."""
        combined, spread = self._combine(predictions, outcomes, weights)
        log_odds, spread = self._calibration.fold(combined, spread, outcomes, weights)
        probabilities = self._record.fold(log_odds, outcomes, weights)
        variance = np.minimum(spread, MAX_VARIANCE)
        size = np.abs(log_odds)
        # The latent log-odds whose moderated probability is the one answered.
        mean = size * np.sqrt(1.0 + math.pi * variance / 8.0)
        return LabelPredictions(self.classes, probabilities, size, mean, variance)

    def _combine(
        self, predictions: MemberPredictions, outcomes: IntArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        combined, spread = np.empty((2, len(outcomes)))
        before = np.empty_like(predictions.log_odds)
        fold_evidence(predictions.log_odds, outcomes, weights, self._evidence, before)
        if self.method == "averaging":
            mix(*predictions, before, self.largest_log_odds, combined, spread)
        else:
            stack = self._stack.factor, self._stack.target
            fold_stack(*predictions, outcomes, weights, self.largest_log_odds, *stack, combined, spread)
        return combined, spread

    def _arrays(self) -> Arrays:
        arrays = {"evidence": self._evidence.copy(), **self._stack.arrays("stack"), **self._calibration.arrays()}
        for place, learner in enumerate(self._members.learners):
            arrays |= {f"learners.{place}.{name}": array for name, array in learner._arrays().items()}
        return arrays | self._record.arrays()

    def _restore(self, arrays: Arrays) -> None:
        evidence = arrays["evidence"]
        right = evidence.dtype == np.float64 and evidence.shape == self._evidence.shape
        if not right or not ((evidence <= 0.0) & (evidence > -LARGEST_SUM)).all():
            message = "the evidence must be one sum of logarithms of probabilities a learner"
            raise ValueError(message)
        self._evidence = evidence
        self._stack.restore(arrays, "stack")
        self._calibration.restore(arrays)
        self._record.restore(arrays)
        for place, learner in enumerate(self._members.learners):
            prefix = f"learners.{place}."
            learner._restore({name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)})

    def _more_tags(self) -> set[str]:
        return set().union(*(learner._tags for learner in self.learners))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learners": (BetaBernoulli(),)}


def _check_bound(bound: Any) -> float:
    number = positive("largest_log_odds", bound)
    if number > LARGEST_BOUND:
        message = f"largest_log_odds must be at most {LARGEST_BOUND:g}; got {shown(bound)}"
        raise ParameterError(message)
    return number


class Calibration:
    """Online calibration of log-odds, from the identity: Platt scaling, beta calibration, or none.

    platt: logit p = a s + b, from a = 1, b = 0. beta: logit p = a ln q - c ln(1 - q) + d with q = sigmoid(s), from
    a = c = 1, d = 0, both slopes kept at 0 or more: each side of 1/2 can be stretched by itself.
    """

    def __init__(self, kind: str, precision: float, bound: float) -> None:
        self._kind = kind
        self._bound = bound
        self._weights = LogisticWeights(
            [0.0 if name == "intercept" else 1.0 for name in _CALIBRATION_WEIGHTS[kind]], precision
        )

    def weights(self) -> dict[str, Normal]:
        """The weights of the map."""
        return dict(zip(_CALIBRATION_WEIGHTS[self._kind], self._weights.marginals(), strict=True))

    def fold(
        self, scores: FloatArray, spread: FloatArray, outcomes: IntArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Map each row's log-odds and their variance, then learn the row where its outcome is known."""
        if self._kind == "none":
            return scores, spread
        calibrated = np.empty_like(scores)
        calibrated_spread = np.empty_like(spread)
        state = self._weights.factor, self._weights.target
        fold_calibration(scores, spread, outcomes, weights, self._bound, *state, calibrated, calibrated_spread)
        return calibrated, calibrated_spread

    def arrays(self) -> Arrays:
        """Copies for a snapshot."""
        return {} if self._kind == "none" else self._weights.arrays("calibration")

    def restore(self, arrays: Arrays) -> None:
        """Restore what `arrays` returned."""
        if self._kind != "none":
            self._weights.restore(arrays, "calibration", rising=2 if self._kind == "beta" else 0)
