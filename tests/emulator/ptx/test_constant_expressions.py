"""Constant expressions, as in inline assembly, have the values that ptxas gives them."""

from __future__ import annotations

import pytest

from harness.emulator.errors import PtxSyntaxError
from harness.emulator.ptx.parser import parse
from harness.emulator.ptx.syntax import Instruction, Memory, Number, Operand

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def operands(instruction: str) -> tuple[Operand, ...]:
    text = f"{HEAD}.visible .entry k() {{\n.reg .b64 %r<4>;\n{instruction};\nret;\n}}\n"
    body = parse(text).kernels["k"].body or []
    assert isinstance(body[0], Instruction)
    return body[0].operands


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(-7/2)*-1 + (1?0:5)", 3), ("-7/2", -3), ("-7 % 2", 1), ("7 % -2", 7), ("+5", 5),
        ("(-7 % 2) - 2 < 0", 0), ("-7/2U", 9223372036854775804), ("-8>>1", -4), ("- -5", 5),
        ("-8U>>1", 9223372036854775804), ("(-8|0)>>1", -4), ("~0>>1", 9223372036854775807),
        ("-1<0", 1), ("-1<0U", 0), ("1<<63", -9223372036854775808), ("1<<65", 2), ("!5", 0),
        ("!0-1", 0), ("1&&2", 1), ("0||3", 1), ("(0?-1:2U)/2", 1), ("(1?-1:2U)/2", 0),
        ("9223372036854775808/2", 4611686018427387904), ("2+3*4", 14), ("1<<2+1", 8),
        ("1|2&3^1", 3), ("5-3-1", 1), ("1?0:1?2:3", 0), ("-8>>-1", -1),
        ("(-1^0U)/2", (1 << 63) - 1), ("1!=2", 1), ("2>=3", 0), ("-(3)", -3), ("~(1)&0xF", 14),
    ],
)  # fmt: skip
def test_an_expression_has_the_value_that_ptxas_gives_it(text: str, value: int) -> None:
    assert operands(f"mov.s64 %r1, {text}")[1] == Number(value)
    assert operands(f"add.s64 %r1, {text}, %r2")[1:] == (Number(value), operands("neg.s64 %r2")[0])


def test_an_offset_may_be_an_expression() -> None:
    assert operands("ld.global.u64 %r1, [%r2+4*2]")[1] == Memory("%r2", 8)
    assert operands("ld.global.u64 %r1, [%r2 + (1<<4) - 2*4]")[1] == Memory("%r2", 8)
    assert operands("ld.global.u64 %r1, [%r2+-8]")[1] == Memory("%r2", -8)


@pytest.mark.parametrize(
    ("text", "words"),
    [("1/0", "a division by zero in '1 / 0'"), ("1 + %r2", "an integer in a constant expression"),
     ("(1", "expected '\\)'"), ("1?2", "expected ':'"), ("1 + 2.5", "an integer in a constant"),
     ("(" * 200 + "1" + ")" * 200, "PTX line"), ("1" + "?1:1" * 200, "nested too deeply")],
)  # fmt: skip
def test_what_is_no_expression_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(PtxSyntaxError, match=words):
        operands(f"mov.s64 %r1, {text}")
