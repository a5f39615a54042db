"""All compiled code: arrays in, arrays out; no classes but plain tuples of arrays, no errors raised.

Every hot path of the package is a function here, compiled by numba on first use and cached on disk.
"""
