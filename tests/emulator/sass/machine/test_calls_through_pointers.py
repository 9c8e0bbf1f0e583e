"""A call through a pointer that leads to no function is reported as a fault of that kind, in PTX
and in machine code."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code

SOURCE = r"""
typedef int (*Function)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * x; }
__device__ Function table[3] = {twice, thrice, nullptr};
extern "C" __global__ void by_table(const int* which, int* out) {
    out[threadIdx.x] = table[which[threadIdx.x]](threadIdx.x);
}
extern "C" __global__ void by_argument(Function given, int* out) {
    out[threadIdx.x] = given(threadIdx.x);
}
"""
WITHOUT_FUNCTIONS = r"""
extern "C" __global__ void by_argument(int (*given)(int), int* out) {
    out[threadIdx.x] = given(threadIdx.x);
}
"""
NULL, NONE = "a call through a null function pointer", "which is no function of this module"


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_functions_in_a_table_are_called(
    compile_ptx: CompilePtx, read_source: ReadSource, arch: str
) -> None:
    which, outs = np.arange(32, dtype=np.int32) % 2, np.zeros((2, 32), np.int32)
    assert not launch(compile_ptx(SOURCE), "by_table", 1, 32, [which, outs[0]]).faults
    code = read_source(SOURCE, arch)
    assert not launch_machine_code(code, "by_table", 1, 32, [which, outs[1]]).faults
    assert (outs == np.arange(32) * (2 + which)).all()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_a_null_pointer_to_a_function_is_named_in_machine_code(
    read_source: ReadSource, arch: str
) -> None:
    code, out = read_source(SOURCE, arch), np.zeros(32, np.int32)
    which = np.arange(32, dtype=np.int32) // 16 * 2
    (fault,) = launch_machine_code(code, "by_table", 1, 32, [which, out]).faults
    assert (fault.kind, fault.message, fault.thread) == ("out of bounds", NULL, (16, 0, 0))
    (fault,) = launch_machine_code(code, "by_argument", 1, 32, [None, out]).faults
    assert fault.message == NULL
    (fault,) = launch_machine_code(code, "by_argument", 1, 32, [12345, out]).faults
    assert fault.message == "a call through a pointer that is no function of this module"


def test_a_null_pointer_is_named_in_a_module_without_functions(
    compile_ptx: CompilePtx, read_source: ReadSource
) -> None:
    module, out = compile_ptx(WITHOUT_FUNCTIONS), np.zeros(32, np.int32)
    code = read_source(WITHOUT_FUNCTIONS)
    for report in (
        launch(module, "by_argument", 1, 32, [None, out]),
        launch_machine_code(code, "by_argument", 1, 32, [None, out], ptx=module),
    ):
        (fault,) = report.faults
        assert (fault.kind, fault.message) == ("out of bounds", NULL)
        assert fault.line == 3
    (fault,) = launch(module, "by_argument", 1, 32, [12345, out]).faults
    assert NONE in fault.message
