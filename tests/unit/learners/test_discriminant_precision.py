"""Gaussian learners far from the prior mean, against arithmetic with eighty digits.

Values are eighths, so that they are exact at every offset. A mean is kept to 1e-16 of its size: with deviations of
about 1 the log-odds may be off by some 1e-15 times the offset, and no more.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from stream_bayes import GaussianNB, NormalInverseGamma
from stream_bayes.learners.discriminant import FORMS, GaussianDiscriminant
from stream_bayes.typing import FloatArray, IntArray
from tests.support.discriminants import events, trained

DEFAULT = NormalInverseGamma(0.0, 0.01, 1.0, 1.0)
FIRM = NormalInverseGamma(mean=-0.5, strength=2.0, shape=1.5, scale=0.25)
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707")
SECONDS_SINCE_1970 = 1.7e9
OFFSETS = (0.0, 1e4, 1e6, SECONDS_SINCE_1970)

Row = list[Decimal]
Matrix = list[Row]


@pytest.fixture(autouse=True)
def _eighty_digits() -> Iterator[None]:
    with decimal.localcontext(decimal.Context(prec=80)):
        yield


def far_sample(size: int, offset: float, width: int) -> tuple[FloatArray, IntArray]:
    """Two classes of correlated columns, in eighths, all at the same offset."""
    generator = np.random.default_rng(8)
    labels = (generator.random(size) < 0.4).astype(np.int64)
    mix = np.array([[1.0, 0.7, -0.4], [0.0, 0.8, 0.9], [0.0, 0.0, 0.6]])
    values = generator.normal(size=(size, 3)) @ mix * (1.0 + 0.5 * labels[:, None]) + np.outer(labels, (0.5, 0.0, -0.5))
    return np.round(8.0 * values[:, :width]) / 8.0 + offset, labels


def log_gamma(twice: int) -> Decimal:
    """log Gamma(twice / 2), from Gamma(1) = 1 or Gamma(1/2) = sqrt(pi) upwards."""
    value = PI.sqrt() if twice % 2 else Decimal(1)
    for step in range(2 - twice % 2, twice, 2):
        value *= Decimal(step) / 2
    return value.ln()


def log_determinant_and_squares(matrix: Matrix, right: Row) -> tuple[Decimal, Decimal]:
    """log |M| and r' M^-1 r, by elimination."""
    rows = [[*row, own] for row, own in zip(matrix, right, strict=True)]
    determinant = Decimal(1)
    squares = Decimal(0)
    for a, pivot_row in enumerate(rows):
        determinant *= pivot_row[a]
        squares += pivot_row[-1] ** 2 / pivot_row[a]
        for row in rows[a + 1 :]:
            share = row[a] / pivot_row[a]
            row[:] = [own - share * above for own, above in zip(row, pivot_row, strict=True)]
    return determinant.ln(), squares


class Exact:
    """The posterior predictive of two classes in decimals."""

    def __init__(self, values: FloatArray, labels: IntArray, prior: NormalInverseGamma, *, shared: bool) -> None:
        self._prior = [Decimal(number) for number in prior]
        self._counts = [int((labels == c).sum()) for c in (0, 1)]
        table = [[Decimal(value) for value in row] for row in values.tolist()]
        own = [[row for row, label in zip(table, labels, strict=True) if label == c] for c in (0, 1)]
        self._means = [[sum(column) / len(rows) for column in zip(*rows, strict=True)] for rows in own]
        added = [self._added(rows, mean) for rows, mean in zip(own, self._means, strict=True)]
        self._psi = [self._with_prior([one]) for one in added] if not shared else [self._with_prior(added)] * 2
        events_behind = [len(values)] * 2 if shared else self._counts
        self._degrees = [int(2.0 * prior.shape) + count for count in events_behind]

    def _added(self, rows: Matrix, mean: Row) -> Matrix:
        """S + strength n / (strength + n) (m - mean)(m - mean)'."""
        places = range(len(mean))
        pull = self._prior[1] * len(rows) / (self._prior[1] + len(rows))
        shift = [own - self._prior[0] for own in mean]
        return [
            [sum(((row[i] - mean[i]) * (row[j] - mean[j]) for row in rows), pull * shift[i] * shift[j]) for j in places]
            for i in places
        ]

    def _with_prior(self, parts: list[Matrix]) -> Matrix:
        places = range(len(parts[0]))
        return [[sum((part[i][j] for part in parts), 2 * self._prior[3] * (i == j)) for j in places] for i in places]

    def log_odds(self, point: list[float]) -> float:
        """Of class 1 against class 0, with class pseudo-counts of 1."""
        one, other = (self._log_joint(c, [Decimal(value) for value in point]) for c in (1, 0))
        return float(one - other)

    def _log_joint(self, c: int, point: Row) -> Decimal:
        degrees = self._degrees[c]
        strength = self._prior[1] + self._counts[c]
        width = len(point)
        location = [(self._prior[1] * self._prior[0] + self._counts[c] * mean) / strength for mean in self._means[c]]
        spread = [[entry * (strength + 1) / (strength * degrees) for entry in row] for row in self._psi[c]]
        rest = [value - own for value, own in zip(point, location, strict=True)]
        log_determinant, squares = log_determinant_and_squares(spread, rest)
        log = log_gamma(degrees + width) - log_gamma(degrees) - Decimal(width) / 2 * (degrees * PI).ln()
        log -= log_determinant / 2 + Decimal(degrees + width) / 2 * (1 + squares / degrees).ln()
        return log + Decimal(self._counts[c] + 1).ln()


def log_odds_of(model: Any, values: FloatArray) -> list[float]:
    """Of class 1 against class 0."""
    predictions = model.predictive_many(events(values))
    one = predictions.probabilities[:, list(predictions.labels).index(1)]
    signed: FloatArray = np.where(one >= 0.5, predictions.log_odds, -predictions.log_odds)
    return list(signed.tolist())


def probes(values: FloatArray) -> FloatArray:
    """Some of the events, and points off them in either direction."""
    apart = np.array([[2.0, -1.0, 0.5], [-3.0, 0.25, 3.0]])[:, : values.shape[1]]
    return np.concatenate([values[:20], values[20:22] + apart])


def worst(model: Any, exact: Exact, points: FloatArray) -> float:
    result = log_odds_of(model, points)
    return max(abs(odds - exact.log_odds(point)) for odds, point in zip(result, points.tolist(), strict=True))


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("prior", [DEFAULT, FIRM], ids=["default", "firm"])
@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_log_odds_keep_the_digits_of_the_means(covariance: str, width: int, prior: Any, offset: float) -> None:
    values, labels = far_sample(200, offset, width)
    model = trained(GaussianDiscriminant(covariance, prior), values, labels)
    exact = Exact(values, labels, prior, shared=covariance == "shared")
    assert worst(model, exact, probes(values)) < 1e-13 + 5e-15 * offset


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("variance", ["class", "shared"])
def test_one_feature_of_naive_bayes(variance: str, offset: float) -> None:
    """One variance has nothing to cancel against: it is that of the pull, where rounding of the mean is lost."""
    values, labels = far_sample(200, offset, 1)
    exact = Exact(values, labels, DEFAULT, shared=variance == "shared")
    assert worst(trained(GaussianNB(variance=variance), values, labels), exact, probes(values)) < 1e-13
    form = "diagonal" if variance == "class" else "shared"
    assert worst(trained(GaussianDiscriminant(form), values, labels), exact, probes(values)) < 1e-13


@pytest.mark.parametrize("covariance", FORMS)
def test_unlearned_is_as_never_learned(covariance: str) -> None:
    values, labels = far_sample(300, SECONDS_SINCE_1970, 3)
    never = trained(GaussianDiscriminant(covariance), values[:200], labels[:200])
    model = trained(GaussianDiscriminant(covariance), values, labels)
    for x, y in zip(events(values[200:]), labels[200:], strict=True):
        model.unlearn_one(x, y)
    points = probes(values)
    assert log_odds_of(model, points) == pytest.approx(log_odds_of(never, points), abs=2e-5)
    if covariance in ("full", "shared"):
        exact = Exact(values[:200], labels[:200], DEFAULT, shared=covariance == "shared")
        assert worst(model, exact, points) < 2e-5


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_merged_is_as_learned_together(covariance: str) -> None:
    values, labels = far_sample(200, SECONDS_SINCE_1970, 3)
    model = trained(GaussianDiscriminant(covariance), values[:90], labels[:90])
    model.merge(trained(GaussianDiscriminant(covariance), values[90:], labels[90:]))
    assert worst(model, Exact(values, labels, DEFAULT, shared=covariance == "shared"), probes(values)) < 1e-5


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_with_features_missing_their_order_does_not_matter(covariance: str) -> None:
    """The factor depends on the order in all its entries, the log-odds in none of their digits."""
    values, labels = far_sample(200, SECONDS_SINCE_1970, 3)
    stream = events(values)
    for place, x in enumerate(stream):
        if place % 4 < 3:
            del x["abc"[place % 4]]
    straight = GaussianDiscriminant(covariance)
    turned = GaussianDiscriminant(covariance)
    for x, y in zip(stream, labels, strict=True):
        straight.learn_one(x, y)
        turned.learn_one(dict(reversed(x.items())), y)
    points = probes(values)
    backwards = turned.predictive_many([dict(reversed(x.items())) for x in events(points)])
    forwards = straight.predictive_many(events(points))
    assert forwards.log_odds == pytest.approx(backwards.log_odds, abs=1e-5)
