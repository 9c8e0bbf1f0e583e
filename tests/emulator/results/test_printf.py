"""printf and assert in device code."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, run

from harness.emulator import Module, launch

SOURCE = r"""
#include <cstdio>
#include <cassert>
extern "C" __global__ void greet(int* counts) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x % 2 == 0)
        counts[i] = printf("thread %u of block %d\n", threadIdx.x, (int)blockIdx.x);
    for (unsigned k = 0; k < blockIdx.x; k++) if (threadIdx.x == 1) printf("%d ", k);
}
extern "C" __global__ void formats(const int* in) {
    char own[4] = {'l', 'o', 'c', (char)in[0]};
    printf("%5d|%-5d|%05d|%+d|%x|%#X|%#o|%u|%c|%%\n", 42, 42, 42, 42, 255, 255, 8, -1, 'z');
    printf("%lld %llu %hd %hhu %zu\n", -5000000000ll, ~0ull, 70000, 300, sizeof(int));
    printf("%f %.3e %g %10.2f %.*f %a\n", 1.5f, 12345.678, 1e-7, -2.345, 1, 9.96, 0.5);
    printf("%s %.2s %s [%3s]\n", "text", "text", own, "a");
    printf("%f %f\n", in[1] / 0.0, -1.0 / 0.0);
    printf("plain\n");
}
extern "C" __global__ void guarded(const int* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        assert(a[i] >= 0);  // LINE assert
    }
}
extern "C" __global__ void chatter() { while (true) printf("again\n"); }
"""


@pytest.fixture(scope="module")
def module(compile_ptx: CompilePtx) -> Module:
    return compile_ptx(SOURCE)


@pytest.mark.parametrize("chunk_threads", [4, 8, 65536])
def test_output_comes_in_the_same_order_for_every_chunk_size(
    module: Module, chunk_threads: int
) -> None:
    counts = np.zeros(12, np.int32)
    report = run(module, "greet", 3, 4, [counts], chunk_threads=chunk_threads)
    wanted = []
    for block in range(3):
        wanted += [f"thread {t} of block {block}\n" for t in (0, 2)]
        wanted += [f"{k} " for k in range(block)]
    assert list(report.printed) == wanted
    assert counts.tolist() == [2, 0, 2, 0] * 3


def test_formats_are_those_of_c(module: Module) -> None:
    report = run(module, "formats", 1, 1, [np.array([0, 1], np.int32)])
    assert "".join(report.printed).split("\n") == [
        "   42|42   |00042|+42|ff|0XFF|010|4294967295|z|%",
        "-5000000000 18446744073709551615 4464 44 4",
        "1.500000 1.235e+04 1e-07      -2.35 10.0 0x1.0000000000000p-1",
        "text te loc [  a]",
        "inf -inf",
        "plain",
        "",
    ]


def test_a_failed_assertion_names_its_line_thread_and_text(module: Module) -> None:
    values = np.ones(64, np.int32)
    run(module, "guarded", 2, 32, [values, 64])
    values[40] = -1
    (fault,) = launch(module, "guarded", 2, 32, [values, 64]).faults
    line = next(n for n, t in enumerate(SOURCE.split("\n"), 1) if "LINE assert" in t)
    assert (fault.kind, fault.line) == ("assert", line)
    assert (fault.block, fault.thread) == ((1, 0, 0), (8, 0, 0))
    assert "a[i] >= 0" in fault.message
    assert "guarded" in fault.message


def test_an_endless_loop_around_printf_ends(module: Module) -> None:
    (fault,) = launch(module, "chatter", 1, 1024, []).faults
    assert fault.kind == "budget"
    assert "printed" in fault.message
