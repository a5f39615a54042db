"""Entropy, mutual information and marginal likelihood of a Gaussian posterior, and choice of events by it."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import digamma

from stream_bayes.errors import ParameterError
from stream_bayes.features import Batch
from stream_bayes.features.values import IntArray
from stream_bayes.kernels.linear.diagonal import rank_diagonal
from stream_bayes.kernels.linear.full import COUNT, DISCOUNT, SQUARES
from stream_bayes.kernels.linear.noise import log_marginal
from stream_bayes.learners.base.columns import Cells
from stream_bayes.learners.linear.diagonal import DiagonalGaussian
from stream_bayes.learners.linear.full import FullGaussian
from stream_bayes.posteriors import StudentT
from stream_bayes.posteriors.gaussian import UNIT_NORMAL_ENTROPY
from stream_bayes.posteriors.rates import unit_gamma_entropy
from stream_bayes.typing import FloatArray
from stream_bayes.validation import whole


def entropy(weights: int, log_determinant: float, scale: float, degrees: float) -> float:
    """Differential entropy of the weights given P, and of the noise variance if it is unknown.

    Unknown: the variance is inverse gamma with shape a = degrees / 2 and scale b = a x scale, so that the mean of its
    logarithm is ln b - digamma(a).
    """
    if degrees == math.inf:
        return weights * (UNIT_NORMAL_ENTROPY + 0.5 * math.log(scale)) - 0.5 * log_determinant
    a = 0.5 * degrees
    psi = float(digamma(a))
    log_b = math.log(a * scale)
    noise = unit_gamma_entropy(a) - 2.0 * psi + log_b
    return noise + weights * (UNIT_NORMAL_ENTROPY + 0.5 * (log_b - psi)) - 0.5 * log_determinant


def gain(spread: float, degrees: float) -> float:
    """The mutual information of a target with the weights, and with the noise where that is unknown.

    Known: 1/2 ln(1 + spread). Unknown: the entropy of the t minus the expected entropy of the noise.
    """
    known = 0.5 * math.log1p(spread)
    if degrees == math.inf:
        return known
    a = 0.5 * degrees
    expected = UNIT_NORMAL_ENTROPY + 0.5 * (math.log(a) - float(digamma(a)))
    return known + StudentT(degrees, 0.0, 1.0).entropy - expected


def log_evidence(posterior: FullGaussian) -> float:
    """The logarithm of the marginal likelihood of everything learned, in closed form.

    Known noise: N(y; X m, noise (I + X X' / prior)) with m the prior mean, its determinant and quadratic form from P
    and the squares left.
    Unknown: the multivariate t that the inverse gamma makes of it.
    """
    variance = posterior.setting.noise_variance
    degrees = posterior.setting.noise_degrees
    count = float(posterior.numbers[COUNT])
    squares = float(posterior.numbers[SQUARES])
    shrunk = posterior.prior_log_determinant() - posterior.log_determinant()
    volume = 0.5 * (shrunk - count * math.log(2.0 * math.pi))
    if degrees == math.inf:
        return volume - 0.5 * (count * math.log(variance) + squares / variance)
    return volume + log_marginal(degrees, count, variance, squares)


def rank(posterior: FullGaussian | DiagonalGaussian, batch: Batch, cells: Cells, k: int) -> IntArray:
    """The rows of the k events that tell most, in the order they are chosen."""
    wanted = whole("k", k, ParameterError)
    if wanted < 0:
        message = f"k must be 0 or more; got {k}"
        raise ParameterError(message)
    columns, width = _with_new(posterior, batch, cells)
    count = min(int(wanted), len(batch))
    if isinstance(posterior, DiagonalGaussian):
        precision = np.full(width, posterior.setting.prior)
        precision[: posterior.width] = posterior.cells[: posterior.width, 0] * posterior.numbers[DISCOUNT]
        chosen = np.empty(count, dtype=np.int64)
        intercept = posterior.setting.intercept
        forgetting = posterior.setting.forgetting
        rank_diagonal(cells.row_starts, columns, cells.values, intercept, forgetting, precision, chosen)
        return chosen
    return _largest_in_turn(_whitened(posterior, cells, columns, width), count, posterior.setting.forgetting)


def _with_new(posterior: FullGaussian | DiagonalGaussian, batch: Batch, cells: Cells) -> tuple[IntArray, int]:
    """The weight of each pair, with a place at the end for each that no event has had; and how many there are."""
    intercept = posterior.setting.intercept
    columns = cells.columns + intercept
    width = max(posterior.width, intercept)
    new = (cells.columns < 0) | (columns >= width)
    known_by = cells.columns.copy()
    nameless = known_by < 0
    if nameless.any():  # never where names are hashed, which may leave fewer pairs than the batch has
        known_by[nameless] = -1 - batch.columns[nameless]
    numbers, places = np.unique(known_by[new], return_inverse=True)
    columns[new] = width + places
    return columns, width + len(numbers)


def _whitened(posterior: FullGaussian, cells: Cells, columns: IntArray, width: int) -> FloatArray:
    """The events as rows u with u'u = x'P^-1 x."""
    events = len(cells.row_starts) - 1
    dense = np.zeros((events, width))
    dense[np.repeat(np.arange(events), np.diff(cells.row_starts)), columns] = cells.values
    if posterior.setting.intercept:
        dense[:, 0] = 1.0
    known = posterior.width
    dense[:, known:] /= math.sqrt(posterior.setting.prior)
    if known:
        dense[:, :known] = solve_triangular(posterior.upper, dense[:, :known].T, trans="T").T
    return dense


def _largest_in_turn(whitened: FloatArray, count: int, forgetting: float) -> IntArray:
    """Choose the row of largest variance, then take what its answer would tell from the variance of all.

    The covariance after choosing u is M - h h' / (1 + u'h), h = M u: with g = h / sqrt(1 + u'h) each variance falls by
    the square of its row times g. Forgetting divides all by the same, which in these units multiplies the 1.
    """
    variances = np.einsum("ij,ij->i", whitened, whitened)
    chosen = np.empty(count, dtype=np.int64)
    gains = np.empty((count, whitened.shape[1]))
    for turn in range(count):
        chosen[turn] = best = int(variances.argmax())
        row = whitened[best]
        direction = row - (gains[:turn] @ row) @ gains[:turn]
        gains[turn] = direction / math.sqrt(forgetting ** (turn + 1) + float(row @ direction))
        variances -= (whitened @ gains[turn]) ** 2
        variances[chosen[: turn + 1]] = -np.inf
    return chosen
