"""The cores of a run, shared: as many workers and emulated blocks at a time as there are cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Cores:
    """Hands out cores to pieces of work, each on several where fewer pieces than cores are left."""

    def __init__(self, total: int) -> None:
        self.total = max(1, total)
        self._free = self.total
        self._left = 0
        self._changed = threading.Condition()

    def expect(self, items: int) -> None:
        """How many pieces of work are to come."""
        with self._changed:
            self._left = items

    @contextmanager
    def some(self) -> Iterator[int]:
        """At least one core, for as long as the piece of work takes: how many it has got.

        A piece gets its part of all cores, or what of it is free now; it waits only for the first.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._free > 0)
            taken = min(self._free, max(1, self.total // max(1, self._left)))
            self._free -= taken
        try:
            yield taken
        finally:
            with self._changed:
                self._free += taken
                self._left -= 1
                self._changed.notify_all()
