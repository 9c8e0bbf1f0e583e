"""The table row of a machine instruction, and the meaning of its modifiers.

Of all rows whose modifiers are all present in the instruction, the row with the most modifiers is
used. An opcode with a leading U that has no row of its own is the same instruction on uniform
registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from harness.emulator.sass.instructions.row import Row
from harness.emulator.sass.instructions.table import FLOAT_TYPES, INTEGER_TYPES, ROWS

_BY_OPCODE: dict[str, list[tuple[tuple[str, ...], Row]]] = {}
for _each in ROWS:
    _opcode, *_chosen_by = _each.name.split(".")
    _BY_OPCODE.setdefault(_opcode, []).append((tuple(_chosen_by), _each))


def find(opcode: str, modifiers: Sequence[str]) -> tuple[Row, bool, int] | str:
    """The row, whether the instruction acts on uniform registers, and its flags; or the unknown
    part."""
    return _found(opcode, tuple(modifiers))


@lru_cache(maxsize=1 << 12)
def _found(opcode: str, modifiers: tuple[str, ...]) -> tuple[Row, bool, int] | str:
    rows, uniform = _BY_OPCODE.get(opcode), False
    if rows is None and opcode.startswith("U"):
        rows, uniform = _BY_OPCODE.get(opcode[1:]), True
    if rows is None:
        return "no row in its table"
    fitting = [(chosen, row) for chosen, row in rows if _in_order(chosen, modifiers)]
    if not fitting:
        return "none of its forms"
    chosen, row = max(fitting, key=lambda each: len(each[0]))
    rest = [modifier for modifier in modifiers if modifier not in chosen]
    strange = [m for m in rest if m not in row.harmless and not any(m in g for g in row.groups)]
    if strange:
        return f"with .{strange[0]}"
    flags = row.always | _defaults(row, rest)
    for group in row.groups:
        chosen_of = [modifier for modifier in rest if modifier in group]
        if len(chosen_of) > 1:
            return f"with .{chosen_of[1]} beside .{chosen_of[0]}"
        flags |= sum(group[modifier] for modifier in chosen_of)
    return row, uniform or row.is_uniform, flags


def _in_order(wanted: Sequence[str], modifiers: Sequence[str]) -> bool:
    left = iter(modifiers)
    return all(modifier in left for modifier in wanted)


def _defaults(row: Row, modifiers: Sequence[str]) -> int:
    """The types that a conversion leaves implicit."""
    if row.defaults is None:
        return 0
    flags = 0
    types = (INTEGER_TYPES, FLOAT_TYPES)
    for name, flag in row.defaults.items():
        kind = next(each for each in types if name in each)
        if not any(modifier in kind for modifier in modifiers):
            flags |= flag
    return flags
