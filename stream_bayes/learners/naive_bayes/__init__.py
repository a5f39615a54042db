"""Naive Bayes: features independent given the class, each with its own conjugate posterior.

base          evidence in growable arrays, and its sums
bernoulli     BernoulliNB: presence and absence of words
multinomial   MultinomialNB: counts of words
poisson       PoissonNB: rates of words
word_counts   what MultinomialNB and PoissonNB share
categorical   CategoricalNB: features with a few values
gaussian      GaussianNB: numbers
"""

from stream_bayes.learners.naive_bayes.bernoulli import BernoulliNB
from stream_bayes.learners.naive_bayes.categorical import CategoricalNB
from stream_bayes.learners.naive_bayes.gaussian import GaussianNB
from stream_bayes.learners.naive_bayes.multinomial import MultinomialNB
from stream_bayes.learners.naive_bayes.poisson import PoissonNB

__all__ = ["BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB", "PoissonNB"]
