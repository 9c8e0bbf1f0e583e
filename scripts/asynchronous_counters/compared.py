"""Compare the emulator's machine-code counters with the H100's, launch by launch, and write the
table in docs/fidelity.md.

    python scripts/asynchronous_counters/compared.py
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from one_launch import Launch

from harness.emulator.results.counters import Counter

ROOT = Path(__file__).resolve().parents[2]
READINGS = [
    ROOT / "reports" / "h100" / f"{name}_counters.csv.gz" for name in ("asynchronous", "further")
]
PAGE = ROOT / "docs" / "fidelity.md"
BEGIN, END = "<!-- asynchronous counters:begin -->\n", "<!-- asynchronous counters:end -->"
EXACT = "machine-exact"
EXCEPTIONS = {
    ("test_wait", "1,16,0,0 <1,32>"): (
        "the one lane that loops rejoins the others on the H100, and in the emulator it is late"
    ),
    ("test_wait", "16,16,0,0 <1,32>"): "the same",
}
"""Launches with `machine-exact` counters that differ from the H100's, and why."""
MODELS = {
    ("test_wait", "1,16,0,0 <1,32>"), ("test_wait", "16,16,0,0 <1,32>"), ("poll", "1024 <1,32>"),
    ("move_registers", " <1,384>"), ("dependent_launches", " <1,32>"),
    ("wait_for_launch", "3 <1,32>"), ("wait_for_launch", "2 <1,96>"),
}  # fmt: skip
"""Launches with modelled counters that differ from the H100's."""
LATER = "further"
"""The file whose launches were read after the rules were fixed."""
KINDS = ("probe", "held_out", LATER)


@dataclass(frozen=True)
class Compared:
    """A counter of a launch, in the emulator and on the H100."""

    kind: str
    file: str
    kernel: str
    launch: str
    counter: Counter
    read: int

    @property
    def is_equal(self) -> bool:
        return self.counter.value == self.read

    @property
    def is_excepted(self) -> bool:
        return (self.kernel, self.launch) in EXCEPTIONS


@cache
def readings() -> dict[tuple[str, str, str], dict[str, str]]:
    """Map each launch, as file, kernel and name, to the columns of its first reading."""
    rows = []
    for path in READINGS:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            rows += csv.DictReader(file)
    return {
        (row["file"], row["kernel"], row["launch"]): row for row in rows if row["reading"] == "1"
    }


def compared(each: Launch, counters: Iterable[Counter]) -> Iterator[Compared]:
    """Yield those of a launch's counters that were read on the H100; none if the launch was not
    read."""
    row = readings().get((each.file, each.kernel, each.name), {})
    for counter in counters:
        if read := row.get(counter.name):
            yield Compared(row["set"], each.file, each.kernel, each.name, counter, int(read))


def table(found: Iterable[Compared]) -> str:
    """A row for each counter: in how many launches it is equal, separately for values labelled
    exact and for modelled ones."""
    of_counter: dict[str, dict[tuple[str, bool], list[bool]]] = {}
    for each in found:
        parts = of_counter.setdefault(each.counter.name, {})
        exact = each.counter.provenance == EXACT
        kind = LATER if each.file == LATER else each.kind
        parts.setdefault((kind, exact), []).append(each.is_equal)
    lines = [
        "| counter | probes, exact | held out, exact | later, exact | probes, model "
        "| held out, model | later, model |",
        "|---|---|---|---|---|---|---|",
    ]
    columns = [(kind, exact) for exact in (True, False) for kind in KINDS]
    for name, parts in sorted(of_counter.items()):
        cells = [_share(parts.get(column, [])) for column in columns]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _share(equal: list[bool]) -> str:
    return f"{sum(equal)} of {len(equal)}" if equal else ""


def everything() -> Iterator[Compared]:
    """Every launch, emulated from machine code."""
    import emulated_launches
    import readings_on_gpu as script

    from harness.compiler import compile as compiler

    for file in (*script.FILES, LATER):
        built = compiler.build(script.unit(file))
        for each in script.every(file):
            outcome = emulated_launches.of_machine_code(built, each)
            yield from compared(each, outcome.report.counters)


def main() -> int:
    found = list(everything())
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{rest.partition(END)[2]}", "utf-8")
    for each in found:
        if not each.is_equal:
            print(each.kind, each.kernel, each.launch, each.counter, each.read)
    return 0


if __name__ == "__main__":
    sys.exit(main())
