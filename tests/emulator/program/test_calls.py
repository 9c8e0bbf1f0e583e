"""Device functions that are called rather than inlined, module variables, and names of kernels."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, run

from harness.emulator import LaunchError, UnknownInstruction, launch
from harness.emulator.ptx.kernel_names import plain_name

SOURCE = r"""
__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion(int* a) { a[threadIdx.x] = fibonacci(a[threadIdx.x]); }

__device__ int odd(int n);
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1) * 2; }
extern "C" __global__ void mutual(int* a) { a[threadIdx.x] = even(a[threadIdx.x]) + 10; }

// An array of its own for each activation, a struct by value, and a loop around the call.
struct Item { int key; double weight; char tag[5]; };
__device__ __noinline__ Item deepen(Item item, int depth) {
    int own[4];
    for (int i = 0; i < 4; i++) own[i] = item.key * 10 + i;
    if (depth > 0) {
        for (int i = 0; i < 2; i++) {
            Item next = item;
            next.key += i;
            next.tag[depth % 5] = 'a' + depth;
            Item back = deepen(next, depth - 1);
            item.weight += back.weight * 0.5;
            item.key += own[back.key & 3] & 1;
        }
    }
    item.weight += own[depth & 3];
    return item;
}
extern "C" __global__ void structs(Item* items) {
    items[threadIdx.x] = deepen(items[threadIdx.x], threadIdx.x % 4);
}

__device__ __noinline__ void bottomless(volatile int* a, int n) {
    if (n >= 0) bottomless(a, n + 1);
    a[n & 1] = n;
}
extern "C" __global__ void overflow(int* a) { bottomless(a, a[0]); }   // LINE overflow

typedef int (*Function)(int);
__device__ int plus_one(int x) { return x + 1; }
__device__ int doubled(int x) { return x * 2; }
__device__ Function table[2] = {plus_one, doubled};
extern "C" __global__ void pointers(int* a) {
    if (a[threadIdx.x] != 3) a[threadIdx.x] = table[a[threadIdx.x] & 1](a[threadIdx.x]);
}
extern "C" __global__ void bad_pointer(int* a) { a[0] = ((Function)(size_t)a[0])(5); }

struct Shape { __device__ virtual int area(int x) const { return x; } };
struct Square : Shape { int k; __device__ int area(int x) const override { return x * x + k; } };
extern "C" __global__ void virtuals(const int* in, int* out) {
    Shape plain; Square square; square.k = in[0];
    Shape* shape = in[threadIdx.x] & 1 ? &plain : &square;
    out[threadIdx.x] = shape->area(in[threadIdx.x]);
}

__device__ int numbers[4] = {10, 20, 30, 40};
__device__ int* middle = numbers + 2;
__constant__ float weights[3] = {1.5f, 2.5f, -3.0f};
extern "C" __global__ void variables(float* out) {
    if (threadIdx.x < 3) out[threadIdx.x] = weights[threadIdx.x] + *middle;
    __syncthreads();
    if (threadIdx.x == 0) *middle += 1;
}
extern "C" __global__ void moves(int* out) { out[0] = *middle; middle = numbers; }

namespace deep { template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; } }
template __global__ void deep::scale<float, 3>(float*);
__global__ void alone(int* x) { x[0] = 1; }
template <typename T> __global__ void twice(T* x) { x[0] *= 2; }
template __global__ void twice<int>(int*);
template __global__ void twice<double>(double*);

extern "C" __global__ void local_array(const int* in, int* out) {
    int own[16];
    for (int i = 0; i < 16; i++) own[(i * 5) & 15] = in[i] + threadIdx.x;
    int at = threadIdx.x, sum = 0;
    for (int i = 0; i < 20; i++) { at = (at * 7 + own[at & 15]) & 15; sum += own[at]; }
    out[threadIdx.x] = sum;
}
"""
ITEM = np.dtype([("key", "i4"), ("weight", "f8"), ("tag", "u1", 5)], align=True)


@pytest.fixture(scope="module")
def module(compile_ptx: CompilePtx):
    return lambda: compile_ptx(SOURCE)


def test_recursion_keeps_each_activations_registers(module) -> None:
    a = np.arange(40, dtype=np.int32) % 16
    run(module(), "recursion", 1, 40, [a])
    fibonacci = [0, 1]
    while len(fibonacci) < 16:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert a.tolist() == [fibonacci[i % 16] for i in range(40)]


def test_functions_that_call_each_other(module) -> None:
    a = np.arange(32, dtype=np.int32)
    run(module(), "mutual", 1, 32, [a])
    assert a.tolist() == [10 if i % 2 else 2 ** (i // 2) + 10 for i in range(32)]


def _deepen(item: dict, depth: int) -> dict:
    own = [item["key"] * 10 + i for i in range(4)]
    item = dict(item)
    if depth > 0:
        for i in range(2):
            back = _deepen({**item, "key": item["key"] + i}, depth - 1)
            item["weight"] += back["weight"] * 0.5
            item["key"] += own[back["key"] & 3] & 1
    item["weight"] += own[depth & 3]
    return item


def test_structs_and_arrays_in_the_frames_of_a_recursion(module) -> None:
    items = np.zeros(16, ITEM)
    items["key"], items["weight"] = np.arange(16) * 3, np.arange(16) / 8
    items["tag"] = np.arange(80).reshape(16, 5)
    before = items.copy()
    run(module(), "structs", 1, 16, [items])
    for t in range(16):
        given = {"key": int(before["key"][t]), "weight": float(before["weight"][t])}
        wanted = _deepen(given, t % 4)
        assert items["key"][t] == wanted["key"]
        assert items["weight"][t] == wanted["weight"]
        assert (items["tag"][t] == before["tag"][t]).all()


def test_a_recursion_without_end_is_a_fault_that_names_the_function(module) -> None:
    report = launch(module(), "overflow", 1, 1, [np.zeros(2, np.int32)])
    (fault,) = report.faults
    assert fault.kind == "stack overflow"
    assert "bottomless" in fault.message
    lines = SOURCE.split("\n")
    assert "bottomless(a, n + 1)" in lines[fault.line - 1]


def test_calls_through_pointers_and_virtual_functions(module) -> None:
    a = np.arange(8, dtype=np.int32)
    run(module(), "pointers", 1, 8, [a])
    assert a.tolist() == [1, 2, 3, 3, 5, 10, 7, 14]
    values, out = np.arange(5, 13, dtype=np.int32), np.zeros(8, np.int32)
    run(module(), "virtuals", 1, 8, [values, out])
    assert out.tolist() == [x if x & 1 else x * x + 5 for x in range(5, 13)]


@pytest.mark.parametrize(
    ("pointer", "said"),
    [
        (0, "a call through a null function pointer"),
        (0x1234, "a call through 0x1234, which is no function of this module"),
    ],
)
def test_a_call_through_a_pointer_to_nothing_is_called_that(
    module, pointer: int, said: str
) -> None:
    report = launch(module(), "bad_pointer", 1, 1, [np.array([pointer], np.int32)])
    (fault,) = report.faults
    assert fault.message == said


def test_a_variable_may_start_as_the_address_of_another(module) -> None:
    kernels = module()
    for i in range(3):
        out = np.zeros(3, np.float32)
        run(kernels, "variables", 1, 32, [out])
        assert out.tolist() == [31.5 + i, 32.5 + i, 27.0 + i]
    for wanted in (33, 10):  # the pointer moves, and stays moved
        found = np.zeros(1, np.int32)
        run(kernels, "moves", 1, 1, [found])
        assert found[0] == wanted


def test_arrays_in_local_memory(module) -> None:
    given = np.random.default_rng(1).integers(0, 100, 16, dtype=np.int32)
    out = np.zeros(64, np.int32)
    run(module(), "local_array", 1, 64, [given, out])
    for t in range(64):
        own = [0] * 16
        for i in range(16):
            own[i * 5 & 15] = int(given[i]) + t
        at, total = t, 0
        for _ in range(20):
            at = (at * 7 + own[at & 15]) & 15
            total += own[at]
        assert out[t] == total


def test_a_kernel_is_found_by_the_name_in_the_source(module) -> None:
    kernels = module()
    x = np.ones(4, np.float32)
    for name in ("scale", "deep::scale"):
        run(kernels, name, 1, 4, [x])
    run(kernels, "_ZN4deep5scaleIfLi3EEEvPT_", 1, 4, [x])
    assert x.tolist() == [27.0] * 4
    one = np.zeros(1, np.int32)
    assert run(kernels, "alone", 1, 1, [one]).kernel == "_Z5alonePi"
    with pytest.raises(LaunchError, match=r"several kernels: _Z5twiceIdEvPT_, _Z5twiceIiEvPT_"):
        launch(kernels, "twice", 1, 1, [one])
    with pytest.raises(LaunchError, match="no kernel `other::scale`"):
        launch(kernels, "other::scale", 1, 4, [x])


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [("sum", ["sum"]), ("_Z3sumPfi", ["sum"]), ("_ZL3sumPf", ["sum"]),
     ("_ZN2ns3sumIfEEvPT_", ["ns", "sum"]), ("_ZN1AIfLi3EE3runEv", ["A", "run"]),
     ("_ZN12_GLOBAL__N_14fillEPi", ["_GLOBAL__N_1", "fill"])],
)  # fmt: skip
def test_names_are_read_out_of_mangled_ones(mangled: str, plain: list[str]) -> None:
    assert plain_name(mangled) == plain


def test_a_function_defined_elsewhere_is_refused_by_name(compile_ptx: CompilePtx) -> None:
    source = """
    extern "C" __device__ int elsewhere(int);
    extern "C" __global__ void k(int* a) { a[0] = elsewhere(a[0]); }"""
    module = compile_ptx(source, flags="-rdc=true")
    with pytest.raises(UnknownInstruction, match="`elsewhere`, which this module does not define"):
        launch(module, "k", 1, 1, [np.zeros(1, np.int32)])


NARROW = r"""
__device__ __noinline__ signed char chosen(signed char a, bool b, unsigned short c) {
    return b ? a - 1 : (signed char)c;
}
__device__ __noinline__ bool third_bit(int a) { return a & 4; }
__device__ __noinline__ short sum(unsigned char a, short b, char depth) {
    return depth == 0 ? a + b : sum(a + 1, b - 3, depth - 1) + depth;
}
extern "C" __global__ void k(const signed char* in, int* out, short* sums) {
    int t = threadIdx.x;
    out[t] = chosen(in[t], third_bit(t), in[t] * 3);
    sums[t] = sum(in[t], in[t] * 100, t % 5);
}
"""


def test_narrow_numbers_are_passed_as_words(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(NARROW)
    assert any(
        each.opcode.startswith(("ld.param.u8", "ld.param.s8"))
        for function in module.functions.values()
        for each in function.body or ()
        if hasattr(each, "opcode")
    )
    given = np.arange(-128, 128).astype(np.int8)
    out, sums, t = np.zeros(256, np.int32), np.zeros(256, np.int16), np.arange(256)
    run(module, "k", 1, 256, [given, out, sums])
    wide = given.astype(np.int32)
    wanted = np.where(t & 4, (wide - 1).astype(np.int8), (3 * wide).astype(np.int8))
    assert out.tolist() == wanted.tolist()
    depth = t % 5
    bytes_ = (wide + depth) & 255
    found = bytes_ + (100 * wide - 3 * depth) + depth * (depth + 1) // 2
    assert sums.tolist() == found.astype(np.int16).tolist()
