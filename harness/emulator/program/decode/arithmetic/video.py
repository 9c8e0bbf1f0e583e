"""Decode video instructions: arithmetic on parts of words, and on all fields of a word at once.

Most of them no longer have a machine instruction, so ptxas composes each from others. For some
forms on sm_80 and sm_90 the composition differs from the manual (for example, a sum that overflows
is saturated as if it had not overflowed). These forms are rejected, because the result would
contradict either the manual or the hardware. They were found by comparing the results of the
machine code (ptxas 13.0) with the manual's definitions.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from harness.emulator.program.decode.operands import OperandReader
from harness.emulator.program.ir import Op, Register, Source
from harness.emulator.ptx.syntax import Instruction, Name, Negative, Operand

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
SECONDS = ("add", "min", "max")
_SELECTED = re.compile(r"(.+)\.([bh][0-7]{1,4})\Z", re.ASCII)
_PART = re.compile(r"b[0-3]|h[01]")
_TYPES = ("u32", "s32")
_SHIFTS = ("vshl", "vshr")
_OTHERWISE_MADE = "ptxas does not make of this form what the manual says"

# The types of d, a and b for which a form matches the manual: with a comparison as the second
# operation, with saturation in the first, and with both.
_ANY = ("???",)
_AS_DOCUMENTED = {
    "vadd": (("s??",), ("s??", "uss"), ("s??",)),
    "vsub": (("s??",), ("s??", "us?", "uuu"), ("s??", "usu")),
    "vabsdiff": (("uss", "uuu"), ("s??", "uss", "uuu"), ("s??", "uss", "uuu")),
    "vmin": (("ss?", "sus", "uuu"), _ANY, _ANY),
    "vmax": (("sss", "usu", "uu?"), _ANY, _ANY),
    "vset": (("?u?",), (), ()),
    "vshl": ((), (), ()),
    "vshr": (("ssu", "uuu"), _ANY, ("s??", "usu")),
}


def _as_documented(name: str, types: list[str], saturates: bool, second: str, part: str) -> bool:
    if part == "h1" or (part and saturates):
        return False
    compares = second in ("min", "max")
    if not saturates and not compares:
        return True
    patterns = _AS_DOCUMENTED[name][saturates + (saturates and compares)]
    return any(fnmatchcase("".join(t[0] for t in types), pattern) for pattern in patterns)


class VideoDecoder(OperandReader):
    """Scalar video instructions, and those on two half-words or four bytes."""

    def _selected(self, operand: Operand) -> tuple[Operand, str]:
        """Return a register, and which part or fields of it are selected, if any."""
        found = _SELECTED.match(operand.text) if isinstance(operand, Name) else None
        return (Name(found[1]), found[2]) if found else (operand, "")

    def _part_of(self, operand: Operand) -> tuple[Operand, str]:
        operand, part = self._selected(operand)
        if part and not _PART.fullmatch(part):
            raise self.unknown(f"a part of a register that is called `{part}`")
        return operand, part

    def _words(self, instruction: Instruction, typed: int) -> tuple[str, list[str], list[str]]:
        """The name, the types of d, a and b, and the remaining modifiers; vset has no type for
        d."""
        name, *words = instruction.opcode.split(".")
        types, rest = words[:typed], words[typed:]
        if len(types) < typed or not set(types) <= set(_TYPES):
            raise self.unknown()
        return name, ["u32", *types][-3:], rest

    def _take(self, words: list[str], among: tuple[str, ...]) -> str:
        """Remove and return whichever of the given modifiers is present."""
        found = next((w for w in words if w in among), "")
        if found:
            words.remove(found)
        return found

    def _scalar_video(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        name, types, words = self._words(instruction, 2 if instruction.opcode[:4] == "vset" else 3)
        among = COMPARISONS if name == "vset" else ("clamp", "wrap") if name in _SHIFTS else ()
        mode, saturates = self._take(words, among), self._take(words, ("sat",)) != ""
        second = self._take(words, SECONDS)
        if words or bool(mode) != bool(among) or (name in _SHIFTS and types[2] != "u32"):
            raise self.unknown()
        if not instruction.operands:
            raise self.unknown("it has no operands")
        target, d_part = self._part_of(instruction.operands[0])
        if (second and d_part) or (name == "vset" and saturates):
            raise self.unknown()
        if not _as_documented(name, types, saturates, second, d_part):
            raise self.unknown(_OTHERWISE_MADE)
        operands = self.given(instruction, 4 if second or d_part else 3)[1:]
        (a, a_part), (b, b_part) = map(self._part_of, operands[:2])
        return self._video(
            (name, mode, types[0], "sat" * saturates, second, d_part, a_part, b_part),
            target, (a, b, *operands[2:]), types,
        )  # fmt: skip

    def _video(
        self, words: tuple[str, ...], target: Operand, sources: tuple[Operand, ...],
        types: list[str],
    ) -> list[Op]:  # fmt: skip
        kinds = (*types[1:], "u32")[: len(sources)]
        read: list[Source] = [self.source(s, t) for s, t in zip(sources, kinds, strict=True)]
        result: Register = self.register_operand(target)
        return [
            Op(words[0], words[1:], (result,), ("u32",), tuple(read), kinds, self.site)
        ]  # fmt: skip

    def _op_vmad(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        name, types, words = self._words(instruction, 3)
        plus_one, saturates = self._take(words, ("po",)), self._take(words, ("sat",))
        scale = self._take(words, ("shr7", "shr15"))
        target, *given = self.given(instruction, 4)
        minus = [isinstance(o, Negative) for o in given]
        a, b, c = (o.operand if isinstance(o, Negative) else o for o in given)
        product = minus[0] != minus[1]
        if words or (product and minus[2]) or (plus_one and any(minus)):
            raise self.unknown()
        if (saturates or scale) and types[1:] != ["s32", "s32"]:
            raise self.unknown(_OTHERWISE_MADE)
        negated = "product" if product else "c" if minus[2] else plus_one
        (a, a_part), (b, b_part) = self._part_of(a), self._part_of(b)
        return self._video(
            (name, negated, types[0], saturates, scale, a_part, b_part), target, (a, b, c), types
        )

    def _several(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        compares = instruction.opcode.startswith("vset")
        name, types, words = self._words(instruction, 2 if compares else 3)
        mode = self._take(words, COMPARISONS if compares else ())
        how = self._take(words, ("add",) if compares else ("sat", "add"))
        if words or bool(mode) != compares:
            raise self.unknown()
        target, a, b, c = self.given(instruction, 4)
        count = int(name[-1])
        letter, (target, mask) = "h" if count == 2 else "b", self._selected(target)
        chosen = [self._selected(o) for o in (a, b)]
        if any(s and (s[0] != letter or len(s) != count + 1) for _, s in chosen):
            raise self.unknown("fields that it does not have")
        if any(int(digit) >= 2 * count for _, s in chosen for digit in s[1:]):
            raise self.unknown("fields that it does not have")
        places = mask[1:]
        if mask and (mask[0] != letter or list(places) != sorted(set(places), reverse=True)
                     or int(places[0]) >= count):  # fmt: skip
            raise self.unknown("a mask that it does not have")
        if not all(isinstance(o, Name) for o, _ in chosen):
            raise self.unknown("a literal whose fields are chosen")
        (a, a_parts), (b, b_parts) = chosen
        return self._video(
            (name, mode, types[0], how, mask, a_parts, b_parts), target, (a, b, c), types
        )

    _op_vadd = _op_vsub = _op_vabsdiff = _op_vmin = _op_vmax = _scalar_video
    _op_vshl = _op_vshr = _op_vset = _scalar_video
    _op_vadd2 = _op_vsub2 = _op_vavrg2 = _op_vabsdiff2 = _op_vmin2 = _op_vmax2 = _several
    _op_vadd4 = _op_vsub4 = _op_vavrg4 = _op_vabsdiff4 = _op_vmin4 = _op_vmax4 = _several
    _op_vset2 = _op_vset4 = _several
