"""The properties of the device that represents an architecture when there is no GPU, without the
emulator.
"""

from __future__ import annotations

from harness.cases import Device
from harness.silicon.architectures import architecture


def emulated_device(arch: str) -> Device:
    """Describe the device that represents an architecture when there is no card."""
    facts = architecture(arch)
    device = facts.representative
    return Device(
        name=f"{device.name} (emulated)",
        arch=arch,
        sm_count=device.sm_count,
        warp_size=facts.warp_size,
        l2_bytes=device.l2_bytes,
        memory_bytes=device.memory_bytes,
        max_threads_per_block=facts.max_threads_per_block,
        max_block=facts.max_block,
        max_grid=facts.max_grid,
        max_shared_bytes=facts.max_shared_bytes_per_block,
    )
