"""Memory accesses, each executed alone: a lane's address is the sum of the terms in the text.

Global addresses are `data`, plus 512 bytes per lane if a register is part of the address; shared
addresses are 16 bytes apart per lane. Loaded, stored and unchanged data is compared byte by byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from one_by_one import BASE, LANES, Words, instruction, launched

from harness.emulator.sass.code import Instruction, Operand

FIRST, APART, UNIFORM, SHARED_APART = 256, 512, 48, 16
DATA = BASE + 16
ACCESS = re.compile(r"(LDG?|LDS|STG?|STS|REDG?|ATOM[GS]?)(\.[\w.]*)? ")
"""Matches the instructions that this module executes."""
_SCALE = re.compile(r"\.X(\d+)")


@dataclass
class Left:
    """The data before the access, and the registers and data after it, for each lane."""

    results: Words
    before: Words
    after: Words
    places: list[int]


def is_shared(each: Instruction) -> bool:
    return each.opcode in ("LDS", "STS", "ATOMS")


def _memory(each: Instruction) -> Operand:
    return next(operand for operand in each.operands if operand.kind == "memory")


def result_of(each: Instruction) -> int | None:
    before = each.operands[: each.operands.index(_memory(each))]
    registers = [o.number for o in before if o.kind == "register"]
    return registers[0] if registers and registers[0] != 255 else None


def executed(text: str, values: Words) -> Left:
    """Execute the access; `values`: rows of words by lane, which are loaded into the registers of
    the stored operand and the next ones."""
    each = instruction(text)
    texts = ["S2R R240,SR_TID.X", "IMAD.WIDE R242,R240,0x4,c[0x0][0x160]",
             "IMAD.WIDE R244,R240,0x10,c[0x0][0x168]"]  # fmt: skip
    sources = [o.number for o in each.operands if o.kind == "register" and o.number != 255]
    own = result_of(each)
    stored = sources[own is not None :]
    for number in {first + n for first in stored for n in range(4)}:
        row = (number - stored[0]) % 4
        texts.append(f"LDG.E R{number},[R242.64+{128 * row:#x}]")
    places = _shared(each, texts) if is_shared(each) else _global(each, texts)
    texts.append(text)
    kept = own if own is not None else 236
    texts += [f"STG.E [R244.64+{4 * n:#x}],R{kept + n}" for n in range(4)]
    texts += _back(each)
    data = np.random.default_rng(3).integers(0, 1 << 32, 64 * 1024 // 4, np.uint32)
    data[: APART * LANES // 4] &= np.uint32(0x3FFF3FFF)  # halves and floats that are numbers
    if len(set(places)) == 1:  # all lanes access the same place
        values[:] = values[:, :1]
        data[:] = np.tile(data[:4], len(data) // 4)
    if "CAST" in text:  # the comparison succeeds in every other lane
        data[: 4 * LANES : 8] = values[0, ::2]
    before, results = data.copy(), np.zeros((LANES, 4), np.uint32)
    launched([*texts, "EXIT"], [values, results, data], shared=48 << 10)
    if not is_shared(each):
        return Left(results, before, data, places)
    own_words = [before[4 * n : 4 * n + 4] for n in range(LANES)]
    left = data[APART * LANES // 4 :][: 4 * LANES].reshape(LANES, 4)
    return Left(results, np.stack(own_words), left, places)


def _global(each: Instruction, texts: list[str]) -> list[int]:
    """Put the address where the text reads it; return each lane's offset from the data."""
    at, apart = _memory(each), APART
    offset = FIRST - at.offset
    narrow = at.base is not None and "U32" in at.base.suffixes
    if at.base is None or narrow:
        assert at.uniform is not None
        texts += [f"MOV R249,{offset & 0xFFFFFFFF:#x}",
                  f"IMAD.WIDE R250,R249,0x1,c[0x0][{DATA:#x}]",
                  f"R2UR UR{at.uniform.number},R250",
                  f"R2UR UR{at.uniform.number + 1},R251"]  # fmt: skip
        if at.base is None:
            apart = 0
        else:
            texts.append(f"IMAD R{at.base.number},R240,{APART:#x},RZ")
    else:
        if at.uniform is not None:
            offset -= UNIFORM
            texts += [f"UMOV UR{at.uniform.number},{UNIFORM:#x}",
                      f"UMOV UR{at.uniform.number + 1},URZ"]  # fmt: skip
        base = at.base.number
        texts += [f"IMAD.WIDE.U32 R{base},R240,{APART:#x},c[0x0][{DATA:#x}]",
                  f"MOV R249,{offset & 0xFFFFFFFF:#x}",
                  f"IMAD.WIDE R{base},R249,0x1,R{base}"]  # fmt: skip
    return [FIRST + apart * lane for lane in range(LANES)]


def _shared(each: Instruction, texts: list[str]) -> list[int]:
    """Put the address of an access to shared memory where the text reads it, after copying the
    lane's four words of the data there."""
    at, apart, start = _memory(each), 0, _memory(each).offset
    if at.uniform is not None and at.uniform.number != 255:
        start += UNIFORM
        texts.append(f"UMOV UR{at.uniform.number},{UNIFORM:#x}")
    if at.base is not None and at.base.number != 255:
        apart = SHARED_APART
        scale = _SCALE.search(at.text)
        texts.append(f"IMAD R{at.base.number},R240,{apart // int(scale[1] if scale else 1):#x},RZ")
    texts += [f"MOV R249,{start:#x}", f"IMAD R248,R240,{apart:#x},R249",
              f"IMAD.WIDE R250,R240,0x10,c[0x0][{DATA:#x}]",
              "LDG.E.128 R232,[R250.64]"]  # fmt: skip
    texts += [f"STS [R248+{4 * n:#x}],R{232 + n}" for n in range(4)]
    return [start + apart * lane for lane in range(LANES)]


def _back(each: Instruction) -> list[str]:
    """Copy the bytes in shared memory at the address to the data, after the bytes that were
    read."""
    if not is_shared(each):
        return []
    return [
        *(f"LDS R{232 + n},[R248+{4 * n:#x}]" for n in range(4)),
        *(f"STG.E [R250.64+{APART * LANES + 4 * n:#x}],R{232 + n}" for n in range(4)),
    ]
