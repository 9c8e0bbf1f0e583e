"""Functions that are called, not launched: a .cu file's host functions, Python's, and torch's."""
