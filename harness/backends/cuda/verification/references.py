"""References and bounds for checking results on the device, uploaded when first needed."""

from __future__ import annotations

from collections.abc import Mapping

from harness.backends.base import Array
from harness.backends.cuda.memory import Allocation
from harness.backends.cuda.verification.watch import Bounds, Watch


class References:
    """The float64 references and bounds of a workspace's outputs, per state of its inputs."""

    def __init__(self, watch: Watch, memory: Mapping[str, Allocation]) -> None:
        self._watch, self._memory = watch, memory
        self._given: dict[bool, tuple[Mapping[str, Array], Mapping[str, Array | float]]] = {}
        self._uploaded: dict[tuple[bool, str], Bounds] = {}

    def replace(
        self,
        reference: Mapping[str, Array],
        bound: Mapping[str, Array | float],
        is_other: bool = False,
    ) -> None:
        self.free()
        self._given[is_other] = reference, bound

    def error(self, is_other: bool = False) -> float | str:
        """Return the worst error of the results that are now in the outputs, as a fraction of its
        bound.

        If elements of an output are out of bounds, return a sentence that says how many.
        """
        worst = 0.0
        references, allowed = self._given[True] if is_other else self._given.get(False, ({}, {}))
        for name, reference in references.items():
            key = is_other, name
            if key not in self._uploaded:
                self._uploaded[key] = Bounds(reference, allowed[name])
            bounds = self._uploaded[key]
            wrong, error = self._watch.judged(self._memory[name], bounds)
            if wrong:
                return f"`{name}` is wrong in {wrong:,} of {bounds.count:,} elements"
            worst = max(worst, error)
        return worst

    def violated(self, is_other: bool = False) -> str:
        """Say how many of the results now in the outputs are out of bounds; empty if none is."""
        found = self.error(is_other)
        return found if isinstance(found, str) else ""

    def free(self) -> None:
        for bounds in self._uploaded.values():
            bounds.free()
        self._uploaded = {}
