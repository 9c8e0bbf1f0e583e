"""Tensor-map copies leave the same bytes as on an H100, and copies that end in an error there end
in a fault here.

The readings are reports/h100/tensor_copies.csv.gz, written by scripts/tensor_maps/copies_on_gpu.py.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from emulator_tools import PtxFile, assemble

from harness.emulator import LaunchError, LaunchReport, TensorMap, launch, parse
from harness.emulator.sass import MachineReport, launch_machine_code, read

REPOSITORY = Path(__file__).parents[5]
READINGS = REPOSITORY / "reports/h100/tensor_copies.csv.gz"
SOURCE = REPOSITORY / "tests/fidelity/tensor_copies/copies.cu"
OLD, SHARED = 0xA5, 17408
Execute = Callable[[str, list[Any]], LaunchReport | MachineReport]


@pytest.fixture(scope="module")
def listed(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("copy_cases")


@pytest.fixture(scope="module")
def readings() -> dict[str, str]:
    csv.field_size_limit(1 << 24)
    with gzip.open(READINGS, "rt", newline="") as file:
        return {row["case"]: row["changed"] for row in csv.DictReader(file)}


@pytest.fixture(autouse=True)
def engine() -> None:
    """Run each test once, because the judge executes all copies."""


@pytest.fixture(scope="module", params=["PTX", "machine code"])
def execute(
    request: pytest.FixtureRequest, ptx_file: PtxFile, tmp_path_factory: pytest.TempPathFactory
) -> Execute:
    path = ptx_file(SOURCE, "sm_90a")
    module = parse(path.read_text())
    if request.param == "PTX":
        return lambda kernel, given: launch(module, kernel, 1, 128, given, SHARED)
    cubin = tmp_path_factory.mktemp("copies") / "copies.cubin"
    code = read(assemble(path, cubin, "sm_90a"))
    return lambda kernel, given: launch_machine_code(
        code, kernel, 1, 128, given, SHARED, signature=module.kernels[kernel]
    )


def after(case: Any, before: np.ndarray, text: str) -> np.ndarray:
    """The memory that the GPU left: `before`, with the recorded bytes written over it."""
    out = before.copy()
    for run in text.split():
        offset, found = run.split(":")
        out[int(offset, 16) :][: len(found) // 2] = np.frombuffer(bytes.fromhex(found), np.uint8)
    return out


def copied(execute: Execute, listed: ModuleType, case: Any) -> tuple[np.ndarray, np.ndarray, str]:
    """The memory that the copy may change, before and after it, and the fault's message (empty if
    none)."""
    tensor, layout = case.tensor(), case.layout
    before = np.full(listed.ROOM, OLD, np.uint8) if case.loads else tensor.copy()
    box = np.append(before, np.uint8(0)) if case.loads else case.box()
    given: list[Any]
    if case.operation.startswith("bulk"):
        given = [tensor, box, layout.box_bytes]
    else:
        dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[layout.element_bytes]
        names = ("box", "shape", "strides", "element", "steps", "swizzle", "interleave", "fill")
        made = TensorMap(tensor.view(dtype), **{name: getattr(layout, name) for name in names})
        at = (*case.at, *(0,) * (5 - len(case.at)))
        given = [made, *at, box, *([layout.box_bytes] if case.loads else [])]
    report = execute(case.kernel, given)
    fault = report.faults[0].message if report.faults else ""
    return before, box[: listed.ROOM] if case.loads else tensor, fault


def differing(
    execute: Execute, listed: ModuleType, readings: dict[str, str], cases: Sequence[Any]
) -> list[str]:
    wrong = []
    for case in cases:
        text = readings[case.name]
        stops = text.startswith("error")
        try:
            before, found, fault = copied(execute, listed, case)
        except LaunchError as error:
            wrong.append(f"{case.name}: {error}")
            continue
        if bool(fault) != stops:
            wrong.append(f"{case.name}: {fault or 'a GPU stops'}")
        elif not stops and not np.array_equal(found, after(case, before, text)):
            wrong.append(f"{case.name}: other bytes")
    return wrong


@pytest.mark.parametrize("part", range(4))
def test_a_copy_leaves_what_it_leaves_on_a_gpu(
    execute: Execute, listed: ModuleType, readings: dict[str, str], part: int
) -> None:
    cases = listed.cases()[part::4]
    assert differing(execute, listed, readings, cases) == []


def test_the_readings_are_of_these_cases(listed: ModuleType, readings: dict[str, str]) -> None:
    assert [each.name for each in listed.cases()] == list(readings)
    assert sum(text.startswith("error") for text in readings.values()) > 100
