"""The spam filter: from raw mail to one calibrated probability, mail by mail."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from stream_bayes.decisions import DELIVER, QUARANTINE, Decision, decide, spam_losses
from stream_bayes.errors import InputError, ParameterError
from stream_bayes.features.batch import Batch
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.mail.decode import MAX_RAW, MAX_TEXT
from stream_bayes.kernels.mail.fold import MEMBERS as MEMBER_COUNT
from stream_bayes.kernels.mail.fold import MEMORY, fold_mails
from stream_bayes.learners.base.classifier import Classifier
from stream_bayes.learners.base.explanation import EventExplanation
from stream_bayes.learners.base.label_predictions import both_probabilities
from stream_bayes.learners.base.labels import Label, Many, check_batch, check_label
from stream_bayes.learners.base.named_posterior import NamedPosterior
from stream_bayes.learners.base.two_labels import declared_labels
from stream_bayes.learners.fusion.weights import LogisticWeights
from stream_bayes.mail.features.batch import Mail, MailBatch, Mails, read_batch
from stream_bayes.mail.filter import composition, evidence
from stream_bayes.mail.filter.composition import ALL_MEMBERS, LIGHT_MEMBERS, SCALES
from stream_bayes.mail.filter.explanation import SHOWN, Explanation, Knowledge, explain
from stream_bayes.mail.filter.external_members import ExternalMember, ExternalMembers, check_external_members
from stream_bayes.mail.filter.feature_posteriors import FEATURE_KINDS, feature_posterior
from stream_bayes.mail.filter.labelled_memory import LabelledMemory
from stream_bayes.mail.filter.predictions import MailPredictions
from stream_bayes.persistence.snapshot import Arrays
from stream_bayes.posteriors import LabelPredictive, Normal
from stream_bayes.typing import BoolArray
from stream_bayes.validation import positive, truth


class SpamFilter(Classifier):
    """A mail filter: several learners on several views of a mail, fused into one probability that can be acted upon.

    Parameters
    ----------
    members
        Which of the ten compiled members take part. Of the views "gram" (byte 5-grams), "word" (words and pairs) and
        "structure" (header fields, addresses, hosts): "... counts", naive Bayes, and "... steps", AdaGrad logistic
        steps on what the counts leave. "gram weights": a diagonal Bayesian linear posterior, good while labels are
        scarce. "senders" and "hosts": Beta-Bernoulli reputations. "memory": a linear support vector machine that is
        optimal over the mails that are remembered.
    external_members
        Classifiers from elsewhere that take part too: tuples of (name, classifier, "texts" or "numbers").
    buckets
        Into how many the grams and the words are hashed: 48 bytes each, 192 MiB by default, and 12 MiB for the rest
        (`memory_bytes`). Once a mail is remembered it is 33 MiB more, and about 13 KB for each such mail.
    head_bytes, tail_bytes
        How much of both ends of the decoded text becomes grams.
    text_bytes
        How much of it becomes words.
    pairs
        Whether pairs of neighbouring words are features too.
    memory
        How many labelled mails are remembered, of those that are learned with `remember`; later ones are not.
    false_positive_cost, false_negative_cost
        What the two errors cost; they decide what to do, not what is believed.
    classes
        The labels of ham and of spam.

    Notes
    -----
    A feature is in a mail or not; the k features of a view have the value r = 1 / sqrt(k + 1). Counts: with n mails of
    each kind that had the feature, l = digamma(n_spam + a) - digamma(n_ham + a) + ln((N_ham + 1) / (N_spam + 1)), and
    z = r sum of l |l| / (|l| + 2). Steps: A = r w + bias + c z; e = y - sigmoid(A); if |e| > 0.1, g = e r, G += g^2,
    w += 0.8 g / sqrt(0.003 + G). Weights: if y s < 1, with s = r m and q = r^2 v, both summed, b = 1 / (q + 2):
    m += b (y - s) r v, v -= b r^2 v^2. Fusion: logistic in all of these, clipped at 10, the weights normal with full
    covariance; the step is that of `BayesianLogisticRegression`. Its own moderation is the calibration.

    The variance answered is that of the fusion's weights and the novelty of the mail: the mean of 1 / (1 + n) over its
    features. A mail much newer than those learned so far, by e > 0, has 16 e^2 f^2 besides, f being the log-odds, so
    that it is not judged with certainty (`stream_bayes.kernels.mail.novelty`).
    Order matters, so there is no merging and no unlearning; a corrected label is one more step (`relearn_one`). A mail
    of weight w, a whole number, is learned w times.

    A mail that is learned with `remember` is also kept in the memory, until that is full. There it has the values
    sqrt(s / (k + 1)) with s = .5, .35, .15 for grams, words and structure; the weights w of the member "memory"
    minimise w'w / 2 + 10 sum of max(0, 1 - y w'x) over all mails there, again after each. That costs about 10 ms a mail
    when the memory is almost full, so it is for labels that people give: on request, or late.
    At most 64,000 bytes of a mail are looked at and 16,000 bytes of its text used, so time and memory are bounded.

    Examples
    --------
    >>> model = SpamFilter(buckets=2**12)
    >>> for _ in range(5):
    ...     model.learn_one("Subject: cheap pills\\n\\nbuy now, no prescription", "spam")
    ...     model.learn_one("Subject: lunch\\n\\nshall we meet at noon?", "ham")
    >>> model.predict_one("Subject: pills\\n\\nno prescription, buy now")
    'spam'
    >>> model.decide_one("Subject: pills\\n\\nno prescription, buy now").action
    'quarantine'
    """

    reads_mail: ClassVar[bool] = True
    has_fixed_labels: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    posterior_kinds: ClassVar[tuple[str, ...]] = (*FEATURE_KINDS, "weight")
    decision_parameters: ClassVar[tuple[str, ...]] = ("false_positive_cost", "false_negative_cost")
    max_bytes: ClassVar[int] = MAX_RAW
    """How much of the beginning of a raw mail is looked at."""

    def __init__(
        self,
        members: tuple[str, ...] = ALL_MEMBERS,
        external_members: tuple[ExternalMember, ...] | None = None,
        buckets: int = 2**22,
        head_bytes: int = 1200,
        tail_bytes: int = 500,
        text_bytes: int = MAX_TEXT,
        pairs: bool = True,
        memory: int = 1000,
        false_positive_cost: float = 20.0,
        false_negative_cost: float = 1.0,
        classes: tuple[Label, Label] = ("ham", "spam"),
    ) -> None:
        self._labels = declared_labels(classes)
        self.classes = self._labels.pair.labels
        self.members = composition.check_members(members)
        self.external_members = check_external_members(external_members)
        self.buckets = composition.check_buckets(buckets)
        self.head_bytes = composition.check_bytes("head_bytes", head_bytes)
        self.tail_bytes = composition.check_bytes("tail_bytes", tail_bytes)
        self.text_bytes = composition.check_bytes("text_bytes", text_bytes)
        self.pairs = truth("pairs", pairs, ParameterError)
        self.memory = composition.check_memory(memory)
        self.false_positive_cost = positive("false_positive_cost", false_positive_cost)
        self.false_negative_cost = positive("false_negative_cost", false_negative_cost)
        self._places = composition.places_of(self.members)
        self._shape = composition.shape_of(
            self.members, self.buckets, self.head_bytes, self.tail_bytes, self.text_bytes, self.pairs
        )
        self._evidence = evidence.new_evidence(self.buckets, self.members)
        self._memory = LabelledMemory(self.memory if "memory" in self.members else 0, self.buckets)
        self._external = ExternalMembers(self.external_members or ())
        self._member_names = (*self.members, *(other.name for other in self.external_members or ()))
        self._fusion = LogisticWeights(*composition.prior_weights(self.members, len(self.external_members or ())))
        # No part of the state: the last mail, so that one predicted and then learned is read once.
        self._last: tuple[bytes, MailBatch] | None = None

    @classmethod
    def light(cls, **parameters: Any) -> Self:
        """Words alone, of the beginning of a mail, in a small table: several times as fast, and less exact."""
        return cls(**{"members": LIGHT_MEMBERS, "buckets": 2**20, "text_bytes": 3000, "pairs": False, **parameters})

    @property
    def memory_bytes(self) -> int:
        """The memory of the tables once every bucket has been used."""
        return evidence.memory_bytes(self._evidence) + self._memory.bytes_used

    def prefault(self) -> None:
        """Ask the system for all the memory of the tables now, and not when the first mails come."""
        evidence.prefault(self._evidence)

    def weights(self) -> dict[str, Normal]:
        """The posterior of the weight of each member in the fusion, and of its intercept."""
        names = [*self._member_names, "intercept"]
        return dict(zip(names, self._fusion.marginals(), strict=True))

    def _estimates(self) -> dict[str, Normal]:
        return self.weights()

    def _evidence_summary(self) -> dict[str, Any]:
        counts = self._evidence.totals.tolist()
        return {"events": sum(counts), "events of each class": dict(zip(self.classes, counts, strict=True))}

    def predict_proba_one(self, x: Mail, **_: Any) -> dict[Label, float]:
        """The probability of both labels."""
        return self.predictive_many(self._one(x)).probabilities_of(0)

    def predict_one(self, x: Mail, **_: Any) -> Label:
        """The more probable label."""
        ham, spam = self.predict_proba_one(x).items()
        return spam[0] if spam[1] > ham[1] else ham[0]

    def predictive_one(self, x: Mail) -> LabelPredictive:
        """The probabilities with their variance, split into noise and ignorance."""
        return self.predictive_many(self._one(x)).predictive(0)

    def predictive_many(self, events: Batch | Mails) -> MailPredictions:
        """Predictions for many mails; nothing is learned."""
        batch = self._as_batch(events)
        count = len(batch.raws)
        return self._fold(batch, np.arange(count), np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.bool_))

    def decide_one(self, x: Mail, price: float | None = None) -> Decision:
        """Deliver or quarantine, whichever is expected to cost less; or ask, where that pays at this price."""
        ham, spam = self.predict_proba_one(x).values()
        probabilities = {"ham": ham, "spam": spam}
        losses = spam_losses(self.false_positive_cost, self.false_negative_cost)
        return losses.bayes_action(probabilities) if price is None else decide(probabilities, losses, price)

    def decide_many(self, predictions: MailPredictions) -> list[str]:
        """For each mail of a batch the action that `decide_one` takes."""
        if predictions.labels != self.classes:
            message = f"these predictions are of labels {predictions.labels!r}, and this filter's are {self.classes!r}"
            raise InputError(message)
        ham, spam = predictions.probabilities.T
        quarantined = self.false_positive_cost * ham <= self.false_negative_cost * spam
        actions: list[str] = np.where(quarantined, QUARANTINE, DELIVER).tolist()
        return actions

    def explain(self, x: Mail, top: int = SHOWN) -> Explanation:
        """The features that moved the log-odds of a mail most, each with its share and its posterior."""
        batch = self._one(x)
        knowledge = Knowledge(self._evidence, self._memory)
        return explain(batch, self.predictive_many(batch), self.members, knowledge, self._fusion, top)

    def explain_event(self, x: Mail, top: int) -> EventExplanation:
        """The explanation of a mail in the form that all learners share."""
        return self.explain(x, top).as_event_explanation(self.classes[1])

    def feature_posterior(self, kind: str, text: str) -> NamedPosterior:
        """The posterior of the probability of spam among the mails with a word, sender or host.

        Kinds are those of an explanation. Raises `NoPosterior` if this filter does not use such a feature.
        """
        return feature_posterior(self, kind, text)

    def learn_one(self, x: Mail, y: Any, w: float = 1.0, *, remember: bool = False) -> None:
        """Teach one mail to every member and to the fusion; all or nothing."""
        self.test_then_train(self._one(x), [check_label(y)], [w], remember=[remember])

    def relearn_one(self, x: Mail, y: Any) -> None:
        """Teach a mail again that had another label: the members, not the fusion, which would trust them for it."""
        kept = self._fusion.factor.copy(), self._fusion.target.copy()
        # In the memory it replaces the mail with the other label.
        self.learn_one(x, y, remember=True)
        # With 5 % of SMS labels corrected 50 mails late 1.20 (1-ROCA)%; 1.95 if the fusion learns, 1.72 if uncorrected.
        self._fusion.factor, self._fusion.target = kept

    def batch(self, events: Mails) -> MailBatch:
        """Mails as their features."""
        return read_batch(events, self._shape)

    def learn_many(
        self, X: Batch | Mails, y: Many, w: Many | None = None, *, remember: Sequence[bool] | None = None
    ) -> None:
        """Learn each mail whose label is not None."""
        self.test_then_train(X, y, w, remember=remember)

    def test_then_train(
        self, events: Batch | Mails, y: Many, w: Many | None = None, *, remember: Sequence[bool] | None = None
    ) -> MailPredictions:
        """Predict each mail, then learn it if its label is not None, in one compiled pass.

        `remember` says of each mail whether it goes into the memory too; none does by default.
        """
        batch = self._as_batch(events)
        count = len(batch.raws)
        labels, weights = check_batch(count, y, w)
        outcomes, _ = self._labels.codes(labels)
        rows = np.arange(count)
        remembered = composition.check_remember(count, remember)
        if w is None:
            return self._fold(batch, rows, outcomes, remembered)
        times = composition.check_repetitions(np.where(outcomes < 0, 0.0, weights))
        repeated = np.repeat(rows, np.maximum(times, 1))
        predictions = self._fold(batch, repeated, outcomes[repeated], remembered[repeated])
        return predictions[np.flatnonzero(np.diff(repeated, prepend=-1))]

    def _one(self, x: Mail) -> MailBatch:
        if type(x) is not bytes or len(x) > MAX_RAW:
            return self.batch([x])
        last = self._last
        if last is None or last[0] is not x:
            last = self._last = (x, self.batch([x]))
        return last[1]

    def _as_batch(self, events: Any) -> MailBatch:
        if not isinstance(events, MailBatch):
            return read_batch(events, self._shape)
        if events.shape != self._shape:
            message = "this batch was made for a filter with other features: make it with this one's batch(mails)"
            raise InputError(message)
        return events

    def _fold(self, batch: MailBatch, rows: IntArray, outcomes: IntArray, remember: BoolArray) -> MailPredictions:
        """Space comes first, then members that may refuse; the compiled pass cannot fail."""
        scores = np.zeros((len(rows), MEMBER_COUNT))
        odds, variance = np.empty((2, len(rows)))
        others = np.empty((len(rows), 0))
        if self.external_members:
            others = self._external.fold(batch.raws, rows, outcomes)
        self._memory.fold(batch, rows, outcomes, remember, scores[:, MEMORY])
        known = self._evidence, self._places, SCALES, evidence.LOGS, self._fusion.factor, self._fusion.target
        fold_mails(batch.view_starts, batch.hashed, rows, outcomes, others, *known, scores, odds, variance)
        size = np.abs(odds)
        # The latent log-odds whose moderated probability is the one answered.
        mean = size * np.sqrt(1.0 + math.pi * variance / 8.0)
        own = np.hstack((scores[:, self._places >= 0], others))
        table = both_probabilities(odds)
        return MailPredictions(self.classes, table, size, mean, variance, None, own, odds, self._member_names)

    def _arrays(self) -> Arrays:
        self._external.check_savable()
        own = evidence.evidence_arrays(self._evidence)
        return {**own, **self._memory.arrays(), **self._fusion.arrays("fusion")}

    def _copy_into(self, target: Self) -> None:
        # Into memory that is there already: 204 MiB in 18 ms, where new memory takes 400 ms.
        self._external.check_savable()
        evidence.copy_evidence(self._evidence, target._evidence)
        self._memory.copy_into(target._memory)
        self._fusion.copy_into(target._fusion)

    def _restore(self, arrays: Arrays) -> None:
        self._fusion.restore(arrays, "fusion")
        evidence.restore_evidence(self._evidence, arrays)
        self._memory.restore(arrays)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classes": (False, True), "buckets": 2**10}
