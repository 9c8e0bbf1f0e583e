"""Find the source line that a counter's change comes from.

The emulator counts by line. An edit moves the lines below it, so lines are not matched by number:
lines with the same cost before and after, in the same order, are the same line. Of the other lines,
the report names the one whose cost grew most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from difflib import SequenceMatcher
from pathlib import PurePath

from harness.comparison.pairs import Side
from harness.journal.counter_records import SourceLine
from harness.tables import Run

Amount = Callable[[SourceLine], float]
Quotient = tuple[Amount, Amount]


@dataclass(frozen=True)
class LineOfCode:
    """A line of the new source. `figures`: the line's own values before and after, if it has them.

    The value before is None if the line is new or was not counted.
    """

    file: str
    line: int
    figures: tuple[float | None, float] | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def where(
    base: Side, new: Side, amount: Amount, shown: Quotient | None = None
) -> LineOfCode | None:
    """The line with the largest increase; None if no line increased or lines were not counted."""
    before, after = _of(base), _of(new)
    if not before or not after:
        return None
    changed = _unmatched(before, after)
    there = {(shortened(base.run, x.file), x.line, x.step): x for x in before}
    best, most, its_base = None, 0.0, None
    for line in changed:
        was = there.get((shortened(new.run, line.file), line.line, line.step))
        grown = amount(line) - (amount(was) if was else 0.0)
        if grown > most:
            best, most, its_base = line, grown, was
    if best is None:
        return None
    now = _figure(best, shown)
    figures = (_figure(its_base, shown), now) if now is not None else None
    return LineOfCode(shortened(new.run, best.file), best.line, figures)


def place(side: Side, at: str) -> LineOfCode | None:
    """Parse a line that a journal names as `file:line`."""
    file, _, line = at.rpartition(":")
    return LineOfCode(shortened(side.run, file), int(line)) if file and line.isdecimal() else None


def _of(side: Side) -> list[SourceLine]:
    found = side.run.lines.get(side.case, [])
    return sorted(found, key=lambda x: (x.step, shortened(side.run, x.file), x.line))


def _unmatched(before: list[SourceLine], after: list[SourceLine]) -> list[SourceLine]:
    """The lines of the second file whose cost matches no line of the first."""
    one, other = ([_cost(x) for x in lines] for lines in (before, after))
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    same = {i for block in blocks for i in range(block.b, block.b + block.size)}
    return [x for i, x in enumerate(after) if i not in same]


def _cost(line: SourceLine) -> tuple[object, ...]:
    return astuple(replace(line, case="", file="", line=0))


def _figure(line: SourceLine | None, shown: Quotient | None) -> float | None:
    if line is None or shown is None:
        return None
    over, under = (amount(line) for amount in shown)
    return over / under if under else None


def shortened(run: Run, file: str) -> str:
    """The file's path under the problems folder, as in run.json; otherwise its last two components.

    If several names fit, the shortest is used, which is the same for both sides of one run.
    """
    known = [name for name in run.info.get("sources") or {} if f"/{file}".endswith(f"/{name}")]
    return min(known, key=len, default="/".join(PurePath(file).parts[-2:]))
