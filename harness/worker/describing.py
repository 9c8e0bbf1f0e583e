"""Describe a device and its free memory, the first thing that a run asks of a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.backends.base import FLUSH_FACTOR
from harness.cases import Device, Room
from harness.machine import card
from harness.processes import host_memory

CONTEXT = 440 << 20
"""The device memory that a worker's context is assumed to hold if NVML does not report it: that of
an H100."""


def describe(backend: Any, before: Mapping[str, int]) -> Device:
    """The device and its free memory. `before`: `card.free_bytes()` before the backend was
    opened."""
    device: Device = backend.device
    if not hasattr(backend, "free_bytes"):
        return device
    free: int = backend.free_bytes()
    was, now = card.free_of(device.bus, before), card.free_of(device.bus, card.free_bytes())
    taken = was - now if was is not None and now is not None and was > now else None
    if taken is None:
        taken = CONTEXT + 2 * FLUSH_FACTOR * device.l2_bytes
    return replace(device, room=Room(free + taken, taken, host_memory.private()))
