"""Kernels with one planted fault are reported at its line; tricky correct kernels are never
reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulator_tools import CORRECT, FAULTY, CompilePtx
from kernel_files import check, faults, others, run_file

WRONG = sorted(FAULTY.glob("*.cu"))
RIGHT = sorted(CORRECT.glob("*.cu"))
ONLY_WRONG = "flt_min_as_identity"


def _named(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=path.stem) for path in paths]


def test_there_are_enough_of_both() -> None:
    assert len(WRONG) >= 25
    assert len(RIGHT) >= 15


@pytest.mark.parametrize("path", _named([p for p in WRONG if p.stem != ONLY_WRONG]))
def test_a_planted_fault_is_found_at_its_line(compile_ptx: CompilePtx, path: Path) -> None:
    expected = faults(path)
    assert expected
    for chunk_threads in (65536, 1):  # all blocks together, and one at a time
        (fault,) = run_file(compile_ptx, path, chunk_threads=chunk_threads).report.faults
        assert Path(fault.file).name == path.name
        assert fault.kind in expected.get(fault.line, ()), str(fault)
        for line in others(path):
            assert f"line {line}" in fault.message, str(fault)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("path", _named(RIGHT))
def test_a_correct_kernel_is_not_accused_and_right(
    compile_ptx: CompilePtx, path: Path, arch: str
) -> None:
    for chunk_threads in (65536, 1):
        outcome = run_file(compile_ptx, path, arch, chunk_threads=chunk_threads)
        assert not outcome.report.faults, str(outcome.report.faults[0])
        assert check(path, outcome.was, outcome.a)


def test_flt_min_is_not_the_identity_of_max(compile_ptx: CompilePtx) -> None:
    """No access is faulty; only the result is wrong."""
    path = FAULTY / f"{ONLY_WRONG}.cu"
    outcome = run_file(compile_ptx, path)
    assert not outcome.report.faults
    assert not check(path, outcome.was, outcome.a)
