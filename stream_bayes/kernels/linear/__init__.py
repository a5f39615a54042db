"""Kernels of Bayesian linear and logistic regression.

full        the factor of the precision, updated by rotations
diagonal    one variance per weight
fold        predict, then learn, over the rows of a batch
logistic    the same for labels
noise       known or unknown noise variance
"""
