"""Kernels of joint Gaussian models.

pair_moments    moments of every pair of features
covariance      covariance matrices from them
discriminant    Gaussian discriminant analysis
"""
