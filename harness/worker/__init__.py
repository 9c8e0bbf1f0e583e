"""Verify, count and time kernels, in a separate process."""
