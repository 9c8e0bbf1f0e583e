"""The judge: takes kernels and returns typed verdicts, for Python, tests and other programs.

    from harness.judge import Kernel, Problem

A submission is written as the folder of a matrix (folders.py) and run as `python -m harness run`
would, in its own process (slots/). The verdict is derived from the run's records alone
(judging.py).
"""

from harness.judge.references import Imported, Written
from harness.judge.submissions import (
    HostFunction,
    Kernel,
    Launch,
    Problem,
    ProblemFolder,
    PythonFunction,
    Submission,
    Text,
)  # fmt: skip
from harness.judge.verdicts import Counterexample, Verdict

__all__ = [
    "Counterexample", "HostFunction", "Imported", "Kernel", "Launch", "Problem", "ProblemFolder",
    "PythonFunction", "Submission", "Text", "Verdict", "Written",
]  # fmt: skip
