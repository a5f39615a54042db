"""Naive Bayes: features independent given the class, each with a conjugate posterior of its own."""

from stream_bayes.learners.naive_bayes.bernoulli import BernoulliNB
from stream_bayes.learners.naive_bayes.categorical import CategoricalNB
from stream_bayes.learners.naive_bayes.gaussian import GaussianNB
from stream_bayes.learners.naive_bayes.multinomial import MultinomialNB
from stream_bayes.learners.naive_bayes.poisson import PoissonNB

__all__ = ["BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB", "PoissonNB"]
