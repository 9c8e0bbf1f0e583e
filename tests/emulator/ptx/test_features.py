"""Features of a kernel's PTX: clocks and values that depend on them, precision, cache hints,
atomics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel

from harness.emulator import features, launch, parse


def kinds(body: str) -> list[tuple[str, str]]:
    return [(f.kind, f.detail) for f in features(parse(ptx_kernel(body, ["u64"])), "k")]


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("mov.u64 %l1, %clock64;", ("clock", "%clock64")),
        ("mov.u32 %r1, %clock_hi;", ("clock", "%clock_hi")),
        ("mov.u32 %r1, %globaltimer_lo;", ("clock", "%globaltimer_lo")),
        ("mov.u32 %r1, %pm3;", ("clock", "%pm3")),
        ("mov.u32 %r1, %smid;", ("multiprocessor", "%smid")),
        ("mov.u64 %l1, %gridid;", ("launch number", "%gridid")),
        ("fma.rn.f16x2 %r1, %r2, %r3, %r4;", ("half", "fma.rn.f16x2")),
        ("add.rn.bf16 %h1, %h2, %h3;", ("half", "add.rn.bf16")),
        ("cvt.rn.f16.f32 %h1, %f1;", ("to half", "cvt.rn.f16.f32")),
        ("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
         ("to half", "cvt.rn.satfinite.e4m3x2.f32")),
        ("cvt.rna.tf32.f32 %r1, %f1;", ("to tf32", "cvt.rna.tf32.f32")),
        ("cvt.rn.f32.f64 %f1, %d1;", ("to single", "cvt.rn.f32.f64")),
        ("mul.rn.f32 %f1, %f2, %f3;", ("single", "mul.rn.f32")),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %l1, %l2, 1, 1, 1, 0, 0;",
         ("half", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")),
        ("atom.global.add.f32 %f1, [%l1], %f2;", ("float atomic", "atom.global.add.f32")),
        ("red.shared.add.noftz.f16x2 [%r1], %r2;", ("float atomic", "red.shared.add.noftz.f16x2")),
        ("createpolicy.fractional.L2::evict_last.b64 %l1, 1.0;",
         ("hint", "createpolicy.fractional.L2::evict_last.b64")),
        ("ld.global.L1::no_allocate.L2::cache_hint.f32 %f1, [%l1], %l2;",
         ("hint", "ld.global.L1::no_allocate.L2::cache_hint.f32")),
        ("prefetch.global.L2::evict_last [%l1];", ("hint", "prefetch.global.L2::evict_last")),
        ("prefetch.global.L2 [%l1];", ("prefetch", "prefetch.global.L2")),
        ("ld.global.L2::256B.f32 %f1, [%l1];", ("prefetch", "ld.global.L2::256B.f32")),
    ],
)  # fmt: skip
def test_an_instruction_is_told_for_what_it_is(instruction: str, expected: tuple[str, str]) -> None:
    assert kinds(instruction) == [expected]


@pytest.mark.parametrize(
    "instruction",
    [
        "add.u32 %r1, %r2, %r3;",
        "cvt.f32.f16 %f1, %h1;",
        "cvt.rn.f64.u32 %d1, %r1;",
        "ld.global.b16 %h1, [%l1];",
        "ld.global.cs.f32 %f1, [%l1];",
        "ld.global.L1::evict_first.f32 %f1, [%l1];",
        "atom.global.add.u32 %r1, [%l1], %r2;",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1}, {%r2}, {%r3}, {%r4};",
        "mov.u32 %r1, %laneid;",
    ],
)
def test_an_ordinary_instruction_has_no_trait(instruction: str) -> None:
    assert kinds(instruction) == []


TIMED = "mov.u64 %l1, %clock64; mov.u64 %l2, %clock64; sub.u64 %l3, %l2, %l1;"


@pytest.mark.parametrize(
    "use",
    [
        "setp.lt.u64 %p1, %l3, 500; @%p1 bra $end; $end:",
        "setp.lt.u64 %p1, %l3, 500; @!%p1 st.global.u32 [%l4], 1;",
        "setp.lt.u64 %p1, %l3, 500; selp.b32 %r1, 1, 2, %p1;",
        "cvt.u32.u64 %r1, %l3; add.u32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 3; @%p1 bra $end; $end:",
    ],
)
def test_what_is_done_or_not_by_a_clock_branches_on_it(use: str) -> None:
    assert [kind for kind, _ in kinds(TIMED + use)] == ["clock", "clock", "branch on a clock"]


def test_a_time_that_is_only_stored_is_no_branch() -> None:
    body = TIMED + "setp.eq.u32 %p1, %i, 0; @%p1 st.global.u64 [%l4], %l3;"
    assert [kind for kind, _ in kinds(body)] == ["clock", "clock"]


CALLED = """\
__device__ __noinline__ long long now() { return clock64(); }
__device__ __noinline__ float add(float a, float* b) { return atomicAdd(b, a); }
extern "C" __global__ void timed(long long* t) { t[0] = now(); }
extern "C" __global__ void plain(int* t) { t[0] = 1; }
"""


def test_a_function_counts_for_the_kernels_that_call_it(
    compile_ptx: CompilePtx, tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(CALLED)
    module = compile_ptx(tmp_path / "k.cu")
    (found,) = features(module, "timed")
    assert (found.kind, found.line) == ("clock", 1)
    assert found.file.endswith("k.cu")
    assert features(module, "plain") == ()


def test_hints_for_caches_change_no_result() -> None:
    body = """
    ld.param.u64 %a1, [p0];
    createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %l1, 0.5;
    mad.wide.u32 %a2, %i, 4, %a1;
    prefetch.global.L2::evict_last [%a2];
    ld.global.L1::no_allocate.L2::cache_hint.u32 %r1, [%a2], %l1;
    add.u32 %r1, %r1, 1;
    st.global.L2::cache_hint.u32 [%a2], %r1, %l1;
    """
    x = np.arange(32, dtype=np.uint32)
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 1, 32, [x])
    assert not report.faults
    assert x.tolist() == list(range(1, 33))
