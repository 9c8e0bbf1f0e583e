"""The read/write mixes for which ceilings are measured, and interpolation between two of them.

Memory moves fewer bytes per second if it both reads and writes, or mostly writes. Therefore a
problem's traffic is compared with a small kernel of the harness that reads and writes in the same
proportion. If there is none, the two kernels with the nearest proportions take its place and run in
succession. Each moves part of the bytes in its own proportion, so that together they read and write
as many bytes as the problem. Two kernels could move the bytes in this way, so this time is known to
be achievable. The time is not a lower bound: a single kernel may be faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.journal.records import Ceiling
from harness.statistics.intervals import Interval

NEAR = 0.01
"""Traffic whose share of writes differs from a mix's by no more than this gets that mix's name."""


@dataclass(frozen=True)
class Mix:
    """The ratio of bytes read to bytes written, in lowest terms, and its ceiling's name."""

    reads: int
    writes: int
    ceiling: str

    @property
    def share(self) -> float:
        """The fraction of the bytes that are written."""
        return self.writes / (self.reads + self.writes)

    @property
    def name(self) -> str:
        return _NAMES.get(self.ceiling, f"{self.reads}:{self.writes} traffic")


MIXES = (
    Mix(1, 0, "read_bandwidth"),
    Mix(4, 1, "mix_4_1_bandwidth"),
    Mix(2, 1, "mix_2_1_bandwidth"),
    Mix(1, 1, "copy_bandwidth"),
    Mix(1, 4, "mix_1_4_bandwidth"),
    Mix(0, 1, "write_bandwidth"),
)
"""The mixes, in order of increasing share of writes."""

_NAMES = {"read_bandwidth": "reading", "copy_bandwidth": "copying", "write_bandwidth": "writing"}


def name_of(read: int, written: int) -> str:
    """Return `reading`, `copying`, `writing`, or `2:1 traffic`: bytes read to bytes written."""
    share = written / (read + written)
    nearest = min(MIXES, key=lambda mix: abs(mix.share - share))
    if abs(nearest.share - share) <= NEAR:
        return nearest.name
    if read >= written:
        return f"{read / written:.2g}:1 traffic"
    return f"1:{written / read:.2g} traffic"


@dataclass(frozen=True)
class Least:
    """The minimum time for some traffic at the measured ceilings, and the mixes used."""

    ns: Interval
    mixes: tuple[Mix, ...]
    """The traffic's own mix, or the nearest mixes on either side."""

    @property
    def note(self) -> str:
        """`between reading and copying`; empty if a kernel of this proportion was measured."""
        return f"between {' and '.join(mix.name for mix in self.mixes)}" if self.mixes[1:] else ""


def least(ceilings: Mapping[str, Ceiling], read: int, written: int) -> Least | None:
    """The time to move these bytes; None if all the measured mixes write less than this traffic, or
    all write more.
    """
    total = read + written
    known = [mix for mix in MIXES if mix.ceiling in ceilings]
    if not total or not known:
        return None
    share = written / total
    near = min(known, key=lambda mix: abs(mix.share - share))
    below = [mix for mix in known if mix.share <= share][-1:]
    above = [mix for mix in known if mix.share >= share][:1]
    if not below or not above:
        return None
    apart = above[0].share - below[0].share
    second = (share - below[0].share) / apart if apart else 0.0
    parts = [(total * (1 - second), ceilings[below[0].ceiling]),
             (total * second, ceilings[above[0].ceiling])]  # fmt: skip
    value = sum(nbytes / c.value for nbytes, c in parts)
    low = sum(nbytes / c.high for nbytes, c in parts)
    high = sum(nbytes / c.low for nbytes, c in parts)
    made_of = (near,) if abs(near.share - share) <= NEAR else (below[0], above[0])
    return Least(Interval(1e9 * value, 1e9 * low, 1e9 * high), made_of)
