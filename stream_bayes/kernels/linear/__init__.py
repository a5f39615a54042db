"""Kernels of Bayesian linear and logistic regression.

full        the factor of the precision, updated by rotations
diagonal    one variance per weight
fold        predict, then learn, over the rows of a batch
logistic    the same for labels
robust      the same for targets with heavy-tailed noise
noise       known or unknown noise variance
"""
