"""Kernels of regression from the Gram matrix.

moments               means and scatter of features and target
coordinate_descent    LASSO and elastic net
gram_rotations        least squares on a growing or shrinking set of columns
"""
