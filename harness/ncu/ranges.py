"""The NVTX range of a launch. Only its name links a counter to its case and step.

A launch's position in the report is never used: a failed launch, a library that launches several
kernels, or a filter that drops one would shift every later figure to the wrong case.
"""

from __future__ import annotations

from harness.backends.base import NVTX_DOMAIN

INCLUDE = f"regex:{NVTX_DOMAIN}@.*/"
"""The filter for `ncu --nvtx-include`: every push/pop range of the domain. Case ids contain
slashes, which are delimiters in the filter's syntax, so no name is spelt out in it."""


def name(case: str, step: int) -> str:
    """The range's name for one step of a case."""
    return f"{case}#{step}"


def parse(text: str) -> tuple[str, int] | None:
    """The (case, step) of a range's name, or None if it is not one of the harness's."""
    case, mark, step = text.rpartition("#")
    return (case, int(step)) if mark and case and step.isdecimal() else None
