"""Explanation of a prediction: the contribution of each word, host and sender to the log-odds of spam.

The fused log-odds are k (sum of m x + intercept), k their moderation, m the mean weight of a member and x its clipped
and scaled score. A score is a sum over the features of a view, so each feature has a part of it; the part times
k m x / score, over all members that look at the view, is its share. The shares of a mail add up to its log-odds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from stream_bayes.kernels.mail.evidence import BIAS_INPUT, DOUBTED, HAM, MEAN, SPAM, WEIGHT, Table
from stream_bayes.kernels.mail.features import GRAMS, VIEWS, Shape
from stream_bayes.kernels.mail.fold import LARGEST_INPUT, MEMORY, POSTERIOR, STEPPED, STEPS, TAKEN, Evidence
from stream_bayes.kernels.mail.margin import BIAS, MARGIN_VIEWS, SHARES
from stream_bayes.learners.base.explanation import EventExplanation, FeatureContribution
from stream_bayes.learners.base.labels import Label
from stream_bayes.learners.fusion.weights import LogisticWeights
from stream_bayes.mail.features.batch import MailBatch
from stream_bayes.mail.features.named import named_features
from stream_bayes.mail.filter.composition import MEMBERS, SCALES, places_of
from stream_bayes.mail.filter.evidence import LOGS, PRIOR_COUNT, tables_of
from stream_bayes.mail.filter.labelled_memory import LabelledMemory
from stream_bayes.mail.filter.predictions import MailPredictions
from stream_bayes.posteriors import Beta
from stream_bayes.typing import FloatArray
from stream_bayes.validation import whole

SHOWN = 15
"""The default number of features that are listed."""
GRAM_SHARE = "byte n-grams"
BIAS_SHARE = "biases"
INTERCEPT_SHARE = "intercept"
# The name under which the features that are not listed are added up, by the end of their kind.
_OTHERS = {kind: f"other {kind}s" for kind in ("word", "pair", "host", "sender", "network", "field")}
_OTHERS["fields"] = _OTHERS["field"]
_LONGEST_SHOWN = 60
COUNTED_AGAINST = "counted the other way, as other signs in the mail say the same already"
LESS_THAN_ALL = "a smaller share than of all mails"
MORE_THAN_ALL = "a larger share than of all mails"

Counts = NDArray[np.uint32]


class Knowledge(NamedTuple):
    """What a filter has learned, but for the fusion."""

    evidence: Evidence
    memory: LabelledMemory


class Contribution(NamedTuple):
    """The contribution of one feature of a mail to the log-odds of spam."""

    kind: str
    """A kind of `stream_bayes.mail.features.named`: word, pair, host, sender, network, field, `subject: word`, ..."""
    text: str
    log_odds: float
    posterior: Beta
    """The posterior of the probability of spam among the mails that have the feature."""
    note: str = ""
    """Why its share has another sign than its counts, in words; empty where it has not."""

    @property
    def spam(self) -> int:
        """How many spam mails had it."""
        return round(self.posterior.successes - PRIOR_COUNT)

    @property
    def mails(self) -> int:
        """How many mails had it."""
        return self.spam + round(self.posterior.failures - PRIOR_COUNT)


@dataclass(frozen=True)
class Explanation:
    """The log-odds of spam of one mail as a sum of shares.

    >>> why = Explanation(1.2, 0.77, (Contribution("word", "pills", 1.32, Beta(12.35, 0.35)),), {"intercept": -0.12})
    >>> print(why)
    log-odds of spam +1.20, probability 0.77
      +1.32  word "pills"  spam 12 of 12
      -0.12  intercept
    """

    log_odds: float
    probability: float
    shares: tuple[Contribution, ...]
    """The shares of the features that moved the log-odds most, these first."""
    rest: Mapping[str, float]
    """All other shares: of byte n-grams, of biases, of the intercept, of classifiers from elsewhere by their names, and
    the sum of the features that are not listed, as `other words` and the like."""

    def as_event_explanation(self, spam: Label) -> EventExplanation:
        """The explanation in the form that all learners share, with the label of spam."""
        reasons = tuple(
            FeatureContribution(share.kind, share.text, share.log_odds, share.mails, share.spam, share.note or None)
            for share in self.shares
        )
        return EventExplanation(spam, self.log_odds, reasons, dict(self.rest))

    def __str__(self) -> str:
        rows = [(share.log_odds, _described(share), _counts_of(share)) for share in self.shares]
        rows += [(part, name, "") for name, part in sorted(self.rest.items(), key=lambda item: -abs(item[1]))]
        width = max((len(name) for _, name, _ in rows), default=0)
        lines = [f"{part:+z7.2f}  {name:{width}}  {counts}".rstrip() for part, name, counts in rows]
        first = f"log-odds of spam {self.log_odds:+z.2f}, probability {self.probability:.4g}"
        return "\n".join([first, *lines])


def _described(share: Contribution) -> str:
    text = share.text if len(share.text) <= _LONGEST_SHOWN else f"{share.text[: _LONGEST_SHOWN - 1]}…"
    return f'{share.kind} "{text}"'


def _counts_of(share: Contribution) -> str:
    counts = f"spam {share.spam} of {share.mails}"
    return f"{counts}, {share.note}" if share.note else counts


class _FoundFeature(NamedTuple):
    kind: str
    text: str
    log_odds: float
    ham: int
    spam: int

    def share(self, totals: FloatArray) -> Contribution:
        posterior = Beta(PRIOR_COUNT + self.spam, PRIOR_COUNT + self.ham)
        return Contribution(self.kind, self.text, self.log_odds, posterior, self._note(totals))

    def _note(self, totals: FloatArray) -> str:
        """Why most of its mails are of one kind while it speaks for the other; empty where it does not.

        Its counts may point elsewhere than it seems, where they are compared with those of all mails. Or they point
        where it seems, and the fusion has a weight below 0 for a member: it corrects what others count twice.
        """
        if self.log_odds * (self.spam - self.ham) >= 0.0:
            return ""
        evidence = float(_evidence(np.array([[self.ham, self.spam]], dtype=np.uint32), totals)[0])
        if evidence * self.log_odds > 0.0:
            return LESS_THAN_ALL if self.spam > self.ham else MORE_THAN_ALL
        return COUNTED_AGAINST


def explain(
    batch: MailBatch,
    predictions: MailPredictions,
    members: Sequence[str],
    knowledge: Knowledge,
    fusion: LogisticWeights,
    top: int = SHOWN,
) -> Explanation:
    """The prediction for the first mail of a batch, as a sum of shares; the `top` features are listed.

    `members` are the compiled ones: those after them in the prediction are classifiers from elsewhere.
    """
    most = int(whole("top", top))
    log_odds = float(predictions.spam_log_odds[0])
    scores = predictions.member_log_odds[0]
    others = slice(len(members), None)
    rates = _rates(log_odds, scores, members, fusion)
    gains = np.zeros(len(MEMBERS))
    gains[places_of(members) >= 0] = rates[: len(members)]
    found = _named_shares(batch, knowledge, gains)
    below = [(_OTHERS[one.kind.rpartition(": ")[2]], one.log_odds) for one in found[most:]]
    outside = zip(predictions.members[others], (rates[:-1] * scores)[others].tolist(), strict=True)
    rest: dict[str, float] = {}
    for name, part in (*below, *_nameless(batch, knowledge, gains), *outside, (INTERCEPT_SHARE, float(rates[-1]))):
        rest[name] = rest.get(name, 0.0) + part
    return Explanation(
        log_odds, float(expit(log_odds)), tuple(one.share(knowledge.evidence.totals) for one in found[:most]), rest
    )


def _rates(log_odds: float, scores: FloatArray, members: Sequence[str], fusion: LogisticWeights) -> FloatArray:
    """The weight of each score in the fused log-odds, and then the intercept."""
    scales = np.ones(len(scores) + 1)
    scales[: len(members)] = SCALES[places_of(members) >= 0]
    inputs = scales * np.append(scores, 1.0)
    # A score that is clipped is so in all its parts alike.
    kept = LARGEST_INPUT / np.maximum(np.abs(inputs), LARGEST_INPUT)
    rates: FloatArray = fusion.mean() * kept * scales
    total = float(rates @ np.append(scores, 1.0))
    # The answer is moderated by its variance, all shares alike.
    moderation = abs(log_odds / total) if total else 1.0
    return moderation * rates


def _named_shares(batch: MailBatch, knowledge: Knowledge, gains: FloatArray) -> list[_FoundFeature]:
    """The shares of features that have names and that some mail had, the largest first."""
    views = range(GRAMS + 1, VIEWS)
    tables = tables_of(knowledge.evidence)
    parts = {view: _parts(view, batch, knowledge, gains) for view in views if len(tables[view])}
    found: dict[tuple[str, str, int], _FoundFeature] = {}
    for view, bucket, kind, text in named_features(batch.raws[0], cast(Shape, batch.shape)):
        if view not in parts:
            continue
        part, ham, spam = parts[view][bucket]
        # A host of the body has one bucket in two views. Other features that fall into it can only add to its counts.
        known = found.get((kind, text, bucket))
        if known is not None:
            part = part + known.log_odds
            (ham, spam) = min((ham, spam), (known.ham, known.spam), key=sum)
        found[kind, text, bucket] = _FoundFeature(kind, text, part, ham, spam)
    return sorted((one for one in found.values() if one.ham + one.spam), key=lambda one: -abs(one.log_odds))


def _nameless(batch: MailBatch, knowledge: Knowledge, gains: FloatArray) -> Iterator[tuple[str, float]]:
    if len(knowledge.evidence.grams):
        yield GRAM_SHARE, math.fsum(part for part, _, _ in _parts(GRAMS, batch, knowledge, gains).values())
    if gains[STEPS : STEPS + STEPPED].any() or gains[MEMORY]:
        steps = BIAS_INPUT * float(gains[STEPS : STEPS + STEPPED] @ knowledge.evidence.biases[:, 0])
        yield BIAS_SHARE, steps + BIAS * float(gains[MEMORY]) * knowledge.memory.bias


def _parts(view: int, batch: MailBatch, knowledge: Knowledge, gains: FloatArray) -> dict[int, tuple[float, int, int]]:
    """For each bucket of a view: its contribution to the log-odds, and the numbers of its ham and spam mails."""
    buckets = batch.hashed[batch.view_starts[view] : batch.view_starts[view + 1]]
    rows = tables_of(knowledge.evidence)[view][buckets]
    counts = rows.view(np.uint32)[:, HAM : SPAM + 1]
    found = _evidence(counts, knowledge.evidence.totals)
    parts = gains[view] * found
    if view < STEPPED:
        parts += gains[STEPS + view] * (rows[:, WEIGHT] + TAKEN[view] * found)
    if view == GRAMS:
        parts += gains[POSTERIOR] * rows[:, MEAN]
    if view < MARGIN_VIEWS and len(knowledge.memory):
        parts += gains[MEMORY] * math.sqrt(SHARES[view]) * knowledge.memory.weights[view][buckets]
    parts /= math.sqrt(len(buckets) + 1.0)
    return dict(zip(buckets.tolist(), zip(parts.tolist(), *counts.T.tolist(), strict=True), strict=True))


def _evidence(counts: Counts, totals: FloatArray) -> FloatArray:
    """The weight of each feature as in `stream_bayes.kernels.mail.evidence.sum_evidence`, also in single precision."""
    ham, spam = np.where(counts < len(LOGS), LOGS[np.minimum(counts, len(LOGS) - 1)], _logarithms(counts)).T
    odds = spam - ham + np.float32(math.log((totals[0] + 1.0) / (totals[1] + 1.0)))
    size = np.abs(odds)
    return np.where(counts.any(axis=1), odds * size / (size + DOUBTED), 0.0).astype(np.float64)


def _logarithms(counts: Counts) -> Table:
    return np.log(np.maximum(counts, 1).astype(np.float64)).astype(np.float32)
