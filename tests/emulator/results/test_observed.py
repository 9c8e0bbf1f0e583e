"""The bytes that a launch reads and writes, and which of them the previous launch had written."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx

from harness.emulator import LaunchError, LaunchReport, Observed, launch, variables

SOURCE = """\
__device__ unsigned int launches = 7;
__device__ float kept[4] = {1, 2, 3, 4};
__constant__ float factor = 2;

extern "C" __global__ void k(const float* x, float* y, unsigned char* flags, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = factor * x[2 * i];
    if (i == 0) {
        atomicAdd(&launches, 1);
        kept[1] = y[0];
        y[1] = kept[1] + kept[2];
        flags[3] = 1;
    }
}

extern "C" __global__ void copies(const float4* x, float4* y) {
    __shared__ float4 tile[32];
    const unsigned int to = __cvta_generic_to_shared(tile + threadIdx.x);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + threadIdx.x));
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[threadIdx.x] = tile[threadIdx.x];
}
"""


@pytest.fixture
def observed(compile_ptx: CompilePtx) -> tuple[LaunchReport, dict[str, Observed]]:
    module = compile_ptx(SOURCE)
    x, y, flags = np.ones(40, np.float32), np.zeros(20, np.float32), np.zeros(8, np.uint8)
    report = launch(
        module, "k", 1, 64, [x, y, flags, 15], names=["x", "y", "flags", "n"], checks=False,
        observe=True,
    )  # fmt: skip
    return report, {each.name: each for each in report.observed}


def _bytes(sites: np.ndarray) -> list[int]:
    return np.flatnonzero(sites).tolist()


def test_only_the_bytes_that_a_load_covers_were_read(
    observed: tuple[LaunchReport, dict[str, Observed]],
) -> None:
    _, seen = observed
    assert _bytes(seen["x"].read) == [8 * i + byte for i in range(15) for byte in range(4)]
    assert not seen["x"].written.any()
    assert _bytes(seen["factor"].read) == [0, 1, 2, 3]


def test_only_the_bytes_that_a_store_covers_were_written(
    observed: tuple[LaunchReport, dict[str, Observed]],
) -> None:
    _, seen = observed
    assert _bytes(seen["y"].written) == list(range(60))
    assert _bytes(seen["flags"].written) == [3]
    assert not seen["flags"].read.any()


def test_what_was_written_before_it_is_read_was_not_found_there(
    observed: tuple[LaunchReport, dict[str, Observed]],
) -> None:
    _, seen = observed
    assert _bytes(seen["kept"].read_before_write) == [8, 9, 10, 11]
    assert not seen["y"].read_before_write.any()


def test_an_atomic_reads_what_it_finds_and_writes(
    observed: tuple[LaunchReport, dict[str, Observed]],
) -> None:
    _, seen = observed
    assert _bytes(seen["launches"].read_before_write) == [0, 1, 2, 3]
    assert _bytes(seen["launches"].written) == [0, 1, 2, 3]


def test_an_entry_leads_to_its_line(observed: tuple[LaunchReport, dict[str, Observed]]) -> None:
    report, seen = observed
    assert report.place(int(seen["x"].read[0])).endswith(".cu:8")
    assert report.place(int(seen["kept"].read_before_write[8])).endswith(".cu:12")
    assert report.place(0) == ""


def test_variables_are_told_from_arguments(
    observed: tuple[LaunchReport, dict[str, Observed]],
) -> None:
    _, seen = observed
    assert {n for n, each in seen.items() if each.is_variable} == {"launches", "kept", "factor"}


def test_an_asynchronous_copy_reads_its_source(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(SOURCE)
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    report = launch(module, "copies", 1, 32, [x, y], names=["x", "y"], observe=True)
    assert not report.faults
    seen = {each.name: each for each in report.observed}
    assert _bytes(seen["x"].read) == list(range(512))
    assert _bytes(seen["y"].written) == list(range(512))


def test_observing_changes_no_count_and_no_result(compile_ptx: CompilePtx) -> None:
    results, counters = [], []
    for observe in (False, True):
        module = compile_ptx(SOURCE)
        x, y = np.arange(40, dtype=np.float32), np.zeros(20, np.float32)
        report = launch(module, "k", 1, 64, [x, y, np.zeros(8, np.uint8), 15], observe=observe)
        assert bool(report.observed) == observe
        results.append(y)
        counters.append(report.counters)
    assert (results[0] == results[1]).all()
    assert counters[0] == counters[1]


def test_variables_are_what_the_next_launch_finds(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(SOURCE)
    found = variables(module)
    assert set(found) == {"launches", "kept"}  # constants are left out
    assert found["launches"].view(np.uint32).tolist() == [7]
    found["launches"].view(np.uint32)[0] = 41
    arrays = [np.ones(40, np.float32), np.zeros(20, np.float32), np.zeros(8, np.uint8)]
    launch(module, "k", 1, 64, [*arrays, 15], checks=False)
    assert variables(module)["launches"].view(np.uint32).tolist() == [42]


def test_variables_are_those_of_a_module() -> None:
    with pytest.raises(LaunchError, match="pass what parse"):
        variables("module")  # type: ignore[arg-type]
