"""Kernels of stochastic gradient steps.

steps      one output: squared, logistic and Poisson loss, with lazy penalties
softmax    one output per class
"""
