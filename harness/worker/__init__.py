"""Verify, count and time kernels, in a process of its own."""
