"""Parse the text of an instruction's operands, as nvdisasm writes it, oddities included."""

from __future__ import annotations

import re

from harness.emulator.sass.code import ZERO, Kind, Operand

_NUMBERED = re.compile(r"(UR|R|UP|P|SB|B)(\d{1,3}|Z|T)((?:\.\w+)*)$")
_INTEGER = re.compile(r"-?0x[0-9a-fA-F]{1,16}$")
_FLOAT = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|INF|QNAN|SNAN)$", re.IGNORECASE)
_CONSTANT = re.compile(r"c\[(0x[0-9a-f]{1,2})\]\[([^\[\]]*)\]((?:\.\w+)*)$")
_MEMORY = re.compile(r"(?:desc\[(UR\d+|URZ)\])?\[([^\[\]]*)\]((?:\.\w+)*)$")
_HINT = re.compile(r"desc\[(UR\d{1,2}|URZ)\]$")
_DESCRIPTOR = re.compile(r"gdesc\[(UR\d{1,2}|URZ)\]((?:\.\w+)*)$")
_KINDS: dict[str, Kind] = {
    "R": "register", "UR": "uniform", "P": "predicate", "UP": "uniform predicate",
    "B": "barrier", "SB": "name",
}  # fmt: skip
_MOST_OPERANDS = 16
_OF_THE_RETURN_PC = {"Rpc.LO": ZERO + 1, "Rpc.HI": ZERO + 2}
"""Blackwell's register for a return address, which code also uses temporarily for other words."""
_WITHOUT_A_COMMA = re.compile(
    r"(?:(?<=^)|(?<=,))(\s*(?:\[[^\[\]]*\]|(?:UR|R|UP|P)(?:\d{1,3}|Z|T)(?:\.\w+)*))(?=\[)"
)
"""Operands that precede an address without a comma: another address, `[R111][R8.64]`, or, as
nvdisasm of CUDA 13.0 writes it, a register: `R11[R10]`."""


class NotAnOperand(ValueError):
    """Raised for text that is not an operand in any form that nvdisasm is known to write."""


def parse(text: str, bits: int) -> tuple[Operand, ...]:
    """All operands of an instruction; `bits` are an immediate's bits, as encoded."""
    apart = _WITHOUT_A_COMMA.sub(r"\1,", text)
    parts = [part.strip() for part in apart.split(",")] if text.strip() else []
    if len(parts) > _MOST_OPERANDS:
        raise NotAnOperand(f"{len(parts)} operands")
    return tuple(_operand(part, bits) for part in parts)


def guard(text: str) -> Operand | None:
    """The predicate in front of an instruction, such as `@!P0`; None for an empty text."""
    if not text:
        return None
    found = _operand(text.removeprefix("@"), 0)
    if not text.startswith("@") or found.kind not in ("predicate", "uniform predicate"):
        raise NotAnOperand(text)
    return found


def _operand(text: str, bits: int) -> Operand:
    rest, negated, absolute, inverted = text, False, False, False
    if _INTEGER.match(rest):
        return Operand("immediate", text, int(rest, 16), bits=int(rest, 16) & 0xFFFFFFFF)
    if _FLOAT.match(rest):
        return Operand("immediate", text, bits=bits)
    while rest[:1] in ("-", "~", "!"):
        negated, inverted = negated or rest[0] != "~", inverted or rest[0] == "~"
        rest = rest[1:]
    rest = rest.removesuffix(".reuse")
    if len(rest) > 2 and rest[0] == "|" and rest.count("|") == 2:
        absolute = True
        inside, _, behind = rest[1:].partition("|")
        rest = inside.removesuffix(".reuse") + behind
    if found := _NUMBERED.match(rest):
        number = ZERO if found[2] in "ZT" else int(found[2])
        kind = _KINDS[found[1]]
        return Operand(kind, text, number, negated, absolute, inverted, _suffixes(found[3]))
    if found := _CONSTANT.match(rest):
        base, uniform, offset = _address(found[2])
        return Operand(
            "constant", text, int(found[1], 16), negated, absolute, inverted, _suffixes(found[3]),
            base, uniform, offset,
        )  # fmt: skip
    if found := _MEMORY.match(rest):
        base, uniform, offset = _address(found[2])
        return Operand("memory", text, base=base, uniform=uniform, offset=offset)
    if found := _DESCRIPTOR.match(rest):
        first = _operand(found[1], 0)
        return Operand("descriptor", text, uniform=first, suffixes=_suffixes(found[2]))
    if found := _HINT.match(rest):
        return Operand("hint", text, uniform=_operand(found[1], 0))
    if rest in _OF_THE_RETURN_PC:
        return Operand("register", text, _OF_THE_RETURN_PC[rest], negated, absolute, inverted)
    if rest.startswith(("SR_", "SRZ")):
        return Operand("special", rest)
    if rest.isascii() and rest.isprintable() and rest and not any(c in rest for c in " []|,"):
        return Operand("name", rest)
    raise NotAnOperand(text)


def _address(text: str) -> tuple[Operand | None, Operand | None, int]:
    """`R2.64+UR4+-0x8` → register, uniform register, offset; RZ is treated as no register."""
    base = uniform = None
    offset = 0
    for part in text.replace(" ", "").split("+"):
        if not part:
            continue
        if _INTEGER.match(part):
            offset += int(part, 16)
            continue
        operand = _operand(part, 0)
        if operand.kind == "register" and base is None:
            base = operand
        elif operand.kind == "uniform" and uniform is None:
            uniform = operand
        else:
            raise NotAnOperand(text)
    return base, uniform, offset


def _suffixes(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(".") if part and part != "reuse")
