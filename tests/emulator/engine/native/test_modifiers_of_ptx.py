"""A PTX modifier changes the executed operations, is known to change nothing, or is rejected."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
from machine_cases import GROUPS
from operation_kernels import Group, kernel

from harness.emulator.engine.library import Machine, load
from harness.emulator.engine.lowering.arithmetic import HARMLESS
from harness.emulator.engine.lowering.encode import encode
from harness.emulator.errors import EmulatorError
from harness.emulator.program import signatures
from harness.emulator.program.signatures import SIGNATURES, Signature
from harness.emulator.program.translate import translate
from harness.emulator.ptx.kernel_names import find_kernel

pytestmark = pytest.mark.skipif(not isinstance(load(), Machine), reason="no compiler")

ROWS = [
    (name, row, type_) for name, rows in SIGNATURES.items() for row in rows for type_ in row.types
]
EVERYTHING = {modifier for _, row, _ in ROWS for modifier in row.modifiers} | {"invented"}


@functools.cache
def _executed(name: str, row: Signature, type_: str, modifiers: frozenset[str]) -> bytes:
    """The machine's operations for the instruction."""
    (result,), sources = row.operands(type_, modifiers)
    opcode = ".".join([name, *_in_order(modifiers), type_])
    places = ", ".join(f"${n}" for n in range(len(sources) + 1))
    return _encoded(Group((f"{opcode} {places}",), result, sources))


def _encoded(group: Group) -> bytes:
    module, machine = kernel(group), load()
    assert isinstance(machine, Machine)
    encoded = encode(translate(module, find_kernel(module, "k")), machine)
    return encoded.ops.tobytes() + encoded.constants.tobytes()


def _in_order(modifiers: frozenset[str]) -> list[str]:
    return sorted(
        modifiers, key=lambda m: (m not in signatures.ROUNDINGS, m == "sat", m == "abs", m)
    )


def _alternatives(row: Signature) -> Iterator[tuple[frozenset[str], frozenset[str], str]]:
    """Two sets of modifiers that should lead to different operations, and the word in which they
    differ."""
    base = frozenset(min(group) for group in row.required)
    groups = [*row.required, row.modifiers & signatures.ROUNDINGS]
    for modifier in sorted(row.modifiers - base):
        beside = next((group for group in groups if modifier in group), frozenset())
        pair = {"xorsign": {"abs"}, "abs": {"xorsign"}}.get(modifier, set())
        yield base, base - beside | {modifier} | pair, modifier


@pytest.mark.parametrize(("name", "row", "type_"), ROWS, ids=lambda each: str(each)[:12])
def test_a_modifier_changes_what_is_executed(name: str, row: Signature, type_: str) -> None:
    for base, other, modifier in _alternatives(row):
        assert row.fits(type_, base)
        assert row.fits(type_, other), other
        told_apart = base - other | {modifier}
        if not told_apart & set(HARMLESS):
            assert _executed(name, row, type_, base) != _executed(name, row, type_, other), modifier


def test_what_changes_nothing_has_a_reason() -> None:
    assert set(HARMLESS) <= EVERYTHING
    assert all(len(reason.split()) > 3 for reason in HARMLESS.values())


@pytest.mark.parametrize(("name", "row", "type_"), ROWS, ids=lambda each: str(each)[:12])
def test_any_other_modifier_is_refused(name: str, row: Signature, type_: str) -> None:
    base = frozenset(min(group) for group in row.required)
    for modifier in EVERYTHING - row.modifiers:
        assert not row.fits(type_, base | {modifier}), modifier
    assert signatures.match(name, [*base, "invented"], [type_]) is None


def test_every_instruction_is_refused_by_name_with_an_invented_modifier() -> None:
    seen = set()
    for group in GROUPS:
        for text in group.instructions:
            opcode = text.split(maxsplit=1)[0]
            if opcode in seen or "." not in opcode or ";" in text:
                continue
            seen.add(opcode)
            name, _, rest = opcode.partition(".")
            changed = text.replace(opcode, f"{name}.invented.{rest}", 1)
            with pytest.raises(EmulatorError, match="invented"):
                _encoded(Group((changed,), group.result, group.sources, group.shared))
    assert len(seen) > 500
