"""Instruction forms that occur in other architectures' code but not in sm_90's, one by one.

scripts/architectures/forms.py writes forms_elsewhere.txt: the forms that nvdisasm prints for this
repository's kernels, for others' kernels and for CUDA's device functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from accesses import ACCESS, is_shared, result_of
from accesses import executed as executed_access
from definitions import definition
from one_by_one import (
    LANES,
    State,
    Words,
    executed,
    forms_elsewhere,
    instruction,
    prepared,
)  # fmt: skip
from reader import Reader

FORMS = [text for text, _, refused in forms_elsewhere() if not refused]
INTEGERS = np.array([0, 1, 2, 31, 0x80, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                     0xDEADBEEF, 0x12345678], np.uint32)  # fmt: skip
FLOATS = np.array([0, -0.0, 1, -1, 0.5, -2, 3, 1.5, -8, np.inf, np.nan], np.float32)

_UPPER = np.uint32(0xFFFF0000)


def _values(opcode: str, modifiers: tuple[str, ...]) -> Words:
    """Operands by kind: words, floats, upper halves of doubles, pairs of halves."""
    opcode = opcode.removeprefix("U")
    if opcode[0] == "D":
        return (FLOATS.astype(np.float64).view(np.uint64) >> 32).astype(np.uint32)
    if opcode[0] == "H":
        halves = FLOATS.astype(np.float16).view(np.uint16).astype(np.uint32)
        if "BF16_V2" in modifiers:
            halves = FLOATS.view(np.uint32) >> np.uint32(16)
        return (halves[:, None] << 16 | halves).ravel()
    if opcode == "MUFU":
        return FLOATS[2:9:2].view(np.uint32)
    if opcode[0] == "F" and opcode != "FLO":
        wide = np.array([1e6, -1e6, 40000.5, -0.75, 2.5, 65535, 70000], np.float32)
        return np.concatenate([FLOATS, wide if opcode == "F2I" else FLOATS]).view(np.uint32)
    return INTEGERS


def _states(text: str, seed: int) -> tuple[str, State]:
    each = instruction(text)
    text, state = prepared(text, _values(each.opcode, each.modifiers), seed)
    if each.opcode[0] == "D":  # the lower words of doubles are 0
        for number, words in state.registers.items():
            words[:] = words if number % 2 else 0
        for number, words in state.uniforms.items():
            words[:] = words if number % 2 else 0
        state.constant[::2] = 0
    return text, state


def _wanted(text: str, state: State) -> State:
    each = instruction(text)
    defined = definition(each.opcode)
    assert defined is not None
    reader = Reader(each, state)
    words, flags = defined(reader)
    wanted = State(dict(state.registers), dict(state.uniforms), dict(state.predicates))
    results = reader.results
    register = next((o for o in results if o.kind in ("register", "uniform")), None)
    if words and register is not None and register.number != 255:
        there = wanted.registers if register.kind == "register" else wanted.uniforms
        there |= {register.number + n: word for n, word in enumerate(words)}
    named = [o for o in results if "predicate" in o.kind]
    for operand, flag in zip(named, flags, strict=False):
        if not operand.text.endswith("T"):
            wanted.predicates[operand.text] = np.asarray(flag, bool)
    return wanted


def _differences(text: str, found: State, wanted: State) -> list[str]:
    said = []
    for what in ("registers", "uniforms", "predicates"):
        for name, words in getattr(wanted, what).items():
            own = getattr(found, what)[name]
            if not np.array_equal(own, words) and not _both_no_numbers(text, own, words):
                lane = int(np.flatnonzero(own != words)[0])
                said.append(f"{text}: {what} {name} lane {lane}: {own[lane]} and not {words[lane]}")
    return said


def _both_no_numbers(text: str, one: Words, other: Words) -> bool:
    """The manual does not specify which NaN results."""
    text = text.removeprefix("U")
    if text[0] not in "FDHM" or one.dtype == bool:
        return False
    halves = (text[0] == "H" and ".F32 " not in text) or "F16" in text or "PACK" in text
    if "BF16" in text:
        return all(
            _both_no_numbers("F", one << np.uint32(n) & _UPPER, other << np.uint32(n) & _UPPER)
            for n in (0, 16)
        )
    kind = np.float16 if halves else np.float32
    a, b = one.view(kind), other.view(kind)
    return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b))))


ALONE = [text for text in FORMS if definition(instruction(text).opcode) is not None]


def test_each_form_gives_what_its_definition_says() -> None:
    for seed in range(2):
        states = [_states(text, seed + 2 * n) for n, text in enumerate(ALONE)]
        before = [(text, State({k: v.copy() for k, v in s.registers.items()}, dict(s.uniforms),
                               dict(s.predicates), s.constant)) for text, s in states]  # fmt: skip
        found = executed(states)
        said = [
            line for (text, state), left in zip(before, found, strict=True)
            for line in _differences(text, left, _wanted(text, state))
        ]  # fmt: skip
        assert not said, "\n".join(said)


ACCESSES = [text for text in FORMS if ACCESS.match(text)]
FIRST_IN_BANKS = 8
"""The number of lanes, 16 bytes apart, that access different banks."""
_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


@pytest.mark.parametrize("text", ACCESSES)
def test_each_access_is_of_the_bytes_that_its_address_says(text: str) -> None:
    each = instruction(text)
    values = np.random.default_rng(7).integers(0, 1 << 32, (4, LANES), np.uint32)
    values &= np.uint32(0x3FFF3FFF)
    left = executed_access(text, values)
    size = next((_BYTES[m] for m in each.modifiers if m in _BYTES), 4)
    before, after = (array.view(np.uint8).reshape(-1) for array in (left.before, left.after))
    wanted = before.copy()
    if text.endswith(",RZ"):
        values[:] = 0
    in_turn = len(set(left.places)) == 1
    for lane, place in enumerate(left.places):
        at = 16 * lane * (not in_turn) if is_shared(each) else place
        old = (wanted if in_turn else before)[at : at + size]
        got = left.results[lane].copy().view(np.uint8)
        if each.opcode[0] == "L":
            word = old.view("i2").astype("i4").view(np.uint8) if "S16" in text else old
            np.testing.assert_array_equal(got[: max(size, 4)], _filled(word))
        elif each.opcode[0] == "S":
            wanted[at : at + size] = values[:, lane].copy().view(np.uint8)[:size]
        else:
            kind = _kind(text)
            changed = _atomic(text, old.copy().view(kind), values[:, lane].copy().view(kind))
            if ".CAST" in text and lane >= FIRST_IN_BANKS:  # the other lanes have to try again
                changed = old.view(kind)
            if result_of(each) is not None and not in_turn:
                said = (changed != old.view(kind)).astype("u4") if ".CAST" in text else old
                np.testing.assert_array_equal(got[:4], said.view(np.uint8))
            wanted[at : at + size] = changed.view(np.uint8)[:size]
    there = min(len(wanted), len(after))
    if is_shared(each) and in_turn:
        there = 16  # all lanes read back the same place
    np.testing.assert_array_equal(after[:there], wanted[:there])


def _filled(word: Any) -> Any:
    """The bytes, padded with zeros to the size of a 32-bit register if there are fewer."""
    return np.concatenate([word, np.zeros(max(0, 4 - len(word)), np.uint8)])


def _kind(text: str) -> str:
    named = {"F16x2": "f2", "F32": "f4", "S32": "i4"}
    return next((kind for name, kind in named.items() if f".{name}." in f"{text} ."), "u4")


def _atomic(text: str, old: Any, new: Any) -> Any:
    """The value that an atomic leaves in memory, for operands of one kind."""
    count = len(old)
    if ".CAST" in text:
        return np.where(old == new[:1], new[1:2], old)
    if ".POPC.INC" in text:
        return old + 1
    if ".INC" in text:
        return np.where(old >= new[:count], 0, old + 1).astype(old.dtype)
    name = next(each for each in ("ADD", "MAX", "MIN", "OR") if f".{each}" in text)
    by = {"ADD": np.add, "MAX": np.maximum, "MIN": np.minimum, "OR": np.bitwise_or}[name]
    return by(old, new[:count]).astype(old.dtype)
