"""Kernels on arrays: every operation is computed by NumPy, for all threads of a launch at once."""
