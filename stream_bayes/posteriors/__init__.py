"""Beliefs as frozen values: an update returns a new one, a predictive says how sure it is and why."""

from __future__ import annotations

from stream_bayes.posteriors.base import Loss
from stream_bayes.posteriors.counts import Beta, Dirichlet
from stream_bayes.posteriors.gaussian import Normal, StudentT
from stream_bayes.posteriors.label import LabelPredictive, LogitNormal
from stream_bayes.posteriors.multivariate import MvNormal
from stream_bayes.posteriors.multivariate_t import MvStudentT
from stream_bayes.posteriors.normal_inverse_gamma import NormalInverseGamma
from stream_bayes.posteriors.poisson import Poisson
from stream_bayes.posteriors.rates import Gamma, NegativeBinomial

__all__ = [
    "Beta",
    "Dirichlet",
    "Gamma",
    "LabelPredictive",
    "LogitNormal",
    "Loss",
    "MvNormal",
    "MvStudentT",
    "NegativeBinomial",
    "Normal",
    "NormalInverseGamma",
    "Poisson",
    "StudentT",
]
