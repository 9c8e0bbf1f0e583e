"""Encode a function's instructions for the machine: operands as rows, modifiers as flags."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.ptx.source_lines import user_line
from harness.emulator.sass import layout
from harness.emulator.sass.code import INSTRUCTION_BYTES, ZERO, Function, Instruction, Operand
from harness.emulator.sass.errors import UnknownMachineInstruction
from harness.emulator.sass.instructions import (
    blackwell,
    hopper,
    lookup,
    matrix,
    operand_modifiers,
    table,
    textures,
    turing,
)
from harness.emulator.sass.instructions.operand_modifiers import ALL_BITS
from harness.emulator.sass.instructions.operand_shapes import (
    ALWAYS,
    Unencodable,
    all_operands,
    is_numbered,
    matched,
    predicate,
)
from harness.emulator.sass.instructions.row import Row
from harness.emulator.sass.layout import INSTRUCTION, LANES

Array = NDArray[Any]

_BANKS, _BARRIERS = 6, 16
_WORDS, _WORDS_OF_SUMS = 4, 128  # words in the widest register value, except a warpgroup's sums
_UNIFORM_WORDS = 8  # for loading a box
_VALUE_TO_STORE = 3  # the source index for a surface store
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_ARGUMENTS = (4, 6, 10)
"""Registers that hold the arguments of the driver's functions; the first also receives the
result."""
_PAIRS = {("F32x2", "HI_LO"): (0, 1), ("F32x2", "LO_HI"): (1, 0), ("F32",): (0, 0)}
"""The registers of the lower and the upper number of a pair of floats."""
_WITHOUT_PREDICATES = {
    "IADD3.64": "the carry of 64 bits",
    **dict.fromkeys(("IMNMX", "IMNMX3", "VIADDMNMX"), "which operand was the extreme"),
}
"""Instructions whose result predicates are not implemented."""


@dataclass
class Encoded:
    """`constants`: (bank, offset), or an immediate's bits → the index of its row, counted from 1.
    Row 0 is zero. `registers`: rows per warp."""

    instructions: Array
    registers: int
    constants: dict[tuple[int, int] | int, int]
    takes_turns: bool


def encode(function: Function, definitions: dict[str, int]) -> Encoded:
    """Encode a function. Raises UnknownMachineInstruction if the table lacks an instruction."""
    return _Encoder(function, definitions).encoded()


@dataclass
class _Slots:
    """The number of filled entries in each of an instruction's arrays."""

    sources: int = 0
    results: int = 0
    result_predicates: int = 0
    source_predicates: int = 0
    immediates: int = 0


@dataclass
class _Encoder:
    function: Function
    definitions: dict[str, int]
    constants: dict[tuple[int, int] | int, int] = field(default_factory=dict)

    def encoded(self) -> Encoded:
        every = [o for i in self.function.instructions for o in all_operands(i)]
        has_sums = any(i.opcode.endswith("GMMA") for i in self.function.instructions)
        words = _WORDS_OF_SUMS if has_sums else _WORDS
        calls = any(i.name == table.CALL_OF_DRIVER for i in self.function.instructions)
        named = [o.number for o in every if is_numbered(o, "register")]
        self.vectors = 1 + words + max([*named, *(_ARGUMENTS if calls else ())], default=0)
        named = [o.number for o in every if is_numbered(o, "uniform")]
        uniforms = 1 + _UNIFORM_WORDS + max(named, default=0)
        self.trash = self.vectors + uniforms
        out = np.zeros(len(self.function.instructions), INSTRUCTION)
        for number, instruction in enumerate(self.function.instructions):
            try:
                self._encode(turing.as_later(instruction), out[number])
            except Unencodable as missing:
                raise self._unknown(instruction, str(missing)) from None
        for address in set(self.function.entries.values()) - {0}:
            out[address // INSTRUCTION_BYTES]["begins_function"] = 1
        return Encoded(out, self.trash + words, self.constants, self._takes_turns())

    def _unknown(self, instruction: Instruction, detail: str) -> UnknownMachineInstruction:
        place = user_line(instruction.location)
        return UnknownMachineInstruction(
            instruction.text, str(place) if place else "", self.function.name, instruction.address,
            detail,
        )  # fmt: skip

    def _takes_turns(self) -> bool:
        """Return whether blocks may wait for each other, that is, whether one block reads data that
        another may write."""
        return any(
            (i.opcode in ("LD", "LDG") and "STRONG" in i.modifiers)
            or (i.opcode in ("ATOM", "ATOMG") and {"CAS", "EXCH"} & set(i.modifiers))
            for i in self.function.instructions
        )

    def _encode(self, instruction: Instruction, out: Any) -> None:
        found = lookup.find(instruction.opcode, instruction.modifiers)
        if isinstance(found, str):
            raise Unencodable(found)
        row, uniform, flags = found
        out["flags"], out["control"], out["uniform"] = flags, row.control, uniform
        out["space"] = row.space
        out["guard"], out["guard_inverted"] = predicate(instruction.guard)
        out["source"]["keep"] = ALL_BITS
        out["source"]["constant"] = 1
        out["result"] = self.trash * LANES
        out["result_predicate"] = ALWAYS
        out["source_predicate"] = ALWAYS
        out["width"] = next((_WIDTHS[m] for m in instruction.modifiers if m in _WIDTHS), 4)
        if matrix.multiplies_nothing(instruction):
            out["flags"] = hopper.ENDS_GROUP
            self._refine(row, instruction, out)
            return
        slots = _Slots()
        instruction, signs = matrix.without_sign(row, instruction)
        out["flags"] |= signs
        for kind, operand in matched(row.shape, instruction):
            # For a double, an immediate gives the upper half; for other types, the whole value.
            whole = kind == "d" and row.handler in table.CONVERSIONS and not table.of_double(flags)
            self._take("w" if whole else kind, operand, instruction, out, slots)
        out["source_count"] = slots.sources
        if row.control == layout.CALL and slots.sources:  # through a pointer
            out["control"] = layout.RETURN
            out["flags"] |= layout.THROUGH_POINTER
        if instruction.opcode in hopper.OPCODES:
            hopper.check(row, instruction)
        if instruction.opcode in matrix.OPCODES:
            matrix.check(instruction)
        ends = row.handler == "GMMA" and instruction.operands[-1].text == hopper.GROUP_OF_PRODUCTS
        out["flags"] |= hopper.ENDS_GROUP * ends
        self._refine(row, instruction, out)

    def _refine(self, row: Row, instruction: Instruction, out: Any) -> None:
        """Set the fields that depend on all operands together."""
        handler = row.handler
        has_predicate = out["result_predicate"][0] & ALWAYS != ALWAYS
        if handler == "IADD3" and has_predicate:
            handler = "IADD3.CARRY"
        elif handler in _WITHOUT_PREDICATES and any(out["result_predicate"] & ALWAYS != ALWAYS):
            raise Unencodable(_WITHOUT_PREDICATES[handler])
        elif handler == "ATOMIC":
            out["width"] = table.bytes_of_atomic(int(out["flags"]))
            if has_predicate:
                out["flags"] |= layout.SAYS_SUCCESS
        elif handler == "LDC" and out["width"] in (4, 8) and not _constant(instruction).base:
            wide = out["width"] == 8
            source = _constant(instruction)
            if source.uniform is None:
                handler = "MOV.64" if wide else "MOV"
                self._source(source, instruction, out["source"][0], wide)
        elif handler == table.SYSTEM:
            self._call(out)
        elif handler in textures.HANDLERS:
            self._texture(instruction, out)
        elif handler in blackwell.OF_256_BITS:
            out["width"] = blackwell.WIDE_BYTES
            out["flags"] |= blackwell.words_of(instruction)
        elif handler == blackwell.EXTREME_OF_64_BITS:
            blackwell.check_extreme(instruction)
        elif handler == "LEPC" and len(instruction.operands) == 1:
            out["immediate"] = instruction.address
        elif row.control == layout.BRANCH_INDEXED:  # relative to the next instruction
            out["immediate"] += instruction.address + INSTRUCTION_BYTES
        out["handler"] = self.definitions[_of_copies(handler, instruction)]

    def _call(self, out: Any) -> None:
        """Encode a call into the driver: its arguments, and the destination of its result."""
        for number, register in enumerate(_ARGUMENTS, 1):
            source = out["source"][number]
            source["constant"], source["row"] = 0, register * LANES
        out["result"][0] = _ARGUMENTS[0] * LANES

    def _texture(self, instruction: Instruction, out: Any) -> None:
        found = textures.read(instruction, bool(out["flags"] & textures.HANDLE_AMONG_OTHERS))
        if instruction.opcode[0] == "T":
            out["space"], out["immediate"] = found.kind, found.channels
        if found.handle is not None:
            self._source(found.handle, instruction, out["source"][textures.HANDLE], False, "v")

    def _take(
        self, kind: str, operand: Operand | None, instruction: Instruction, out: Any, slots: _Slots
    ) -> None:
        """Encode one operand at its position; a missing one still takes up its position."""
        if kind in "RPpn":
            self._register_or_predicate(kind, operand, out, slots)
        elif operand is None or kind in "zqYHN":
            return
        elif kind == "S":
            self._predicate_or_sign(operand, instruction, out, slots)
        elif kind in "svwQdhrkyFe":
            self._source(operand, instruction, out["source"][slots.sources], kind in "wQd", kind)
            slots.sources += 1
        elif kind in "Tg":
            self._uniforms_in_a_row(kind, operand, out, slots)
        elif kind in "mtcA":
            self._address(kind, operand, instruction, out)
            slots.sources = max(slots.sources, _VALUE_TO_STORE if kind == "A" else 2)
        elif kind == "i":
            out["immediate"] |= operand.number << 8 * slots.immediates
            slots.immediates += 1
        elif kind in "bB":
            if operand.number not in range(_BARRIERS):
                raise Unencodable(f"operand {operand.text}")
            out["immediate" if kind == "B" else "barrier"] = operand.number + (kind == "B")
        elif kind == "l":
            self._label(operand, out)
        elif operand.text in table.SPECIALS:
            out["flags"] |= table.SPECIALS[operand.text]
        else:
            raise Unencodable(f"special register {operand.text}")

    def _register_or_predicate(
        self, kind: str, operand: Operand | None, out: Any, slots: _Slots
    ) -> None:
        if kind == "R":
            if operand is not None and operand.number != ZERO:
                out["result"][slots.results] = self._row(operand) * LANES
            slots.results += 1
        elif kind == "P":
            out["result_predicate"][slots.result_predicates] = predicate(operand)[0]
            slots.result_predicates += 1
        else:
            number, inverted = predicate(operand)
            out["source_predicate"][slots.source_predicates] = number
            missing = operand is None and kind == "n"
            out["source_inverted"][slots.source_predicates] = 1 if missing else inverted
            slots.source_predicates += 1

    def _predicate_or_sign(
        self, operand: Operand, instruction: Instruction, out: Any, slots: _Slots
    ) -> None:
        if operand.suffixes != ("SIGN",):
            self._register_or_predicate("p", operand, out, slots)
            return
        number = slots.source_predicates
        plain = replace(operand, suffixes=(), negated=False)
        self._source(plain, instruction, out["source"][number], False, "v")
        out["source_inverted"][number] = operand.negated
        out["flags"] |= layout.SIGN_OF_FIRST << number
        slots.source_predicates += 1

    def _uniforms_in_a_row(self, kind: str, operand: Operand, out: Any, slots: _Slots) -> None:
        """Encode the first of several uniform registers: of the four that hold two operands'
        descriptors, or of those that a copy uses."""
        first, known = operand.uniform, matrix.OF_FACTORS if kind == "g" else ()
        if set(operand.suffixes) - set(known) or first is None or first.number == ZERO:
            raise Unencodable(f"operand {operand.text}")
        if operand.base or operand.offset:
            raise Unencodable(f"operand {operand.text}")
        for suffix in operand.suffixes:
            out["flags"] |= matrix.OF_FACTORS[suffix]
        if kind == "g" and slots.sources == 0:
            out["flags"] |= matrix.FIRST_FACTOR_IN_MEMORY
        source = out["source"][slots.sources]
        source["constant"], source["row"] = 0, self._row(first) * LANES
        slots.sources += 1

    def _address(self, kind: str, operand: Operand, instruction: Instruction, out: Any) -> None:
        if kind == "m":
            self._memory(operand, instruction, out)
        elif kind == "A":
            if operand.offset or operand.uniform or not operand.base:
                raise Unencodable(f"operand {operand.text}")
            self._source(operand.base, instruction, out["source"][0], False, "v")
        elif kind == "t":
            for number, part in ((2, operand.base), (3, operand.uniform)):
                if part is not None:
                    self._source(part, instruction, out["source"][number], False, "v")
            out["target"] = operand.offset
        else:
            out["space"], out["immediate"] = operand.number, operand.offset
            if operand.number not in range(_BANKS) or (operand.base and operand.uniform):
                raise Unencodable(f"operand {operand.text}")
            part = operand.base or operand.uniform
            if part is not None:
                self._source(part, instruction, out["source"][0], False, "v")

    def _label(self, operand: Operand, out: Any) -> None:
        address = operand.number
        if operand.kind == "name":
            if operand.text not in self.function.entries:
                raise Unencodable(f"the function `{operand.text}` is not in its section")
            address = self.function.entries[operand.text]
        last = len(self.function.instructions) * INSTRUCTION_BYTES
        if address % INSTRUCTION_BYTES or not 0 <= address < last:
            raise Unencodable(f"a target outside of the function: {operand.text}")
        out["target"] = address // INSTRUCTION_BYTES
        out["immediate"] = address

    def _memory(self, operand: Operand, instruction: Instruction, out: Any) -> None:
        out["immediate"] = operand.offset
        wide = 0
        if "E" in instruction.modifiers:
            narrow = operand.base is not None and "U32" in operand.base.suffixes
            wide = 0 if narrow else layout.BASE_IS_WIDE
            if operand.uniform is not None and operand.uniform.number != ZERO:
                wide |= layout.OFFSET_IS_WIDE
        out["is_wide"] = wide
        for number, part in ((0, operand.base), (1, operand.uniform)):
            if part is not None:
                bits = layout.BASE_IS_WIDE if number == 0 else layout.OFFSET_IS_WIDE
                self._source(part, instruction, out["source"][number], bool(wide & bits), "a")

    def _source(
        self, operand: Operand, instruction: Instruction, out: Any, wide: bool, kind: str = "s"
    ) -> None:
        """Encode one source: its row, and the effect of its signs."""
        high = 0
        if operand.kind in ("register", "uniform"):
            constant = operand.number == ZERO
            row = 0 if constant else self._row(operand)
            high = 0 if constant else row + 1
        elif operand.kind == "immediate":
            constant, row = True, self._constant(operand.bits)
            if wide:  # for a double, the upper half is given; an integer is extended
                negative = operand.bits >> 31 and kind == "w"
                high = row if kind == "d" else self._constant(ALL_BITS if negative else 0)
                row = 0 if kind == "d" else row
                if kind == "Q":
                    high = self._constant(operand.number >> 32 & ALL_BITS)
        elif operand.kind == "constant" and operand.base is None and operand.uniform is None:
            constant, row = True, self._constant((operand.number, operand.offset))
            if wide:
                high = self._constant((operand.number, operand.offset + 4))
        else:
            raise Unencodable(f"operand {operand.text}")
        out["constant"], out["row"], out["high"] = constant, row * LANES, high * LANES
        if kind == "F" and operand.kind == "immediate":
            out["high"] = row * LANES
        elif kind == "F":
            if operand.suffixes not in _PAIRS:
                raise Unencodable(f"operand {operand.text}")
            low, high = (0 if constant else row + word for word in _PAIRS[operand.suffixes])
            out["row"], out["high"] = low * LANES, high * LANES
        parts = operand_modifiers.parts(instruction.opcode, instruction.modifiers, kind)
        if set(operand.suffixes) - {*operand_modifiers.ALSO.get(kind, ()), *parts}:
            raise Unencodable(f"operand {operand.text}")
        out["half"] = next((parts[s] for s in operand.suffixes if s in parts), 0)
        operand_modifiers.set_signs(operand, instruction, out, kind)

    def _row(self, operand: Operand) -> int:
        if operand.kind == "uniform":
            return self.vectors + operand.number
        if operand.kind != "register":
            raise Unencodable(f"operand {operand.text}")
        return operand.number

    def _constant(self, key: tuple[int, int] | int) -> int:
        if key == 0:
            return 0
        # The two words of a 64-bit value need not be adjacent: each has a row of its own.
        return self.constants.setdefault(key, len(self.constants) + 1)


def _of_copies(handler: str, instruction: Instruction) -> str:
    """Return the definition's name; NOTHING for an instruction that waits for anything except
    copies, because all other results are available at once."""
    if handler == "DEPBAR.LE":
        return handler if instruction.operands[0].text == table.OF_COPIES else "NOTHING"
    if handler != "LDGDEPBAR":
        return handler
    control = int.from_bytes(instruction.encoding[8:16], "little")
    if f"SB{control >> 46 & 7}" != table.OF_COPIES:  # nvdisasm does not print the scoreboard
        raise Unencodable(f"groups of copies that are not counted by {table.OF_COPIES}")
    return handler


def _constant(instruction: Instruction) -> Operand:
    return next(o for o in instruction.operands if o.kind == "constant")
