"""Kernels of nearest neighbours.

window     a ring of the last events, their distances to an event, and the votes of the nearest
"""
