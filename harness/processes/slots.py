"""Limit the number of concurrent workers to as many as the memory of the device and the host
allows.

The first worker's memory use sets the number. If that proves too high because others use the same
card or machine, a worker that runs out of memory reduces the number and waits its turn. Each worker
is limited to an equal share of host memory, so together they never exceed it and Linux kills none.
A worker whose share is too small runs again later, alone and with all of the memory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from harness.cases import Device
from harness.processes import host_memory

SPARE = 64 << 20
"""Device memory to allow for each worker: the buffers of its test sizes, and the code that it
loads."""

EMULATING = 512 << 20
"""Host memory that a worker without a GPU uses at the sizes that are emulated by default."""


@dataclass
class Slot:
    """One worker's slot. `number`: the lowest number that no other held slot has.

    `had_company`: whether another worker held a slot at any time while this worker held its own.
    `part`: how many bytes of host memory the worker may use; None for no limit.
    """

    number: int = 0
    had_company: bool = False
    part: int | None = None


class Slots:
    """Hands out slots. `most`: how many may be held at once; None for no limit.

    `available`: bytes of host memory for all of them together; None if unknown.
    """

    def __init__(self, most: int | None, available: int | None = None) -> None:
        self._most, self._available = most, available
        self.fitting = most
        """The number of workers, busy or idle, for which there is memory; None for no limit."""
        self._held: list[Slot] = []
        self._is_alone = False
        self._changed = threading.Condition()

    @property
    def most(self) -> int | None:
        return self._most

    def at_most(self, workers: int) -> None:
        """Set the largest number of slots that will be requested at once; fewer slots mean larger
        shares."""
        with self._changed:
            self._most = min(self._most or workers, workers)

    @contextmanager
    def one(self, alone: bool = False) -> Iterator[Slot]:
        """Hold a slot as soon as one is free. `alone`: only while no other slot is held."""
        slot = Slot()
        with self._changed:
            self._changed.wait_for(lambda: self._has_room(alone))
            taken = {each.number for each in self._held}
            slot.number = next(n for n in count() if n not in taken)
            self._held.append(slot)
            self._is_alone = alone
            if self._available is not None and self._most is not None and not alone:
                slot.part = self._available // self._most if self._most > 1 else None
            if len(self._held) > 1:
                for each in self._held:
                    each.had_company = True
        try:
            yield slot
        finally:
            with self._changed:
                self._held.remove(slot)
                self._is_alone = False
                self._changed.notify_all()

    def _has_room(self, alone: bool) -> bool:
        if self._is_alone or alone:
            return not self._held
        return self._most is None or len(self._held) < self._most

    def shrink(self) -> None:
        """Reduce the number of slots by at least one, after a worker ran out of memory while others
        were running."""
        with self._changed:
            self._most = max(1, min(self._most or len(self._held), len(self._held)) - 1)
            self.fitting = self._most


def for_workers_of(device: Device, available: int | None) -> Slots:
    """Make slots for as many workers as the memory allows; `device.room` says how much one worker
    needs."""
    if device.room is None:
        fitting = None if available is None else max(1, available // EMULATING)
        return Slots(fitting, available)
    most = device.room.device_free // max(1, device.room.device_taken + SPARE)
    if available is not None and device.room.host_taken:
        most = min(most, available // device.room.host_taken)
    return Slots(max(1, most), available)


def on_this_machine(device: Device) -> Slots:
    return for_workers_of(device, host_memory.available())
