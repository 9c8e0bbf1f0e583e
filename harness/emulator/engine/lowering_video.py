"""What the immediate of a video operation says, for `machine/arithmetic/video.cpp`."""

from __future__ import annotations

from harness.emulator.program.decode.video import COMPARISONS, SECONDS
from harness.emulator.program.ir import Op

_SCALAR = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset")
_ON_FIELDS = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")
NAMES = {*_SCALAR, "vmad", *(name + count for name in _ON_FIELDS for count in "24")}
_MODES = ("", *COMPARISONS, "clamp", "wrap")
_SECONDS = ("", *SECONDS, "merge")
_NEGATED = ("", "product", "c", "po")
_SCALES = {"": 0, "shr7": 7, "shr15": 15}
_SIGNS_AND_FLAGS = {"sat": 8, "add": 16, "": 0}


def immediate(op: Op) -> int:
    """The bytes that tell the forms of an instruction apart."""
    if op.name == "vmad":
        negated, _, saturates, scale, a, b = op.variant
        out = [_NEGATED.index(negated), *_parts(op, a, b), _SCALES[scale], saturates != ""]
    elif op.name in _SCALAR:
        mode, type_, saturates, second, d, a, b = op.variant
        second = "merge" if d else second
        out = [_MODES.index(mode), *_parts(op, a, b), _part(d, type_), _SECONDS.index(second),
               saturates != ""]  # fmt: skip
    else:
        mode, type_, how, mask, a, b = op.variant
        signs = [op.source_types[0], op.source_types[1], type_]
        flags = sum(1 << i for i, t in enumerate(signs) if t == "s32") | _SIGNS_AND_FLAGS[how]
        out = [_MODES.index(mode), flags, _mask(op, mask), 0, *_fields(op, a, b)]
    return int.from_bytes(bytes(out), "little")


def _part(selector: str, type_: str) -> int:
    """Where a part begins, the power of two of its bytes, and whether it has a sign."""
    size = {"b": 0, "h": 1, "": 2}[selector[:1]]
    first = (8 << size) * int(selector[1:] or 0)
    return first | size << 5 | (type_ == "s32") << 7


def _parts(op: Op, a: str, b: str) -> list[int]:
    return [_part(s, t) for s, t in zip((a, b), op.source_types, strict=False)]


def _mask(op: Op, mask: str) -> int:
    return sum(1 << int(digit) for digit in mask[1:]) or (1 << int(op.name[-1])) - 1


def _fields(op: Op, a: str, b: str) -> bytes:
    """Which fields of both words stand for those of a and of b, the lowest first."""
    count = int(op.name[-1])
    chosen = [*(_chosen(a) or range(count)), *(_chosen(b) or range(count, 2 * count))]
    return sum(field << 4 * i for i, field in enumerate(chosen)).to_bytes(4, "little")


def _chosen(selector: str) -> list[int]:
    return [int(digit) for digit in reversed(selector[1:])]
