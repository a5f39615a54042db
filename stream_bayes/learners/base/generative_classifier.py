"""A generative classifier: it models p(x, y), so it can state each likelihood, the evidence, and sample events."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import logsumexp

from stream_bayes.errors import EvidenceError, InputError, NumericalError
from stream_bayes.features import Batch, Vocabulary
from stream_bayes.features.values import FeatureName, Features
from stream_bayes.kernels.common.csr import Joint, Rows
from stream_bayes.learners.base.additive_classifier import AdditiveClassifier
from stream_bayes.learners.base.labels import Label, check_label
from stream_bayes.typing import BoolArray, FloatArray
from stream_bayes.validation import check_draws, one_of

EstimateKind = Literal["ml", "map", "mean"]
"""An estimate of a parameter: maximum likelihood, or the mode (maximum a posteriori) or the mean of its posterior."""

_ESTIMATES = ("ml", "map", "mean")
EQUAL_CLASSES = 2.0**300


class SampledEvent(NamedTuple):
    """An event drawn from a generative classifier, with the label of the class it was drawn from."""

    features: dict[Any, Any]
    label: Label


class GenerativeClassifier(AdditiveClassifier):
    """A classifier by Bayes' theorem: p(y | x) = p(x | y) p(y) / p(x), where p(x | y) is a model of the events.

    With a pseudo-count of 0, or no prior, p(x | y) is the likelihood at the maximum-likelihood estimate: what a class
    never had has probability 0 there, and a logarithm of minus infinity.
    """

    def log_likelihood_one(self, x: Features) -> dict[Label, float]:
        """The log-likelihood ln p(x | y) of each label known so far; minus infinity where x is impossible.

        Features never learned are left out of account. It is the density where features are numbers.
        """
        batch = self._one(x)
        labels = np.full(1, -1, dtype=np.int64)
        rows = self._rows(batch, self._find(batch), labels, np.zeros(1))
        shape = (1, len(self._labels))
        joint = Joint(np.empty(shape), np.empty(shape), np.empty(shape), np.empty(1, dtype=np.int64))
        # Before these pseudo-counts the events vanish: each class has the same prior, which is then taken off again, so
        # that equal likelihoods are equal to the last bit.
        self._fold_events(batch, rows, joint, EQUAL_CLASSES, score=True)
        labels_known = list(self.class_posterior())
        prior = math.log(EQUAL_CLASSES) - math.log(EQUAL_CLASSES * len(labels_known)) if labels_known else 0.0
        common = self._log_base(rows)
        log = {label: float(joint.log[0, self._labels.code(label)]) - prior + common for label in labels_known}
        if any(math.isnan(value) for value in log.values()):
            message = "the event has no likelihood: the arithmetic left the finite numbers"
            raise NumericalError(message)
        return log

    def log_joint_one(self, x: Features) -> dict[Label, float]:
        """The joint log-probability ln p(x, y) = ln p(x | y) + ln p(y) of each label known so far."""
        prior = self._class_probabilities()
        return {label: log + _log(prior[label]) for label, log in self.log_likelihood_one(x).items()}

    def log_evidence_one(self, x: Features) -> float:
        """The log-evidence ln p(x), summed over the labels; minus infinity if no known label makes x possible."""
        joint = list(self.log_joint_one(x).values())
        return float(logsumexp(joint)) if joint and max(joint) > -math.inf else -math.inf

    def predict_ml_one(self, x: Features) -> Label | None:
        """The label of maximum likelihood, whatever the labels' prior; None if x is impossible under all of them.

        `predict_one` gives the label of maximum posterior probability.
        """
        log = self.log_likelihood_one(x)
        best = max(log, key=log.__getitem__, default=None)
        return None if best is None or log[best] == -math.inf else best

    def class_counts(self) -> dict[Label, float]:
        """The number of events of each label, or their total weight."""
        weights = self._evidence.class_weight.tolist()
        return {label: weights[self._labels.code(label)] for label in self.class_posterior()}

    def counts(self) -> dict[Label, dict[FeatureName, Any]]:
        """What was counted of each feature in the events of each label."""
        return {label: self._counts_of(self._labels.code(label)) for label in self.class_posterior()}

    def parameters(self, label: Any, estimate: EstimateKind = "mean") -> Any:
        """The parameters of the model of one class.

        By feature: `BernoulliNB` has the probability that a message has the word, `MultinomialNB` the share of the word
        among all, `PoissonNB` its rate, `CategoricalNB` a dict with the probability of each value, `GaussianNB` a
        `NormalEstimate` of mean and variance. `GaussianDiscriminant` has one `MvNormalEstimate` of all features: names,
        mean vector and covariance matrix. Features that no class has now are left out.

        Parameters
        ----------
        label
            A label that was learned or declared.
        estimate
            "ml": maximum likelihood, from the data alone; "map": the mode of the posterior; "mean": its mean. The last
            two are refused where there is no prior.
        """
        code = self._known_code(label)
        kind = one_of(estimate, "estimate", _ESTIMATES)
        if kind == "ml":
            if self._evidence.class_weight[code] == 0.0:
                message = f"label {label!r} has no events: its parameters have no maximum-likelihood estimate"
                raise EvidenceError(message)
            return self._ml_parameters(code)
        if not self._has_prior:
            raise without_prior()
        return self._posterior_parameters(label, mode=kind == "map")

    def sample(
        self, label: Any = None, size: int = 1, generator: np.random.Generator | None = None
    ) -> list[SampledEvent]:
        """Draw events from the model: all of one label, or each of a label drawn from the class probabilities.

        They follow the posterior predictive, each event by itself: its parameters are drawn from the posterior. With
        `predictive="plug-in"`, or without a prior, they follow the model at the plug-in parameters. Without a prior a
        feature that has categories or numbers, and none in the events of the label, cannot be drawn: EvidenceError.
        """
        count, random = check_draws(size, generator)
        labels = self._sampled_labels(label, count, random)
        drawn = {each: iter(self._draw(each, labels.count(each), random)) for each in dict.fromkeys(labels)}
        return [SampledEvent(next(drawn[each]), each) for each in labels]

    def _sampled_labels(self, label: Any, count: int, random: np.random.Generator) -> list[Label]:
        if label is not None:
            self._known_code(label)
            return [check_label(label)] * count
        probabilities = self._class_probabilities()
        if not probabilities:
            message = "there is no label to draw: none was learned or declared"
            raise EvidenceError(message)
        names = list(probabilities)
        return [names[code] for code in random.choice(len(names), count, p=list(probabilities.values()))]

    def _draw(self, label: Label, count: int, random: np.random.Generator) -> list[dict[FeatureName, Any]]:
        """Draw events of one label."""
        code = self._known_code(label)
        if not self._has_prior and self._evidence.class_weight[code] == 0.0:
            message = f"label {label!r} has neither events nor a prior: there is nothing to draw from"
            raise EvidenceError(message)
        return self._draw_events(code, count, random)

    def _class_probabilities(self) -> dict[Label, float]:
        counts = self.class_posterior()
        total = sum(counts.values())
        return {label: count / total if total > 0.0 else 1.0 / len(counts) for label, count in counts.items()}

    def _known_code(self, label: Any) -> int:
        if check_label(label) not in self.class_posterior():
            message = f"label {label!r} was neither learned nor declared"
            raise InputError(message)
        return self._labels.code(label)

    def _prior_log_odds(self, positive: Any, negative: Any) -> float:
        """The log-odds of one label against another before any feature is seen."""
        counts = self.class_posterior()
        one, other = (counts[check_label(label)] for label in (positive, negative))
        if min(one, other) == 0.0:
            message = "a label without events or pseudo-count has no finite log-odds"
            raise EvidenceError(message)
        return math.log(one / other)

    def _check_means(self, *labels: Any) -> None:
        """Refuse a label without a value of a feature that some label has: the data give no mean of it there."""
        for label in labels:
            counts = self._counts_of(self._known_code(label))
            missing = next((name for name, count in counts.items() if count == 0.0), None)
            if missing is not None:
                message = f"label {label!r} has no value of feature {missing!r}, and no plug-in mean of it"
                raise EvidenceError(message)

    def _kept_names(self) -> list[FeatureName]:
        """The names by column; refused where they are hashed."""
        if not isinstance(self._vocabulary, Vocabulary):
            message = "with buckets no names are kept: nothing can be read or drawn by name"
            raise InputError(message)
        return self._vocabulary.names

    def _fold(self, batch: Batch, rows: Rows, joint: Joint, *, score: bool) -> None:
        self._fold_events(batch, rows, joint, self.class_prior_count, score=score)

    @abstractmethod
    def _fold_events(self, batch: Batch, rows: Rows, joint: Joint, class_prior_count: float, *, score: bool) -> None:
        """Score each row into `joint` with this pseudo-count for each class, then learn it where its label is known."""

    @property
    @abstractmethod
    def _has_prior(self) -> bool:
        """Whether the parameters have a prior."""

    @abstractmethod
    def _log_base(self, rows: Rows) -> float:
        """What the fold leaves out of the log-likelihood of a single row, as it is the same for all classes."""

    @abstractmethod
    def _counts_of(self, code: int) -> dict[FeatureName, Any]:
        """What was counted of each feature in one class."""

    @abstractmethod
    def _ml_parameters(self, code: int) -> Any:
        """The maximum-likelihood parameters of a class that has events."""

    @abstractmethod
    def _posterior_parameters(self, label: Label, *, mode: bool) -> Any:
        """The mode or the mean of the posterior of the parameters."""

    @abstractmethod
    def _draw_events(self, code: int, count: int, random: np.random.Generator) -> list[dict[FeatureName, Any]]:
        """Draw events of a class that has a prior or events."""


def without_prior() -> InputError:
    """Return the error that says that without a prior the parameters have no posterior."""
    message = "without a prior there is no posterior: use parameters(label, estimate='ml')"
    return InputError(message)


def nothing_to_draw(feature: FeatureName, label: Any) -> EvidenceError:
    """Return the error that says that a class has no distribution of a feature to draw from."""
    message = f"label {label!r} has no value of feature {feature!r}, and without a prior nothing to draw from"
    return EvidenceError(message)


def by_name(names: Sequence[FeatureName], values: FloatArray, kept: BoolArray) -> dict[FeatureName, float]:
    """Values by the names of their columns, of those columns that are kept."""
    return dict(compress(zip(names, values.tolist(), strict=True), kept.tolist()))


def as_event(values: Mapping[FeatureName, Any], texts: frozenset[FeatureName]) -> dict[FeatureName, Any]:
    """An event by the names of columns as it was given: the column ("sender", "bob") is the text {"sender": "bob"}."""
    event: dict[FeatureName, Any] = {}
    for name, value in values.items():
        if isinstance(name, tuple) and name[0] in texts:
            event[name[0]] = name[1]
        else:
            event[name] = value
    return event


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0.0 else -math.inf
