"""Kernels on arrays: every operation as NumPy computes it, a launch's threads all at once."""
