"""Timed launches, each checked against the verified results for the state of its inputs."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.backends.base import Batch, Right, Seen

IDLE_NS = 50_000.0
"""The slack allowed for a busy host: how much later it may notice that the device is idle than it
does after an empty stream. A longer wait after every launch means that another stream is
working."""

FEWEST = 3
"""The fewest launches in a batch from which work on another stream is inferred."""

IDLE_SHARE = 0.02
"""The wait must also exceed this share of the time between the events."""


@dataclass
class Launched:
    """A batch's launches in order: for the timed ones, the nanoseconds of each part; for all
    launches, usually one more than were timed, the state of their inputs and their results.

    `outside`: the indices of launches whose results are not within their bounds. `late`: the
    indices of launches whose results changed after their end. `idle_ns`: from the end of the stream
    until the device was idle.
    """

    times: list[list[float]] = field(default_factory=list)
    states: list[bool] = field(default_factory=list)
    idle_ns: list[float] = field(default_factory=list)
    hashes: list[tuple[int, ...]] = field(default_factory=list)
    outside: set[int] = field(default_factory=set)
    late: set[int] = field(default_factory=set)

    def judged(self, right: Right | None, changed: str) -> Batch:
        """Compare the launches with the verified results. `changed`: what a check of inputs and
        memory found afterwards.
        """
        times = tuple(map(tuple, self.times))
        if right is None:
            return Batch(times)
        of_launches = list(enumerate(zip(self.states, self.hashes, strict=True)))
        differ = {n for n, (state, hashes) in of_launches if hashes != right.of(state)}
        kept = {
            n for n, (state, hashes) in of_launches
            if n in differ and right.other and hashes == right.of(not state)
        }  # fmt: skip
        wrong = self.outside if right.varies else differ
        return Batch(
            times, len(wrong), changed, len(differ - wrong), len(wrong & kept), len(self.late),
            self._busy_ns(), self._first(wrong & kept), tuple(map(Seen, self.states, self.hashes)),
        )  # fmt: skip

    def _first(self, numbers: set[int]) -> str:
        if not numbers:
            return ""
        state = "changed" if self.states[min(numbers)] else "as drawn"
        return (
            f"first in launch {min(numbers) + 1} of {len(self.states)}, whose inputs were {state}"
        )

    def _busy_ns(self) -> float:
        """How long the device kept working after the end of every launch; 0 if this is within
        noise."""
        if len(self.idle_ns) < FEWEST:
            return 0.0
        longest = max((sum(parts) for parts in self.times), default=0.0)
        least = min(self.idle_ns, default=0.0)
        return least if least > IDLE_NS + IDLE_SHARE * longest else 0.0
