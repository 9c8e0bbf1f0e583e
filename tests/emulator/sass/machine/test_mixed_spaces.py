"""One warp instruction whose lanes access several memories: each lane's address is looked up in its
own memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import LaunchReport, launch
from harness.emulator.sass import MachineReport, launch_machine_code

Report = LaunchReport | MachineReport
Execute = Callable[..., Report]

LANES = np.arange(64)
OURS = (LANES & 1) == 0  # lanes that access shared memory
LOADED_AND_STORED = """extern "C" __global__ void k(float* global, float* out, int odd) {
    __shared__ float shared[64];
    const int t = threadIdx.x;
    shared[t] = 1000 + t;
    __syncthreads();
    float* own = t & odd ? global + t : shared + t;
    const float read = *own;
    *own = read + 0.5f;
    __syncthreads();
    out[t] = read;
    out[64 + t] = shared[t];
}"""
ADDED = """extern "C" __global__ void k(unsigned* global, unsigned* out, int odd) {
    __shared__ unsigned shared[2];
    const int t = threadIdx.x;
    if (t < 2) shared[t] = 0;
    __syncthreads();
    unsigned* own = t & odd ? global : shared;
    out[t] = atomicAdd(own + (t >> 1 & 1), 3) & 0;
    __syncthreads();
    if (t < 2) out[64 + t] = shared[t];
}"""
HALVES = """#include <cuda_fp16.h>
extern "C" __global__ void k(__half2* global, __half2* out, int odd) {
    __shared__ __half2 shared[64];
    const int t = threadIdx.x;
    shared[t] = __floats2half2_rn(t, 1);
    __syncthreads();
    atomicAdd(t & odd ? global + t : shared + t, __floats2half2_rn(2, 3));
    __syncthreads();
    out[t] = shared[t];
}"""
IN_THREE = """extern "C" __global__ void k(float* global, float* out, int one) {
    __shared__ float shared[64];
    volatile float local[2];
    const int t = threadIdx.x;
    local[t & one] = 2000 + t;
    local[1 - (t & one)] = 3000 + t;
    shared[t] = 1000 + t;
    volatile float* places[3] = {shared + t, global + t, local + (t & one)};
    volatile float* own = places[t % 3];
    const float read = *own;
    *own = read + 0.5f;
    out[t] = read;
    out[64 + t] = local[t & one];
}"""
PAST_THE_END = """extern "C" __global__ void k(float* global, float* out, int odd) {
    __shared__ float shared[64];
    const int t = threadIdx.x;
    shared[t] = t;
    float* own = t & odd ? global + t : shared + t;
    out[t] = own[t == 6 ? 64 : 0];
}"""


@pytest.fixture(params=["sm_80", "sm_90"])
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["auto", "judge", "machine code"])
def execute(
    request: pytest.FixtureRequest, arch: str, compile_ptx: CompilePtx, read_source: ReadSource
) -> Execute:
    """Launch one block of 64 threads: execute(source, arguments)."""

    def executed(source: str, *arguments: object) -> Report:
        if request.param == "machine code":
            return launch_machine_code(read_source(source, arch), "k", 1, 64, arguments)
        return launch(
            compile_ptx(source, arch), "k", 1, 64, arguments, arch=arch, engine=request.param
        )

    return executed


def test_each_lane_loads_and_stores_where_its_pointer_leads(execute: Execute) -> None:
    given, out = np.arange(64, dtype=np.float32), np.zeros(128, np.float32)
    there = given.copy()
    report = execute(LOADED_AND_STORED, there, out, 1)
    assert not report.faults, str(report.faults[0])
    read = np.where(OURS, 1000 + LANES, given)
    assert (out[:64] == read).all()
    assert (out[64:] == 1000 + LANES + 0.5 * OURS).all()
    assert (there == given + 0.5 * ~OURS).all()


def test_what_such_a_request_costs_is_refused_and_all_else_is_counted(execute: Execute) -> None:
    report = execute(LOADED_AND_STORED, np.zeros(64, np.float32), np.zeros(128, np.float32), 1)
    counted = {each.name for each in report.counters}
    refused = {
        f"l1tex__t_{what}_pipe_lsu_mem_global_op_{kind}.sum"
        for what in ("requests", "sectors") for kind in ("ld", "st")
    } | {"memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"}  # fmt: skip
    assert {*report.uncounted} == refused
    assert not refused & counted
    assert "smsp__inst_executed.sum" in counted
    for reason in report.uncounted.values():
        assert reason.startswith("not collected: lanes of one `")
        assert "go to different memories at once" in reason


def test_lanes_that_agree_are_counted_as_ever(execute: Execute) -> None:
    report = execute(LOADED_AND_STORED, np.zeros(64, np.float32), np.zeros(128, np.float32), 0)
    assert not report.uncounted
    counts = {each.name: each.value for each in report.counters}
    assert counts["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 2 * 2 * 4
    assert counts["memory_l1_wavefronts_shared"] == 2 * 4  # two warps: ST, LD, ST, LD


def test_atomics_meet_in_their_own_memory(execute: Execute) -> None:
    there, out = np.zeros(2, np.uint32), np.zeros(66, np.uint32)
    report = execute(ADDED, there, out, 1)
    assert not report.faults, str(report.faults[0])
    assert there.tolist() == out[64:].tolist() == [48, 48]
    assert "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum" in report.uncounted or (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum" in report.uncounted
    )


def test_pairs_of_halves_which_shared_memory_adds_up_in_a_loop(execute: Execute) -> None:
    there, out = np.full(128, 7, np.float16), np.zeros(128, np.float16)
    report = execute(HALVES, there, out, 1)
    assert not report.faults, str(report.faults[0])
    pairs = np.stack([LANES, np.ones(64)], axis=1)
    assert (out.reshape(64, 2) == pairs + np.outer(OURS, [2, 3])).all()
    assert (there.reshape(64, 2) == 7 + np.outer(~OURS, [2, 3])).all()


def test_a_warp_may_go_to_three_memories(execute: Execute) -> None:
    there, out = np.arange(64, dtype=np.float32), np.zeros(128, np.float32)
    report = execute(IN_THREE, there, out, 1)
    assert not report.faults, str(report.faults[0])
    third = LANES % 3
    assert (out[:64] == np.choose(third, [1000 + LANES, LANES, 2000 + LANES])).all()
    assert (there == LANES + 0.5 * (third == 1)).all()
    assert (out[64:] == 2000 + LANES + 0.5 * (third == 2)).all()


def test_the_one_lane_that_leaves_its_memory_is_accused(execute: Execute) -> None:
    [fault] = execute(PAST_THE_END, np.zeros(64, np.float32), np.zeros(64, np.float32), 1).faults
    assert fault.kind == "out of bounds"
    assert fault.thread == (6, 0, 0)
    assert fault.line == 6
