"""PTX kernels, executed both as PTX and as the machine code that ptxas generates from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from emulator_tools import assemble

from harness.emulator import LaunchReport, Module, TensorMap, launch, parse
from harness.emulator.sass import MachineCode, MachineReport, launch_machine_code, read


@dataclass(frozen=True)
class Case:
    """`arguments`: a function that makes new arguments for each launch."""

    name: str
    text: str
    arguments: Callable[[], list[Any]]
    grid: int = 1
    block: int = 32
    cluster: int | None = None


@dataclass(frozen=True)
class Both:
    """One module of many kernels, in both forms."""

    ptx: Module
    code: MachineCode


def together(cases: Sequence[Case], folder: Path, arch: str = "sm_90a") -> Both:
    """Put all kernels into one module, each named after its case."""
    head = cases[0].text.partition(".visible")[0]
    if arch != "sm_90a":
        head = re.sub(r"\.version \S+", ".version 8.8", head).replace("sm_90a", arch)
    bodies = [
        re.sub(r"\.entry k\b", f".entry {each.name}", each.text.partition(".visible")[2])
        for each in cases
    ]
    text = head + "".join(f".visible{body}" for body in bodies)
    source = folder / "k.ptx"
    source.write_text(text)
    return Both(parse(text), read(assemble(source, folder / "k.cubin", arch)))


def launched(both: Both, case: Case) -> tuple[LaunchReport, MachineReport, list[Any], list[Any]]:
    """Launch both forms; return both reports, and the arguments of both launches."""
    theirs = case.arguments()
    ours = [_copy(each) for each in theirs]
    shape = (case.grid, case.block)
    ptx = launch(both.ptx, case.name, *shape, theirs, cluster=case.cluster)
    code = launch_machine_code(
        both.code, case.name, *shape, ours, cluster=case.cluster,
        signature=both.ptx.kernels[case.name],
    )  # fmt: skip
    return ptx, code, theirs, ours


def launched_alike(both: Both, case: Case) -> MachineReport:
    """Launch both forms, and check that neither has a fault and both change the same bits; return
    the report of the machine code."""
    before = arrays(case.arguments())
    ptx, code, theirs, ours = launched(both, case)
    assert not ptx.faults, ptx.faults[0]
    assert not code.faults, code.faults[0]
    pairs = list(zip(arrays(theirs), arrays(ours), strict=True))
    for a, b in pairs:
        np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))
    assert any((a.view(np.uint8) != was.view(np.uint8)).any()
               for (a, _), was in zip(pairs, before, strict=True))  # fmt: skip
    return code


def arrays(arguments: Sequence[Any]) -> list[np.ndarray]:
    found = [each.array if isinstance(each, TensorMap) else each for each in arguments]
    return [each for each in found if isinstance(each, np.ndarray)]


def _copy(argument: Any) -> Any:
    if isinstance(argument, TensorMap):
        return replace(argument, array=argument.array.copy())
    return argument.copy() if isinstance(argument, np.ndarray) else argument
