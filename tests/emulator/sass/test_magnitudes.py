"""`.xorsign.abs`: the smaller or larger magnitude with the signs' exclusive or, in machine code and
in PTX."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from emulator_tools import assemble

from harness.emulator import launch, parse
from harness.emulator.sass import launch_machine_code, read

WAYS = [f"{each}{flush}{nan}.xorsign.abs" for each, flush, nan
        in product(("min", "max"), ("", ".ftz"), ("", ".NaN"))]  # fmt: skip
MAGNITUDES = {
    "f32": [0, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x40400000, 0x7F800000, 0x7FC00001],
    "f16x2": [0, 1, 0x03FF, 0x0400, 0x3C00, 0x4200, 0x7C00, 0x7E01],
}
SIGNS = {"f32": 0x80000000, "f16x2": 0x8000}


def _given(type_: str) -> np.ndarray:
    values = [m | sign for m in MAGNITUDES[type_] for sign in (0, SIGNS[type_])]
    pairs = np.array(list(product(values, values)), np.uint32)
    return pairs * 0x10001 if type_ == "f16x2" else pairs


def _text(type_: str) -> str:
    body = "".join(f"{way}.{type_} %r3, %r1, %r2; st.global.b32 [%l2+{4 * n}], %r3;"
                   for n, way in enumerate(WAYS))  # fmt: skip
    body = body.replace("%r", "%f") if type_ == "f32" else body
    name = "f" if type_ == "f32" else "r"
    return f"""
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 out)
{{
    .reg .b32 %r<5>; .reg .f32 %f<5>; .reg .b64 %l<5>;
    ld.param.u64 %l1, [given]; ld.param.u64 %l2, [out]; mov.u32 %r4, %tid.x;
    mad.wide.u32 %l1, %r4, 8, %l1; mad.wide.u32 %l2, %r4, {4 * len(WAYS)}, %l2;
    ld.global.b32 %{name}1, [%l1]; ld.global.b32 %{name}2, [%l1+4];
    {body}
    ret;
}}
"""


@pytest.mark.parametrize("type_", MAGNITUDES)
def test_machine_code_gives_the_same_bits_as_ptx(tmp_path: Path, type_: str) -> None:
    source, given = tmp_path / "k.ptx", _given(type_)
    source.write_text(_text(type_))
    code = read(assemble(source, tmp_path / "k.cubin", "sm_90"))
    opcode = {"f32": "FMNMX", "f16x2": "HMNMX2"}[type_]
    assert any(
        each.name == f"{opcode}.FTZ.NAN.XORSIGN" for each in code.functions["k"].instructions
    )
    ours, theirs = np.zeros((2, len(given), len(WAYS)), np.uint32)
    arguments = given.reshape(-1)
    assert not launch(parse(source.read_text()), "k", 1, 256, [arguments, theirs]).faults
    assert not launch_machine_code(code, "k", 1, 256, [arguments, ours]).faults
    assert (ours == theirs).all()


def test_subnormal_numbers_are_flushed_and_signs_kept(tmp_path: Path) -> None:
    source, given = tmp_path / "k.ptx", _given("f32")
    source.write_text(_text("f32"))
    found = np.zeros((len(given), len(WAYS)), np.uint32)
    assert not launch(parse(source.read_text()), "k", 1, 256, [given.reshape(-1), found]).faults
    by_pair = {tuple(pair): row for pair, row in zip(given.tolist(), found.tolist(), strict=True)}
    flushed = by_pair[0x80000001, 0x3F800000][WAYS.index("min.ftz.xorsign.abs")]
    kept = by_pair[0x80000001, 0x3F800000][WAYS.index("min.xorsign.abs")]
    assert (flushed, kept) == (0x80000000, 0x80000001)
