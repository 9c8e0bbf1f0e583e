"""printf, malloc, free, assert and clocks in machine code give the same results as in PTX."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code

SOURCE = r"""
#include <cstdio>
#include <cassert>
extern "C" __global__ void talk(int* out, float x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    char own[4] = {'l', 'o', 'c', (char)('a' + threadIdx.x)};
    own[3] = threadIdx.x % 2 ? '\0' : own[3] & 0;
    if (threadIdx.x != 1)
        out[i] = printf("%u of %d: %.3f %lld %s %s|", threadIdx.x, (int)blockIdx.x, x * i,
                        -5000000000ll, "text", own);
}
extern "C" __global__ void take(int* out, unsigned long long most) {
    int* own = (int*)malloc(threadIdx.x == 3 ? most : 16 + 4 * threadIdx.x);
    if (own) own[threadIdx.x & 3] = 7 + threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = own ? own[threadIdx.x & 3] : -1;
    free(own);
}
extern "C" __global__ void keep(int** list, int bytes) {
    list[threadIdx.x] = (int*)malloc(bytes);
    if (list[threadIdx.x]) *list[threadIdx.x] = 5 + threadIdx.x;
}
extern "C" __global__ void use(int** list, int* out) { out[threadIdx.x] = *list[threadIdx.x]; }
extern "C" __global__ void drop(int** list) { free(list[threadIdx.x]); }
extern "C" __global__ void claim(const int* in) {
    assert(in[threadIdx.x] < 5);  // LINE assert
    __nanosleep(1);
}
extern "C" __global__ void chatter() { while (true) printf("again\n"); }
extern "C" __global__ void wait(unsigned long long* out) {
    unsigned long long began, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - began < 1000);
    out[threadIdx.x] = now - began;
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_both_front_ends_print_the_same(
    compile_ptx: CompilePtx, read_source: ReadSource, arch: str
) -> None:
    ours, theirs = np.zeros(12, np.int32), np.zeros(12, np.int32)
    report = launch_machine_code(read_source(SOURCE, arch), "talk", 3, 4, [ours, 1.5])
    wanted = launch(compile_ptx(SOURCE, arch), "talk", 3, 4, [theirs, 1.5])
    assert report.faults == wanted.faults == ()
    assert report.printed == wanted.printed
    assert report.printed[0] == "0 of 0: 0.000 -5000000000 text loc|"
    assert np.array_equal(ours, theirs)
    assert np.array_equal(ours[:4], [6, 0, 6, 6])


def test_counters_of_what_calls_the_driver_are_a_model(read_source: ReadSource) -> None:
    report = launch_machine_code(read_source(SOURCE), "talk", 1, 4, [np.zeros(4, np.int32), 1.5])
    assert {counter.provenance for counter in report.counters} == {"emulator-model"}


def test_memory_is_taken_from_a_heap_that_has_an_end(
    compile_ptx: CompilePtx, read_source: ReadSource
) -> None:
    for most, last in ((16, 10), (1 << 40, -1)):
        ours, theirs = np.zeros(4, np.int32), np.zeros(4, np.int32)
        found = launch_machine_code(read_source(SOURCE), "take", 1, 4, [ours, most])
        assert (
            found.faults == launch(compile_ptx(SOURCE), "take", 1, 4, [theirs, most]).faults == ()
        )
        assert ours.tolist() == theirs.tolist() == [7, 8, 9, last]


@pytest.mark.parametrize("from_code", [False, True])
def test_the_heap_lasts_until_a_launch_finds_it_empty(
    compile_ptx: CompilePtx, read_source: ReadSource, from_code: bool
) -> None:
    code, module = read_source(SOURCE), compile_ptx(SOURCE)

    def run(kernel: str, *given: object) -> None:
        faults = (launch_machine_code(code, kernel, 1, 4, given).faults if from_code
                  else launch(module, kernel, 1, 4, given).faults)  # fmt: skip
        assert faults == ()

    kept, out = np.zeros((3, 4), np.uint64), np.zeros(4, np.int32)
    run("keep", kept[0], 1 << 20)
    run("use", kept[0], out)
    assert out.tolist() == [5, 6, 7, 8]
    run("keep", kept[1], 1 << 20)  # the heap's header leaves room for three blocks
    assert np.count_nonzero(kept[1]) == 3
    run("drop", kept[1])
    run("use", kept[0], out)
    run("drop", kept[0])
    run("keep", kept[2], 1 << 20)
    assert kept[2].all()
    run("drop", kept[2])


def test_a_failed_assertion_says_what_failed(read_source: ReadSource) -> None:
    given = np.array([1, 2, 7, 3], np.int32)
    (fault,) = launch_machine_code(read_source(SOURCE), "claim", 1, 4, [given]).faults
    assert fault.kind == "assert"
    assert "`in[threadIdx.x] < 5` failed in void claim(const int *)" in fault.message
    assert (fault.thread, fault.line) == (
        (2, 0, 0),
        1 + SOURCE.split("\n").index("    assert(in[threadIdx.x] < 5);  // LINE assert"),
    )


def test_printing_for_ever_ends(read_source: ReadSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.emulator.engine.printing.MOST_PRINTED", 100)
    report = launch_machine_code(read_source(SOURCE), "chatter", 1, 4, [])
    assert [fault.kind for fault in report.faults] == ["budget"]
    assert len(report.printed) == 100


def test_the_global_timer_goes_on(read_source: ReadSource) -> None:
    out = np.zeros(4, np.uint64)
    assert launch_machine_code(read_source(SOURCE), "wait", 1, 4, [out]).faults == ()
    assert (out >= 1000).all()
