"""Launches that access more words than the engine keeps uncompressed stamps for (a stamp records a
word's last accesses), and more bytes than it copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_tools import CompilePtx, run

from harness.emulator import LaunchReport, Module, launch

SOURCE = """
#define APART 1024  // words: one of each page of stamps, and of each page of memory
#define I (blockIdx.x * blockDim.x + threadIdx.x)
extern "C" __global__ void adds_and_looks_back(unsigned* words, unsigned* out, unsigned of) {
    words[I * APART] += 1;
    if (I == gridDim.x * blockDim.x - 1) out[0] = words[of];                     // LINE looks
}
extern "C" __global__ void goes_twice(unsigned* words, unsigned count) {
    for (int turn = 0; turn < 2; turn++)
        for (unsigned n = threadIdx.x; n < count; n += blockDim.x) words[n * APART] += 1;
}
extern "C" __global__ void goes_back_with_others(unsigned* words, unsigned count) {
    for (unsigned n = threadIdx.x; n < count; n += blockDim.x) words[n * APART] += 1;
    for (unsigned n = threadIdx.x; n < 64; n += blockDim.x)
        words[(n ^ 1) * APART] += 1;                                             // LINE others
}
extern "C" __global__ void goes_to_and_fro(unsigned* words, unsigned count) {
    for (unsigned turn = 0; turn < 4; turn++) words[I * 7919ull % count * APART + turn] += 1;
}
extern "C" __global__ void adds_and_sums_last(unsigned* words, unsigned* out, unsigned* ticket) {
    words[I * APART] += 1;
    __threadfence();
    if (atomicAdd(ticket, 1u) == gridDim.x * blockDim.x - 1) {
        __threadfence();
        out[0] = words[0] + words[APART];
    }
}
"""
APART = 1024
BLOCKS, THREADS = 129, 256
COUNT = BLOCKS * THREADS  # pages; 2^14 pages of stamps and 2^15 of memory are kept as they are


def line_of(mark: str) -> int:
    return next(n for n, text in enumerate(SOURCE.split("\n"), 1) if f"// LINE {mark}" in text)


@pytest.fixture(scope="module")
def module(compile_ptx: CompilePtx) -> Module:
    return compile_ptx(SOURCE)


def looking_back(module: Module, at: int) -> LaunchReport:
    words, out = np.zeros(COUNT * APART, np.uint32), np.zeros(1, np.uint32)
    return launch(module, "adds_and_looks_back", BLOCKS, THREADS, [words, out, at])


@pytest.mark.parametrize("page", [0, 100, COUNT // 2])
def test_a_word_that_a_block_wrote_long_ago_is_still_known_to_be_written(
    module: Module, page: int
) -> None:
    (fault,) = looking_back(module, page * APART).faults
    assert (fault.kind, fault.line) == ("race", line_of("looks"))


def test_a_word_that_nobody_wrote_may_be_read_whatever_became_of_its_page(module: Module) -> None:
    report = looking_back(module, 1)
    assert (report.faults, report.engine) == ((), "native")


def test_a_thread_may_come_back_to_its_own_words(module: Module) -> None:
    words = np.arange(COUNT * APART, dtype=np.uint32)
    report = run(module, "goes_twice", 1, 32, [words, COUNT])
    assert report.engine == "native"
    assert (words[::APART] == np.arange(COUNT) * APART + 2).all()


def test_warps_may_go_to_and_fro_between_all_pages(module: Module) -> None:
    words = np.zeros(COUNT * APART, np.uint32)
    report = run(module, "goes_to_and_fro", BLOCKS, THREADS, [words, COUNT])
    assert report.engine == "native"
    assert (words.reshape(COUNT, APART)[:, :4] == 1).all()
    assert words.sum() == 4 * COUNT


def test_a_block_may_not_come_back_to_words_of_its_other_threads(module: Module) -> None:
    words = np.zeros(COUNT * APART, np.uint32)
    (fault,) = launch(module, "goes_back_with_others", 1, 64, [words, COUNT]).faults
    assert (fault.kind, fault.line) == ("race", line_of("others"))


@pytest.mark.parametrize("repeats", [False, True])
def test_what_was_given_up_leaves_nothing_behind(module: Module, repeats: bool) -> None:
    """The fast run abandons a launch that synchronises through a ticket; the judge starts from the
    original buffers."""
    words = np.arange(COUNT * APART, dtype=np.uint32)
    if repeats:
        words[: words.size // 2] = 7  # pages that repeat one word
    expected = words.copy()
    expected[::APART] += 1
    out: list[Any] = [np.zeros(1, np.uint32), np.zeros(1, np.uint32)]
    report = run(module, "adds_and_sums_last", BLOCKS, THREADS, [words, *out])
    assert report.engine == "judge"
    assert np.array_equal(words, expected)
    assert out[0][0] == expected[0] + expected[APART]
