"""Numbers that Gaussian learners take, and their sufficient statistics: counts, means and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stream_bayes.errors import InputError
from stream_bayes.features import Batch
from stream_bayes.kernels.naive_bayes.gaussian import NormalPrior
from stream_bayes.learners.base.input_checks import check_size
from stream_bayes.posteriors import NormalInverseGamma
from stream_bayes.typing import FloatArray
from stream_bayes.validation import check_scale, of_kind

# Squares of values, summed over any stream, stay finite.
LARGEST_VALUE = 1e120
# Unlearning may leave this share of the scatter below zero by rounding; more is no evidence of any events.
SLACK = 1e-9


def check_numbers(batch: Batch) -> None:
    """Refuse texts, and numbers whose squares would not be finite."""
    if batch.texts:
        message = f"feature {min(batch.texts, key=repr)!r} is a text: Gaussian features are numbers"
        raise InputError(message)
    check_size(batch.values, LARGEST_VALUE)


def check_prior(prior: NormalInverseGamma | None) -> NormalInverseGamma | None:
    """The prior of a Gaussian learner, if sums with it stay finite, or None."""
    if prior is not None:
        check_scale("prior", *of_kind(prior, "prior", NormalInverseGamma))
    return prior


def as_normal_prior(prior: NormalInverseGamma | None) -> NormalPrior:
    """The prior as kernels take it, all zero where there is none."""
    return NormalPrior(0.0, 0.0, 0.0, 0.0) if prior is None else NormalPrior(*prior)


def unlearning_scale(prior: NormalInverseGamma | None) -> float:
    """The sum of squares that unlearning compares rounding with: the prior's, or that of a feature of unit scale."""
    return 1.0 if prior is None else prior.scale


class SampleMoments(NamedTuple):
    """Counts, means and scatters of one or many samples."""

    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray


class FeatureMoments(NamedTuple):
    """The moments of a single feature in a single class."""

    weight: float
    mean: float
    scatter: float


class NormalEstimate(NamedTuple):
    """An estimate of the mean and the variance of a feature in a class."""

    mean: float
    variance: float


def pooled_posterior(
    prior: NormalInverseGamma, own: FeatureMoments, pooled: Sequence[FeatureMoments]
) -> NormalInverseGamma:
    """The posterior of a mean by its own moments, and of a variance by those of all that share it."""
    posterior = prior.update_moments(*own)
    each = [prior.update_moments(*one) for one in pooled]
    shape = prior.shape + sum(one.shape - prior.shape for one in each)
    scale = prior.scale + sum(one.scale - prior.scale for one in each)
    return NormalInverseGamma(posterior.mean, posterior.strength, shape, scale)


def merged(one: SampleMoments, two: SampleMoments) -> SampleMoments:
    """The moments of both samples (Chan, Golub and LeVeque): scatters add, and so does that between the means.

    The last two axes of a matrix of pairs hold (i, j): the mean of i where j is there too.
    """
    total = one.weight + two.weight
    share = np.divide(two.weight, total, out=np.zeros_like(total), where=total > 0.0)
    offset = two.mean - one.mean
    between = offset * (offset if offset.ndim < 3 else offset.swapaxes(-1, -2)) * one.weight * share
    return SampleMoments(total, one.mean + offset * share, one.scatter + two.scatter + between)
