"""Kernels of extreme sizes, odd variables and endless printf all end, with the expected report."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import (
    LaunchError,
    UnknownInstruction,
    launch,
    parse,
)

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def test_an_address_far_from_every_buffer_is_out_of_bounds() -> None:
    for address in ("[0]", "[%l1]", "[%l1+-9223372036854775808]", "[g+-4294967296]"):
        body = f"mov.u64 %l1, 0;\nld.global.u32 %r1, {address};"
        module = parse(ptx_kernel(body, (), ".global .u32 g;"))
        (fault,) = launch(module, "k", 1, 1, []).faults
        assert fault.kind == "out of bounds"


def test_an_address_that_nothing_wrote_is_told_as_that_wherever_it_leads() -> None:
    module = parse(ptx_kernel("ld.global.u32 %r1, [%l1];", (), ".global .u32 g;"))
    (fault,) = launch(module, "k", 1, 1, []).faults
    assert fault.kind == "uninitialised"


@pytest.mark.parametrize(
    ("declaration", "body", "match"),
    [
        (".shared .b8 x[1099511627776];", "ld.shared.u8 %r1, [x];",
         "1099511627776 bytes of shared memory"),
        (".shared .b8 x[4294967296][4294967296][4294967296][4294967296];", "ld.shared.u8 %r1, [x];",
         "bytes of shared memory"),
        (".global .b8 x[1099511627776];", "", "variable `x` takes 1099511627776 bytes"),
        ("", ".local .b8 x[1099511627776]; st.local.u8 [x], 1;", "bytes of local memory each"),
        ("\n".join(f".global .u32 v{i};" for i in range(600)), "", "at most 512"),
        (".global .u64 x = nowhere;", "", "which the module does not define"),
        (".global .u32 x = 1.5;", "", "variable `x` of type u32 starts as 1.5"),
    ],
)  # fmt: skip
def test_memory_that_no_device_has_is_refused(declaration: str, body: str, match: str) -> None:
    with pytest.raises(LaunchError, match=match):
        launch(parse(ptx_kernel(body, (), declaration)), "k", 1, 32, [])


@pytest.mark.parametrize(
    ("declaration", "body", "grid", "block"),
    [
        (".shared .align 4 .b8 s[200000];", "st.shared.u8 [s], %i; ld.shared.u8 %r2, [s];",
         8192, 1),
        ("", ".local .align 4 .b8 x[200000]; st.local.u8 [x], %i;", 16, 1024),
    ],
)  # fmt: skip
def test_blocks_with_much_memory_do_not_all_run_at_once(
    declaration: str, body: str, grid: int, block: int
) -> None:
    module = parse(ptx_kernel(body, (), declaration))
    tracemalloc.start()
    run(module, "k", grid, block, [])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**29


def test_calls_that_would_grow_without_bound_are_refused() -> None:
    def calls(depth: int, times: int) -> str:
        functions = [
            f".func f{i}()\n{{ {f'call f{i - 1}; ' * times if i else ''} ret; }}"
            for i in range(depth)
        ]
        return HEAD + "\n".join(functions) + f".entry k() {{ call f{depth - 1}; ret; }}"

    with pytest.raises(UnknownInstruction, match="more than 64 calls within one another"):
        launch(parse(calls(3000, 1)), "k", 1, 1, [])
    with pytest.raises(UnknownInstruction, match="more than 131072 instructions"):
        launch(parse(calls(40, 2)), "k", 1, 1, [])


def test_an_endless_recursion_ends_with_its_stack() -> None:
    text = f"{HEAD}.func f();\n.func g() {{ call f; ret; }}\n.func f() {{ call g; ret; }}\n"
    (fault,) = launch(parse(text + ".entry k() { call f; ret; }"), "k", 4, 64, []).faults
    assert fault.kind == "stack overflow"


def test_the_largest_grid_starts_at_once_and_ends_at_its_budget() -> None:
    module = parse(ptx_kernel(""))
    (fault,) = launch(module, "k", 2**31 - 1, 1, [], max_thread_instructions=10**6).faults
    assert fault.kind == "budget"
    with pytest.raises(LaunchError, match=r"grid\.x is 2147483648"):
        launch(module, "k", 2**31, 1, [])


def test_a_packed_struct_with_an_address_is_initialised_byte_by_byte(
    compile_ptx: CompilePtx,
) -> None:
    source = """__device__ int x = 41;
    struct __attribute__((packed)) S { char c; int* p; short s; };
    __device__ S packed = {'a', &x, 3};
    __device__ int two[2][3] = {{1, 2, 3}, {4}};
    extern "C" __global__ void k(int* out) {
        out[0] = *packed.p + packed.c + packed.s; out[1] = two[out[2]][out[3]];
    }"""
    out = np.array([0, 0, 1, 0], np.int32)
    run(compile_ptx(source), "k", 1, 1, [out])
    assert out[:2].tolist() == [41 + ord("a") + 3, 4]


def test_an_array_that_is_left_open_is_as_long_as_its_values() -> None:
    body = "ld.param.u64 %a0, [p0]; ld.global.u16 %r1, [x+4]; st.global.u32 [%a0], %r1;"
    out = np.zeros(1, np.uint32)
    run(parse(ptx_kernel(body, ["u64"], ".global .u16 x[] = {5, 6, 7};")), "k", 1, 1, [out])
    assert out[0] == 7


def test_a_variable_of_a_function_outlives_the_launch() -> None:
    body = """.global .u32 count; ld.param.u64 %a0, [p0];
    ld.global.u32 %r1, [count]; add.u32 %r1, %r1, 1; st.global.u32 [count], %r1;
    st.global.u32 [%a0], %r1;"""
    module, out = parse(ptx_kernel(body, ["u64"])), np.zeros(1, np.uint32)
    for launches in (1, 2):
        run(module, "k", 1, 1, [out])
        assert out[0] == launches


PRINTS = """#include <cstdio>
__device__ char text[65537];
extern "C" __global__ void field(int w) { printf("%*d|%.*f", w, 5, w, 2.5); }
extern "C" __global__ void much() {
    for (int i = threadIdx.x; i < 65535; i += blockDim.x) text[i] = 'x';
    __syncthreads();
    if (threadIdx.x) return;
    for (int i = 0; i < 1000000; ++i) printf("%s", text);
}
extern "C" __global__ void odd() { printf("%#o %#o %+u % x", 0, 8, 3, 10); }
"""


def test_printf_cannot_fill_the_memory(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(PRINTS)
    (fault,) = launch(module, "field", 1, 1, [10**9]).faults
    assert fault.kind == "budget"
    assert "asks for 1000000000 characters; a field has at most 4096" in fault.message
    report = launch(module, "much", 1, 256, [])
    assert report.faults[0].message == "the launch printed more than 16777216 characters"
    assert sum(map(len, report.printed)) <= 2**24


def test_printf_takes_odd_fields_as_c_does(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(PRINTS)
    assert run(module, "field", 1, 1, [-3]).printed == ("5  |2.500000",)
    assert run(module, "odd", 1, 1, []).printed == ("0 010 3 a",)
