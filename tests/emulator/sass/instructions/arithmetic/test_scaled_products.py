"""`FMUL.D2` to `.M8`: a multiplication and a scaling by a power of two, which ptxas combines in one
instruction.

ptxas combines them only where it may fuse (not with `--fmad=false`, not for `mul.rn`), because the
combined instruction rounds once: if the unscaled product is a normal number, the result equals
PTX's.
"""

from __future__ import annotations

import math
from fractions import Fraction

import exact
import numpy as np
import pytest
from emulator_tools import assemble

from harness.emulator import Module, launch, parse
from harness.emulator.sass import MachineCode, launch_machine_code, read

SCALES = {"D2": 0.5, "D4": 0.25, "D8": 0.125, "M2": 2.0, "M4": 4.0, "M8": 8.0}
ENDINGS = ("", ".ftz", ".sat", ".ftz.sat")
CASES = [
    (scale, ending) for scale in SCALES for ending in ENDINGS
    if scale in ("D2", "M8") or ending in ("", ".ftz.sat")
]  # fmt: skip
COUNT, BLOCK = 1024, 128
NO_NUMBER = 0x7FFFFFFF
_MAX, _MIN, _TINY = 0x7F7FFFFF, 0x00800000, 0x00000001
SPECIAL = [
    0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0xBF800000, _MAX, _MIN, _TINY,
    _MAX - 1, _MIN - 1, _MIN + 1, 3, 0x40000000, 0x3F000000, 0x3FFFFFFF, 0x3F800001, 0x7F000000,
    0x20000000, 0x1FFFFFFF, 0x5F800000, 0x5F7FFFFF, 0xDF800001, 0x00FFFFFF, 0x017FFFFF,
]  # fmt: skip


def _module() -> str:
    kernels = [_kernel(number, *case) for number, case in enumerate(CASES)]
    return "\n".join([".version 8.8\n.target sm_90\n.address_size 64", *kernels])


def _kernel(number: int, scale: str, ending: str) -> str:
    factor = f"0f{np.float32(SCALES[scale]).view(np.uint32):08x}"
    first = ".ftz" if "ftz" in ending else ""
    return f"""
.visible .entry k{number}(.param .u64 a, .param .u64 b, .param .u64 out) {{
    .reg .u32 %i, %n, %t;
    .reg .u64 %a, %b, %o, %w;
    .reg .f32 %x, %y, %z;
    mov.u32 %i, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mov.u32 %t, %tid.x;
    mad.lo.u32 %i, %i, %n, %t;
    mul.wide.u32 %w, %i, 4;
    ld.param.u64 %a, [a];
    ld.param.u64 %b, [b];
    ld.param.u64 %o, [out];
    add.u64 %a, %a, %w;
    add.u64 %b, %b, %w;
    add.u64 %o, %o, %w;
    ld.global.f32 %x, [%a];
    ld.global.f32 %y, [%b];
    mul{first}.f32 %z, %x, %y;
    mul{ending}.f32 %z, %z, {factor};
    st.global.f32 [%o], %z;
    ret;
}}"""


@pytest.fixture(scope="module")
def module() -> Module:
    return parse(_module())


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> MachineCode:
    source = tmp_path_factory.mktemp("scaled") / "products.ptx"
    source.write_text(_module())
    made = assemble(source, source.with_suffix(".cubin"), "sm_90")
    return read(made, made.with_suffix(".listing"))


def _operands() -> tuple[np.ndarray, np.ndarray]:
    """All pairs of special values, and pairs whose product is close to an end of the range."""
    rng = np.random.default_rng(37)
    a, b = (each.ravel() for each in np.meshgrid(SPECIAL, SPECIAL))
    rest = COUNT - len(a)
    exponents = rng.integers(1, 255, rest)
    ends = np.where(rng.random(rest) < 0.5, -24, 254)
    others = np.clip(ends + rng.integers(-6, 30, rest) - exponents + 127, 0, 254)
    near = [
        exponent << 23 | rng.integers(0, 1 << 23, rest) | rng.integers(0, 2, rest) << 31
        for exponent in (exponents, others)
    ]
    return tuple(
        np.concatenate([x, y]).astype(np.uint32) for x, y in zip((a, b), near, strict=True)
    )  # type: ignore[return-value]


def _defined(a: int, b: int, scale: str, ending: str) -> int:
    """The bits of the scaled product, rounded once; PTX's `.ftz` and `.sat` before and after it."""
    if "ftz" in ending:
        a, b = _flushed(a), _flushed(b)
    x, y = (exact.decode(each, exact.F32) for each in (a, b))
    if math.isfinite(x) and math.isfinite(y):
        value = Fraction(x) * Fraction(y) * Fraction(SCALES[scale])
        made = exact.encode(value, exact.F32, zero_sign=-1 if (a ^ b) >> 31 else 1)
    else:
        product = float(x) * float(y)
        made = NO_NUMBER if math.isnan(product) else (a ^ b) & 1 << 31 | 0x7F800000
    if "ftz" in ending:
        made = _flushed(made)
    if "sat" not in ending:
        return made
    if made == NO_NUMBER or made >> 31:
        return 0
    return min(made, 0x3F800000)


def _flushed(raw: int) -> int:
    return raw & 1 << 31 if raw >> 23 & 255 == 0 else raw


@pytest.mark.parametrize(("scale", "ending"), CASES)
def test_a_scaled_product_is_rounded_once(
    module: Module, cubin: MachineCode, scale: str, ending: str
) -> None:
    number = CASES.index((scale, ending))
    kernel = f"k{number}"
    name = f"FMUL{'.FTZ' * ('ftz' in ending)}.{scale}{'.SAT' * ('sat' in ending)}"
    assert name in {each.name for each in cubin.functions[kernel].instructions}
    a, b = _operands()
    ours, theirs = np.zeros(COUNT, np.uint32), np.zeros(COUNT, np.uint32)
    found = launch_machine_code(cubin, kernel, COUNT // BLOCK, BLOCK, [a, b, ours])
    wanted = launch(module, kernel, COUNT // BLOCK, BLOCK, [a, b, theirs])
    assert found.faults == wanted.faults == ()
    defined = [_defined(int(x), int(y), scale, ending) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(ours, defined)
    with np.errstate(all="ignore"):
        size = np.abs(a.view(np.float32).astype(float) * b.view(np.float32))
    normal = (size >= 2.0**-126) & (size * SCALES[scale] >= 2.0**-126) & (size < 2.0**127)
    alike = ~np.isfinite(size) | (size == 0) | normal
    assert 500 < alike.sum() < COUNT
    np.testing.assert_array_equal(ours[alike], theirs[alike])
