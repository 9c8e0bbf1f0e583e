"""How many workers may run at once: as many as their memory allows, on the device and beside it.

What a worker takes is read from the first one. Where that was too little, because others use the
same card or machine, a worker that finds no memory makes the number smaller and waits its turn.
Of the machine's memory each has an equal part and is held to it, so that all of them together never
have more than there is, and the kernel kills none; whose part is too small has it all later, alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from harness.cases import Device
from harness.processes import host_memory

SPARE = 64 << 20
"""Of the device, for each worker: the buffers of its test sizes, and code that it loads."""

EMULATING = 512 << 20
"""Of the machine: what a worker without a GPU takes at the sizes that are emulated by default."""


@dataclass
class Slot:
    """One worker's. had_company: whether another had one at any time meanwhile.

    part: bytes of the machine's memory that it may take; None where all that there is.
    """

    had_company: bool = False
    part: int | None = None


class Slots:
    """Hands out slots. most: as many as may be held at once; None for no bound.

    available: bytes of the machine's memory, for all of them; None where nobody tells.
    """

    def __init__(self, most: int | None, available: int | None = None) -> None:
        self._most, self._available = most, available
        self.fitting = most
        """Workers for which there is memory, busy or not; None for no bound."""
        self._held: list[Slot] = []
        self._is_alone = False
        self._changed = threading.Condition()

    @property
    def most(self) -> int | None:
        return self._most

    def at_most(self, workers: int) -> None:
        """No more than these will ever ask at once: each may have the larger a part."""
        with self._changed:
            self._most = min(self._most or workers, workers)

    @contextmanager
    def one(self, alone: bool = False) -> Iterator[Slot]:
        """A slot, as soon as there is one. alone: as soon as nobody else has one, until it ends."""
        slot = Slot()
        with self._changed:
            self._changed.wait_for(lambda: self._has_room(alone))
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
        """A worker found no memory beside others: at least one fewer from now on."""
        with self._changed:
            self._most = max(1, min(self._most or len(self._held), len(self._held)) - 1)
            self.fitting = self._most


def for_workers_of(device: Device, available: int | None) -> Slots:
    """By what a worker takes of the device and of the machine, of which so much is available."""
    if device.room is None:
        fitting = None if available is None else max(1, available // EMULATING)
        return Slots(fitting, available)
    most = device.room.device_free // max(1, device.room.device_taken + SPARE)
    if available is not None and device.room.host_taken:
        most = min(most, available // device.room.host_taken)
    return Slots(max(1, most), available)


def on_this_machine(device: Device) -> Slots:
    return for_workers_of(device, host_memory.available())
