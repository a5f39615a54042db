"""Posterior and predictive distributions as immutable value objects: an update returns a new one.

base                   mixins: value semantics, quantile functions, credible intervals, Bayes actions
counts                 Beta, Dirichlet
rates                  Gamma, NegativeBinomial
poisson                Poisson
gaussian               Normal, StudentT
heavy_tailed           HeavyTailed: a normal line with Laplace or Student's t noise
normal_inverse_gamma   NormalInverseGamma
multivariate           MvNormal
multivariate_t         MvStudentT
label                  LabelPredictive: the distribution of the next label; LogitNormal
"""

from __future__ import annotations

from stream_bayes.posteriors.base import Loss
from stream_bayes.posteriors.counts import Beta, Dirichlet
from stream_bayes.posteriors.gaussian import Normal, StudentT
from stream_bayes.posteriors.heavy_tailed import HeavyTailed
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
    "HeavyTailed",
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
