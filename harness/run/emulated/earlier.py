"""Results of earlier runs on the emulator, which need not be emulated again.

An emulated result is determined by the kernel's code, its launch, its inputs and the emulator;
clocks, cards and chance do not affect it. Therefore a variant's results are cached, like the
compiler's output, under a key made from everything that determines them, and a later run whose
variant has the same key reuses them.

The results of a variant with any failure are not kept: a user who runs it again wants to see the
failure.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from harness.cases import Device, how_many
from harness.compiler import cache
from harness.console.progress import console
from harness.errors import JournalError
from harness.files import python_packages, scratch
from harness.journal.file import as_line, read_journal
from harness.journal.records import Finished, Outcome, Planned, Record, Remark, Renewed, Verified
from harness.journal.superseded import current
from harness.matrix.written import Limits

_COMPUTE = ("numpy", "ml-dtypes", "torch")
"""The packages with which inputs and references are computed."""
_COMPILER_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


class EarlierResults:
    """The results of earlier runs, in a folder with one file per variant and key."""

    def __init__(self, limits: Limits, device: Device) -> None:
        self._folder = cache.CACHE.parent / "emulated"
        about = asdict(device)
        for key in ("bus", "room"):
            about.pop(key)
        self._around = {
            "device": about,
            "limits": limits.model_dump(),
            "python": sys.version,
            "packages": {name: python_packages.version_of(name) for name in _COMPUTE},
            "flags": {name: os.environ.get(name, "") for name in _COMPILER_FLAGS},
        }
        self._left: list[list[Planned]] = []
        self.taken_over = 0
        """The number of cases whose results were reused."""

    def take_over(self, planned: Iterable[Planned], keep: Callable[[Record], None]) -> None:
        """Pass the records that an earlier run has of these cases to `keep`, variant by variant."""
        for cases in _by_variant(planned).values():
            if records := self._read(cases):
                self.taken_over += len(cases)
                for record in records:
                    keep(record)
            else:
                self._left.append(cases)
        if self.taken_over:
            console.print(
                "as in an earlier run, with the same code, inputs and emulator: "
                f"{how_many(self.taken_over)} (--anew emulates them again)",
                markup=False,
            )

    def hand_on(self, journal: Path, planned: Callable[[], Iterable[Planned]]) -> None:
        """Store this run's results of the other cases for later runs.

        `planned`: returns, after the run, the cases with everything that determines their results.
        If one of a variant's files changed during the run, its results belong to no single version
        of the source and are not stored.
        """
        if not self._left:
            return
        now = {each.case: each.made_from for each in planned()}
        found = _of_variants(current(read_journal(journal)), self._left)
        for cases in self._left:
            records = found[cases[0].problem, cases[0].variant]
            is_same = all(now.get(each.case) == each.made_from for each in cases)
            if is_same and _is_right(records, cases):
                self._write(cases, records)

    def _read(self, planned: Sequence[Planned]) -> list[Record]:
        path = self._path(planned)
        try:
            found = list(read_journal(path)) if path.exists() else []
        except JournalError:
            return []
        ended = {each.case for each in found if isinstance(each, Outcome)}
        return found if ended == {each.case for each in planned} else []

    def _write(self, planned: Sequence[Planned], records: Iterable[Record]) -> None:
        path = self._path(planned)
        text = "".join(f"{as_line(record)}\n" for record in records)
        with suppress(OSError):  # then it is emulated again
            self._folder.mkdir(parents=True, exist_ok=True)
            with scratch.folder(self._folder) as own:
                made = own / path.name
                made.write_bytes(gzip.compress(text.encode(), compresslevel=1, mtime=0))
                made.replace(path)

    def _path(self, planned: Sequence[Planned]) -> Path:
        cases = sorted([p.case, p.launched, p.kernels, p.made_from] for p in planned)
        said = json.dumps([self._around, cases], sort_keys=True, default=str)
        return self._folder / f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.jsonl.gz"


def _by_variant(planned: Iterable[Planned]) -> dict[tuple[str, str], list[Planned]]:
    found = defaultdict(list)
    for each in planned:
        found[each.problem, each.variant].append(each)
    return found


def _of_variants(
    records: Iterable[Record], variants: Iterable[Sequence[Planned]]
) -> dict[tuple[str, str], list[Record]]:
    """Group a run's records by variant, leaving out those of other cases.

    The run's plan is left out as well, and so are marks of outdated records in its own folder:
    neither concerns another run.
    """
    owner = {each.case: (each.problem, each.variant) for cases in variants for each in cases}
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        if isinstance(record, Planned | Renewed):
            continue
        if (name := _owner(record, owner)) is not None:
            found[name].append(record)
    return found


def _owner(record: Record, owner: Mapping[str, tuple[str, str]]) -> tuple[str, str] | None:
    if isinstance(record, Finished):
        stage, _, name = record.stage.partition(" ")
        problem, _, variant = name.partition("/")
        return (problem, variant) if stage == "qualify" else None
    if isinstance(record, Verified | Remark):
        return record.problem, record.variant
    case: str | None = getattr(record, "case", None)
    return owner.get(case) if case else None


def _is_right(records: Iterable[Record], planned: Iterable[Planned]) -> bool:
    """Return whether every case has ended, none failed, and none is to be tried again."""
    ended = {each.case: each for each in records if isinstance(each, Outcome)}
    outcomes = [ended.get(each.case) for each in planned]
    return all(each and each.status != "failed" and not each.again for each in outcomes)
