"""When the counters support a cause for a difference in time: the rules, as a table.

A counter that moved is not yet a cause. A rule names a cause only where its quantity moved in the
direction that explains the faster case, by at least its threshold, from a level at which it
matters, and by at least half as much as the time did (both as logarithms): 2 % fewer instructions
do not explain a kernel that is twice as fast. Whatever satisfies all of it is named; the counters
cannot tell which of several causes weighed most, and the sentence does not claim it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

SHARE = 0.5
"""What part of the time's change, as a logarithm, a quantity's own change must reach."""


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
    proportional: bool = True
    """Whether the change must come near the time's: not where the quantity is a part of a whole."""

    @property
    def condition(self) -> str:
        """The rule in words, for the page."""
        end = "at most" if self.good == "lower" else "at least"
        share = f"1/{self.threshold:g}" if self.good == "lower" else f"{self.threshold:g}"
        return f"{end} {share} of the slower case's"

    def holds(self, pairs: Mapping[str, Pair], speedup: float) -> bool:
        pair = pairs.get(self.quantity)
        if pair is None:
            return False
        level = pair.slow if self.good == "lower" else pair.fast
        better = pair.times(self.good)
        if level < self.matters or better < self.threshold:
            return False
        if self.proportional and math.log(better) < SHARE * math.log(speedup):
            return False
        return all(
            key in pairs and pairs[key].times(good) >= least for key, good, least in self.needs
        )


RULES = (
    Rule("bank-conflicts", "wavefronts-over-ideal", "lower", 1.25, 1.25, "fewer bank conflicts",
         needs=(("wavefronts", "lower", 1.1),)),
    Rule("sectors", "sectors-over-compulsory", "lower", 1.1, 1.1,
         "fewer sectors touched for the same data"),
    Rule("memory-traffic", "dram-over-compulsory", "lower", 1.1, 1.05,
         "less traffic to the device's memory"),
    Rule("divergence", "acting-threads", "higher", 1.25, 0.0, "less divergence",
         needs=(("instructions", "lower", 1.1),)),
    Rule("instructions", "instructions", "lower", 1.1, 0.0, "fewer instructions"),
    Rule("wider-loads", "load-requests", "lower", 1.5, 0.0, "wider loads, fewer of them"),
    Rule("barriers", "barrier-share", "lower", 1.25, 0.1, "less waiting at barriers",
         proportional=False),
    Rule("occupancy", "achieved-occupancy", "higher", 1.15, 0.0, "higher occupancy"),
    Rule("wave-fill", "wave-fill", "higher", 1.1, 0.0, "a fuller last wave"),
    Rule("spills", "spills", "lower", 1.5, 8.0, "fewer spilled registers"),
)  # fmt: skip

LAUNCH_SHARE = (0.5, 2.0)
"""A launch saved explains what was saved where that is within these times of what it had cost."""


def causes(pairs: Mapping[str, Pair], speedup: float) -> list[Rule]:
    """The rules that hold for a faster case, given how many times faster it is (over 1)."""
    return [rule for rule in RULES if rule.holds(pairs, speedup)]
