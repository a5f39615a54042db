"""Measured figures, always as ratios to a peer in the same run: `make bench`."""
