"""Find the driver function that a call reaches, if the instructions before it show which.

ptxas loads the address right before the call, from an entry of bank 4 whose offset is a constant:
`MOV R0,0x8`, `LDC.64 R2,c[0x4][R0]`, `CALL.ABS.NOINC R2`. The sequence is the same for every
architecture.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.emulator.sass.code import Function, Instruction, Operand

_CONTROL = frozenset({
    "BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "EXIT", "BREAK", "BSYNC", "BSSY",
    "KILL", "NANOSLEEP", "RPCMOV", "YIELD", "WARPSYNC",
})  # fmt: skip
_OF_ADDRESSES = 4
"""The constant bank that has the addresses of variables and functions."""
_WITHOUT_RESULT = frozenset({"STL", "STG", "STS", "ST", "ISETP", "FSETP", "NOP"})
_WIDE = {"64": 2, "WIDE": 2, "128": 4, "256": 8}
_OF_ITS_WIDTH = frozenset({
    "MOV", "IMAD", "IADD3", "VIADD", "LOP3", "SHF", "HFMA2", "SEL", "PRMT", "LDG", "LDS", "LDL",
    "LDC", "LD", "S2R", "FADD", "FMUL", "FFMA",
})  # fmt: skip
"""Instructions that write as many consecutive registers as their modifiers say."""
_MOST_REGISTERS = 8
"""The largest number of registers that any other instruction writes."""


def called(function: Function, call: Instruction, symbols: Mapping[int, str]) -> str | None:
    """The symbol of the function that a call reaches, or None if it cannot be determined.

    `symbols`: the symbols in bank 4, by offset.
    """
    before = _before(function, call)
    load = _definition(before, call.operands[0])
    if load is None or load.name != "LDC.64" or load.operands[1].number != _OF_ADDRESSES:
        return None
    source = load.operands[1]
    offset = 0 if source.base is None else _constant(before[: before.index(load)], source.base)
    return None if offset is None or source.uniform else symbols.get(offset + source.offset)


def _constant(before: tuple[Instruction, ...], register: Operand) -> int | None:
    found = _definition(before, register)
    if found is None or found.name != "MOV" or found.operands[1].kind != "immediate":
        return None
    return found.operands[1].number


def _before(function: Function, call: Instruction) -> tuple[Instruction, ...]:
    """The straight-line instructions that lead up to the call."""
    every = function.instructions
    end = begin = every.index(call)
    jumps = [each for each in every if each.opcode in _CONTROL]
    targets = {operand.number for each in jumps for operand in each.operands}
    while begin and every[begin - 1].opcode not in _CONTROL and every[begin].address not in targets:
        begin -= 1
    return every[begin:end]


def _definition(before: tuple[Instruction, ...], register: Operand) -> Instruction | None:
    """The last instruction that writes the register; None if this cannot be determined."""
    for each in reversed(before):
        if each.name in ("MOV", "LDC.64") and each.operands[0].number == register.number:
            return None if each.guard else each
        if _may_write(each, register.number):
            return None
    return None


def _may_write(each: Instruction, register: int) -> bool:
    if each.opcode in _WITHOUT_RESULT:
        return False
    named = [operand.number for operand in each.operands if operand.kind == "register"]
    width = _MOST_REGISTERS
    if each.opcode in _OF_ITS_WIDTH:
        named, width = named[:1], max(_WIDE.get(name, 1) for name in ("", *each.modifiers))
    return any(0 <= register - number < width for number in named)
