"""Buffers that are uninitialised before a launch: which reads of them are allowed, and when."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx

from harness.emulator import Fault, LaunchError, Module, launch

SOURCE = """
#define I (blockIdx.x * blockDim.x + threadIdx.x)
extern "C" __global__ void adds(const float* in, float* out) {
    out[I] += in[I];                                   // LINE adds
}
extern "C" __global__ void by_way_of(const float* in, float* out, float* scratch) {
    scratch[I] = in[I];
    out[I] = scratch[I] * 2;
}
extern "C" __global__ void neighbour(const float* scratch, float* out) {
    out[I] = scratch[I + 1];                           // LINE neighbour
}
extern "C" __global__ void counts(unsigned* out) {
    atomicAdd(out, 1u);                                // LINE counts
}
extern "C" __global__ void looks(const float* scratch, float* out) {
    float x = scratch[I];
    if (out == 0) out[I] = x;
}
extern "C" __global__ void pairs(const float2* scratch, float* out) {
    float2 x = scratch[I];
    out[I] = x.x;
    if (I == 40) out[I] = x.y;                         // LINE pairs
}
"""


def line_of(mark: str) -> int:
    return next(n for n, text in enumerate(SOURCE.split("\n"), 1) if f"// LINE {mark}" in text)


def nothing(count: int) -> np.ndarray:
    """A map for this many floats, none of which has been written."""
    return np.zeros(4 * count, np.bool_)


def floats() -> np.ndarray:
    return np.arange(64, dtype=np.float32)


@pytest.fixture(scope="module")
def module(compile_ptx: CompilePtx) -> Module:
    return compile_ptx(SOURCE)


def _fault(module: Module, kernel: str, *args: np.ndarray, **written: np.ndarray) -> Fault:
    known = {int(name.removeprefix("arg")): bytes_ for name, bytes_ in written.items()}
    (fault,) = launch(module, kernel, 2, 32, args, written=known).faults
    assert fault.kind == "uninitialised"
    return fault


def test_to_add_to_an_output_that_holds_nothing_is_a_fault(module: Module) -> None:
    fault = _fault(module, "adds", floats(), floats(), arg1=nothing(64))
    assert fault.line == line_of("adds")
    assert "of 4 bytes at offset 0 of argument 1 (adds_param_1), which nothing has" in fault.message


def test_an_atomic_reads_what_it_changes(module: Module) -> None:
    fault = _fault(module, "counts", np.zeros(1, np.uint32), arg0=nothing(1))
    assert fault.line == line_of("counts")


def test_what_the_launch_wrote_may_be_read(module: Module) -> None:
    out, scratch = nothing(64), nothing(64)
    args = [floats(), floats(), floats()]
    report = launch(module, "by_way_of", 2, 32, args, written={1: out, 2: scratch})
    assert not report.faults
    assert out.all()
    assert scratch.all()


def test_what_an_earlier_launch_wrote_may_be_read_and_no_more(module: Module) -> None:
    scratch = nothing(65)
    args = [floats(), floats(), np.zeros(65, np.float32)]
    assert not launch(module, "by_way_of", 1, 32, args, written={2: scratch}).faults
    assert scratch.sum() == 4 * 32
    fault = _fault(module, "neighbour", args[2], floats(), arg0=scratch)
    assert fault.line == line_of("neighbour")
    assert (fault.block, fault.thread) == ((0, 0, 0), (31, 0, 0))


def test_what_is_read_and_not_used_is_no_fault(module: Module) -> None:
    args = [floats(), floats()]
    assert not launch(module, "looks", 2, 32, args, written={0: nothing(64)}).faults


def test_a_word_of_a_vector_is_told_from_its_neighbours(module: Module) -> None:
    known = nothing(128).reshape(64, 2, 4)
    known[:, 0] = True
    given = np.zeros(128, np.float32)
    fault = _fault(module, "pairs", given, floats(), arg0=known.reshape(-1))
    assert fault.thread == (8, 0, 0)


def test_a_buffer_that_is_not_named_came_with_its_contents(module: Module) -> None:
    assert not launch(module, "adds", 2, 32, [floats(), floats()], written={}).faults


def test_without_checks_nothing_is_said_of_it(module: Module) -> None:
    args = [floats(), floats()]
    report = launch(module, "adds", 2, 32, args, written={1: nothing(64)}, checks=False)
    assert not report.faults


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({2: nothing(64)}, "written names argument 2, which is no array"),
        ({1: nothing(63)}, r"give 256 bools, one for each byte"),
        ({1: np.zeros(256, np.uint8)}, "give 256 bools"),
        ({1: np.zeros(512, np.bool_)[::2]}, "must be contiguous and writeable"),
    ],
)
def test_what_says_nothing_of_an_array_is_refused(
    module: Module, written: dict[int, np.ndarray], said: str
) -> None:
    with pytest.raises(LaunchError, match=said):
        launch(module, "adds", 2, 32, [floats(), floats()], written=written)
