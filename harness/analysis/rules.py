"""When the counters support a cause for a difference in time: the rules, as a table.

A counter that moved is not yet a cause. A rule names a cause only where

- its quantity moved in the direction that explains the faster case, by at least its threshold, from
  a level at which it matters;
- it moved by at least half as much as the time did, both as logarithms: 2 % fewer instructions do
  not explain a kernel that is twice as fast;
- what was saved of it would take the machine at least a tenth of the time that was saved, however
  fast it went about it: bank conflicts of a kernel that hardly uses shared memory explain nothing.

Several may hold at once. Those that name one mistake come first, in the order of the table; then
what has a price at the machine's peak, the largest saving first; then what keeps the machine from
being filled. Only what was measured, or counted exactly, is held against a rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SHARE = 0.5
"""What part of the time's change, as a logarithm, a quantity's own change must reach."""

WORTH = 0.1
"""What part of the time saved the amount saved must take at the machine's peak."""

STEADY = 1.1
"""By how many times a quantity may differ that a rule wants unchanged."""


@dataclass(frozen=True)
class Pair:
    """A quantity in the slower and in the faster case."""

    slow: float
    fast: float

    def times(self, good: str) -> float:
        """How many times better the faster case is; below 1 where it is worse."""
        if self.slow == self.fast:
            return 1.0
        over, under = (self.slow, self.fast) if good == "lower" else (self.fast, self.slow)
        return over / under if under else math.inf


@dataclass(frozen=True)
class Saving:
    """By how many times the faster case is faster, and what that saves."""

    speedup: float
    ns: float
    peaks: Mapping[str, float]
    """Quantity → how many of it the machine manages in a nanosecond."""


@dataclass(frozen=True)
class Rule:
    """One cause. `needs`: other quantities that must have improved too, and by how many times."""

    key: str
    quantity: str
    good: str
    threshold: float
    """By how many times the quantity must be better in the faster case."""
    matters: float
    """From this level on (of the slower case where lower is better, else of the faster)."""
    cause: str
    needs: tuple[tuple[str, str, float], ...] = ()
    steady: tuple[str, ...] = ()
    """Quantities that must not have changed: else the cause is another one."""
    proportional: bool = True
    """Whether the change must come near the time's: not where the quantity is a part of a whole."""
    amount: str = ""
    """The quantity whose saving must be worth a part of the time; empty where no peak is known."""

    @property
    def condition(self) -> str:
        """The rule in words, for the page."""
        end = "at most" if self.good == "lower" else "at least"
        share = f"1/{self.threshold:g}" if self.good == "lower" else f"{self.threshold:g}"
        return f"{end} {share} of the slower case's"

    def holds(self, pairs: Mapping[str, Pair], saving: Saving) -> bool:
        pair = pairs.get(self.quantity)
        if pair is None:
            return False
        level = pair.slow if self.good == "lower" else pair.fast
        better = pair.times(self.good)
        if level < self.matters or better < self.threshold:
            return False
        if self.proportional and math.log(better) < SHARE * math.log(saving.speedup):
            return False
        worth = self.worth(pairs, saving)
        if worth is not None and worth < WORTH:
            return False
        return all(
            key in pairs and pairs[key].times(good) >= least for key, good, least in self.needs
        ) and all(
            key in pairs and 1 / STEADY <= pairs[key].times("lower") <= STEADY
            for key in self.steady
        )

    def worth(self, pairs: Mapping[str, Pair], saving: Saving) -> float | None:
        """What part of the time saved the amount saved takes at the machine's peak."""
        if self.amount not in pairs or self.amount not in saving.peaks:
            return None
        saved = pairs[self.amount].slow - pairs[self.amount].fast
        return saved / saving.peaks[self.amount] / saving.ns


MISTAKES = (
    Rule("spills", "spills", "lower", 1.5, 8.0, "fewer spilled registers"),
    Rule("shared-atomics", "shared-lanes-per-address", "lower", 1.5, 2.0,
         "fewer atomics of a warp on one address of shared memory"),
    Rule("global-lanes", "global-lanes-per-address", "lower", 1.5, 2.0,
         "fewer atomics of a warp on one address of global memory"),
    Rule("global-atomics", "global-atomics", "lower", 1.5, 0.0, "fewer atomics in global memory",
         amount="global-atomics"),
    Rule("wider-loads", "load-width", "higher", 1.5, 1.5, "wider loads",
         needs=(("load-requests", "lower", 1.5),), steady=("load-sectors",)),
)  # fmt: skip
PRICED = (
    Rule("coalescing", "sectors-per-request", "lower", 1.1, 4.4, "better coalesced accesses",
         needs=(("sectors", "lower", 1.1),), amount="sectors"),
    Rule("redundant-accesses", "sectors-over-compulsory", "lower", 1.1, 1.1,
         "fewer accesses to global memory for the same data",
         needs=(("requests", "lower", 1.1),), amount="sectors"),
    Rule("bank-conflicts", "wavefronts-over-ideal", "lower", 1.25, 1.25, "fewer bank conflicts",
         needs=(("wavefronts", "lower", 1.1),), amount="wavefronts"),
    Rule("shared-accesses", "wavefronts-ideal", "lower", 1.25, 0.0,
         "fewer passes through shared memory", amount="wavefronts"),
    Rule("divergence", "acting-threads", "higher", 1.25, 0.0, "less divergence",
         needs=(("instructions", "lower", 1.1),), amount="instructions"),
    Rule("instructions", "instructions", "lower", 1.1, 0.0, "fewer instructions",
         amount="instructions"),
    Rule("memory-traffic", "dram-over-compulsory", "lower", 1.1, 1.05,
         "less traffic to the device's memory", amount="dram-bytes"),
)  # fmt: skip
FILL = (
    Rule("barriers", "barrier-share", "lower", 1.25, 0.1, "less waiting at barriers",
         proportional=False),
    Rule("dispatch", "dispatch-share", "lower", 1.25, 0.1, "less waiting to be dispatched",
         proportional=False),
    Rule("barrier-count", "barrier-density", "lower", 1.5, 0.02, "fewer barriers",
         needs=(("barriers", "lower", 1.5),)),
    Rule("machine-fill", "machine-fill", "higher", 1.1, 0.0, "a grid that fills more of the GPU"),
    Rule("wave-fill", "wave-fill", "higher", 1.1, 0.0, "a fuller last wave"),
    Rule("occupancy", "achieved-occupancy", "higher", 1.15, 0.0, "higher occupancy"),
    Rule("theoretical-occupancy", "theoretical-occupancy", "higher", 1.15, 0.0,
         "higher occupancy"),
)  # fmt: skip
RULES = MISTAKES + PRICED + FILL

LAUNCH_SHARE = (0.5, 2.0)
"""A launch saved explains what was saved where that is within these times of what it had cost."""


def causes(pairs: Mapping[str, Pair], saving: Saving, among: Sequence[Rule] = RULES) -> list[Rule]:
    """The rules that hold for a faster case, in the order in which they are named."""

    def price(rule: Rule) -> float:
        return -(rule.worth(pairs, saving) or 0.0)

    ordered = [*MISTAKES, *sorted(PRICED, key=price), *FILL]
    found = [rule for rule in ordered if rule in among and rule.holds(pairs, saving)]
    words = [rule.cause for rule in found]
    return [rule for i, rule in enumerate(found) if rule.cause not in words[:i]]
