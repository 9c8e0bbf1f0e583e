"""Partly initialised words: the uninitialised part is tracked bit by bit, and arithmetic uses the
whole word."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import FAULTY, CompilePtx, ptx_kernel
from kernel_files import run_file

from harness.emulator import launch, parse


def _faults(does: str) -> list[str]:
    """The faults of a kernel that has written the lowest byte of a word, and then loaded the word
    into %r2."""
    body = f"""
    .shared .align 8 .b8 s[512];
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 8, %a0;
    mov.u32 %r10, s;
    mad.lo.u32 %r1, %i, 8, %r10;
    st.shared.u8 [%r1], %i;
    ld.shared.u32 %r2, [%r1];
    ld.shared.u64 %l2, [%r1];
    {does}
    """
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 2, 48, [np.zeros(96, np.uint32)])
    return [fault.kind for fault in report.faults]


STORED = "st.global.u32 [%a0], %r4;"
IS_SET = "setp.ne.u32 %p1, %r4, 0; @%p1 st.global.u32 [%a0], %i;"
LOOKED_AT = "setp.eq.u32 %p1, %r4, 7; @%p1 st.global.u32 [%a0], %i;"


@pytest.mark.parametrize(
    "does",
    [
        "st.global.u32 [%a0], %r2;",
        "st.global.u64 [%a0], %l2;",
        "mov.u32 %r4, %r2; st.shared.u32 [%r1+4], %r4; ld.shared.u8 %r5, [%r1+4]; "
        f"add.u32 %r4, %r5, 1; {STORED}",
        f"and.b32 %r4, %r2, 255; {LOOKED_AT}",
        f"or.b32 %r4, %r2, 0xffffff00; {LOOKED_AT}",
        f"and.b32 %r4, %r2, 0xff00; {LOOKED_AT}",  # never equal, whatever the unset bits are
        f"shl.b32 %r4, %r2, 24; {LOOKED_AT}",
        f"shl.b32 %r3, %r2, 4; and.b32 %r4, %r3, 0xff0; {LOOKED_AT}",
        f"bfe.u32 %r4, %r2, 0, 8; {LOOKED_AT}",
        f"cvt.u32.u8 %r4, %r2; {LOOKED_AT}",
        f"cvt.u32.u64 %r3, %l2; and.b32 %r4, %r3, 15; {LOOKED_AT}",
        f"xor.b32 %r3, %r2, 5; and.b32 %r4, %r3, 255; {LOOKED_AT}",
        f"prmt.b32 %r4, %r2, 0, 0x4440; {LOOKED_AT}",
        "mov.b32 {%h1, %h2}, %r2; and.b16 %h3, %h1, 255; setp.eq.u16 %p1, %h3, 7; "
        "@%p1 st.global.u32 [%a0], %i;",
    ],
)
def test_the_written_part_of_a_word_may_be_used_and_the_whole_copied(does: str) -> None:
    assert _faults(does) == []


@pytest.mark.parametrize(
    "does",
    [
        f"add.u32 %r4, %r2, 1; {STORED}",
        f"mov.u32 %r4, %r2; {LOOKED_AT}",
        f"and.b32 %r4, %r2, 0xff07; {LOOKED_AT}",
        f"shr.u32 %r4, %r2, 8; {LOOKED_AT}",
        f"bfe.u32 %r4, %r2, 8, 8; {LOOKED_AT}",
        "cvt.rn.f32.u32 %f1, %r2; st.global.f32 [%a0], %f1;",
        "add.u32 %r4, %r10, %r2; ld.shared.u32 %r5, [%r4];",
        "st.shared.u32 [%r1+4], %r2; ld.shared.u8 %r5, [%r1+5]; add.u32 %r4, %r5, 1; " + STORED,
        "shfl.sync.idx.b32 %r3, %r2, 1, 31, -1; mul.lo.u32 %r4, %r3, 3; " + STORED,
        "mov.b32 {%h1, %h2}, %r2; setp.eq.u16 %p1, %h2, 7; @%p1 st.global.u32 [%a0], %i;",
        "mov.b64 {%r3, %r4}, %l2; add.u32 %r4, %r4, 1; " + STORED,
        "selp.u32 %r3, %r2, %i, 1; min.u32 %r4, %r3, 3; " + STORED,
    ],
)
def test_to_use_the_part_that_nothing_wrote_is_a_fault(does: str) -> None:
    assert _faults(does) == ["uninitialised"]


def test_the_unwritten_part_of_a_buffer_is_told_apart() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    ld.global.u32 %r2, [%a0];
    {does}
    st.global.u32 [%a0], %r3;
    """
    for does, kinds in (
        ("and.b32 %r3, %r2, 0xffff;", []),
        ("add.u32 %r3, %r2, 1;", ["uninitialised"]),
    ):
        written = np.tile(np.array([True, True, False, False]), 64)
        module = parse(ptx_kernel(body.format(does=does), ["u64"]))
        report = launch(module, "k", 1, 64, [np.ones(64, np.uint32)], written={0: written})
        assert [fault.kind for fault in report.faults] == kinds


def test_an_address_out_of_bounds_that_comes_from_what_nothing_wrote_names_that_load(
    compile_ptx: CompilePtx,
) -> None:
    path = FAULTY / "unwritten_index.cu"
    (fault,) = run_file(compile_ptx, path).report.faults
    assert fault.kind == "uninitialised"
    assert "which nothing has written; it is used in line" in fault.message


SET_BY_MASK = "and.b32 %r3, %r2, -8; or.b32 %r2, %r3, %r6;"


def _faults_of_bits(does: str, set_: str = SET_BY_MASK) -> list[str]:
    """The faults of a kernel that has set three bits of %r2, which was uninitialised."""
    body = f"""
    .shared .align 8 .b8 s[512];
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 8, %a0;
    mov.u32 %r10, s;
    mad.lo.u32 %r1, %i, 8, %r10;
    and.b32 %r6, %i, 7;
    ld.shared.u32 %r2, [%r1];
    {set_}
    {does}
    """
    report = launch(parse(ptx_kernel(body, ["u64"])), "k", 2, 48, [np.zeros(96, np.uint32)])
    return [fault.kind for fault in report.faults]


@pytest.mark.parametrize(
    "set_",
    [
        SET_BY_MASK,
        "bfi.b32 %r2, %r6, %r2, 0, 3;",
        "lop3.b32 %r2, %r2, -8, %r6, 0xEA;",
        "shl.b32 %r3, %r2, 3; or.b32 %r2, %r3, %r6;",
        "shr.u32 %r3, %r2, 3; shf.l.wrap.b32 %r3, 0, %r3, 3; or.b32 %r2, %r3, %r6;",
        f"{SET_BY_MASK} st.shared.u32 [%r1+4], %r2; "
        "ld.shared.u32 %r2, [%r1+4];",
        "brev.b32 %r3, %r2; and.b32 %r3, %r3, 0x1fffffff; brev.b32 %r3, %r3; or.b32 %r2, %r3, %r6;",
    ],
)  # fmt: skip
def test_bits_that_were_set_may_be_used_and_a_word_with_others_copied(set_: str) -> None:
    for does in (
        "st.global.u32 [%a0], %r2;",
        "st.shared.u32 [%r1], %r2; ld.shared.u32 %r4, [%r1]; st.global.u32 [%a0], %r4;",
        "cvt.u64.u32 %l2, %r2; shl.b64 %l2, %l2, 32; or.b64 %l2, %l2, 5; st.global.u64 [%a0], %l2;",
        f"and.b32 %r4, %r2, 7; {LOOKED_AT}",
        f"bfe.u32 %r4, %r2, 1, 2; {LOOKED_AT}",
        f"bfe.s32 %r4, %r2, 0, 3; {LOOKED_AT}",
        f"mul.lo.u32 %r3, %r2, 0x20000000; shr.u32 %r4, %r3, 29; {LOOKED_AT}",
        "cvt.u16.u32 %h1, %r2; and.b16 %h1, %h1, 15; mul.wide.u16 %r3, %h1, 256; "
        f"and.b32 %r4, %r3, 0x700; {LOOKED_AT}",
        f"shl.b32 %r3, %r2, 29; shr.s32 %r4, %r3, 29; {LOOKED_AT}",
        "shl.b32 %r4, %r2, 29; setp.lt.s32 %p1, %r4, 0; @%p1 st.global.u32 [%a0], %i;",
        "brev.b32 %r4, %r2; setp.gt.u32 %p1, %r4, 0x1fffffff; @%p1 st.global.u32 [%a0], %i;",
        "or.b32 %r4, %r2, 1; setp.eq.u32 %p1, %r4, 0; @%p1 st.global.u32 [%a0], %i;",
        f"prmt.b32 %r3, %r2, 0, 0x4044; shr.u32 %r4, %r3, 16; and.b32 %r4, %r4, 5; {LOOKED_AT}",
    ):
        assert _faults_of_bits(does, set_) == [], does


@pytest.mark.parametrize(
    "does",
    [
        f"and.b32 %r4, %r2, 8; {IS_SET}",
        f"and.b32 %r4, %r2, 15; {LOOKED_AT}",
        f"bfe.u32 %r4, %r2, 1, 3; {LOOKED_AT}",
        f"bfe.s32 %r4, %r2, 2, 2; {LOOKED_AT}",
        f"shl.b32 %r3, %r2, 28; shr.s32 %r4, %r3, 31; {LOOKED_AT}",
        f"lop3.b32 %r4, %r2, 24, %r6, 0xEA; {LOOKED_AT}",
        f"bfi.b32 %r4, %r2, 0, 8, 4; {IS_SET}",
        "setp.lt.s32 %p1, %r2, 0; @%p1 st.global.u32 [%a0], %i;",
        "setp.gt.u32 %p1, %r2, 12; @%p1 st.global.u32 [%a0], %i;",
        f"add.u32 %r4, %r2, 1; {STORED}",
        f"popc.b32 %r4, %r2; {STORED}",
        f"mul.lo.u32 %r4, %r2, 3; {STORED}",
        f"mul.lo.u32 %r3, %r2, 2; and.b32 %r4, %r3, 16; {IS_SET}",
        "and.b32 %r4, %r2, 12; add.u32 %r4, %r4, %r10; ld.shared.u32 %r5, [%r4];",
        f"st.shared.u32 [%r1+4], %r2; ld.shared.u32 %r3, [%r1+4]; and.b32 %r4, %r3, 8; {IS_SET}",
    ],
)
def test_to_use_a_bit_that_nothing_set_is_a_fault(does: str) -> None:
    assert _faults_of_bits(does) == ["uninitialised"]


def test_a_struct_is_copied_word_by_word_with_words_that_nothing_set(
    compile_ptx: CompilePtx,
) -> None:
    """Copying such a word on its own is a fault, because the copy cannot be told from that of any
    other value."""
    source = """
    struct Fields {
        unsigned never_set;
        unsigned short first, nor_set : 3, : 0, last;
        unsigned padding[2], end;
    };
    extern "C" __global__ void k(Fields* out, unsigned* alone, int one) {
        Fields fields[2];
    #pragma unroll 1
        for (int n = 0; n < 2; n++) fields[n].first = n, fields[n].last = 7, fields[n].end = 5;
        out[threadIdx.x] = fields[one];
        if (alone) *alone = fields[one].padding[one];
    }
    """
    for flags in ("", "-G", "-Xcicc -O0"):
        module = compile_ptx(source, flags=flags)
        for alone, kinds in ((None, []), (np.zeros(1, np.uint32), ["uninitialised"])):
            out = np.zeros((32, 6), np.uint32)
            report = launch(module, "k", 1, 32, [out, alone, 1])
            assert [fault.kind for fault in report.faults] == kinds
