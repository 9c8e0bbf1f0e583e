"""Functions that are called, not launched: host functions in .cu files, Python functions, and
torch's functions.
"""
