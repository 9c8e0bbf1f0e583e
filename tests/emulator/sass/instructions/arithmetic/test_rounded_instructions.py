"""Rounding, limits and NaNs give the same results in PTX, in machine code and on a GPU.

reports/h200/fidelity/rounded_instructions.csv has the readings of
scripts/device_functions/on_gpu.py. Rounded results are also compared with rational arithmetic, on
operands that are critical for rounding.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import exact
import numpy as np
import pytest
from emulator_tools import ROOT, assemble

from harness.emulator import launch, parse
from harness.emulator.sass import UnknownMachineInstruction, launch_machine_code, read

sys.path.insert(0, str(ROOT / "scripts" / "device_functions"))

import instructions
from instructions import BLOCK, COUNT, PRECISION, Case

READINGS = ROOT / "reports" / "h200" / "fidelity" / "rounded_instructions.csv"
CASES = instructions.cases()
FORMS = {"f16": exact.F16, "bf16": exact.BF16, "f32": exact.F32, "f64": exact.F64}
NEEDED = {  # each must occur in the machine code of a case
    "F2F.F16.F32.RP", "F2F.F16.F32.RM", "F2F.BF16.F32.RP", "F2F.F16.F64.RZ", "I2F.F16.RZ",
    "I2F.F16.RP", "I2F.BF16.RZ", "I2F.F64.S64.RZ", "F2FP.F16.F32.PACK_AB.RZ", "DADD.RP", "DMUL.RM",
    "DFMA.RZ", "FADD.RM", "FFMA.RM", "FMUL.RM", "F2I.S64.TRUNC", "F2I.TRUNC.NTZ", "HFMA2.MMA.RELU",
    "FMNMX.XORSIGN", "HMNMX2.FTZ",
}  # fmt: skip


class Both:
    """The same instructions as PTX and as machine code."""

    def __init__(self, cases: Sequence[Case], folder: Path) -> None:
        source = folder / "cases.ptx"
        source.write_text(instructions.module(cases))
        cubin = assemble(source, source.with_suffix(".cubin"), "sm_90")
        self.module = parse(source.read_text())
        self.code = read(cubin, cubin.with_suffix(".listing"))
        self.groups = list(instructions.groups(cases).values())

    def ptx(self, seed: int = 1) -> Iterator[tuple[Case, list[np.ndarray], np.ndarray]]:
        for number, together in enumerate(self.groups):
            operands, out = _arrays(together, seed)
            blocks = COUNT // BLOCK
            report = launch(self.module, f"k{number}", blocks, BLOCK, [*operands, out])
            assert not report.faults, str(report.faults[0])
            yield from ((case, operands, made) for case, made in zip(together, out, strict=True))

    def machine_code(self, seed: int = 1) -> Iterator[tuple[Case, list[np.ndarray], np.ndarray]]:
        for number, together in enumerate(self.groups):
            if together[0].refused:
                continue
            operands, out = _arrays(together, seed)
            blocks = COUNT // BLOCK
            report = launch_machine_code(self.code, f"k{number}", blocks, BLOCK, [*operands, out])
            assert not report.faults, str(report.faults[0])
            yield from ((case, operands, made) for case, made in zip(together, out, strict=True))


def _arrays(together: Sequence[Case], seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    dtype = f"u{instructions.bits(together[0].result) // 8}"
    return instructions.operands(together[0].sources, seed), np.zeros((len(together), COUNT), dtype)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(CASES, tmp_path_factory.mktemp("rounded"))


def test_ptx_gives_what_a_gpu_gives(both: Both) -> None:
    readings = _readings()
    found = {case.name: instructions.digest(out) for case, _, out in both.ptx()}
    assert found == readings


def test_machine_code_gives_what_a_gpu_gives(both: Both) -> None:
    readings = _readings()
    found = {case.name: instructions.digest(out) for case, _, out in both.machine_code()}
    assert found == {case.name: readings[case.name] for case in CASES if not case.refused}


def _readings() -> dict[str, str]:
    with READINGS.open(newline="") as file:
        return {row["instruction"]: row["digest"] for row in csv.DictReader(file)}


def test_what_is_not_executed_is_refused_by_name(both: Both) -> None:
    refused = [n for n, together in enumerate(both.groups) if together[0].refused]
    assert refused
    for number in refused:
        operands, out = _arrays(both.groups[number], 1)
        with pytest.raises(UnknownMachineInstruction, match=r"F2IP\.U8|MERGE_C|PACK_B"):
            launch_machine_code(both.code, f"k{number}", 8, BLOCK, [*operands, out])


def test_the_machine_code_has_the_modifiers_that_are_meant(both: Both) -> None:
    names = {i.name for function in both.code.functions.values() for i in function.instructions}
    assert NEEDED - names == set()


SUMS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
}  # fmt: skip
SEEDS = range(10, 15)


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_directed_arithmetic_is_right_for_ten_thousand_operands(tmp_path: Path, type_: str) -> None:
    cases = [
        case for case in CASES
        if case.result == type_ and case.name.partition(".")[0] in SUMS
        and case.modifiers in (("rz",), ("rm",), ("rp",))
    ]  # fmt: skip
    assert len(cases) == 12
    both, count = Both(cases, tmp_path), dict.fromkeys((c.name for c in cases), 0)
    for seed in SEEDS:
        others = {case.name: out for case, _, out in both.machine_code(seed)}
        for case, operands, out in both.ptx(seed):
            is_number = np.all([_finite(each, type_) for each in operands], axis=0)
            name, mode = case.name.split(".")[:2]
            numbers = [[_exact(int(raw), type_) for raw in each] for each in operands]
            for at in np.flatnonzero(is_number):
                of = [each[at] for each in numbers]
                value = SUMS[name](*(Fraction(each) for each in of))
                wanted = exact.encode(value, FORMS[type_], mode, _sign_of_zero(name, mode, of))
                assert int(out[at]) == wanted, (case.name, of)
            np.testing.assert_array_equal(others[case.name], out)
            count[case.name] += len(out)
    assert min(count.values()) >= 10_000


def _finite(raw: np.ndarray, type_: str) -> np.ndarray:
    digits, size = PRECISION[type_] - 1, instructions.bits(type_)
    infinite = (1 << size - 1) - (1 << digits)
    return raw & raw.dtype.type((1 << size - 1) - 1) < infinite


def _exact(raw: int, type_: str) -> Fraction | float:
    return exact.decode(raw, FORMS[type_])


def _sign(number: Fraction | float) -> int:
    return -1 if str(number).startswith("-") else 1


def _sign_of_zero(name: str, mode: str, of: Sequence[Fraction | float]) -> int:
    """The common sign of the terms; if the signs differ, minus when rounding down."""
    if name == "mul":
        return _sign(of[0]) * _sign(of[1])
    first = _sign(of[0]) * (_sign(of[1]) if name == "fma" else 1)
    second = _sign(of[-1]) * (-1 if name == "sub" else 1)
    return first if first == second else -1 if mode == "rm" else 1


@pytest.mark.parametrize("to", FORMS)
def test_a_conversion_rounds_once(both: Both, to: str) -> None:
    """Covers conversions from any integer and any wider float, in all four rounding directions."""
    others = {case.name: out for case, _, out in both.machine_code()}
    checked = 0
    for case, (operand,), out in (each for each in both.ptx() if len(each[1]) == 1):
        source = case.sources[0]
        if not case.name.startswith("cvt") or case.result != to or len(case.modifiers) != 1:
            continue
        mode = case.modifiers[0]
        if mode not in ("rn", "rz", "rm", "rp"):
            continue
        is_number = np.ones(COUNT, bool)
        if source in PRECISION:
            is_number = _finite(operand, source)
        for at in np.flatnonzero(is_number):
            raw = int(operand[at])
            value = _exact(raw, source) if source in PRECISION else _whole(raw, source)
            wanted = exact.encode(Fraction(value), FORMS[to], mode, _sign(value))
            assert int(out[at]) == wanted, (case.name, hex(raw))
        np.testing.assert_array_equal(others[case.name], out)
        checked += 1
    assert checked >= 32 or to == "bf16"
    assert checked >= 28


def _whole(raw: int, type_: str) -> Fraction:
    size = instructions.bits(type_)
    return Fraction(raw - (1 << size) if type_[0] == "s" and raw >> size - 1 else raw)


WHOLE = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "s8": 8, "s16": 16, "s32": 32, "s64": 64}


def test_what_is_no_number_is_zero_or_the_top_bit_as_an_integer(both: Both) -> None:
    """The result is 0, except that in conversions from a double or to 64 bits only the top bit is
    set (PTX ISA, `cvt`); ptxas writes `.NTZ` for this."""
    for case, operands, out in both.ptx():
        to, source = case.result, case.sources[0]
        if case.name.startswith("cvt") and to in WHOLE:
            nan = _no_number(operands[0], source)
            assert nan.sum() >= 6
            top = 0 if source != "f64" and WHOLE[to] < 64 else 1 << WHOLE[to] - 1
            assert set(out[nan].tolist()) == {top}, case.name


def _no_number(raw: np.ndarray, type_: str) -> np.ndarray:
    digits, size = PRECISION[type_] - 1, instructions.bits(type_)
    infinite = (1 << size - 1) - (1 << digits)
    return raw & raw.dtype.type((1 << size - 1) - 1) > infinite
