"""`alloca`: memory that a function allocates on its thread's stack and releases by returning."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import UnknownInstruction, launch, parse

SOURCE = r"""
__device__ __noinline__ int digits(int n, int t) {
    int* a = (int*)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++) a[i] = i * t;
    int sum = 0;
    for (int i = n - 1; i >= 0; i--) sum = sum * 3 + a[i * 7 % n];
    return sum;
}
__device__ __noinline__ int twice(int n, int t) {
    int* a = (int*)alloca((n + 1) * sizeof(int));
    a[0] = digits(n, t);
    a[n] = digits(n, a[0]);
    return a[0] - a[n];
}
extern "C" __global__ void sums(int* out, int n) {
    int sum = 0;
    for (int i = 1; i < n; i++) sum += twice(i, threadIdx.x);
    out[threadIdx.x] = sum;
}
__device__ int (*const chosen[])(int, int) = {digits, twice};
extern "C" __global__ void through_pointers(int* out, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += chosen[(threadIdx.x + i) % 2](1000, threadIdx.x + i);
    out[threadIdx.x] = sum;
}
extern "C" __global__ void unset(int* out, int n) {
    int* a = (int*)alloca(n * sizeof(int));
    for (int i = 0; i < n - 1; i++) a[i] = i;
    out[threadIdx.x] = a[threadIdx.x];
}
__device__ __noinline__ int deeper(int n) {
    int* a = (int*)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++) a[i] = i * n;
    return n < 2 ? 1 : deeper(n - 1) * 3 + deeper(n - 2) * a[n * n % 7];
}
extern "C" __global__ void recursion(int* out, int n) { *out = deeper(n); }
"""


def _digits(n: int, t: int) -> int:
    total = 0
    for i in range(n - 1, -1, -1):
        total = total * 3 + i * 7 % n * t
    return (total + 2**31) % 2**32 - 2**31


def _twice(n: int, t: int) -> int:
    first = _digits(n, t)
    return first - _digits(n, first)


def test_functions_give_back_what_they_took_when_they_return(compile_ptx: CompilePtx) -> None:
    out = np.zeros(40, np.int32)
    report = run(compile_ptx(SOURCE), "sums", 1, 40, [out, 60])
    wanted = [sum(_twice(n, t) for n in range(1, 60)) for t in range(40)]
    assert out.tolist() == [(w + 2**31) % 2**32 - 2**31 for w in wanted]
    calls = 59 * 3 * 40  # calls of twice and, within it, of digits
    taken = [i.threads_predicated_on for i in report.instructions if i.opcode == "alloca.u64"]
    returned = [i.threads_predicated_on for i in report.instructions if i.opcode == "ret"]
    assert sum(taken) == calls
    assert sum(returned) == calls + 40


def test_functions_that_are_called_through_pointers_give_it_back_too(
    compile_ptx: CompilePtx,
) -> None:
    out = np.zeros(8, np.int32)
    run(compile_ptx(SOURCE), "through_pointers", 1, 8, [out, 12])  # unreleased: 72 KB
    both = _digits, _twice
    wanted = [sum(both[(t + i) % 2](1000, t + i) for i in range(12)) for t in range(8)]
    assert out.tolist() == [(w + 2**31) % 2**32 - 2**31 for w in wanted]


def test_what_nothing_wrote_into_it_may_not_be_used(compile_ptx: CompilePtx) -> None:
    out = np.zeros(4, np.int32)
    run(compile_ptx(SOURCE), "unset", 1, 3, [out, 4])
    (fault,) = launch(compile_ptx(SOURCE), "unset", 1, 4, [out, 4]).faults
    assert fault.kind == "uninitialised"
    assert fault.thread == (3, 0, 0)


@pytest.mark.parametrize("count", [8193, 1 << 30, -1])
def test_more_than_a_threads_stack_is_a_fault_that_names_the_line(
    compile_ptx: CompilePtx, count: int
) -> None:
    out = np.zeros(1, np.int32)
    run(compile_ptx(SOURCE), "unset", 1, 1, [out, 8192])
    (fault,) = launch(compile_ptx(SOURCE), "unset", 1, 1, [out, count]).faults
    assert fault.kind == "stack overflow"
    assert "alloca" in SOURCE.split("\n")[fault.line - 1]


def test_a_recursive_function_that_takes_memory_is_refused(compile_ptx: CompilePtx) -> None:
    with pytest.raises(UnknownInstruction, match=r"alloca.*recursive"):
        launch(compile_ptx(SOURCE), "recursion", 1, 1, [np.zeros(1, np.int32), 4])


def test_a_stack_that_is_restored_gives_the_same_memory_again() -> None:
    body = """
    .reg .b64 %top, %one, %two, %three;
    stacksave.u64 %top;
    alloca.u64 %one, 4;
    alloca.u64 %two, 24, 64;
    stackrestore.u64 %top;
    alloca.u64 %three, 4;
    sub.u64 %l1, %two, %one; sub.u64 %l2, %three, %one; and.b64 %l3, %two, 63;
    ld.param.u64 %a0, [p0];
    st.global.v2.u64 [%a0], {%l1, %l2}; st.global.u64 [%a0+16], %l3;"""
    out = np.zeros(3, np.uint64)
    run(parse(ptx_kernel(body, ["u64"])), "k", 1, 1, [out])
    assert out.tolist() == [64, 0, 0]


@pytest.mark.parametrize(
    "text",
    ["alloca.u64 %l1, 8, 24;", "alloca.u64 %l1, 8, %l2;", "alloca.u32 %r1, %r2;",
     "alloca.b64 %l1, %l2;", "alloca.u64 %r1, 8;", "stacksave.u64 %l1, %l2;",
     "stackrestore.local.u64 %l1;"],
)  # fmt: skip
def test_forms_that_there_are_not_are_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        launch(parse(ptx_kernel(text)), "k", 1, 1, [])
