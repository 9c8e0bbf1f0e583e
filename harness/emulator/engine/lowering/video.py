"""Lower video instructions for `machine/arithmetic/video.cpp`."""

from __future__ import annotations

from collections.abc import Sequence

from harness.emulator.engine.lowering.register_rows import Emitter
from harness.emulator.program.decode.arithmetic.video import COMPARISONS, SECONDS
from harness.emulator.program.ir import Op

_MODES = ("", *COMPARISONS, "clamp", "wrap")
_SECONDS = ("", *SECONDS, "merge")
_NEGATED = ("", "product", "c", "po")
_SCALES = {"": 0, "shr7": 7, "shr15": 15}
_SIGNS_AND_FLAGS = {"sat": 8, "add": 16, "": 0}


class VideoEncoder(Emitter):
    """Encodes each video instruction under its own name; the immediate's bytes distinguish its
    forms.
    """

    def _video(self, op: Op, how: Sequence[int]) -> None:
        sources = self.sources(op)
        if len(sources) == 2:
            sources.append(self.constant(0, 4))
        immediate = int.from_bytes(bytes(how), "little")
        self.emit(op.name, [self.widened(op)], sources, immediate=immediate)

    def _op_vmad(self, op: Op) -> None:
        negated, _, saturates, scale, a, b = op.variant
        self._video(
            op, [_NEGATED.index(negated), *_parts(op, a, b), _SCALES[scale], saturates != ""]
        )

    def _scalar_video(self, op: Op) -> None:
        mode, type_, saturates, second, d, a, b = op.variant
        second = "merge" if d else second
        self._video(op, [
            _MODES.index(mode), *_parts(op, a, b), _part(d, type_), _SECONDS.index(second),
            saturates != "",
        ])  # fmt: skip

    def _several(self, op: Op) -> None:
        mode, type_, how, mask, a, b = op.variant
        signs = [op.source_types[0], op.source_types[1], type_]
        flags = sum(1 << i for i, t in enumerate(signs) if t == "s32") | _SIGNS_AND_FLAGS[how]
        self._video(op, [_MODES.index(mode), flags, _mask(op, mask), 0, *_fields(op, a, b)])

    _op_vadd = _op_vsub = _op_vabsdiff = _op_vmin = _op_vmax = _scalar_video
    _op_vshl = _op_vshr = _op_vset = _scalar_video
    _op_vadd2 = _op_vsub2 = _op_vavrg2 = _op_vabsdiff2 = _op_vmin2 = _op_vmax2 = _several
    _op_vadd4 = _op_vsub4 = _op_vavrg4 = _op_vabsdiff4 = _op_vmin4 = _op_vmax4 = _several
    _op_vset2 = _op_vset4 = _several


def _part(selector: str, type_: str) -> int:
    """Encode a part of a word: its first bit, the logarithm of its size in bytes, and whether it is
    signed."""
    size = {"b": 0, "h": 1, "": 2}[selector[:1]]
    first = (8 << size) * int(selector[1:] or 0)
    return first | size << 5 | (type_ == "s32") << 7


def _parts(op: Op, a: str, b: str) -> list[int]:
    return [_part(s, t) for s, t in zip((a, b), op.source_types, strict=False)]


def _mask(op: Op, mask: str) -> int:
    return sum(1 << int(digit) for digit in mask[1:]) or (1 << int(op.name[-1])) - 1


def _fields(op: Op, a: str, b: str) -> bytes:
    """Encode which fields of the two source words make up a and b, the lowest field first."""
    count = int(op.name[-1])
    chosen = [*(_chosen(a) or range(count)), *(_chosen(b) or range(count, 2 * count))]
    return sum(field << 4 * i for i, field in enumerate(chosen)).to_bytes(4, "little")


def _chosen(selector: str) -> list[int]:
    return [int(digit) for digit in reversed(selector[1:])]
