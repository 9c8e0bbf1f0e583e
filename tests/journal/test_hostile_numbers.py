"""Numbers that no machine can measure are refused when they are read, so that nothing overflows."""

from __future__ import annotations

import json
import math
import sys
import zlib
from pathlib import Path

import pytest
from pydantic import ValidationError

from harness import __main__ as program
from harness import report as pages
from harness import tables
from harness.analysis.lines import source_lines
from harness.errors import JournalError
from harness.journal.counter_records import Counted, MachineCode, MachineInstruction, SourceLine
from harness.journal.numbers import HIGHEST_CONFIDENCE, LARGEST, SMALLEST
from harness.journal.records import (
    Ceiling,
    Compiled,
    Conditions,
    EventCost,
    Outcome,
    Planned,
    Record,
    Round,
    Told,
    Verified,
    from_json,
    to_json,
)
from harness.matrix.written import Timing
from harness.statistics.intervals import Estimate
from harness.statistics.net_ceilings import ceiling_over_placements

CASE = "p/v0/float32/n=1"
PLANNED = Planned(CASE, "p", "v0", "float32", {"n": 1}, {"block": 64}, 8, 1, True, False)
COMPILED = Compiled(CASE, 0, "k", "a", "b", 9, 0, 0, 0, 64, 0.5, "registers", "c", 1.0)
CEILING = Ceiling("read_bandwidth", 2e12, 1e12, 3e12, "byte/s", "", (2e12,), "", 1e9)
RECORDS: list[tuple[Record, str]] = [
    (Counted(CASE, 0, "k", "m", 5.0, "byte", "emulator-exact"), "value"),
    (COMPILED, "occupancy"), (COMPILED, "waves"),
    (CEILING, "value"), (CEILING, "low"), (CEILING, "high"), (CEILING, "work"),
    (CEILING, "samples"),
    (EventCost("g", "cold", 0, (3000.0,)), "samples_ns"),
    (Round(CASE, "cold", 0, False, (3000.0,)), "samples_ns"),
    (Conditions("g", 0, None, None, None, 300.0, ()), "power_w"),
]  # fmt: skip


def line(body: str) -> str:
    return f'{{"crc32":"{zlib.crc32(body.encode()):08x}","record":{body}}}\n'


def changed(record: Record, key: str, value: float) -> str:
    said = json.loads(to_json(record))
    return json.dumps({**said, key: [value] if isinstance(said[key], list) else value})


def run_folder(folder: Path, journal: str, confidence: float = 0.95) -> Path:
    info = {
        "backend": "emulator", "timing": {"confidence": confidence, "same_within": 0.01},
        "device": {"name": "a device", "arch": "sm_90", "sm_count": 132},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(info))
    (folder / "journal.jsonl").write_text(journal)
    return folder


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324, 1.1 * LARGEST, SMALLEST / 2])
@pytest.mark.parametrize(("record", "key"), RECORDS, ids=lambda each: str(each)[:20])
def test_a_number_beyond_every_physical_quantity_is_refused(
    record: Record, key: str, value: float
) -> None:
    assert from_json(to_json(record)) == record
    with pytest.raises(ValidationError, match=key):
        from_json(changed(record, key, value))


@pytest.mark.parametrize("value", [0.0, LARGEST, SMALLEST, -LARGEST, -SMALLEST])
def test_a_number_up_to_the_bounds_is_read(value: float) -> None:
    record = Counted(CASE, 0, "k", "m", value, "byte", "ncu")
    assert from_json(to_json(record)) == record


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (COMPILED, "occupancy", 1.01), (COMPILED, "waves", -1.0), (CEILING, "high", 0.0),
        (CEILING, "low", -1.0), (CEILING, "work", -1.0), (CEILING, "samples", -1.0),
        (SourceLine(CASE, 0, "a.cu", 1, 1, 1, 0, 0, 0, 0), "atomic_most_lanes", 33),
    ],
)  # fmt: skip
def test_a_number_that_its_quantity_cannot_have_is_refused(
    record: Record, key: str, value: float
) -> None:
    with pytest.raises(ValidationError, match=key):
        from_json(changed(record, key, value))


def test_a_refused_number_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    minute = changed(RECORDS[0][0], "value", 5e-324)
    folder = run_folder(tmp_path, line(to_json(PLANNED)) + line(minute))
    monkeypatch.setattr(sys, "argv", ["harness", "report", str(folder)])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    said = capsys.readouterr().out
    assert f"{folder / 'journal.jsonl'}:2: this line is not what was written: value: " in said
    assert "at least 1e-30" in said


def test_an_instruction_of_a_file_that_is_not_listed_is_refused() -> None:
    row = MachineInstruction(16, "NOP", 0, 7, 1, 32, 32, 0, 0, 0, 0)
    body = to_json(MachineCode(CASE, 0, ("a.cu",), (row,)))
    assert from_json(body)
    with pytest.raises(ValidationError, match="a file that is not listed"):
        from_json(body.replace('"a.cu"', ""))


@pytest.mark.parametrize("confidence", [1 - 2**-53, 0.99999])
def test_a_confidence_near_certainty_is_refused_in_a_run_and_in_a_matrix(
    tmp_path: Path, confidence: float
) -> None:
    tables.load(run_folder(tmp_path, "", HIGHEST_CONFIDENCE))
    with pytest.raises(JournalError, match=r"timing\.confidence"):
        tables.load(run_folder(tmp_path, "", confidence))
    assert Timing(confidence=HIGHEST_CONFIDENCE).confidence == HIGHEST_CONFIDENCE
    with pytest.raises(ValidationError, match="confidence"):
        Timing(confidence=confidence)


def test_what_a_kernel_computed_may_be_any_number_and_is_shown(tmp_path: Path) -> None:
    records: list[Record] = [
        PLANNED,
        Verified("p", "v0", "float32", {"n": 1}, {"block": 64}, "test", 0, False, "wrong", 1.7e308),
        *(Told(CASE, f"told{i}", each, each, each, "ns")
          for i, each in enumerate((sys.float_info.max, -1e308, 5e-324))),
        Outcome(CASE, "ok"),
    ]  # fmt: skip
    run = tables.load(run_folder(tmp_path, "".join(line(to_json(each)) for each in records)))
    assert pages.write(run).is_file()


@pytest.mark.parametrize("scatter", [1.0, 140.0])
def test_an_interval_of_any_scatter_and_any_confidence_has_bounds(scatter: float) -> None:
    found = Estimate(math.log(1e30), scatter, 3).interval(1 - (1 - HIGHEST_CONFIDENCE) / 1000)
    assert 0 < found.low < found.value < found.high < math.inf
    assert math.isfinite(found.high / found.low)


@pytest.mark.parametrize("rate", [1e9, 2e12, 1e30])
def test_a_ceiling_as_fast_as_the_events_or_without_work_stays_as_measured(rate: float) -> None:
    found = Ceiling("read_bandwidth", rate, rate, rate, "byte/s", "", (rate, 0.0), "x", 1.0)
    assert ceiling_over_placements(found, [], 0.95, cost_ns=1.0) == found
    unknown = Ceiling("read_bandwidth", rate, rate, rate, "byte/s", "", (rate,), "x")
    rounds = [Round("x", "cold", i, False, (9.0,)) for i in range(5)]
    assert ceiling_over_placements(unknown, rounds, 0.95) == unknown


def test_a_line_whose_lanes_have_no_addresses_is_marked_without_them(tmp_path: Path) -> None:
    odd = SourceLine(CASE, 0, "a.cu", 1, 0, 0, 0, 0, 0, 0, atomic_lanes=2**62)
    assert source_lines._marks(odd, 1) == ()
    journal = [PLANNED, odd, Outcome(CASE, "ok")]
    run = tables.load(run_folder(tmp_path, "".join(line(to_json(each)) for each in journal)))
    assert pages.write(run).is_file()
