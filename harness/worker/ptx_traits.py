"""Properties of a variant's instructions that readers should know, one clause each.

The properties are read from the variant's PTX. Machine code has the same clock reads, cache hints
and atomics, but only PTX shows in which precision it computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from harness import emulator
from harness.backends.host_memory import relative
from harness.cases import Case
from harness.compiler.compile import Built, kernel_name
from harness.problem import Problem

_TEXTS = {
    "branch on a clock": "branches on a clock",
    "clock": "reads a clock",
    "launch number": "asks for the number of its launch",
    "multiprocessor": "asks which multiprocessor or warp slot it runs on",
    "half": "computes in half precision",
    "to half": "rounds to half precision",
    "tf32": "multiplies in TF32",
    "to tf32": "rounds to TF32",
    "single": "computes in single precision",
    "to single": "rounds to single precision",
    "hint": "tells the L2 cache what to keep",
    "prefetch": "prefetches",
    "float atomic": "may vary in its last bits: float atomics",
}
_SAID_BY = {
    "clock": "branch on a clock", "to half": "half", "to tf32": "tf32", "to single": "single",
}  # fmt: skip
"""Trait → a trait that implies it; if both are found, only that one is mentioned."""


def of(
    problem: Problem,
    cases: Sequence[Case],
    built: Mapping[str, Built],
    modules: Mapping[Path, emulator.Module],
    executed: Mapping[str, set[int]],
) -> Iterator[str]:
    """Clauses about a variant's kernels. `executed`: the executed lines of each PTX file."""
    found: dict[str, list[tuple[str, emulator.Feature]]] = {}
    for ptx, symbol in _kernels(cases, built):
        for trait in emulator.features(modules[ptx], symbol):
            found.setdefault(trait.kind, []).append((str(ptx), trait))
    own = expected_precisions(problem, cases)
    for kind, text in _TEXTS.items():
        if kind not in found or kind in own or _SAID_BY.get(kind) in found:
            continue
        reached = [t for ptx, t in found[kind] if t.ptx_line in executed.get(ptx, ())]
        first = (reached or [t for _, t in found[kind]])[0]
        place = f" in {relative(first.file)}:{first.line}" if first.file else ""
        beyond = "" if reached or not executed else ", where no test size gets to"
        yield f"{text} ({first.detail}{place}{beyond})"


def _kernels(cases: Sequence[Case], built: Mapping[str, Built]) -> list[tuple[Path, str]]:
    """The kernels that the cases launch: the PTX file and the name in it."""
    return list(dict.fromkeys(
        (built[case.id].ptx, kernel_name(step.kernel, built[case.id], case.source))
        for case in cases
        for step in case.steps
    ))  # fmt: skip


def expected_precisions(problem: Problem, cases: Sequence[Case]) -> set[str]:
    """The problem's own precisions: those of its buffers, and those that it declares."""
    sizes, dtype = cases[0].sizes, cases[0].dtype
    types = [np.dtype(b.dtype) for b in problem.buffers(sizes, dtype)]
    floats = [t for t in types if t.kind not in "iubc"]
    expected = set()
    if any(t.itemsize <= 2 for t in floats):
        expected |= {"half", "to half"}
    if any(t.itemsize <= 4 for t in floats) or not floats:
        expected |= {"single", "to single"}
    if problem.arithmetic == "tf32":
        expected |= {"tf32", "to tf32"}
    return expected
