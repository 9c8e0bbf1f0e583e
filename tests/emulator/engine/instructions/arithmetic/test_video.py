"""Video instructions: nvcc's code for its intrinsics, inline PTX, and rejected forms.

`engine/native` compares every form with its definition, and `test_video_forms.py`, next to the
other tests of machine-code forms, compares it with ptxas's code.
"""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, elementwise, ptx_kernel, run
from reference.video import meaning

from harness.emulator import UnknownInstruction, launch, parse

RANDOM = np.random.default_rng(12)
EDGES = np.array([0, 1, 0x7F, 0x80, 0x7FFF, 0x8000, 0x80808080, 0x7F7F7F7F, 2**32 - 1], np.uint32)


def _words(count: int = 512) -> np.ndarray:
    noise = RANDOM.integers(0, 2**32, count, dtype=np.uint64).astype(np.uint32)
    return np.where(RANDOM.random(count) < 0.3, RANDOM.choice(EDGES, count), noise)


INTRINSICS = {
    "vadd": ("vadd", ""), "vaddss": ("vadd", "s"), "vaddus": ("vadd", "u"),
    "vsub": ("vsub", ""), "vsubss": ("vsub", "s"), "vsubus": ("vsub", "u"),
    "vavgs": ("vavrg", "s"), "vavgu": ("vavrg", "u"),
    "vmaxs": ("vmax", "s"), "vmaxu": ("vmax", "u"), "vmins": ("vmin", "s"), "vminu": ("vmin", "u"),
    "vabsdiffu": ("vabsdiff", "u"), "vabsdiffs": ("vabsdiff", "s"),
    "vseteq": ("vset eq", ""), "vsetne": ("vset ne", ""),
    **{f"vset{c}{k}": (f"vset {c}", k) for c in ("ge", "gt", "le", "lt") for k in "su"},
}  # fmt: skip
"""CUDA's functions on the fields of a word, with the corresponding instruction and its type."""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("count", [2, 4])
def test_what_nvcc_makes_of_its_intrinsics_is_what_the_instructions_say(
    compile_ptx: CompilePtx, count: int, arch: str
) -> None:
    calls = "\n".join(
        f"out[{n} * 512 + i] = __{name}{count}(a[i], b[i]);" for n, name in enumerate(INTRINSICS)
    )
    source = f"""
    extern "C" __global__ void k(const unsigned* a, const unsigned* b, unsigned* out) {{
        unsigned i = threadIdx.x; {calls} }}"""
    a, b, out = _words(), _words(), np.zeros((len(INTRINSICS), 512), np.uint32)
    run(compile_ptx(source, arch), "k", 1, 512, [a, b, out])
    for found, (name, (instruction, kind)) in zip(out.tolist(), INTRINSICS.items(), strict=True):
        base, _, mode = instruction.partition(" ")
        type_ = "s32" if kind == "s" else "u32"
        how = "sat" if name.endswith(("ss", "us")) else ""
        says = meaning(f"{base}{count}", mode, (type_,) * 3, how, "", "", "")
        wanted = [says(x, y, 0) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert found == wanted, name


def test_inline_ptx_may_name_parts_of_registers_of_its_own(compile_ptx: CompilePtx) -> None:
    source = r"""
    __device__ unsigned mixed(unsigned a, unsigned b, unsigned c) {
        unsigned d;
        asm("{ .reg .u32 low; mov.u32 low, %1; vadd.u32.u32.u32.add %0, low.b1, %2.h1, %3; }"
            : "=r"(d) : "r"(a), "r"(b), "r"(c));
        asm("vmad.s32.s32.s32 %0, -%1.h0, %2.b3, %0;" : "+r"(d) : "r"(a), "r"(b));
        return d;
    }
    extern "C" __global__ void k(const unsigned* a, unsigned* out) {
        out[threadIdx.x] = mixed(a[threadIdx.x], a[threadIdx.x + 1], a[threadIdx.x + 2]);
    }"""
    a, out = _words(66), np.zeros(64, np.uint32)
    run(compile_ptx(source), "k", 1, 64, [a, out])
    x, y, c = a[:-2].astype(int), a[1:-1].astype(int), a[2:].astype(int)
    total = (x >> 8 & 0xFF) + (y >> 16) + c
    product = (x & 0xFFFF).astype(np.int16).astype(int) * (y >> 24).astype(np.int8)
    assert (out == (total - product) % 2**32).all()


def test_a_sum_of_absolute_differences_of_bytes_from_both_words() -> None:
    a, b, c = _words(), _words(), _words()
    opcode = "vabsdiff4.u32.u32.u32.add $0.b20, $1.b3210, $2.b1111, $3;"
    found = elementwise(opcode, [("b32", a), ("b32", b), ("b32", c)], "b32", np.uint32)
    fields = a.view(np.uint8).reshape(-1, 4).astype(int)
    apart = np.abs(fields - fields[:, 1:2])
    assert (found == (c + apart[:, 0] + apart[:, 2]) % 2**32).all()


@pytest.mark.parametrize(
    "text",
    [
        "vadd.u32.u32.u32.sat %r0, %r1, %r2",
        "vadd.u32.u32.u32 %r0.h1, %r1, %r2, %r3",
        "vshl.u32.u32.u32.sat.clamp %r0, %r1, %r2",
        "vabsdiff.s32.s32.s32.max %r0, %r1, %r2, %r3",
        "vmad.u32.u32.u32.shr7 %r0, %r1, %r2, %r3",
    ],
)
def test_forms_that_the_machine_code_has_otherwise_are_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction, match="ptxas does not make"):
        launch(parse(ptx_kernel(text + ";")), "k", 1, 1, [])


@pytest.mark.parametrize(
    "text",
    [
        "vadd.s32.s32.s32.sat.add %r0.h0, %r1, %r2, %r3",
        "vadd.s32.s32.s32 %r0, %r1.b4, %r2",
        "vadd.s32.s32.s32 %r0, -%r1, %r2",
        "vadd.s32.s32 %r0, %r1, %r2",
        "vshr.s32.s32.s32.wrap %r0, %r1, %r2",
        "vshr.u32.u32.u32 %r0, %r1, %r2",
        "vset.u32.u32.lo %r0, %r1, %r2",
        "vmad.s32.s32.s32 %r0, -%r1, %r2, -%r3",
        "vmad.s32.s32.s32.po %r0, %r1, %r2, -%r3",
        "vadd2.s32.s32.s32 %r0, %r1, %r2",
        "vadd2.s32.s32.s32.sat.add %r0, %r1, %r2, %r3",
        "vadd2.s32.s32.s32 %r0.h01, %r1, %r2, %r3",
        "vadd4.s32.s32.s32 %r0.b41, %r1, %r2, %r3",
        "vadd2.s32.s32.s32 %r0, %r1.h40, %r2, %r3",
        "vadd2.s32.s32.s32 %r0, %r1.b10, %r2, %r3",
        "vadd4.s32.s32.s32 %r0, %r1, 3, %r3",
        "vset4.u32.u32.lt.sat %r0, %r1, %r2, %r3",
        "vadd4.s32.s32.s32 _, %r1, %r2, %r3",
        "add.u32 %r0, -%r1, %r2",
        "setp.eq.and.u32 %p0, %r1, %r2, -%p1",
    ],
)
def test_what_ptxas_refuses_is_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        launch(parse(ptx_kernel(text + ";")), "k", 1, 1, [])
