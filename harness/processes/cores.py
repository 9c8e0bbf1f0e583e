"""Share a run's cores, so that no more workers and emulated blocks run at once than there are
cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Cores:
    """Hands out cores to tasks; each gets several if fewer tasks than cores are left."""

    def __init__(self, total: int) -> None:
        self.total = max(1, total)
        self._free = self.total
        self._left = 0
        self._changed = threading.Condition()

    def expect(self, items: int) -> None:
        """Set the number of tasks to come."""
        with self._changed:
            self._left = items

    @contextmanager
    def some(self) -> Iterator[int]:
        """Hold at least one core for the duration of a task; yield the number of cores held.

        A task gets its share of all cores, or fewer if fewer are free now; it waits only until one
        core is free.
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
