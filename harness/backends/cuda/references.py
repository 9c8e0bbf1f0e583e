"""What results are held to on the device: references and bounds, uploaded when first asked for."""

from __future__ import annotations

from collections.abc import Mapping

from harness.backends.base import Array
from harness.backends.cuda.memory import Allocation
from harness.backends.cuda.watch import Bounds, Watch


class References:
    """A float64 reference and a bound for each output of a workspace, in each of its states."""

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
        """Of the results that stand in the outputs now the worst error, as a share of its bound.

        Or how many elements of an output are out of bounds.
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
        """How many of the results that stand in the outputs now are out of bounds, or nothing."""
        found = self.error(is_other)
        return found if isinstance(found, str) else ""

    def free(self) -> None:
        for bounds in self._uploaded.values():
            bounds.free()
        self._uploaded = {}
