"""Find the variants of a two-sided matrix whose source text or machine code is unchanged.

A variant and its twin from another commit are the same if the matrix has the same entry for both,
and all files that they use, headers included, have the same content.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from harness.backends.emulated_device import emulated_device
from harness.machine.devices import DEFAULT_ARCH
from harness.matrix import plan
from harness.matrix.model import Bench
from harness.matrix.variants import Variant
from harness.run.staleness import Origins

Pair = tuple[str, str]
"""Problem and variant."""


def variants(both: Bench, suffix: str, base: Bench, pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs whose two sides are made from the same files.

    `both`: the matrix with the current variants and the other side's, whose names end in the suffix
    and whose files are in a folder of that name. `base`: the other side's own matrix.
    """
    # Which files are included does not depend on the device, and nothing is compiled here.
    device = emulated_device(DEFAULT_ARCH)
    cases = plan.resolve(both, device, "cuda").cases
    one_case = {(case.problem, case.variant): case for case in cases}
    origins = Origins(both, [], device.arch, is_timed=False)
    found = []
    for problem, name in pairs:
        ours = one_case.get((problem, name))
        theirs = one_case.get((problem, name + suffix))
        now, then = both.problems[problem].variants[name], base.problems[problem].variants[name]
        if ours is None or theirs is None or _said(now) != _said(then):
            continue
        files = [_files(origins.of(case), suffix) for case in (ours, theirs)]
        if files[0] == files[1] and (now.kind != "python" or _same_python(both, suffix, problem)):
            found.append((problem, name))
    return found


def _said(variant: Variant) -> Variant:
    """The settings that affect the machine code, its launches and its checks, excluding the
    variant's place in a ladder."""
    return replace(variant, builds_on="", idea="", is_trap=False, places={})


def _files(origins: dict[str, str], suffix: str) -> dict[str, str]:
    return {
        name.removeprefix(f"{suffix}/"): known for name, known in origins.items()
        if name != "bench.yaml"
    }  # fmt: skip


def _same_python(both: Bench, suffix: str, problem: str) -> bool:
    """Return whether all Python files of a problem's folder are the same, because a function may
    import any of them."""
    here, there = both.kernels / problem, both.kernels / suffix / problem
    return _python(here) == _python(there)


def _python(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}
