"""A modifier of a machine instruction is implemented, is known to change nothing, or is rejected
with a message that names it.

forms.txt has the forms that nvdisasm has been seen to print.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sass.conftest import ReadSource

from harness.emulator.sass import MachineCode, UnknownMachineInstruction
from harness.emulator.sass.code import Function, Instruction
from harness.emulator.sass.encode import encode
from harness.emulator.sass.instructions import lookup
from harness.emulator.sass.instructions.row import Row
from harness.emulator.sass.instructions.table import ROWS
from harness.emulator.sass.library import load

FORMS = [
    line.split() for line in Path(__file__).with_name("forms.txt").read_text().splitlines()
    if not line.startswith("#")
]  # fmt: skip
SYNONYMS = {"TRUNC": "RZ", "FLOOR": "RM", "CEIL": "RP", "64": "U64"}
READ_ELSEWHERE = {"E", "U8", "S8", "U16", "S16", "64", "128"}
"""Modifiers for the sizes of accesses and addresses, which encode.py reads by name."""


def _known(row: Row) -> set[str]:
    return {*row.name.split(".")[1:], *row.harmless, *(m for group in row.groups for m in group)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_invented_modifier_is_refused_by_name(row: Row) -> None:
    opcode, *chosen = row.name.split(".")
    assert not isinstance(lookup.find(opcode, chosen), str)
    assert lookup.find(opcode, [*chosen, "INVENTED"]) == "with .INVENTED"
    assert lookup.find(opcode, ["INVENTED", *chosen]) == "with .INVENTED"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_another_instruction_knows_is_refused_here(row: Row) -> None:
    opcode, *chosen = row.name.split(".")
    everything = {modifier for each in ROWS for modifier in _known(each)}
    for modifier in sorted(everything - _known(row)):
        found = lookup.find(opcode, [*chosen, modifier])
        assert isinstance(found, str) or found[0] is not row, modifier


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_alternatives_differ_and_exclude_each_other(row: Row) -> None:
    opcode, *chosen = row.name.split(".")
    for group in row.groups:
        told = {}
        for modifier, flag in group.items():
            if (modifier in READ_ELSEWHERE and flag in (0, 1)) or modifier in SYNONYMS:
                continue
            assert told.setdefault(flag, modifier) == modifier, (told[flag], modifier)
        assert len(group) > 1 or any(group.values()) or set(group) <= READ_ELSEWHERE
        first, *others = group
        for other in others:
            found = lookup.find(opcode, [*chosen, first, other])
            assert isinstance(found, str) or found[0] is not row, (first, other)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_changes_nothing_has_a_reason_and_no_flag(row: Row) -> None:
    acted_on = {modifier for group in row.groups for modifier in group}
    for modifier, reason in row.harmless.items():
        assert len(reason.split()) > 3, modifier
        assert modifier not in acted_on


def test_what_nvdisasm_prints_is_executed_or_refused_as_it_was() -> None:
    for form, *refused in FORMS:
        opcode, *modifiers = form.split(".")
        found = lookup.find(opcode, modifiers)
        assert isinstance(found, str) == (refused == ["refused"]), form
        if not isinstance(found, str):
            assert set(modifiers) <= _known(found[0]), form


SOURCE = """#include <cuda_fp16.h>
extern "C" __global__ void k(float* x, double* y, __half2* h, int* n) {
    const int i = threadIdx.x;
    __shared__ float tile[32];
    tile[i] = __fadd_ru(x[i], 1.0f) * x[i + 32];
    __syncthreads();
    y[i] = __dadd_rz(y[i], tile[31 - i]);
    h[i] = __hfma2(h[i], h[i], h[i + 32]);
    x[i] = __half2float(__float2half_ru(tile[i ^ 1])) + __shfl_xor_sync(~0u, x[i], 1);
    atomicAdd(n, __float2int_rd(x[i]));
}
"""


@pytest.fixture(scope="module")
def function(read_source: ReadSource) -> Function:
    code: MachineCode = read_source(SOURCE)
    return code.functions["k"]


def _refused(function: Function, number: int, changed: Instruction, pattern: str) -> None:
    every = list(function.instructions)
    every[number] = changed
    with pytest.raises(UnknownMachineInstruction, match=pattern) as caught:
        encode(replace(function, instructions=tuple(every)), load().definitions)
    assert changed.text in str(caught.value)
    if changed.location is not None:
        assert ".cu:" in str(caught.value)


def test_no_instruction_of_a_kernel_may_have_a_modifier_more(function: Function) -> None:
    encode(function, load().definitions)
    for number, each in enumerate(function.instructions):
        changed = replace(each, modifiers=(*each.modifiers, "INVENTED"))
        _refused(function, number, changed, r"with \.INVENTED")


def test_no_source_of_a_kernel_may_have_a_suffix_more(function: Function) -> None:
    tried = 0
    for number, each in enumerate(function.instructions):
        for at, operand in enumerate(each.operands[1:], 1):
            if operand.kind not in ("register", "uniform", "constant"):
                continue
            suffixed = replace(operand, suffixes=(*operand.suffixes, "INVENTED"))
            operands = (*each.operands[:at], suffixed, *each.operands[at + 1 :])
            if each.opcode not in ("ATOMG", "SHFL", "ULDC", "LDC") or at > 1:
                _refused(function, number, replace(each, operands=operands), "operand")
                tried += 1
    assert tried > 30


def test_half_of_a_register_is_meant_only_by_what_reads_halves(function: Function) -> None:
    added = next(n for n, i in enumerate(function.instructions) if i.opcode == "FADD")
    each = function.instructions[added]
    half = replace(each.operands[1], suffixes=("H0_H0",))
    operands = (each.operands[0], half, *each.operands[2:])
    _refused(function, added, replace(each, operands=operands), "operand")
