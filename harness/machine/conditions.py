"""The GPU's clocks, temperature, power and throttle reasons, read through NVML.

Figures measured at 1200 MHz and at 1980 MHz are not comparable, so the state is stored with every
round. A reading that the driver does not provide is None, never 0.
"""

from __future__ import annotations

from typing import Any

from harness.journal.records import Conditions
from harness.machine import card
from harness.measure.rounds import Clock


class Sensors:
    """NVML for the GPU at a PCI address; without the library every reading is None."""

    def __init__(self, bus: str = "") -> None:
        self._nvml, self._handle = card.opened(bus)
        self._reasons = _throttle_reasons(self._nvml) if self._nvml else {}

    def clock(self) -> Clock:
        """Read the multiprocessors' current clock, and the reasons for throttling."""
        n = self._nvml
        if n is None:
            return Clock()
        hertz = card.tried(
            lambda: n.nvmlDeviceGetClockInfo(self._handle, n.NVML_CLOCK_SM) * 1_000_000
        )
        return Clock(hertz, self._throttle())

    def read(self, group: str, number: int, placement: int = 0) -> Conditions:
        """Read the present state."""
        n = self._nvml
        if n is None:
            return Conditions(group, number, None, None, None, None, (), placement)
        handle = self._handle

        def megahertz(clock: int) -> int | None:
            value = card.tried(lambda: n.nvmlDeviceGetClockInfo(handle, clock))
            return None if value is None else int(value) * 1_000_000

        power = card.tried(lambda: n.nvmlDeviceGetPowerUsage(handle))
        return Conditions(
            group,
            number,
            megahertz(n.NVML_CLOCK_SM),
            megahertz(n.NVML_CLOCK_MEM),
            card.tried(lambda: int(n.nvmlDeviceGetTemperature(handle, n.NVML_TEMPERATURE_GPU))),
            None if power is None else power / 1000,
            self._throttle(),
            placement,
            card.others(n, handle),
        )

    def _throttle(self) -> tuple[str, ...]:
        n = self._nvml
        bits = card.tried(lambda: int(n.nvmlDeviceGetCurrentClocksEventReasons(self._handle))) or 0
        return tuple(name for name, bit in self._reasons.items() if bits & bit)

    def __enter__(self) -> Sensors:
        return self

    def __exit__(self, *_: object) -> None:
        if self._nvml is not None:
            card.tried(self._nvml.nvmlShutdown)


_PREFIX = "nvmlClocksEventReason"
_QUIET = ("None", "All", "GpuIdle", "ApplicationsClocksSetting")


def _throttle_reasons(nvml: Any) -> dict[str, int]:
    """Map each throttle reason, by its NVML name, to its bit."""
    return {
        name.removeprefix(_PREFIX): int(getattr(nvml, name))
        for name in dir(nvml)
        if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) not in _QUIET
    }
