"""Functions that are called, not launched: host functions of .cu files, Python functions, and
torch's.
"""
