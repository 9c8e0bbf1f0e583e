"""Planted races are found in machine code just as in PTX, and nothing else is reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import CompilePtx
from kernel_files import faults, others, run_code
from sass.conftest import ListTogether, ReadSource

from harness.emulator.sass import launch_machine_code

FAULTY = Path(__file__).parents[1] / "faulty"
WITHIN_A_WARP = {
    "mbarriers_by_way_of_a_warp_that_does_not_wait",
    "syncwarp_of_half_a_warp", "tile_of_a_warp_without_syncwarp", "warp_reduction_volatile",
    "warp_reduction_without_syncwarp",
}  # fmt: skip
"""Kernels with races within a warp. If lanes are converged anyway, machine code has no trace of a
`__syncwarp` in the source."""

BY_THE_LOCK = {"lock_taken_without_fence", "lock_taken_without_fence_by_the_first"}
"""Kernels whose locks, in machine code, are treated as flags, which need no fence after them."""

RACES = sorted(
    path
    for path in FAULTY.glob("*.cu")
    if {"race", "divergent barrier"} & set().union(*faults(path).values())
    and path.stem not in WITHIN_A_WARP | BY_THE_LOCK
)


@pytest.mark.parametrize("path", RACES, ids=lambda path: path.stem)
def test_a_planted_race_is_found_in_machine_code(
    compile_ptx: CompilePtx, read_source: ReadSource, list_together: ListTogether, path: Path
) -> None:
    list_together(RACES)
    _, report = run_code(read_source(path), path, compile_ptx(path))
    (fault,) = report.faults
    assert Path(fault.file).name == path.name
    assert fault.kind in set().union(*faults(path).values())
    lines = [*faults(path), *others(path)]
    assert fault.line in lines or any(f"line {line}" in fault.message for line in lines), str(fault)


SIDES = r"""
#define SIDE(KIND) asm volatile("shfl.sync." KIND ".b32 %0, %1, 1, 31, -1;" \
    : "=r"(found) : "r"(t))
extern "C" __global__ void k(int* out) {
    const int t = threadIdx.x;
    int found;
    if (t % 2) SIDE("bfly");
    else SIDE(@OTHER@);
    out[t] = found;
}
"""


@pytest.mark.parametrize(("other", "kinds"), [("bfly", []), ("down", ["warp mask"])])
def test_lanes_meet_at_shuffles_of_one_kind_only(
    compile_ptx: CompilePtx, read_source: ReadSource, other: str, kinds: list[str]
) -> None:
    source = SIDES.replace("@OTHER@", f'"{other}"')
    code, out = read_source(source), np.zeros(32, np.int32)
    report = launch_machine_code(code, "k", 1, 32, [out], ptx=compile_ptx(source))
    assert [fault.kind for fault in report.faults] == kinds
    if not kinds:
        assert out.tolist() == [t ^ 1 for t in range(32)]


def test_lanes_at_two_kinds_of_vote_are_found_at_both_lines(
    compile_ptx: CompilePtx, read_source: ReadSource
) -> None:
    path = FAULTY / "lanes_at_two_kinds_of_vote.cu"
    _, report = run_code(read_source(path), path, compile_ptx(path))
    (fault,) = report.faults
    assert fault.kind in faults(path)[fault.line]
    (there,) = faults(path).keys() - {fault.line}
    assert f"line {there}" in fault.message


HALVES = """
#include <cuda_fp16.h>
extern "C" __global__ void k(__half* sums, const __half* in) {
    atomicAdd(sums + (threadIdx.x & 1), in[blockIdx.x * blockDim.x + threadIdx.x]);
    %s
}
"""


@pytest.mark.parametrize(
    ("more", "kinds"), [("", []), ("sums[2 + threadIdx.x] = sums[0];", ["race"])]
)
def test_the_load_of_an_atomic_on_a_half_is_part_of_the_atomic(
    compile_ptx: CompilePtx, read_source: ReadSource, more: str, kinds: list[str]
) -> None:
    source = HALVES % more
    sums, ones = np.zeros(66, np.float16), np.ones(256, np.float16)
    report = launch_machine_code(
        read_source(source), "k", 4, 64, [sums, ones], ptx=compile_ptx(source)
    )
    assert [fault.kind for fault in report.faults] == kinds
    assert kinds or sums[:2].tolist() == [128, 128]
