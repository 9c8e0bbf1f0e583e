"""The table of rules that decide which counters support which cause of a difference in time.

A change in a counter alone is not evidence of a cause. A rule names a cause only if

- its quantity changed in the direction that explains the faster case, by at least the rule's
threshold, and from a level at which the quantity matters; and
- the change can account for the time saved. One test uses stall reasons: the stalls related to the
rule account for at least a fifth of the time saved. Each stall reason is credited with at most the
saving that is proportional to the change of its quantity, and with at most the stall time that was
saved. The other test uses the size of the change: the quantity changed by at least half as much as
the time, both as logarithms (2 % fewer instructions do not explain a kernel that is twice as fast),
and the work saved would take the machine at least a tenth of the time saved, at its peak rate.

Amounts are totals over all launches of a case, so that two launch shapes can be compared. Several
causes may hold at once. Causes that name a specific mistake come first, in the table's order; then
those with an estimated cost, largest saving first, except that traffic comes after the accesses
that cause it; then those that leave the GPU underfilled. Rules use only measured or exactly counted
values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.quantities import QUANTITIES

SHARE = 0.5
"""The fraction of the time's change that a quantity's own change must reach, both as logarithms."""

WORTH = 0.1
"""The share of the time saved that the work saved must take at the machine's peak rate."""

WAITED = 0.2
"""The share of the time saved that must come from stalls that the quantity's change could
remove."""


@dataclass(frozen=True)
class Pair:
    """A quantity in the slower case and in the faster case."""

    slow: float
    fast: float

    def times(self, good: str) -> float:
        """The factor by which the faster case is better in this quantity; less than 1 if it is
        worse."""
        if self.slow == self.fast:
            return 1.0
        over, under = (self.slow, self.fast) if good == "lower" else (self.fast, self.slow)
        return over / under if under else math.inf

    @property
    def turned(self) -> Pair:
        return Pair(self.fast, self.slow)


@dataclass(frozen=True)
class Saving:
    """The speed-up of the faster case and the time it saves."""

    speedup: float
    ns: float
    peaks: Mapping[str, float]
    """Quantity → the amount that the machine can process per nanosecond."""
    waits: Mapping[str, Pair] = field(default_factory=dict)
    """Wait class (a key of time_spent.REASONS) → nanoseconds; empty if warps were not sampled."""
    at_roof: bool = False
    """True if a unit on the path to memory limited the slower case."""


@dataclass(frozen=True)
class Rule:
    """One cause.

    `needs`: other quantities that must also have improved, and by what factor. `way`: the direction
    that is an improvement under this rule, for quantities that have none in the catalogue.
    """

    key: str
    quantity: str
    threshold: float
    """The factor by which the quantity must be better in the faster case."""
    matters: float
    """The smallest value at which the quantity matters: in the slower case if lower is better, else
    in the faster case."""
    cause: str
    ideas: tuple[str, ...] = ()
    """The ideas of harness/cases.py that the rule confirms."""
    needs: tuple[tuple[str, float], ...] = ()
    outdoes: tuple[str, ...] = ()
    """Lower-is-better quantities that must have improved by less; otherwise they are the cause."""
    proportional: bool = True
    """True if the change must be nearly as large as that of the time; False if the quantity is only
    part of a whole."""
    amount: str = ""
    """The quantity whose saving must account for a share of the time; empty if no peak is known."""
    waits: tuple[str, ...] = ()
    """The stall reasons that the cause affects, by their names in
    harness/analysis/causes/time_spent.py."""
    only_waits: bool = False
    """True if only stall reasons can show the cause."""
    below_roof: bool = False
    """True if relieving the cause does not help a case that is limited by a unit on the path to
    memory."""
    way: str = ""

    @property
    def good(self) -> str:
        return self.way or QUANTITIES[self.quantity].good

    @property
    def condition(self) -> str:
        """The rule in words, for the page."""
        end = "at most" if self.good == "lower" else "at least"
        share = f"1/{self.threshold:g}" if self.good == "lower" else f"{self.threshold:g}"
        return f"{end} {share} of the slower case's"

    def holds(self, pairs: Mapping[str, Pair], saving: Saving) -> bool:
        """Return whether the rule explains the time that was saved."""
        if not self.moved(pairs) or (self.below_roof and saving.at_roof):
            return False
        waited = self.waited(pairs, saving)
        if self.only_waits:
            return waited is not None and waited >= WAITED
        if waited is not None and waited >= WAITED:
            return True
        better = pairs[self.quantity].times(self.good)
        if self.proportional and math.log(better) < SHARE * math.log(saving.speedup):
            return False
        worth = self.worth(pairs, saving)
        return worth is None or worth >= WORTH

    def moved(self, pairs: Mapping[str, Pair]) -> bool:
        """Return whether the cause was relieved, regardless of the effect on time."""
        pair = pairs.get(self.quantity)
        if pair is None:
            return False
        level = pair.slow if self.good == "lower" else pair.fast
        if level < self.matters or pair.times(self.good) < self.threshold:
            return False
        return all(
            key in pairs and pairs[key].times(QUANTITIES[key].good) >= least
            for key, least in self.needs
        ) and all(
            key in pairs and pairs[key].times("lower") < pair.times(self.good)
            for key in self.outdoes
        )

    def worth(self, pairs: Mapping[str, Pair], saving: Saving) -> float | None:
        """The share of the time saved that the work saved takes at the machine's peak rate."""
        if self.amount not in pairs or self.amount not in saving.peaks:
            return None
        saved = pairs[self.amount].slow - pairs[self.amount].fast
        return saved / saving.peaks[self.amount] / saving.ns

    def waited(self, pairs: Mapping[str, Pair], saving: Saving) -> float | None:
        """The share of the time saved that stalls related to the cause account for."""
        known = [saving.waits[name] for name in self.waits if name in saving.waits]
        if not known:
            return None
        most = 1 - 1 / pairs[self.quantity].times(self.good)
        saved = sum(min(pair.slow - pair.fast, most * pair.slow) for pair in known)
        return saved / saving.ns

    def price(self, pairs: Mapping[str, Pair], saving: Saving) -> float:
        """The sort key that ranks causes."""
        return max(self.worth(pairs, saving) or 0.0, self.waited(pairs, saving) or 0.0)


_MEMORY = ("memory", "queue", "exit")
_ISSUE = ("ready", "latency", "pipe", "fetch")
MISTAKES = (
    Rule("spills", "spills", 1.5, 8.0, "fewer spilled registers", ("spills",), waits=_MEMORY),
    Rule("shared-atomics", "shared-lanes-per-address", 1.5, 2.0,
         "fewer atomics of a warp on one address of shared memory", ("atomics",),
         waits=("shared",)),
    Rule("global-lanes", "global-lanes-per-address", 1.5, 2.0,
         "fewer atomics of a warp on one address of global memory", ("atomics",), waits=_MEMORY),
    Rule("global-atomics", "global-atomics", 1.5, 0.0, "fewer atomics in global memory",
         ("atomics",), amount="atomic-passes", waits=_MEMORY),
    Rule("tensor-cores", "tensor-share", 1.5, 0.03, "products by the tensor cores",
         ("tensor-cores",), needs=(("instructions", 1.1),), amount="instructions",
         waits=(*_ISSUE, "shared"), way="higher"),
    Rule("wider-loads", "load-width", 1.5, 1.5, "wider loads", ("vector-access",),
         needs=(("load-requests", 1.5),), outdoes=("load-sectors",), waits=(*_MEMORY, *_ISSUE),
         way="higher"),
    Rule("wider-stores", "store-width", 1.5, 1.5, "wider stores", ("vector-access",),
         needs=(("store-requests", 1.5),), outdoes=("store-sectors",), waits=(*_MEMORY, *_ISSUE),
         way="higher"),
)  # fmt: skip
PRICED = (
    Rule("coalescing", "sectors-per-request", 1.1, 4.4, "better coalesced accesses",
         ("coalescing",), needs=(("sectors", 1.1),), amount="sectors", waits=_MEMORY),
    Rule("coalesced-loads", "sectors-per-load", 1.1, 4.4, "better coalesced accesses",
         ("coalescing",), needs=(("load-sectors", 1.1),), amount="sectors", waits=_MEMORY,
         way="lower"),
    Rule("coalesced-stores", "sectors-per-store", 1.1, 4.4, "better coalesced accesses",
         ("coalescing",), needs=(("store-sectors", 1.1),), amount="sectors", waits=_MEMORY,
         way="lower"),
    Rule("redundant-accesses", "sectors-over-compulsory", 1.1, 1.1,
         "fewer accesses to global memory for the same data", ("traffic",),
         needs=(("requests", 1.1),), amount="sectors", waits=_MEMORY),
    Rule("l2-traffic", "l2-bytes", 1.1, 0.0, "less traffic through the L2 cache",
         ("traffic", "caching"), amount="l2-bytes", waits=_MEMORY),
    Rule("memory-traffic", "dram-over-compulsory", 1.1, 1.05, "less traffic to the device's memory",
         ("traffic", "caching"), amount="dram-bytes", waits=_MEMORY),
    Rule("bank-conflicts", "wavefronts-over-ideal", 1.25, 1.25, "fewer bank conflicts",
         ("bank-conflicts",), needs=(("wavefronts", 1.1),), amount="wavefronts", waits=("shared",)),
    Rule("shared-accesses", "wavefronts-ideal", 1.25, 0.0, "fewer passes through shared memory",
         ("register-tiling",), amount="wavefronts", waits=("shared",)),
    Rule("shared-requests", "shared-requests", 1.25, 0.0, "fewer passes through shared memory",
         ("register-tiling",), needs=(("wavefronts-ideal", 1.1),), amount="shared-requests",
         waits=("shared", *_ISSUE)),
    Rule("wider-shared", "shared-width", 1.25, 1.25, "wider accesses to shared memory",
         ("vector-access",), needs=(("shared-requests", 1.25),), amount="shared-requests",
         waits=("shared", *_ISSUE), way="higher"),
    Rule("divergence", "acting-threads", 1.1, 0.0, "less divergence", ("divergence",),
         needs=(("instructions", 1.05),), amount="instructions", waits=_ISSUE),
    Rule("instructions", "instructions", 1.05, 0.0, "fewer instructions", ("fewer-instructions",),
         amount="instructions", waits=_ISSUE),
    Rule("threads", "threads", 1.5, 1.0, "fewer threads to start", ("coarsening",),
         needs=(("instructions", 1.1),), amount="instructions", waits=(*_ISSUE, "exit")),
)  # fmt: skip
FILL = (
    Rule("in-flight", "wait-per-sector", 1.25, 0.0, "more under way while a warp waits for memory",
         ("latency-hidden",), waits=("memory",), only_waits=True, below_roof=True),
    Rule("shared-in-flight", "shared-wait", 1.25, 0.0,
         "more under way while a warp waits for shared memory", ("latency-hidden",),
         waits=("shared",), only_waits=True),
    Rule("barrier-cycles", "barrier-cycles", 1.25, 0.0, "less waiting at barriers", ("barriers",),
         waits=("barrier",), only_waits=True),
    Rule("barriers", "barrier-share", 1.25, 0.1, "less waiting at barriers", ("barriers",),
         proportional=False),
    Rule("dispatch", "dispatch-share", 1.25, 0.1, "less waiting to be dispatched",
         ("bank-conflicts",), proportional=False),
    Rule("barrier-count", "barrier-density", 1.5, 0.02, "fewer barriers", ("barriers",),
         needs=(("barriers", 1.5),)),
    Rule("machine-fill", "machine-fill", 1.1, 0.0, "a grid that fills more of the GPU",
         ("balance",)),
    Rule("wave-fill", "wave-fill", 1.02, 0.0, "a fuller last wave", ("balance",)),
    Rule("occupancy", "achieved-occupancy", 1.15, 0.0, "higher occupancy", ("occupancy",)),
    Rule("theoretical-occupancy", "theoretical-occupancy", 1.15, 0.0, "higher occupancy",
         ("occupancy",)),
)  # fmt: skip
RULES = MISTAKES + PRICED + FILL

TRAFFIC, SECTOR = ("l2-bytes", "dram-bytes"), 32
FOLLOWS = 0.5
"""Saved traffic is attributed to saved accesses if at least this share of it consists of sectors
that are no longer accessed. A sector that is fetched from memory crosses the L2 cache twice, once
in and once out."""

LAUNCH_SHARE = (0.5, 2.0)
"""A saved launch explains the time saved if that time is within these factors of a launch's
cost."""


def causes(pairs: Mapping[str, Pair], saving: Saving, among: Sequence[Rule] = RULES) -> list[Rule]:
    """The rules that hold for a faster case, in the order in which they are named."""

    def rank(rule: Rule) -> tuple[float, float]:
        """The key for sorting by savings; if two rules rest on the same amount, and thus have equal
        savings, the larger change comes first.
        """
        if not rule.moved(pairs):
            return 0.0, 0.0
        return -rule.price(pairs, saving), -pairs[rule.quantity].times(rule.good)

    ordered = [*MISTAKES, *sorted(PRICED, key=rank), *FILL]
    held = [rule for rule in ordered if rule in among and rule.holds(pairs, saving)]
    return _once(_consequences_last(held, pairs))


def _consequences_last(held: Sequence[Rule], pairs: Mapping[str, Pair]) -> list[Rule]:
    """The rules in the given order, except that traffic comes after the accesses that cause it."""
    accesses = [rule for rule in held if rule.amount == "sectors"]
    later = [rule for rule in held if accesses and _follows(rule, pairs)]
    found = [rule for rule in held if rule not in later]
    if later:
        at = 1 + found.index(accesses[-1])
        found[at:at] = later
    return found


def _follows(rule: Rule, pairs: Mapping[str, Pair]) -> bool:
    """Return whether the sectors that are no longer accessed account for the traffic saved."""
    if rule.amount not in TRAFFIC or not {"sectors", rule.amount} <= pairs.keys():
        return False
    sectors, traffic = pairs["sectors"], pairs[rule.amount]
    return SECTOR * (sectors.slow - sectors.fast) >= FOLLOWS * (traffic.slow - traffic.fast)


def relieved(pairs: Mapping[str, Pair]) -> list[Rule]:
    """The rules whose quantities improved from the first case to the second, regardless of time."""
    return _once(rule for rule in RULES if rule.moved(pairs))


def shown(pairs: Mapping[str, Pair]) -> frozenset[str]:
    """The ideas for which at least one rule uses one of these quantities as evidence."""
    return frozenset(idea for rule in RULES if rule.quantity in pairs for idea in rule.ideas)


def _once(rules: Iterable[Rule]) -> list[Rule]:
    """The first rule for each distinct cause."""
    found: dict[str, Rule] = {}
    for rule in rules:
        found.setdefault(rule.cause, rule)
    return list(found.values())
