"""Vector registers, which exist in PTX although nvcc does not use them; ptxas assembles every
kernel here."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import ptx_kernel, run

from harness.emulator import UnknownInstruction, launch, parse


def _run(body: str, declarations: str = "") -> list[int]:
    """Run 32 threads with 4 words each; return the words that they compute."""
    module = parse(ptx_kernel(
        ".reg .v4 .u32 %v; .reg .v2 .b32 %w<2>;\n"
        "ld.param.u64 %a0, [p0]; ld.param.u64 %a1, [p1];\n"
        "mad.wide.u32 %a0, %i, 16, %a0; mad.wide.u32 %a1, %i, 16, %a1;\n" + body,
        ["u64", "u64"], declarations,
    ))  # fmt: skip
    given, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    run(module, "k", 1, 32, [given, out])
    assert ((out.reshape(32, 4) - 4 * np.arange(32)[:, None]) < 4).all()
    return out[:4].tolist()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ld.global.v4.u32 %v, [%a0]; st.global.v4.u32 [%a1], %v;", [0, 1, 2, 3]),
        ("ld.global.v4.u32 %v, [%a0]; st.global.v4.u32 [%a1], {%v.w, %v.x, %v.g, %v.b};",
         [3, 0, 1, 2]),
        ("ld.global.v4.u32 %v, [%a0]; mov.v4.u32 %v, {%v.y, %v.z, %v.w, %v.x};"
         "st.global.v4.u32 [%a1], %v;", [1, 2, 3, 0]),
        ("ld.global.v2.u32 %w0, [%a0]; ld.global.v2.u32 %w1, [%a0+8]; mov.v2.b32 {%r1, %r2}, %w1;"
         "mov.b64 %l1, %w0; mov.b64 {%r3, %r4}, %l1;"
         "st.global.v4.u32 [%a1], {%r2, %r1, %r4, %r3};", [3, 2, 1, 0]),
        ("ld.global.v4.u32 %v, [%a0]; { .reg .v2 .u32 %v; ld.global.v2.u32 %v, [%a0+8];"
         "st.global.v2.u32 [%a1], %v; } st.global.v2.u32 [%a1+8], {%v.x, %v.y};", [2, 3, 0, 1]),
    ],
)  # fmt: skip
def test_a_vector_register_is_its_parts(body: str, expected: list[int]) -> None:
    assert _run(body) == expected


FUNCTION = """
.func (.reg .v2 .u32 out, .reg .pred odd) swapped(.reg .v2 .u32 in, .reg .u32 n) {
    .reg .u32 %r1;
    mov.v2.u32 out, {in.y, in.x};
    and.b32 %r1, n, 1;
    setp.ne.u32 odd, %r1, 0;
    ret;
}
"""


def test_vectors_and_predicates_are_passed_to_functions() -> None:
    body = """
    ld.global.v4.u32 %v, [%a0];
    mov.v2.u32 %w0, {%v.x, %v.y};
    call (%w0, %p1), swapped, (%w0, 1);
    call (%w1, %p2), swapped, (%w0, %v.x);
    mov.u32 %r1, 7;
    @%p1 mov.u32 %r1, %v.w;
    @!%p2 add.u32 %r1, %r1, 0;
    st.global.v4.u32 [%a1], {%w0.x, %w0.y, %w1.x, %r1};
    """.replace("(%w0, 1)", "(%w0, %r9)").replace("mov.v2", "mov.u32 %r9, 1;\n    mov.v2", 1)
    assert _run(body, FUNCTION) == [1, 0, 0, 3]


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("mov.v2.u32 {%r1, %r2}, {%r1, %r2, %r3};", "vectors of 2 registers"),
        ("mov.v8.u32 {%r1, %r2}, {%r1, %r2};", "mov.v8.u32"),
        ("mov.v2.pred {%p1, %p2}, {%p2, %p1};", "mov.v2.pred"),
    ],
)
def test_other_vectors_are_refused_by_name(body: str, wrong: str) -> None:
    with pytest.raises(UnknownInstruction, match=wrong):
        launch(parse(ptx_kernel(body)), "k", 1, 1, [])
