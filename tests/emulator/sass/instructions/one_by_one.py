"""Machine instructions executed one by one, each with its own operands, without a compiler.

A program loads everything that an instruction mentions (registers, uniform registers, predicates),
executes the instruction and stores everything again. Constants are read from the parameters, at the
offsets in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.emulator.sass import MachineCode, launch_machine_code
from harness.emulator.sass.code import Function, Instruction, Operand, Parameter
from harness.emulator.sass.cubin import operands

LANES = 32
BASE = 0x160
WORDS = 8
"""The number of words in the stand-in for a constant bank, to which an instruction's text may
refer."""
CONSTANT_AT = BASE + 16
Words = NDArray[np.uint32]
_CONSTANT = re.compile(r"c\[0x[0-9a-f]+\]\[(0x[0-9a-f]+|URZ)\]")
_NAMED = re.compile(r"\b(UR|R|UP|P)(\d+)\b")


def forms_elsewhere() -> Iterator[tuple[str, str, str]]:
    """The instructions, each with the architectures that have its form, and the reason if it is
    rejected."""
    for line in (Path(__file__).parent / "forms" / "forms_elsewhere.txt").read_text().splitlines():
        if not line.startswith("#"):
            text, arches, *refused = line.split(" | ")
            yield text, arches, "".join(refused)


def instruction(text: str, address: int = 0) -> Instruction:
    """Parse the text as nvdisasm prints it; a float among its operands is encoded here."""
    guard, _, rest = text.partition(" ") if text.startswith("@") else ("", "", text)
    opcode, _, listed = rest.partition(" ")
    name, *modifiers = opcode.split(".")
    parsed = operands.parse(listed, _bits(name, listed, "BF16_V2" in modifiers))
    return Instruction(
        address, name, tuple(modifiers), parsed, operands.guard(guard), text, bytes(16), None
    )


def _half(value: float, brain: bool) -> int:
    if brain:
        return int(np.float32(value).view(np.uint32)) >> 16
    return int(np.float16(value).view(np.uint16))


def _bits(name: str, listed: str, brain: bool) -> int:
    """The 32 bits that encode a float in an instruction: the upper half of a double."""
    found = [float(part.replace("QNAN", "nan")) for part in map(str.strip, listed.split(","))
             if re.fullmatch(r"[-+]?(\d[\d.]*(e[-+]?\d+)?|INF|QNAN)", part)]  # fmt: skip
    if not found:
        return 0
    if name.startswith("H"):
        low, high = (_half(each, brain) for each in found[::-1])
        return high << 16 | low
    if name.startswith("D"):
        return int(np.float64(found[0]).view(np.uint64)) >> 32
    return int(np.float32(found[0]).view(np.uint32))


@dataclass
class State:
    """The values that an instruction may read, by register and lane; a uniform register is the same
    in all lanes."""

    registers: dict[int, Words] = field(default_factory=dict)
    uniforms: dict[int, Words] = field(default_factory=dict)
    predicates: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    constant: Words = field(default_factory=lambda: np.zeros(WORDS, np.uint32))

    def word(self, operand: Operand, at: int = 0) -> Words:
        """One word of a source, ignoring its sign; 0 for the words after an immediate."""
        if operand.kind == "immediate":
            high = operand.number >> 32 & 0xFFFFFFFF
            return np.full(LANES, (operand.bits, high)[at], np.uint32)
        if operand.kind == "constant":
            return np.full(LANES, self.constant[at], np.uint32)
        there = self.registers if operand.kind == "register" else self.uniforms
        return np.zeros(LANES, np.uint32) if operand.number == 255 else there[operand.number + at]

    def holds(self, operand: Operand) -> NDArray[np.bool_]:
        name = operand.text.lstrip("!")
        value = np.ones(LANES, bool) if name.endswith("T") else self.predicates[name]
        return value ^ operand.negated


def prepared(text: str, values: Words, seed: int) -> tuple[str, State]:
    """The text without its guard, and words of `values` for all registers that it mentions."""
    text = text.replace(".reuse", "")
    text = text.partition(" ")[2] if text.startswith("@") else text
    random = np.random.default_rng(seed)
    state = State(constant=random.choice(values, WORDS))
    for kind, number in _NAMED.findall(text):
        if kind in ("P", "UP"):
            same = np.full(LANES, seed % 2 == 1)
            state.predicates[kind + number] = same if kind == "UP" else random.random(LANES) < 0.5
        for n in range(int(number), int(number) + 4):
            if kind == "R":
                state.registers[n] = random.choice(values, LANES)
            elif kind == "UR":
                state.uniforms[n] = np.full(LANES, random.choice(values), np.uint32)
    return text, state


def executed(every: Sequence[tuple[str, State]]) -> list[State]:
    """Execute all instructions in one launch; return the state that each leaves."""
    texts = [
        "S2R R240,SR_TID.X", "IMAD.WIDE R242,R240,0x4,c[0x0][0x160]",
        "IMAD.WIDE R244,R240,0x4,c[0x0][0x168]",
    ]  # fmt: skip
    rows: list[Words] = []
    for at, (text, state) in enumerate(every):
        first = len(rows)
        texts += _loads(state, first)
        texts.append(_CONSTANT.sub(f"c[0x0][{CONSTANT_AT + 4 * WORDS * at:#x}]", text))
        texts += _stores(state, first)
        rows += [each.astype(np.uint32) for each in _values(state)]
    given, left = np.stack(rows), np.zeros((len(rows), LANES), np.uint32)
    constants = np.concatenate([state.constant for _, state in every]).tobytes()
    launched([*texts, "EXIT"], [given, left, constants])
    found, at = [], 0
    for _, state in every:
        own = left[at : (at := at + len(_values(state)))]
        r, u = len(state.registers), len(state.registers) + len(state.uniforms)
        found.append(State(
            dict(zip(state.registers, own[:r], strict=True)),
            dict(zip(state.uniforms, own[r:u], strict=True)),
            dict(zip(state.predicates, own[u:] != 0, strict=True)), state.constant,
        ))  # fmt: skip
    return found


def _values(state: State) -> list[NDArray[np.generic]]:
    return [*state.registers.values(), *state.uniforms.values(), *state.predicates.values()]


def _loads(state: State, row: int) -> Iterator[str]:
    def load(register: int) -> str:
        nonlocal row
        row += 1
        return f"LDG.E R{register},[R242.64+{4 * LANES * (row - 1):#x}]"

    for number in state.registers:
        yield load(number)
    for number in state.uniforms:
        yield load(246)
        yield f"R2UR UR{number},R246"
    for name in state.predicates:
        yield load(246)
        uniform = name.startswith("U")
        yield "R2UR UR62,R246" if uniform else "NOP"
        yield (f"UISETP.NE.AND {name},UPT,UR62,URZ,UPT" if uniform
               else f"ISETP.NE.AND {name},PT,R246,RZ,PT")  # fmt: skip


def _stores(state: State, row: int) -> Iterator[str]:
    def store(register: int) -> str:
        nonlocal row
        row += 1
        return f"STG.E [R244.64+{4 * LANES * (row - 1):#x}],R{register}"

    for number in state.registers:
        yield store(number)
    for number in state.uniforms:
        yield f"MOV R246,UR{number}"
        yield store(246)
    for name in state.predicates:
        yield f"SEL R246,RZ,0x1,!{name}"
        yield store(246)


def launched(
    texts: Sequence[str], arguments: Sequence[object], shared: int = 0, local: int = 0
) -> None:
    """Execute a program of instructions in one warp."""
    every = tuple(instruction(text, 16 * at) for at, text in enumerate(texts))
    sizes = [len(each) if isinstance(each, bytes) else 8 for each in arguments]
    offsets = np.cumsum([0, *sizes[:-1]])
    parameters = tuple(Parameter(int(at), size) for at, size in zip(offsets, sizes, strict=True))
    function = Function(
        "k", every, parameters, BASE, 255, shared, 0, local, None, None, None, {"k": 0}, {}
    )  # fmt: skip
    code = MachineCode("texts", "sm_80", {"k": function}, {}, {}, {}, ())
    report = launch_machine_code(code, "k", 1, LANES, list(arguments))
    assert not report.faults, report.faults
