"""A fault names the array or member that was accessed, in PTX and in machine code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.engine.judging import OfLines
from harness.emulator.sass import launch_machine_code
from harness.emulator.sass.judging import judged

SOURCE = """struct Pair { int key; float value; };
extern "C" __global__ void two_arrays(float* out, Pair* pairs) {
    __shared__ float first[64];
    __shared__ Pair second[64];
    first[threadIdx.x] = out[threadIdx.x];
    second[threadIdx.x] = pairs[threadIdx.x];
    __syncthreads();
    second[threadIdx.x].value = out[threadIdx.x];
    out[threadIdx.x] = first[threadIdx.x ^ 33] + second[threadIdx.x ^ 33].value;
}
extern "C" __global__ void one_array(float* out) {
    __shared__ float only[64];
    only[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = only[threadIdx.x ^ 33];
}
extern "C" __global__ void one_word(Pair* pairs) {
    pairs[3].value = threadIdx.x;
}
"""
PAIR = np.dtype([("key", "i4"), ("value", "f4")])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "arrays.cu"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("kernel", "args", "from_ptx", "from_code"),
    [
        ("two_arrays", [np.ones(64, "f4"), np.zeros(64, PAIR)],
         "offset 268 of `second` in shared memory", "of shared memory (in `second`)"),
        ("one_array", [np.ones(64, "f4")],
         "offset 132 of `only` in shared memory", " of `only` in shared memory"),
        ("one_word", [np.zeros(64, PAIR)], "offset 28 of argument 0 (one_word_param_0) ([3].value)",
         "([3].value)"),
    ],
)  # fmt: skip
def test_a_race_names_the_array_from_both_front_ends(
    compile_ptx: CompilePtx, read_source: ReadSource, source: Path, kernel: str,
    args: list[np.ndarray], from_ptx: str, from_code: str,
) -> None:  # fmt: skip
    ptx = compile_ptx(source)
    (fault,) = launch(ptx, kernel, 1, 64, args).faults
    assert from_ptx in fault.message
    (fault,) = launch_machine_code(read_source(source), kernel, 1, 64, args, ptx=ptx).faults
    assert fault.kind == "race"
    assert from_code in fault.message


def test_writes_at_the_same_time_say_what_to_do(compile_ptx: CompilePtx, source: Path) -> None:
    (fault,) = launch(compile_ptx(source), "one_word", 1, 64, [np.zeros(64, PAIR)]).faults
    assert "at the same time with another value: give each thread a word of its own" in str(fault)


IN_TURN = """
extern "C" __global__ void in_turn(unsigned* flags, int* out) {
    if (threadIdx.x == 0) while (atomicAdd(flags, 0u) == 0) { }
    __barrier_sync(0);
    out[threadIdx.x] = 1;
    if (threadIdx.x == 0) while (atomicAdd(flags + 1, 0u) == 0) { }
    __barrier_sync(0);
    out[63 - threadIdx.x] += 1;
}"""


def test_barriers_that_lanes_may_reach_apart_and_their_repetitions_have_no_line_to_meet_at(
    read_source: ReadSource, compile_ptx: CompilePtx
) -> None:
    function = read_source(IN_TURN).functions["in_turn"]
    barriers = [n for n, each in enumerate(function.instructions) if each.opcode == "BAR"]
    lines = judged(function, OfLines(compile_ptx(IN_TURN), "in_turn")).lines[barriers].tolist()
    assert lines == [-1] * 4  # two barriers, each repeated for diverged lanes
