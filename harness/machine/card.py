"""A card's properties according to NVML, apart from its clocks, and remarks on those that can
change a verdict.

Anyone who reads a figure must know whether someone locked the clocks, capped the power, or computed
on the same card. Facts that the driver does not report are None, never 0 and never "no".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from harness.journal.records import Conditions
from harness.processes import reaper

_CLOSE = 0.99
"""A clock or a power limit below this fraction of its maximum is regarded as reduced."""

_MOVES = 0.97
"""A run's clock is considered to have changed if its lowest value is below this fraction of its
highest."""

_KERNEL = Path("/proc/version")

_EXPLAINS = ("SwPowerCap", "HwSlowdown", "HwThermalSlowdown", "SwThermalSlowdown",
             "HwPowerBrakeSlowdown", "SyncBoost")  # fmt: skip
"""The driver's reasons for a clock below the highest; if it gives none of them, the clocks are
locked."""


@dataclass(frozen=True)
class Card:
    """A card before the harness runs anything on it. Base units: hertz, watts, bytes.

    `others`: the process id and memory of each process that computes on the card.
    """

    uuid: str = ""
    is_persistent: bool | None = None
    is_sliced: bool | None = None
    """True if the card is in MIG mode."""
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    max_sm_clock_hz: int | None = None
    ecc_errors: int | None = None
    """Uncorrected ECC errors since the driver was loaded."""
    others: tuple[str, ...] = ()
    has_display: bool | None = None
    """True if the card is driving a display."""
    has_ecc: bool | None = None
    is_in_wsl: bool = False


def opened(bus: str) -> tuple[Any, Any]:
    """Open NVML and the card at a PCI address, or the first; (None, None) without NVML.

    NVML and CUDA number the cards in different orders, and CUDA may see only some of them.
    """
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = (
            pynvml.nvmlDeviceGetHandleByPciBusId(bus.encode())
            if bus
            else pynvml.nvmlDeviceGetHandleByIndex(0)
        )
    except Exception:  # NVML raises a class per error code, and ImportError without the wheel
        return None, None
    return pynvml, handle


def free_bytes() -> dict[str, int]:
    """Map each card's PCI address to its free memory; empty without NVML."""
    n = opened("")[0]
    if n is None:
        return {}
    found: dict[str, int] = {}
    for index in range(tried(n.nvmlDeviceGetCount) or 0):
        handle = tried(partial(n.nvmlDeviceGetHandleByIndex, index))
        where = tried(partial(n.nvmlDeviceGetPciInfo, handle))
        memory = tried(partial(n.nvmlDeviceGetMemoryInfo, handle))
        if where and memory:
            bus = where.busId
            name = bus.decode() if isinstance(bus, bytes) else str(bus)
            found[_short(name)] = int(memory.free)
    tried(n.nvmlShutdown)
    return found


def free_of(bus: str, cards: Mapping[str, int]) -> int | None:
    """Look up a PCI address, as CUDA writes it, in the result of `free_bytes`."""
    return cards.get(_short(bus))


def _short(bus: str) -> str:
    """Shorten a PCI address: NVML writes eight digits of the domain, CUDA four."""
    domain, _, rest = bus.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def tried(read: Callable[[], Any]) -> Any:
    """Return the reading; None if this GPU does not provide it or withholds it from this user."""
    try:
        return read()
    except Exception:
        return None


def look(bus: str) -> Card:
    """Read the card's current state, before the run's own processes compute on it."""
    n, handle = opened(bus)
    if n is None:
        return Card()
    uuid = tried(lambda: n.nvmlDeviceGetUUID(handle)) or ""
    persistent = tried(lambda: n.nvmlDeviceGetPersistenceMode(handle))
    sliced = tried(lambda: n.nvmlDeviceGetMigMode(handle)[0])
    power = tried(lambda: n.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000)
    usual = tried(lambda: n.nvmlDeviceGetPowerManagementDefaultLimit(handle) / 1000)
    clock = tried(lambda: n.nvmlDeviceGetMaxClockInfo(handle, n.NVML_CLOCK_SM) * 1_000_000)
    errors = tried(
        lambda: int(n.nvmlDeviceGetTotalEccErrors(
            handle, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, n.NVML_VOLATILE_ECC
        ))
    )  # fmt: skip
    others = tuple(
        f"process {p.pid}" + (f" ({p.usedGpuMemory / 2**30:.1f} GiB)" if p.usedGpuMemory else "")
        for p in computing(n, handle)
    )
    display = tried(lambda: n.nvmlDeviceGetDisplayActive(handle))
    ecc = tried(lambda: n.nvmlDeviceGetEccMode(handle)[0])
    tried(n.nvmlShutdown)
    return Card(
        uuid.decode() if isinstance(uuid, bytes) else str(uuid),
        None if persistent is None else bool(persistent), None if sliced is None else bool(sliced),
        power, usual, clock, errors, others,
        None if display is None else bool(display), None if ecc is None else bool(ecc), in_wsl(),
    )  # fmt: skip


def in_wsl() -> bool:
    """Return whether this Linux runs inside Windows, whose driver schedules the card."""
    return "microsoft" in (tried(_KERNEL.read_text) or "").lower()


def computing(nvml: Any, handle: Any) -> list[Any]:
    """The processes that compute on the card, as NVML lists them."""
    return list(tried(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or ())


def others(nvml: Any, handle: Any) -> int | None:
    """Count the processes on the card that are not the harness's own; None if NVML does not say.

    The run's own processes that wait for their next placement are not counted. In a container the
    process ids may be the host's; in that case one of the listed processes is assumed to be this
    one.
    """
    there = tried(lambda: [p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle)])
    if there is None:
        return None
    if len(there) < 2:  # only this one
        return 0
    return max(len(there) - 1 - len(reaper.relatives(there)), 0)


class Remark(NamedTuple):
    """A property of a card that can change a verdict, or the meaning of a figure."""

    seen: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.seen} ({self.remedy})" if self.remedy else self.seen


def warnings(card: Card) -> Iterator[str]:
    """The properties of a card that can change a verdict or the meaning of a figure, one sentence
    each."""
    return map(str, remarks(card))


def remarks(card: Card) -> Iterator[Remark]:
    """The properties of a card that can change a verdict or the meaning of a figure, each with a
    remedy."""
    if card.others:
        yield Remark(
            f"others compute on this card: {', '.join(card.others)}; times vary with what they do"
        )
    if card.is_sliced:
        yield Remark(
            "the card is in MIG mode: times and ceilings are those of a slice of it",
            "nvidia-smi -mig 0 gives the whole card",
        )
    if card.has_display:
        yield Remark(
            "a display is drawn by this card: that interrupts what is timed, holds memory, and may "
            "end a launch of some seconds",
            "log out of the desktop, or use another card for it",
        )
    if card.is_in_wsl:
        yield Remark(
            "this is WSL2, where Windows schedules the card: launches cost more and times spread "
            "more than on Linux itself",
            "boot Linux for figures to compare with others'",
        )
    if card.has_ecc is False:
        yield Remark(
            "ECC is off: an error in the card's memory goes unnoticed, and figures do not compare "
            "with those of a card where it is on",
            "nvidia-smi -e 1 and a reboot turn it on",
        )
    limit, usual = card.power_limit_w, card.default_power_limit_w
    if limit and usual and limit < _CLOSE * usual:
        yield Remark(
            f"its power is capped at {limit:.0f} of {usual:.0f} W: what computes hard is slower "
            "than on other cards of its kind",
            "nvidia-smi -pl sets it",
        )
    if card.is_persistent is False:
        yield Remark(
            "persistence mode is off: settings of the driver are lost whenever nobody uses the "
            "card",
            "nvidia-smi -pm 1 keeps them",
        )
    if card.ecc_errors:
        yield Remark(
            f"its memory had {card.ecc_errors} uncorrected errors since the driver was loaded: "
            "do not trust it"
        )


def in_between(card: Card, conditions: Iterable[Conditions]) -> Iterator[str]:
    """Observations from the rounds that can change a verdict, in one sentence each."""
    rounds = list(conditions)
    shared = sum(bool(c.others) for c in rounds)
    if shared:
        yield f"others computed on this card in {shared} of {len(rounds)} rounds"
    most = card.max_sm_clock_hz
    clocks = [c.sm_clock_hz for c in rounds if c.sm_clock_hz]
    if clocks and min(clocks) < _MOVES * max(clocks):
        yield (
            f"the multiprocessors' clock moved between {min(clocks) / 1e6:.0f} and "
            f"{max(clocks) / 1e6:.0f} MHz: times of other rounds and other days differ by as much "
            "(nvidia-smi -lgc holds it)"
        )
    explained = any(reason in _EXPLAINS for c in rounds for reason in c.throttle)
    if most and clocks and max(clocks) < _CLOSE * most and not explained:
        yield (
            f"the multiprocessors never ran above {max(clocks) / 1e6:.0f} of {most / 1e6:.0f} MHz, "
            "and the driver names no reason: somebody has locked the clock, it seems "
            "(nvidia-smi -rgc frees it)"
        )
