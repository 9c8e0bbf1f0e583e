"""A launch with flags, tickets or locks is judged in several orders of its warps."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CORRECT, CompilePtx
from kernel_files import check, run_file

from harness.emulator import LaunchReport, launch
from harness.emulator.errors import LaunchError

BEHIND_THE_LOCK = """
extern "C" __global__ void k(unsigned* lock, int* total, int* out) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0u, 1u) != 0u) {
    }
    __threadfence();
    *total = *total + 1;
    WITHIN
    __threadfence();
    atomicExch(lock, 0u);
    BEHIND
}
"""
LAST_LOOK = "if (blockIdx.x == 1) out[0] = *total;"

MESSAGE = """
#include <cuda/atomic>
extern "C" __global__ void k(int* data, int* flag, int* out) {
    cuda::atomic_ref<int> raised(*flag);
    if (threadIdx.x == 0) {
        *data = 7;
        raised.store(1, cuda::memory_order_ORDER);
    } else if (threadIdx.x == 32 && raised.load(cuda::memory_order_acquire) == 1) {
        out[0] = *data;
    }
}
"""


def _launched(
    compile_ptx: CompilePtx, source: str, grid: int, block: int, **keywords: int
) -> LaunchReport:
    args = [np.zeros(1, np.uint32), np.zeros(1, np.int32), np.zeros(1, np.int32)]
    return launch(compile_ptx(source), "k", grid, block, args, **keywords)


def _locked(within: str, behind: str) -> str:
    return BEHIND_THE_LOCK.replace("WITHIN", within).replace("BEHIND", behind)


def test_a_race_that_the_usual_order_hides_is_found_and_names_the_order(
    compile_ptx: CompilePtx,
) -> None:
    """In the usual order, the second block is the last to take the lock, so its last read is not
    concurrent."""
    source = _locked("", LAST_LOOK)
    assert not _launched(compile_ptx, source, 2, 32, schedule=0).faults
    (fault,) = _launched(compile_ptx, source, 2, 32).faults
    assert fault.kind == "race"
    assert "in another order, which launch(..., schedule=2) repeats" in fault.message
    (again,) = _launched(compile_ptx, source, 2, 32, schedule=2).faults
    assert again == fault


def test_the_same_within_the_lock_is_right_in_every_order(compile_ptx: CompilePtx) -> None:
    source = _locked(LAST_LOOK, "")
    assert not _launched(compile_ptx, source, 2, 32).faults
    for schedule in range(12):
        assert not _launched(compile_ptx, source, 2, 32, schedule=schedule).faults


@pytest.mark.parametrize(("order", "kinds"), [("relaxed", ["race"]), ("release", [])])
def test_a_message_that_few_orders_let_arrive_is_judged(
    compile_ptx: CompilePtx, order: str, kinds: list[str]
) -> None:
    report = _launched(compile_ptx, MESSAGE.replace("ORDER", order), 1, 64)
    assert [fault.kind for fault in report.faults] == kinds


def test_other_orders_leave_the_results_and_counts_of_the_usual_one(
    compile_ptx: CompilePtx,
) -> None:
    source = _locked("out[0] = out[0] * 10 + blockIdx.x + 1;", "")
    reports, results = [], []
    for keywords in ({}, {"schedule": 0}):
        args = [np.zeros(1, np.uint32), np.zeros(1, np.int32), np.zeros(1, np.int32)]
        reports.append(launch(compile_ptx(source), "k", 4, 32, args, **keywords))
        results.append(args[2][0])
    assert results == [1234, 1234]
    assert reports[0].instructions == reports[1].instructions
    assert reports[0].counters == reports[1].counters


@pytest.mark.parametrize("schedule", [1, 2, 3, 17])
@pytest.mark.parametrize(
    "name",
    [
        "decoupled_look_back", "grid_sync", "lock_in_every_round", "lock_then_syncwarp",
        "last_block_ticket", "mbarrier_of_a_block", "named_barriers", "volatile_flag",
        "shuffles_under_divergence", "whole_warps_leave", "bulk_copies_in_a_ring", "tiled_gemm",
    ],
)  # fmt: skip
def test_a_correct_kernel_is_right_in_every_order(
    compile_ptx: CompilePtx, name: str, schedule: int
) -> None:
    path = CORRECT / f"{name}.cu"
    outcome = run_file(compile_ptx, path, schedule=schedule)
    assert not outcome.report.faults, str(outcome.report.faults[0])
    assert check(path, outcome.was, outcome.a)


def test_a_schedule_is_a_number(compile_ptx: CompilePtx) -> None:
    with pytest.raises(LaunchError, match="schedule is -1: it must be from 0"):
        _launched(compile_ptx, _locked("", ""), 1, 32, schedule=-1)
