"""The roof of a case: the part of its work that takes the most time at the machine's rates.

A kernel has to move the problem's bytes, do its arithmetic and compute its exponentials. Each of
these has a rate that the harness's own small kernels reached in the same run. The part that takes
longest at its rate is the roof, and "of ceiling" is this time divided by the kernel's own time. No
value is invented for a rate that was not measured: the roof's name then notes the omission.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.journal.records import Ceiling, Planned
from harness.silicon.architectures import UnknownArchitectureError, architecture
from harness.statistics import mixes
from harness.statistics.intervals import Interval
from harness.tables.run_records import RunRecords
from harness.tables.stated_work import mapping, said_of, whole

OVER = (
    "over 100 %: a roof is not a physical limit, but the most that our own kernels reached. They "
    "may not have tried as good a launch shape; the roof may be interpolated between two measured "
    "mixes of reads and writes; or it was measured on buffers of another size, and the last bytes "
    "written need not have left the L2 cache when a kernel ends"
)

_RATES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "float32": (("fp32_rate", "FP32"),),
    "float64": (("fp64_rate", "FP64"),),
    "tf32": (("tf32_rate", "TF32 tensor cores"),),
    "3 tf32": (("tf32_rate", "TF32 tensor cores, three products each"),),
    "float16": (("tensor_rate", "FP16 tensor cores"),),
    "bfloat16": (
        ("bf16_tensor_rate", "BF16 tensor cores"),
        ("tensor_rate", "FP16 tensor cores"),  # in older runs
    ),
}
"""Arithmetic → its possible ceilings with their names; the first that was measured counts."""

_HALVES = ("float16", "bfloat16")


@dataclass(frozen=True)
class Roof:
    """One limit, stated as the minimum time that a case needs because of it."""

    name: str
    """`copying`, `FP32`: the name of the roof."""
    least: Interval
    """The minimum time in ns."""
    is_traffic: bool
    note: str = ""
    """A clause that says what the figure leaves out."""

    @property
    def bound(self) -> str:
        """`copy ceiling`: the name of the line in a figure."""
        return f"{_SHORT.get(self.name, self.name)} ceiling"

    @property
    def named(self) -> str:
        """The name with its note: `reading (1:4 traffic was not measured)`."""
        return f"{self.name} ({self.note})" if self.note else self.name


_SHORT = {
    "reading": "read", "copying": "copy", "writing": "write", "exponentials": "exponential",
    "TF32 tensor cores": "TF32 tensor-core",
    "TF32 tensor cores, three products each": "three-product TF32 tensor-core",
    "FP16 tensor cores": "FP16 tensor-core",
    "BF16 tensor cores": "BF16 tensor-core",
}  # fmt: skip


def roof_of(run: RunRecords, p: Planned) -> Roof | None:
    """The lowest roof; None if none of its rates was measured, or the problem has no roof."""
    if without(run, p.problem):
        return None
    found = list(roofs_of(run, p))
    return max(found, key=lambda roof: roof.least.value, default=None)


def without(run: RunRecords, problem: str) -> str:
    """The reason why a problem has no roof, in its own words; empty if it has one."""
    return str(said_of(run.info, problem).get("no_roof") or "")


def roofs_of(run: RunRecords, p: Planned) -> Iterator[Roof]:
    """Every limit that applies to the case's work."""
    if traffic := _traffic(run, p):
        yield traffic
    if rate := arithmetic_rate(run, p):
        name, ceiling = rate
        if p.flops:
            yield Roof(name, _ns(p.flops, ceiling), False)
    exponentials = run.ceilings.get("exponential_rate")
    if exponentials and p.exponentials:
        yield Roof("exponentials", _ns(p.exponentials, exponentials), False)


def arithmetic_rate(run: RunRecords, p: Planned) -> tuple[str, Ceiling] | None:
    """The name of the case's arithmetic and its ceiling; None if there is no such ceiling."""
    arithmetic = run.arithmetic(p)
    known = _RATES.get(arithmetic, ())
    found = next(((name, run.ceilings[key]) for key, name in known if key in run.ceilings), None)
    if found and arithmetic == "3 tf32":
        name, each = found
        return name, replace(each, value=each.value / 3, low=each.low / 3, high=each.high / 3)
    return found


def arithmetic_limit(run: RunRecords, p: Planned) -> Ceiling | None:
    """Return the arithmetic rate that no kernel of the case can exceed; None if it is not known.

    A case's type is the type of its result. A problem without a roof may multiply factors of a
    narrower type, for which tensor cores are faster.
    """
    if run.arithmetic(p) in _HALVES and without(run, p.problem):
        return None
    found = arithmetic_rate(run, p)
    return found[1] if found else None


def _traffic(run: RunRecords, p: Planned) -> Roof | None:
    reading = run.ceilings.get("read_bandwidth")
    if not p.bytes:
        return None
    if p.written_bytes is None or p.written_bytes > p.bytes:
        note = "the bytes written were not recorded"
        return Roof("reading", _ns(p.bytes, reading), True, note) if reading else None
    again = max(0, p.reread_bytes - on_chip_bytes(run.info)) if p.reread_bytes else 0
    read = p.bytes - p.written_bytes + again
    name = mixes.name_of(read, p.written_bytes)
    twice = "data that does not fit on the chip is read twice" if again else ""
    if least := mixes.least(run.ceilings, read, p.written_bytes):
        return Roof(name, least.ns, True, ", ".join(filter(None, (twice, least.note))))
    if reading is None:
        return None
    missing = f"{name} was not measured"
    note = ", ".join(filter(None, (twice, missing)))
    return Roof("reading", _ns(read + p.written_bytes, reading), True, note)


def on_chip_bytes(info: Mapping[str, Any]) -> int:
    """The bytes that a GPU can hold outside its memory: L2 cache, registers and shared memory."""
    device = mapping(info.get("device"))
    limits = mapping(device.get("own_limits"))
    try:
        known = architecture(str(device.get("arch")))
        registers, shared = known.registers_per_sm, known.shared_bytes_per_sm
    except UnknownArchitectureError:
        registers = shared = 0
    registers = whole(limits.get("registers_per_sm")) or registers
    shared = whole(limits.get("shared_bytes_per_sm")) or shared
    sms = whole(device.get("sm_count"))
    return l2_bytes(info) + sms * (4 * registers + shared)


def l2_bytes(info: Mapping[str, Any]) -> int:
    return whole(mapping(info.get("device")).get("l2_bytes"))


def _ns(amount: int, ceiling: Ceiling) -> Interval:
    rates = (ceiling.value, ceiling.high, ceiling.low)
    value, low, high = (1e9 * amount / rate for rate in rates)
    return Interval(value, low, high)
