"""Rows for texture fetches and surface accesses, and the parsing of their operands.

The handle is a uniform register (followed by an offset of 0 before Blackwell), a constant bank word
named by two immediates, or a register. The last operand of a fetch is a mask of the channels that
it returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.emulator.sass.code import Instruction, Operand
from harness.emulator.sass.instructions.harmless import CACHES, ONE_LEVEL
from harness.emulator.sass.instructions.operand_shapes import Unencodable
from harness.emulator.sass.instructions.row import Groups, Row, row

KINDS: Final = {"1D": 0, "2D": 1, "3D": 2, "ARRAY_1D": 3, "ARRAY_2D": 4, "CUBE": 5}
"""The kinds' numbers, as in the engine's TextureKind."""
HANDLERS: Final = frozenset({"FETCH", "SULD", "SUST"})
HANDLE: Final = 2
"""The source position at which the handle is placed."""
_EVERY_CHANNEL = 15
_WORD_BYTES = 4
_LEVEL, _LAYER_BEHIND, _SCATTERED, _OFFSETS, _COUNTS = 1, 2, 4, 16, 32
HANDLE_AMONG_OTHERS: Final = 8
_FETCH = "R R y y? z? z? q z?"
_OF_FETCHES: Groups = ({"SCR": _SCATTERED},)
_SURFACES = {"1D": 0, "2D": 1, "3D": 2, "1D_ARRAY": 3, "2D_ARRAY": 4}
_SIZES = {"U8": 0, "U16": 0, "64": 0, "128": 0}


@dataclass(frozen=True)
class Read:
    """The operands that identify a texture. `kind`: the number of the texture's kind. `handle`:
    None if the handle is among other values. `channels`: a mask with one bit for each channel."""

    kind: int
    handle: Operand | None
    channels: int


def read(instruction: Instruction, among_others: bool) -> Read:
    """Read the operands that identify the texture. Raises Unencodable."""
    operands = instruction.operands
    at = next((n for n, each in enumerate(operands) if each.kind == "name"), len(operands))
    kind = KINDS.get(operands[at].text, -1) if at < len(operands) else -1
    is_fetch = instruction.opcode[0] == "T"
    if is_fetch and kind < 0:
        raise Unencodable("of a kind of texture that is not known")
    found = [each for each in operands[:at] if each.kind in ("immediate", "uniform")]
    registers = [each for each in operands[:at] if each.kind == "register"]
    if among_others:
        return Read(kind, None, _channels(operands[at + 1 :]))
    if not is_fetch and not found:
        return Read(kind, registers[-1], 0)
    return Read(kind, _handle(found), _channels(operands[at + 1 :]) if is_fetch else 0)


def _handle(found: Sequence[Operand]) -> Operand:
    if found and found[0].kind == "uniform" and _offsets(found[1:]) in ([], [0]):
        return found[0]
    if len(found) == 2 and all(each.kind == "immediate" for each in found):
        bank, word = (each.number for each in found)
        text = f"c[{bank:#x}][{_WORD_BYTES * word:#x}]"
        return Operand("constant", text, bank, offset=_WORD_BYTES * word)
    raise Unencodable("with a handle in another form")


def _offsets(found: Sequence[Operand]) -> list[int | None]:
    return [each.number if each.kind == "immediate" else None for each in found]


def _channels(left: Sequence[Operand]) -> int:
    chosen = left[0].number if left else _EVERY_CHANNEL
    if len(left) > 1 or not 0 < chosen <= _EVERY_CHANNEL:
        raise Unencodable("with channels in another form")
    return chosen


def _fetches() -> Iterator[Row]:
    for opcode, counts in (("TEX", 0), ("TLD", _COUNTS)):
        offsets: Groups = ({"AOFFI": _OFFSETS},) if counts else ()
        for level, flag in (("LL", _LEVEL), ("LZ", 0)):
            harmless = ONE_LEVEL if counts and flag else {}
            yield row(f"{opcode}.{level}", _FETCH, "FETCH", (*_OF_FETCHES, *offsets),
                      always=counts | flag, harmless=harmless)  # fmt: skip
            yield row(f"{opcode}.SCR.B.{level}", _FETCH, "FETCH", offsets,
                      always=counts | flag | _SCATTERED | HANDLE_AMONG_OTHERS,
                      harmless=harmless)  # fmt: skip


ROWS: Sequence[Row] = (
    *_fetches(),
    row("TEX", _FETCH.replace("y y?", "y"), "FETCH"),  # without an explicit level; only one exists
    row("TXD", _FETCH, "FETCH", always=_LAYER_BEHIND),  # gradients affect only the choice of level
    *(
        row(f"{opcode}.D.BA.{kind}{beyond}", shape, opcode, _SIZES, always=number | flag << 4,
            harmless=CACHES)
        for opcode, shape in (("SULD", "R A Y? z? z?"), ("SUST", "A y Y? z? z?"))
        for kind, number in _SURFACES.items()
        for beyond, flag in ((".TRAP", 0), ("", 1), (".IGN", 2))
    ),
)  # fmt: skip
