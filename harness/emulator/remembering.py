"""Results that are computed once for each object, because every launch needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Found = TypeVar("Found")
_Remembering = TypeVar("_Remembering", bound="Remembering")


class Remembering:
    """A program or function that is launched many times and does not change."""

    remembered: dict[Any, Any]

    def once(self: _Remembering, work: Callable[[_Remembering], Found]) -> Found:
        """Apply `work` to this object only the first time; return its result."""
        if work not in self.remembered:
            self.remembered[work] = work(self)
        found: Found = self.remembered[work]
        return found
