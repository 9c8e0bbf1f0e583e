"""Candidates in KernelBench's form: a torch module, `ModelNew`, that launches its own kernels.

    submission(solution, problem, sizes) → a Submission: its kernels with the launches it makes

cpp: text, macros, syntax           the text of an extension: kernels for nvcc, host code as a tree
cpp: values, calls, run              host code, run with tensors that have no values
recording                          launches and arrays; torch's own operations are rejected
trace                              the process in which all of that happens

The candidate's host code is neither compiled nor executed natively, and its Python runs in a
separate process, which returns the launches as data. The candidate thus determines only what is
launched.
"""

from harness.judge.candidates.described import submission

__all__ = ["submission"]
