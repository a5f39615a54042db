"""Kernels: all code that numba compiles; arrays in, arrays out, plain tuples of arrays as state, no errors raised.

Every hot path of the package is a function here, compiled on first use and cached on disk. Nothing else imports numba,
so that a kernel has a module here even where a single learner uses it.

common        compilation and its cache, sparse rows, special functions, label variance
naive_bayes   naive Bayes and Beta-Bernoulli
gaussian      Gaussian discriminant analysis
linear        Bayesian linear and logistic regression
gradient      stochastic gradient descent
gram          Gram matrix, coordinate descent
fusion        combination and calibration of log-odds
neighbours    nearest neighbours
mail          decoding, features and scores of mails
"""
