"""Kernels that combine and calibrate log-odds.

combination      rows of log-odds to the log-odds of their combination
logistic_step    one Bayesian logistic step with full covariance
calibration      a monotone map of log-odds, learned online
"""
