"""`wgmma` registers that are used too early or without a fence, and correct kernels."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import ROOT, CompilePtx
from tensor_kernels import kernel

from harness.emulator import LaunchReport, launch, parse
from harness.emulator.results.faults import Fault

SOURCE = ROOT / "tests" / "emulator" / "pipelines" / "products_in_registers.cu"
FENCE = "wgmma.fence.sync.aligned;"
GROUP = "wgmma.commit_group.sync.aligned;"
WAIT = "wgmma.wait_group.sync.aligned"
SUMS, OTHERS = "%r10, %r11, %r12, %r13", "%r20, %r21, %r22, %r23"


def _compiled(compile_ptx: CompilePtx, name: str) -> tuple[LaunchReport, np.ndarray]:
    out = np.zeros(128 * 32, np.float32)
    given = np.ones(128 * 32, np.float32)
    return launch(compile_ptx(SOURCE, "sm_90a"), name, 1, 128, [given, out, 2]), out


@pytest.mark.parametrize(
    ("name", "wanted"), [("right", ((1 + 32) / 2 + 16 + 32) / 2 + 16), ("right_factors", 12.0625)]
)
def test_sums_that_are_awaited_and_fenced_are_not_accused(
    compile_ptx: CompilePtx, name: str, wanted: float
) -> None:
    report, out = _compiled(compile_ptx, name)
    assert not report.faults, report.faults[0]
    assert (out == wanted).all()


@pytest.mark.parametrize(
    ("name", "at", "says", "begun_at"),
    [
        ("stored_before_the_wait", "out[threadIdx", "wgmma.wait_group 0 comes first", "// begun"),
        ("waited_for_the_one_before", "out[threadIdx", "wgmma.wait_group 0 comes first", ""),
        ("never_fenced", "", "the warpgroup's first product and no wgmma.fence", ""),
        (
            "scaled_without_a_fence",
            "",
            "computed from an earlier product, with no wgmma.fence",
            "// changed",
        ),
    ],
)
def test_a_missing_wait_or_fence_is_found(
    compile_ptx: CompilePtx, name: str, at: str, says: str, begun_at: str
) -> None:
    report, _ = _compiled(compile_ptx, name)
    (fault,) = report.faults
    assert fault.kind == "wgmma"
    assert says in fault.message
    lines = SOURCE.read_text().splitlines()
    if at:
        assert at in lines[fault.line - 1]
    else:
        assert fault.file.endswith("warpgroup.cuh")
        assert f"of {SOURCE.name}" in fault.message  # the file that calls it
    if begun_at:
        (line,) = (n for n, text in enumerate(lines, 1) if begun_at in text)
        assert f"line {line}" in fault.message


def _product(sums: str = SUMS, a: str = "%l5", shape: str = "m64n8k16.f32.f16.f16") -> str:
    turns = ", 0, 0" if a == "%l5" else ", 0" if "f16" in shape else ""
    return f"wgmma.mma_async.sync.aligned.{shape} {{{sums}}}, {a}, %l5, %p4, 1, 1{turns};\n"


def _run(body: str) -> Fault | None:
    text = kernel(f"""
    shl.b32 %r4, %r1, 4; add.u32 %r5, %r2, %r4; mov.b32 %r6, 0x3c003c00;
    st.shared.v4.u32 [%r5], {{%r6, %r6, %r6, %r6}};
    st.shared.v4.u32 [%r5+2048], {{%r6, %r6, %r6, %r6}};
    st.shared.v4.u32 [%r5+4096], {{%r6, %r6, %r6, %r6}};
    fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %r7, %r2, 4; cvt.u64.u32 %l5, %r7; or.b64 %l5, %l5, 0x0000001000080000;
    setp.eq.u32 %p4, %r2, %r2; mad.wide.u32 %l6, %r1, 16, %l2;
    mad.lo.u32 %r30, %r1, 0, 1; mad.lo.u32 %r31, %r1, 0, 1;
    mad.lo.u32 %r32, %r1, 0, 1; mad.lo.u32 %r33, %r1, 0, 1;
    mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;
    mov.u32 %r14, 0; mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;
{body}
    add.u32 %r14, %r14, %r20; add.u32 %r10, %r10, %r14;
    st.global.v4.u32 [%l6], {{%r10, %r11, %r12, %r13}};""")
    faults = launch(parse(text), "k", 1, 128, [bytes(128), np.zeros(512, np.float32)]).faults
    return faults[0] if faults else None


A = "{%r30, %r31, %r32, %r33}"
RIGHT = {
    "moved in flight": f"{FENCE}{_product()}{GROUP} mov.b32 %r14, %r10; {WAIT} 0;"
    "add.u32 %r14, %r14, 1;",
    "moved and begun anew": f"{FENCE}{_product()}{GROUP} mov.b32 %r14, %r10; mov.b32 %r15, %r11;"
    f"mov.b32 %r16, %r12; mov.b32 %r17, %r13; mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0;"
    f"mov.b32 %r13, 0; {_product()}{GROUP} {WAIT} 0; add.u32 %r14, %r14, %r10;",
    "computed or moved behind a fence": f"add.u32 %r14, %r30, %r30; {FENCE} mov.b32 %r10, %r14;"
    f"add.u32 %r30, %r1, 1; {_product(a=A)}{GROUP}{WAIT} 0;",
    "computed before the wait": f"{FENCE}{_product()}{GROUP} add.u32 %r14, %r10, 1; {WAIT} 0;",
    "a factor made while it is read": f"{FENCE}{_product(a=A)}{GROUP} add.u32 %r30, %r1, 1;"
    f"{WAIT} 0; {FENCE}{_product(a=A)}{GROUP}{WAIT} 0;",
    "added to by products of one shape": f"{FENCE}{_product()}{GROUP}{_product()}{GROUP}{WAIT} 0;",
    "another shape behind a fence": f"{FENCE}{_product()}{GROUP}{FENCE}"
    f"{_product(shape='m64n8k32.f32.e4m3.e4m3', a=A)}{GROUP}{WAIT} 0;",
    "all but the newest group": f"{FENCE}{_product()}{GROUP}{_product(OTHERS)}{GROUP}{WAIT} 1;"
    f"add.u32 %r14, %r10, 1; {WAIT} 0; add.u32 %r14, %r20, 1;",
    "a factor read while it is read": f"{FENCE}{_product(a=A)}{GROUP} add.u32 %r14, %r30, 1;"
    f"{WAIT} 0;",
    "a factor made behind the wait": f"{FENCE}{_product(a=A)}{GROUP}{WAIT} 0; add.u32 %r30, %r1, 1;"
    f"{FENCE}{_product(a=A)}{GROUP}{WAIT} 0;",
}  # fmt: skip
STORE = "st.global.u32 [%l6], %r14;"
WRONG = {
    "stored": (f"{FENCE}{_product()}{GROUP} st.global.u32 [%l6], %r10; {WAIT} 0;",
               "reads a sum that the wgmma"),
    "computed with and stored": (
        f"{FENCE}{_product()}{GROUP} mov.b32 %r15, %r10; add.u32 %r14, %r15, 1; {STORE} {WAIT} 0;",
        "computed from a sum that the wgmma"),
    "exchanged": (f"{FENCE}{_product()}{GROUP} shfl.sync.bfly.b32 %r14, %r10, 1, 31, 0xffffffff;"
                  f"{WAIT} 0;", "`shfl.sync.bfly.b32` reads a sum"),
    "added to and multiplied on": (
        f"{FENCE}{_product()}{GROUP} add.u32 %r10, %r10, 1; {FENCE}{_product()}{GROUP}{WAIT} 0;",
        "`add.u32` in line"),
    "group never ended": (f"{FENCE}{_product()} {WAIT} 0; add.u32 %r10, %r10, 1;",
                          "wgmma.commit_group and wgmma.wait_group 0 comes first"),
    "waited for one too few": (
        f"{FENCE}{_product()}{GROUP}{_product(OTHERS)}{GROUP}{WAIT} 2; mov.b32 %r14, %r10; {STORE}"
        f"{WAIT} 0;", "wgmma.wait_group 1 comes first"),
    "overwritten": (f"{FENCE}{_product()}{GROUP} mov.b32 %r10, 0; {WAIT} 0;",
                    "`mov.b32` overwrites a sum"),
    "a sum as a factor": (
        f"{FENCE}{_product()}{GROUP}"
        f"{_product(OTHERS, a='{' + SUMS + '}')}{GROUP}{WAIT} 0;", "reads a sum"),
    "no fence at all": (f"{_product()}{GROUP}{WAIT} 0;", "no wgmma.fence comes before it"),
    "a factor made of sums with no fence": (
        f"{FENCE}{_product()}{GROUP}{WAIT} 0; add.u32 %r30, %r10, 1; {_product(OTHERS, a=A)}{GROUP}"
        f"{WAIT} 0;", "`add.u32` in line"),
    "another shape with no fence": (
        f"{FENCE}{_product()}{GROUP}{_product(shape='m64n8k32.f32.e4m3.e4m3', a=A)}{GROUP}"
        f"{WAIT} 0;", "of another shape"),
}  # fmt: skip


def _registers(given_back: int) -> LaunchReport:
    """Three warpgroups, two of which request registers that the third one releases."""
    text = kernel(f"""
    setp.lt.u32 %p2, %r1, 256; @%p2 bra TAKES;
    setmaxnreg.dec.sync.aligned.u32 {given_back}; bra END;
    TAKES: setmaxnreg.inc.sync.aligned.u32 240;
    END:""")
    return launch(parse(text), "k", 1, 384, [bytes(128), np.zeros(512, np.float32)])


def test_registers_that_can_never_be_left_are_a_deadlock() -> None:
    assert not _registers(24).faults
    (fault,) = _registers(32).faults
    assert fault.kind == "deadlock"
    assert "ask for 2048 in all, and 12 warps of at most 168 have 2016" in fault.message


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_the_manual_allows_is_not_accused(body: str) -> None:
    assert _run(body) is None


@pytest.mark.parametrize(("body", "says"), WRONG.values(), ids=WRONG)
def test_what_the_manual_calls_undefined_is_found(body: str, says: str) -> None:
    fault = _run(body)
    assert fault is not None
    assert fault.kind == "wgmma"
    assert says in fault.message
    assert "By the PTX ISA this is undefined" in fault.message
