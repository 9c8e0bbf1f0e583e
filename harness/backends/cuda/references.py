"""What results are held to on the device: references and bounds, uploaded when first asked for."""

from __future__ import annotations

from collections.abc import Mapping

from harness.backends.base import Array
from harness.backends.cuda.memory import Allocation
from harness.backends.cuda.watch import Bounds, Watch


class References:
    """A float64 reference and a bound for each output of a workspace."""

    def __init__(self, watch: Watch, memory: Mapping[str, Allocation]) -> None:
        self._watch, self._memory = watch, memory
        self._reference: Mapping[str, Array] = {}
        self._bound: Mapping[str, Array | float] = {}
        self._uploaded: dict[str, Bounds] = {}

    def replace(self, reference: Mapping[str, Array], bound: Mapping[str, Array | float]) -> None:
        self.free()
        self._reference, self._bound = reference, bound

    def violated(self) -> str:
        """How many of the results that stand in the outputs now are out of bounds, or nothing."""
        for name in self._reference:
            wrong, _ = self._judged(name)
            if wrong:
                return f"`{name}` is wrong in {wrong:,} of {self._uploaded[name].count:,} elements"
        return ""

    def error(self) -> float:
        """The worst error of all outputs, as a share of its bound."""
        return max(self._judged(name)[1] for name in self._reference)

    def _judged(self, name: str) -> tuple[int, float]:
        if name not in self._uploaded:
            self._uploaded[name] = Bounds(self._reference[name], self._bound[name])
        return self._watch.judged(self._memory[name], self._uploaded[name])

    def free(self) -> None:
        for bounds in self._uploaded.values():
            bounds.free()
        self._uploaded = {}
