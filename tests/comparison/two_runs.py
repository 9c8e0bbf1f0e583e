"""Runs with invented times and counters; two such runs differ as a test requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.journal.counter_records import Counted, SourceLine
from harness.journal.records import Compiled, Outcome, Planned, Record, Round
from harness.tables import Run

WAVEFRONTS, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
LOADS, SECTORS = (f"l1tex__t_{what}_pipe_lsu_mem_global_op_ld.sum" for what in
                  ("requests", "sectors"))  # fmt: skip
OTHERS = [f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for what in ("requests", "sectors")
          for op in ("st", "red", "atom")]  # fmt: skip
INSTRUCTIONS = "smsp__inst_executed.sum"

DEVICE = {"name": "NVIDIA H200", "arch": "sm_90", "sm_count": 132}
SPREAD = 0.002
"""The scatter of a time between placements, as a fraction of it."""


@dataclass(frozen=True)
class Kernel:
    """One variant. `ns`: None if it was not timed. `lines`: the counts of its source lines."""

    ns: float | None = 1e5
    counters: Mapping[str, float] = field(default_factory=dict)
    provenance: Any = "emulator-exact"
    lines: Sequence[SourceLine] = ()
    sass: str = "of its own"
    """The hash of the machine code; empty if it is not known."""
    source: str = "ab"
    registers: int = 16
    spill_bytes: int = 0
    stack_bytes: int = 0
    local_at: str = ""
    kernel: str = "kernel"
    occupancy: float = 1.0
    waves: float | None = 4.0
    status: Any = "ok"
    reason: str = ""
    is_library: bool = False
    made_from: Mapping[str, str] = field(default_factory=dict)
    data: str = ""
    """Data that is loaded in addition to the machine code."""
    launched: str = "grid, block, arguments"


def name_of(variant: str, problem: str = "sum", n: int = 1024) -> str:
    return f"{problem}/{variant}/float32/n={n}/block=256"


def run(
    kernels: Mapping[str, Kernel],
    seed: int = 0,
    *,
    problem: str = "sum",
    n: int = 1024,
    placements: int = 8,
    clock: int | None = None,
    folder: Path = Path("nowhere"),
    **info: Any,
) -> Run:
    """Make a run whose first variant is the baseline. A placement changes all times by a common
    factor, and each by a factor of its own."""
    rng = np.random.default_rng(seed)
    records: list[Record] = []
    for i, (variant, k) in enumerate(kernels.items()):
        records += _case(name_of(variant, problem, n), problem, variant, k, n, i == 0)
    for placement in range(placements):
        of_all = SPREAD * rng.standard_normal()
        for i, (variant, k) in enumerate(kernels.items()):
            moved = of_all + SPREAD * rng.standard_normal()
            for number in range(3):
                for repeat in (False, True) if i == 0 else (False,):
                    if k.ns is not None and k.status == "ok":
                        ns = k.ns * float(np.exp(moved + 0.001 * rng.standard_normal()))
                        records.append(
                            Round(name_of(variant, problem, n), "cold", number, repeat, (ns,),
                                  placement=placement, sm_clock_hz=clock)
                        )  # fmt: skip
    timed = any(k.ns is not None for k in kernels.values())
    about = {
        "id": f"run-{seed}", "backend": "cuda" if timed else "emulator", "device": DEVICE,
        "driver": "580.1" if timed else None, "started": "2026-01-01T00:00:00",
        "timing": {"confidence": 0.95, "same_within": 0.01, "looks": 1, "flush": "clean"},
        "versions": {"nvcc": "13.0"}, "sources": {},
    }  # fmt: skip
    return Run(folder, about | info, records)


def emulated(counters: Mapping[str, float] = {}, **more: Any) -> Run:
    """A run of two variants, the second of which has the given counters."""
    info = {k: more.pop(k) for k in ("device", "versions", "folder") if k in more}
    counted = {INSTRUCTIONS: 1000.0} | dict(counters)
    kernels = {"v0": Kernel(None), "v1": Kernel(None, counted, sass=str(counters), **more)}
    return run(kernels, **info)


def memory(sectors: float, requests: float) -> dict[str, float]:
    """Counters of loads from global memory only."""
    return {LOADS: requests, SECTORS: sectors} | dict.fromkeys(OTHERS, 0.0)


def line(number: int, file: str = "kernels/sum/v1.cu", **figures: int) -> SourceLine:
    """The cost of a line in the second variant."""
    every = dict.fromkeys(
        ("warps", "threads", "requests", "sectors", "wavefronts", "wavefronts_ideal"), 0
    )
    return SourceLine(name_of("v1"), 0, file, number, **(every | figures))


def _case(
    case: str, problem: str, variant: str, k: Kernel, n: int, is_baseline: bool
) -> list[Record]:
    records: list[Record] = [
        Planned(case, problem, variant, "float32", {"n": n}, {"block": 256}, 4 * n, n, is_baseline,
                k.is_library, () if k.is_library else ("kernel",), made_from=dict(k.made_from),
                launched=k.launched),
        Outcome(case, k.status, k.reason),
    ]  # fmt: skip
    if not k.is_library:
        records.append(
            Compiled(case, 0, k.kernel, k.source * 32, "cubin", k.registers, 0, k.spill_bytes,
                     k.stack_bytes, 256, k.occupancy, "warps",
                     f"{variant} {k.sass}" if k.sass else "", k.waves, k.local_at,
                     f"{variant} {k.sass} {k.data}" if k.sass else "")
        )  # fmt: skip
    records += [
        Counted(case, 0, "kernel", metric, value, "", k.provenance)
        for metric, value in k.counters.items()
    ]
    return [*records, *k.lines]
