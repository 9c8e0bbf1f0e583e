"""The journal keeps all measurements, and reports damage."""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import JournalError
from harness.journal.counter_records import (
    Counted,
    Emulated,
    MachineCode,
    MachineInstruction,
    Profiled,
    SourceLine,
    Uncounted,
)
from harness.journal.file import Journal, read_journal
from harness.journal.records import (
    Ceiling,
    Compiled,
    Conditions,
    EventCost,
    Finished,
    Located,
    Outcome,
    Planned,
    Record,
    Remark,
    Renewed,
    Round,
    Told,
    Verified,
)

CASE = "double/v0/float32/n=1024/block=64"
RECORDS: list[Record] = [
    Planned(CASE, "double", "v0", "float32", {"n": 1024}, {"block": 64}, 8192, 1024, True, False,
            ("twice",)),
    Compiled(CASE, 0, "twice", "ab" * 32, "cd" * 32, 16, 0, 0, 0, 64, 1.0, "warps"),
    Verified("double", "v0", "float32", {"n": 33}, {"block": 64}, "test", 0, True, "", 0.25),
    Verified("double", "v0", "float32", {"n": 33}, {}, "after", 1, False, "a NaN\n", None),
    Counted(CASE, 0, "twice", "smsp__inst_executed.sum", 320.0, "inst", "ptx-level"),
    Uncounted(CASE, 0, "dram__bytes_read.sum", "not permitted: ERR_NVGPUCTRPERM"),
    Profiled("2025.3.1", "all", "none", "gh100", {"a": "b"}, ("profile/1.ncu-rep",)),
    Emulated(CASE, "double", "v0", "float32", {"block": 64}, "double/v0/float32/n=64/block=64",
             {"n": 64}, 512, 64, "at its own size v0 would take about 90 s to emulate"),
    MachineCode(CASE, 0, ("a.cu",), (
        MachineInstruction(16, "@P0 LDG.E R2,desc[UR4][R2.64]", 0, 7, 10, 320, 32, 10, 40, 0, 0),
    )),
    SourceLine(CASE, 0, "a.cu", 7, 10, 320, 10, 40, 0, 0, 10, 3, 64, 32, 4),
    Round(CASE, "cold", 0, False, (2500.5, 2501.0), ((1.5, 2.5), (3.5,))),
    EventCost("double/float32/n=1024", "cold", 2, (3071.5, 3104.0)),
    Conditions("double/float32/n=1024", 0, 1_980_000_000, None, 41, 288.5, ("SwPowerCap",)),
    Ceiling("read_bandwidth", 4.5e12, 4.4e12, 4.6e12, "byte/s", "grid 132 × 4", (4.5e12,)),
    Remark("double", "v0", "float32", "reads a clock", "emulator-exact"),
    Told(CASE, "cycles", 512.0, 510.5, 530.0, "cycles per load"),
    Outcome(CASE, "failed", 'said "no"\n  · ünïcode  '),
    Located("a/v0/float32/n=1", "measure", "node7", "GPU-1f3"),
    Finished("qualify double/v0"),
    Renewed(CASE, "double", "v0", "float32", {"n": 1024}, {"block": 64}, "case", "v0.cu changed"),
]  # fmt: skip


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as file:
        for record in RECORDS:
            file.append(record)
    return path


def test_every_kind_of_record_is_among_those_tested() -> None:
    assert {type(record) for record in RECORDS} == set(get_args(Record))


def test_records_come_back_equal_and_in_order(journal: Path) -> None:
    assert list(read_journal(journal)) == RECORDS


def test_a_record_is_one_line(journal: Path) -> None:
    assert len(journal.read_bytes().splitlines()) == len(RECORDS)


def test_a_record_is_on_disk_before_the_next_is_made(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as file:
        for number, record in enumerate(RECORDS, 1):
            file.append(record)
            assert list(read_journal(path)) == RECORDS[:number]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_not_written(tmp_path: Path, value: float) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as file:
        file.append(RECORDS[0])
        with pytest.raises(ValueError, match="float"):
            file.append(Counted(CASE, 0, "twice", "m", value, "", "measured"))
        with pytest.raises(ValueError, match="float"):
            file.append(Round(CASE, "cold", 0, False, (1.0, value)))
        file.append(RECORDS[1])
    assert list(read_journal(path)) == RECORDS[:2]


def complete_lines(content: bytes) -> int:
    return content.count(b"\n")


def test_a_journal_torn_at_any_byte_keeps_every_whole_line(journal: Path) -> None:
    whole = journal.read_bytes()
    for length in range(len(whole) + 1):
        torn = whole[:length]
        journal.write_bytes(torn)
        found = list(read_journal(journal))
        # A last line that lacks only its newline is complete.
        extra = length < len(whole) and whole[length : length + 1] == b"\n" and torn != b""
        assert found == RECORDS[: complete_lines(torn) + extra]


def test_a_torn_journal_is_continued_without_losing_what_was_read(journal: Path) -> None:
    whole = journal.read_bytes()
    start = whole.rindex(b"\n", 0, -1) - 40
    for length in range(start, len(whole) + 1):
        journal.write_bytes(whole[:length])
        before = list(read_journal(journal))
        with Journal(journal) as file:
            file.append(RECORDS[2])
        assert list(read_journal(journal)) == [*before, RECORDS[2]]


def test_a_changed_byte_is_an_error_with_its_line_and_never_another_record(journal: Path) -> None:
    whole = journal.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for at in range(0, last, 3):
        for replacement in (b"0", b"}", b"\n", b"\xff"):
            if whole[at : at + 1] == replacement:
                continue
            changed = whole[:at] + replacement + whole[at + 1 :]
            journal.write_bytes(changed)
            line = whole[:at].count(b"\n") + 1
            with pytest.raises(
                JournalError, match=rf"journal\.jsonl:({line}|{line + 1}): "
            ) as caught:
                list(read_journal(journal))
            assert "delete the line" in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_garbage_is_never_read_as_a_record(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    found: list[Record] = []
    with suppress(JournalError):
        found += read_journal(path)
    assert found == []


@pytest.mark.parametrize(
    "line", ["5", "[]", "null", "{}", '{"crc32":"00000000"}', '{"crc32":1,"record":{}}',
             '{"crc32":"00000000","record":{}}', '{"crc32":"00000000","record":5}']
)  # fmt: skip
def test_other_json_is_not_a_record(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(JournalError, match=r"journal\.jsonl:1: this line is not what was written"):
        list(read_journal(path))


def test_a_line_taken_out_leaves_the_others_readable(journal: Path) -> None:
    lines = journal.read_text().split("\n")
    journal.write_text("\n".join(lines[:3] + lines[4:]))
    assert list(read_journal(journal)) == RECORDS[:3] + RECORDS[4:]


def test_a_journal_that_is_not_there_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"cannot read .*No such file"):
        list(read_journal(tmp_path / "journal.jsonl"))


def test_an_empty_journal_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_bytes(b"")
    assert list(read_journal(tmp_path / "journal.jsonl")) == []


def test_threads_do_not_write_into_each_others_lines(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as file:

        def write(name: int) -> None:
            for number in range(100):
                file.append(Round(str(name), "cold", number, False, tuple(map(float, range(200)))))

        threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = [record for record in read_journal(path) if isinstance(record, Round)]
    for name in range(4):
        assert [r.round for r in found if r.case == str(name)] == list(range(100))
