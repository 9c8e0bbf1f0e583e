"""The fast run and the judge agree on every kernel, and the report names the one that ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator_tools import CORRECT, FAULTY, CompilePtx, ptx_kernel
from kernel_files import Outcome, run_file

from harness.emulator import LaunchError, Surface, Texture, launch, parse
from harness.emulator.engine import library, native
from harness.emulator.memory.address_space import address_of_slot

FILES = sorted((*CORRECT.glob("*.cu"), *FAULTY.glob("*.cu")))
# These end when the instruction budget runs out: both engines execute the same number of warp
# instructions, but in different orders.
ENDLESS = {"endless_loop"}

ADD_UP = """
extern "C" __global__ void k(const int* x, int* total, int n) {
    __shared__ int sums[256];
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += x[i];
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, sums[0]);
}
"""

SHIFTED = """
extern "C" __global__ void k(int* x, int n) {  // i is read by one thread, written by another
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) x[i + 1] = x[i] + 1;
}
"""


def _values(outcome: Outcome) -> dict[str, tuple[float, str]]:
    return {c.name: (c.value, c.provenance) for c in outcome.report.counters}


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, Texture | Surface) and isinstance(b, Texture | Surface):
        return np.array_equal(a.texels, b.texels)
    return a is b or a == b


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem) for p in FILES if p.stem not in ENDLESS]
)
def test_both_runs_agree_on_results_counters_lines_and_faults(
    compile_ptx: CompilePtx, path: Path
) -> None:
    reference = run_file(compile_ptx, path, engine="judge")
    for jobs in (1, 3):
        found = run_file(compile_ptx, path, jobs=jobs)
        assert all(map(_same, found.a, reference.a))
        assert _values(found) == _values(reference)
        assert found.report.instructions == reference.report.instructions
        assert found.report.faults == reference.report.faults


def test_the_machine_runs_what_it_is_there_for(compile_ptx: CompilePtx) -> None:
    names = {
        p.stem for p in CORRECT.glob("*.cu") if run_file(compile_ptx, p).report.engine == "native"
    }  # fmt: skip
    assert names >= {
        "async_copies_in_a_ring_with_mbarriers", "async_copy", "bulk_copies_in_a_ring",
        "carved_shared_memory", "copies_that_arrive", "double_buffer", "grid_stride_with_tail",
        "histogram_shared_atomics", "masks_of_match", "mbarrier_of_a_block",
        "scan_with_two_buffers", "shuffles_under_divergence", "tiled_gemm",
        "transpose_with_padding", "uneven_loops", "warp_reduction_with_syncwarp",
        "warps_on_their_own",
    }  # fmt: skip


def test_jobs_share_the_blocks_of_a_launch_without_changing_what_it_says(
    compile_ptx: CompilePtx, tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(ADD_UP)
    module = compile_ptx(tmp_path / "k.cu")
    x = np.random.default_rng(1).integers(-1000, 1000, 100_003, dtype=np.int32)
    reports = []
    for jobs in (1, 2, 7):
        total = np.zeros(1, np.int32)
        reports.append(launch(module, "k", 300, 256, [x, total, len(x)], jobs=jobs))
        assert total[0] == x.sum()
        assert reports[-1].engine == "native"
    for report in reports[1:]:
        assert report.counters == reports[0].counters
        assert report.instructions == reports[0].instructions


def test_a_race_between_blocks_is_found_with_any_number_of_jobs(
    compile_ptx: CompilePtx, tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(SHIFTED)
    module = compile_ptx(tmp_path / "k.cu")
    (expected,) = launch(
        module, "k", 64, 32, [np.zeros(2048, np.int32), 2048], engine="judge"
    ).faults  # fmt: skip
    for jobs in (1, 2, 5, 16):
        for _ in range(10):
            x = np.zeros(2048, np.int32)
            (fault,) = launch(module, "k", 64, 32, [x, len(x)], jobs=jobs).faults
            assert fault == expected


def test_a_launch_that_is_given_up_leaves_no_trace_of_the_first_try() -> None:
    body = """
    ld.param.u64 %a1, [p0];
    mad.wide.u32 %a2, %i, 4, %a1;
    atom.global.add.u32 %r1, [%a2], 5;
    setp.ne.u32 %p1, %i, 70;
    @%p1 bra $end;
    st.global.u32 [%a1+4096], %r1;
$end:
    """
    module = parse(ptx_kernel(body, ["u64"]))
    found, expected = np.zeros(1024, np.uint32), np.zeros(1024, np.uint32)
    given_up = launch(module, "k", 1, 96, [found])
    reference = launch(module, "k", 1, 96, [expected], engine="judge")
    assert given_up.engine == reference.engine == "judge"
    assert given_up.faults == reference.faults
    assert given_up.faults[0].kind == "out of bounds"
    assert (found == expected).all()
    assert {c.name: c.value for c in given_up.counters} == {
        c.name: c.value for c in reference.counters
    }


@pytest.mark.parametrize("address", [2**63 - 4, 2**63 - 64, 2**63, 2**64 - 4, 2**46 - 4, 2**36])
@pytest.mark.parametrize("stride", [0, 1, 4, 2**40])
@pytest.mark.parametrize("access", ["ld.{}.u32 %r1, [%l1]", "st.{}.u32 [%l1], 1"])
def test_an_address_may_be_anything(address: int, stride: int, access: str) -> None:
    for space in ("global", "shared", "local"):
        body = f"""
        cvt.u64.u32 %l2, %i; mad.lo.u64 %l1, %l2, {stride}, {address};
        {access.format(space)}; ld.param.u64 %l4, [p0]; st.global.u32 [%l4], %r1;
        """
        memories = ".shared .align 8 .b8 buffer[64];"
        text = ptx_kernel(body, ["u64"], memories).replace(
            ".reg .pred", ".local .align 8 .b8 own[64];\n.reg .pred", 1
        )
        for threads in (1, 32, 40):
            x = np.zeros(64, np.uint32)
            faults = [
                launch(parse(text), "k", 1, threads, [x], engine=engine).faults
                for engine in ("auto", "judge")
            ]
            assert faults[0] == faults[1]
            assert faults[0][0].kind in ("out of bounds", "misaligned")


def test_an_atomic_may_reach_a_buffer_that_its_pointer_does_not_come_from() -> None:
    apart = address_of_slot(1) - address_of_slot(0)
    body = f"ld.param.u64 %l1, [p0]; atom.global.add.u32 %r1, [%l1+{apart}], 1;"
    module = parse(ptx_kernel(body, ["u64", "u64"]))
    for engine in ("native", "judge"):
        x, y = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
        choice = "judge" if engine == "judge" else "auto"
        report = launch(module, "k", 1, 32, [x, y], engine=choice)
        assert report.engine == engine
        assert not report.faults
        assert y.tolist() == [32, 0, 0, 0]


def test_the_lanes_of_one_atomic_may_reach_several_buffers() -> None:
    apart = address_of_slot(1) - address_of_slot(0)
    body = f"""
    ld.param.u64 %l1, [p0];
    setp.lt.u32 %p1, %i, 8;
    @%p1 add.u64 %l1, %l1, {apart};
    atom.global.add.u32 %r1, [%l1], 1;
    """
    module = parse(ptx_kernel(body, ["u64", "u64"]))
    x, y = np.zeros(4, np.uint32), np.zeros(4, np.uint32)
    report = launch(module, "k", 1, 32, [x, y])
    assert not report.faults
    assert (x[0], y[0]) == (24, 8)


def test_a_program_that_was_suspected_wrongly_is_not_tried_again(
    compile_ptx: CompilePtx, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up: list[Exception] = []
    run = native.run

    def noted(*arguments: Any) -> object:
        try:
            return run(*arguments)
        except native.GivenUp as error:
            given_up.append(error)
            raise

    monkeypatch.setattr(native, "run", noted)
    path = CORRECT / "last_block_ticket.cu"
    module = compile_ptx(path)
    for _ in range(3):
        assert not run_file(lambda *_: module, path).report.faults
    assert len(given_up) == 1


def test_an_endless_loop_ends_at_its_budget_with_its_line(compile_ptx: CompilePtx) -> None:
    outcome = run_file(compile_ptx, FAULTY / "endless_loop.cu")
    assert outcome.report.engine == "native"
    (fault,) = outcome.report.faults
    assert fault.kind == "budget"
    assert fault.line in (5, 6)


def test_without_a_compiler_a_launch_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, compile_ptx: CompilePtx
) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    library.load.cache_clear()
    try:
        with pytest.raises(LaunchError, match=r"/nowhere.*install g\+\+ or name one in CXX"):
            run_file(compile_ptx, CORRECT / "tiled_gemm.cu")
    finally:
        library.load.cache_clear()
