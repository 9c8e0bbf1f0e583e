"""The avoidable work of a variant according to its counters: the main result of a run without
times.

A loss is avoidable work: shared-memory passes beyond the ideal, sectors beyond those that the
accessed bytes need, idle lanes. Each is estimated in cycles of one multiprocessor, at the rates of
peaks.py. The estimate only ranks a variant's losses and decides whether they are worth reporting;
it does not predict a time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from harness.analysis.finders import evaluate
from harness.analysis.peaks import PER_CYCLE
from harness.analysis.readings import Answer, Reading, Readings
from harness.journal.counter_records import MachineInstruction, SourceLine
from harness.journal.records import Planned
from harness.quantities import QUANTITIES
from harness.silicon.architectures import SECTOR_BYTES, WARP_SIZE

WORTH, IDLE_WORTH = 0.05, 0.1
"""The share of a case's modelled cycles below which a loss is not reported. Some lanes are idle in
every kernel: at bounds checks, and where one thread stores for all."""


@dataclass(frozen=True)
class Loss:
    """`text`: completes "<variant>: …". `value`: the quantity's value at the worst line or, without
    counts by line, in the whole case. `place`: file:line, or empty. `share`: fraction of the cycles
    estimated for the case.
    """

    quantity: str
    text: str
    value: float
    share: float
    place: str = ""

    @property
    def ideal(self) -> float:
        """The quantity's ideal value; 1 if its values are already relative to the ideal."""
        ideal = QUANTITIES[self.quantity].ideal
        return 1.0 if ideal is None else ideal

    def __str__(self) -> str:
        return f"{self.text}, {self.place}" if self.place else self.text


def losses(readings: Readings, p: Planned) -> list[Loss]:
    """The losses of a case that are worth reporting, the greatest first."""
    found = sorted(_Case(readings, p).losses(), key=lambda loss: -loss.share)
    worth = {"acting-threads": IDLE_WORTH}
    return [loss for loss in found if loss.share >= worth.get(loss.quantity, WORTH)]


class _Case:
    def __init__(self, readings: Readings, p: Planned) -> None:
        self.readings, self.p, self.run = readings, p, readings.run
        self.lines: Sequence[SourceLine] = self.run.lines.get(p.case, ())
        self.all = sum((self.exactly(key) or 0) / rate for key, rate in PER_CYCLE.items())

    def exactly(self, key: str) -> float | None:
        """A quantity's value if it is reliable enough to decide a verdict, else None."""
        answer: Answer = evaluate(key, self.readings, self.p)
        return answer.value if isinstance(answer, Reading) and answer.judges else None

    def losses(self) -> Iterator[Loss]:
        if not self.all:
            return
        yield from self._conflicts()
        scattered = 0.0
        for loss, cycles in self._scattered():
            scattered += cycles
            yield loss
        yield from self._again(scattered)
        yield from self._idle()
        yield from self._spilled()

    def _conflicts(self) -> Iterator[Loss]:
        spent, ideal = self.exactly("wavefronts"), self.exactly("wavefronts-ideal")
        if not spent or not ideal or spent <= ideal:
            return
        worst, place = self._worst(lambda x: x.conflicts)
        over = spent / ideal
        if worst and worst.wavefronts_ideal:
            over = worst.wavefronts / worst.wavefronts_ideal
        yield Loss("wavefronts-over-ideal", f"{_number(over)}× the ideal wavefronts", over,
                   self._share(spent - ideal, "wavefronts"), place)  # fmt: skip

    def _scattered(self) -> Iterator[tuple[Loss, float]]:
        """Sectors in excess of those that an access needs, at the line with the most of them."""
        if self.exactly("sectors") is None:
            return
        by_line: dict[tuple[str, int, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for code in self.run.machine_code.get(self.p.case, ()):
            for each in code.instructions:
                if each.requests and (kind := _kind(each)):
                    at = by_line[code.files[each.file], each.line, kind]
                    at[0] += each.sectors
                    at[1] += min(_needed(each), each.sectors)
        if not by_line:
            return
        (file, line, kind), (touched, needed) = max(
            by_line.items(), key=lambda each: each[1][0] - each[1][1]
        )
        extra = sum(t - n for t, n in by_line.values())
        if extra <= 0 or touched <= needed:
            return
        over = touched / needed
        loss = Loss(
            "sectors", f"{kind} touch {_number(over)}× the sectors that they need", over,
            self._share(extra, "sectors"), f"{PurePath(file).name}:{line}",
        )  # fmt: skip
        yield loss, extra

    def _again(self, scattered: float) -> Iterator[Loss]:
        """Sectors that are fully used but exceed the problem's minimum traffic."""
        touched = self.exactly("sectors")
        must = self.p.bytes / SECTOR_BYTES
        if not touched or not must or touched <= must:
            return
        over = touched / must
        _, place = self._worst(lambda x: x.every_sector)
        share = self._share(touched - must - scattered, "sectors")
        text = f"touches {_number(over)}× the bytes that it must"
        yield Loss("sectors-over-compulsory", text, over, share, place)

    def _idle(self) -> Iterator[Loss]:
        acting, warps = self.exactly("acting-threads"), self.exactly("instructions")
        if acting is None or not warps:
            return
        worst, place = self._worst(lambda x: WARP_SIZE * x.warps - x.threads)
        lanes = worst.threads / worst.warps if worst and worst.warps else acting
        text = f"{lanes:.1f} of {WARP_SIZE} lanes act"
        idle = self._share(warps * (WARP_SIZE - acting) / WARP_SIZE, "instructions")
        yield Loss("acting-threads", text, lanes, idle, place)

    def _spilled(self) -> Iterator[Loss]:
        """Report spills last, because their cost is not known."""
        for made in self.run.compiled.get(self.p.case, ()):
            if made.spill_bytes:
                place = PurePath(made.local_at).name
                text = f"{made.spill_bytes} bytes a thread do not fit registers"
                yield Loss("spills", text, float(made.spill_bytes), WORTH, place)
                return

    def _share(self, amount: float, key: str) -> float:
        return amount / PER_CYCLE[key] / self.all

    def _worst(self, amount: Callable[[SourceLine], float]) -> tuple[SourceLine | None, str]:
        worst = max(self.lines, key=amount, default=None)
        if worst is None or amount(worst) <= 0:
            return None, ""
        return worst, f"{PurePath(worst.file).name}:{worst.line}"


_KINDS = {"LD": "loads", "ST": "stores", "RED": "atomics", "ATOM": "atomics"}
_WIDTHS = ((".128", 16), (".64", 8), (".U16", 2), (".S16", 2), (".U8", 1), (".S8", 1))
_OPCODE = re.compile(r"(?:@!?U?P\w+\s+)?((LD|ST|RED|ATOM)[\w.]*)")


def _kind(each: MachineInstruction) -> str:
    found = _OPCODE.match(each.text)
    return _KINDS[found[2]] if found else ""


def _needed(each: MachineInstruction) -> float:
    """The sectors that the lanes' bytes would fill if they were adjacent and aligned."""
    found = _OPCODE.match(each.text)
    opcode = found[1] if found else ""
    width = next((width for mark, width in _WIDTHS if mark in opcode), 4)
    lanes = each.threads_on / each.requests
    return each.requests * max(1.0, lanes * width / SECTOR_BYTES)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value >= 100 else f"{value:.1f}"
