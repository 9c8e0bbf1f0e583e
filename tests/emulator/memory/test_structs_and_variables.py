"""Arguments other than buffers and numbers: structs, variables and pointers to functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import (
    LaunchError,
    Module,
    PtxSyntaxError,
    launch,
    parse,
    variable,
    variables,
)

SOURCE = """
struct Point { float x, y; };
struct Work { const float* in; char kind; short step; Point points[2]; float* out; double scale; };
namespace ns { __constant__ float weights[4] = {1, 2, 3, 4}; }
__constant__ int twice;
namespace other { __device__ int count; }
__device__ int count;

extern "C" __global__ void work(Work w, int n) {
    int i = threadIdx.x;
    if (i < n) w.out[i] = w.in[i * w.step] * w.scale + w.kind + w.points[1].y;
}
extern "C" __global__ void weigh(float* x) {
    x[threadIdx.x] *= ns::weights[threadIdx.x] * twice;
    if (threadIdx.x == 0) { count += 1; other::count += 10; }
}

typedef int (*Function)(int);
__device__ int plus(int x) { return x + 5; }
__device__ int times(int x) { return x * 3; }
__device__ Function table[3] = {plus, times, nullptr};
__device__ Function chosen = times;
extern "C" __global__ void by_table(int* x, int which) {
    x[threadIdx.x] = table[which](x[threadIdx.x]);
}
extern "C" __global__ void by_argument(int* x, Function f) { x[threadIdx.x] = f(x[threadIdx.x]); }
"""


@pytest.fixture
def module(compile_ptx: CompilePtx) -> Module:
    return compile_ptx(SOURCE)


def _work(x: np.ndarray, out: Any) -> tuple[Any, ...]:
    points = tuple((np.float32(n), np.float32(n + 0.5)) for n in range(2))
    return x, np.int8(2), np.int16(3), points, out, np.float64(10)


def test_a_struct_is_a_tuple_of_its_members_and_may_hold_pointers(module: Module) -> None:
    x, out = np.arange(96, dtype=np.float32), np.zeros(32, np.float32)
    run(module, "work", 1, 32, [_work(x, out), 32])
    assert (out == x[::3] * 10 + 3.5).all()


def test_a_struct_is_a_mapping_of_its_members_as_well(module: Module) -> None:
    x, out = np.arange(96, dtype=np.float32), np.zeros(32, np.float32)
    names = ("in", "kind", "step", "points", "out", "scale")
    members = dict(zip(names, _work(x, out), strict=True))
    run(module, "work", 1, 32, [members, 32])
    assert (out == x[::3] * 10 + 3.5).all()


def test_a_fault_behind_a_pointer_in_a_struct_names_the_member(module: Module) -> None:
    x, out = np.zeros(96, np.float32), np.zeros(31, np.float32)
    (fault,) = launch(module, "work", 1, 32, [_work(x, out), 32]).faults
    assert fault.kind == "out of bounds"
    assert "past the end of argument 0 (work_param_0), member 4 (124 bytes)" in fault.message
    (fault,) = launch(module, "work", 1, 32, [_work(x, None), 32]).faults
    assert "a null pointer" in fault.message


@pytest.mark.parametrize(
    ("struct", "match"),
    [
        ((np.float32(1),), "a struct whose members take 4 bytes; the parameter has 48"),
        ((1, 2.0), "member 0, is 1; pass an array for a pointer, a NumPy scalar"),
        ({"in": "x"}, "member in, is 'x'"),
        (((((),),),), "members take 0 bytes"),
        ((np.zeros(4)[::2],), "member 0 is not contiguous"),
        (5, "pass a tuple of its members, or bytes"),
        (b"12", "is 2 bytes; the parameter has 48"),
    ],
)
def test_a_struct_that_does_not_fit_is_refused(module: Module, struct: Any, match: str) -> None:
    with pytest.raises(LaunchError, match=match):
        launch(module, "work", 1, 32, [struct, 32])


def test_structs_without_end_are_refused(module: Module) -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with pytest.raises(LaunchError, match="more than 16 structs within one another"):
        launch(module, "work", 1, 32, [endless, 32])


def test_variables_are_set_and_read_by_their_names_in_the_source(module: Module) -> None:
    x = np.ones(4, np.float32)
    variable(module, "twice", np.int32)[:] = 2
    variable(module, "ns::weights", np.float32)[1] = 7
    run(module, "weigh", 1, 4, [x])
    assert x.tolist() == [2, 14, 6, 8]
    assert variable(module, "other::count", np.int32).tolist() == [10]
    run(module, "weigh", 1, 4, [x])
    assert variables(module)["count"].view(np.int32).tolist() == [2]
    assert variable(module, "weights").nbytes == 16


@pytest.mark.parametrize(
    ("name", "dtype", "match"),
    [
        ("nothing", np.int32, "no variable `nothing` in this module; it has: _ZN2ns7weightsE"),
        ("weights", np.dtype("S3"), "has 16 bytes, which is no array of |S3"),
        ("weights", object, "which is no array of object"),
        ("weights", "what", "pass a NumPy type"),
        (3, np.int32, "pass its name"),
    ],
)
def test_a_variable_that_is_not_there_or_of_another_size_is_refused(
    module: Module, name: Any, dtype: Any, match: str
) -> None:
    with pytest.raises(LaunchError, match=match.replace("|", "[|]")):
        variable(module, name, dtype)


def test_functions_are_called_through_tables_and_arguments(module: Module) -> None:
    x = np.arange(32, dtype=np.int32)
    run(module, "by_table", 1, 32, [x, 0])
    run(module, "by_table", 1, 32, [x, 1])
    assert (x == (np.arange(32) + 5) * 3).all()
    run(module, "by_argument", 1, 32, [x, int(variable(module, "chosen", np.uint64)[0])])
    assert (x == (np.arange(32) + 5) * 9).all()


HEAP = """
extern "C" __global__ void reversed(int* x, int n) {
    int* own = (int*)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) own[i] = x[threadIdx.x] * i;
    int sum = 0;
    for (int i = n - 1; i >= 0; i--) sum += own[i];
    free(own);
    x[threadIdx.x] = sum;
}
struct Node { int value; Node* next; };
extern "C" __global__ void listed(int* x) {
    Node* list = nullptr;
    for (int i = 0; i < 5; i++) list = new Node{x[threadIdx.x] + i, list};
    for (x[threadIdx.x] = 0; list; list = list->next) x[threadIdx.x] += list->value;
}
extern "C" __global__ void unset(int* x) { x[0] = ((int*)malloc(8))[1]; }
extern "C" __global__ void past(int* x) { ((char*)malloc(1))[x[0]] = 1; }
extern "C" __global__ void sizes(unsigned long long* x) {
    char* given = (char*)malloc(x[threadIdx.x]);
    if (given) *given = 1;
    x[threadIdx.x] = given != nullptr;
    free(given);
}
"""


def test_device_code_allocates_memory(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(HEAP)
    x = np.arange(96, dtype=np.int32)
    run(module, "reversed", 1, 96, [x, 10])
    assert (x == np.arange(96) * 45).all()
    x = np.arange(96, dtype=np.int32)
    run(module, "listed", 1, 96, [x])
    assert (x == np.arange(96) * 5 + 10).all()


def test_an_empty_heap_gives_null_and_what_is_wrong_in_it_is_told(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(HEAP)
    sizes = np.array([1, 4 << 20, 4 << 20, 2**63], np.uint64)
    run(module, "sizes", 1, 4, [sizes])
    assert sizes.tolist() == [1, 1, 0, 0]
    (fault,) = launch(module, "unset", 1, 1, [np.zeros(1, np.int32)]).faults
    assert fault.kind == "uninitialised"
    assert "device heap" in fault.message
    (fault,) = launch(module, "past", 1, 1, [np.array([8 << 20], np.int32)]).faults
    assert fault.kind == "out of bounds"
    assert "past the end of device heap" in fault.message


def test_a_null_pointer_to_a_function_is_called_that(module: Module) -> None:
    x = np.zeros(32, np.int32)
    for kernel, argument in (("by_table", 2), ("by_argument", None)):
        (fault,) = launch(module, kernel, 1, 32, [x, argument]).faults
        assert fault.message == "a call through a null function pointer"
    (fault,) = launch(module, "by_argument", 1, 32, [x, 1234]).faults
    assert fault.message == "a call through 0x4d2, which is no function of this module"


MANAGED = ".visible .global .attribute(.managed) .align 4 .u32 added = 5;"
COPIED = """
    ld.param.u64 %a0, [p0];
    ld.global.u32 %r1, [added];
    st.global.u32 [%a0], %r1;
"""


def test_a_managed_variable_is_read_as_any_other() -> None:
    module, out = parse(ptx_kernel(COPIED, ["u64"], MANAGED)), np.zeros(1, np.uint32)
    launch(module, "k", 1, 1, [out])
    variable(module, "added", np.uint32)[0] += 2
    assert out[0] == 5
    launch(module, "k", 1, 1, [out])
    assert out[0] == 7


def test_another_attribute_of_a_variable_is_refused() -> None:
    other = MANAGED.replace(".managed", ".unified(3, 4)")
    with pytest.raises(PtxSyntaxError, match=r"expected '\.managed'"):
        parse(ptx_kernel(COPIED, ["u64"], other))
