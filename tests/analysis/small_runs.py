"""Small runs with invented times and counters, so that the right conclusions are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.journal.counter_records import Counted, Uncounted
from harness.journal.records import Ceiling, Compiled, Outcome, Planned, Record, Round
from harness.tables import Run

ROUNDS = 12
WIGGLE = (0.0, 0.001, -0.001)
"""The differences between rounds, which give intervals a width."""


@dataclass(frozen=True)
class Variant:
    """`times`: block size → the launch's time in ns, or None if the run has no times. `counters`:
    the counters of each launch."""

    times: Mapping[int, float | None] = field(default_factory=lambda: {256: 1e6})
    counters: Sequence[Mapping[str, float]] = ({},)
    steps: Sequence[float] = ()
    """The ns of each launch; empty for a single launch."""
    registers: int = 16
    cubin: str = ""
    """The hash of the compiled file; if empty, a unique hash is invented."""
    source: str = "ab"
    flops: int = 1_000_000
    missing: Mapping[str, str] = field(default_factory=dict)
    """Counter → the reason why it has no value."""
    is_library: bool = False
    provenance: Any = "ncu"
    builds_on: str = ""
    idea: str = ""
    is_trap: bool = False
    written_bytes: int | None = None
    """How many of the 4 n bytes are written; None, as in older runs, if not recorded."""
    reread_bytes: int = 0
    exponentials: int = 0


def run_of(
    variants: Mapping[str, Variant],
    *,
    problem: str = "reduce_sum",
    ceilings: Mapping[str, float] | None = None,
    n: int = 1_000_000,
    sources: Mapping[str, str] | None = None,
) -> Run:
    """Make a run of one problem at one size; the first variant is the baseline."""
    records: list[Record] = []
    for i, (name, v) in enumerate(variants.items()):
        for block, ns in v.times.items():
            records += _case(problem, name, v, block, ns, n, is_baseline=i == 0)
    for name, value in (ceilings or {}).items():
        unit = "flop/s" if name.endswith("rate") else "byte/s"
        records.append(Ceiling(name, value, 0.99 * value, 1.01 * value, unit, "made up", (value,)))
    info = {
        "backend": "cuda",
        "timing": {"confidence": 0.95, "same_within": 0.01},
        "sources": dict(sources or {}),
    }
    return Run(Path("nowhere"), info, records)


def case_of(run: Run, variant: str, block: int = 256) -> Planned:
    return next(
        p for p in run.planned.values() if p.variant == variant and p.launch.get("block") == block
    )


def _case(
    problem: str, name: str, v: Variant, block: int, ns: float | None, n: int, is_baseline: bool
) -> list[Record]:
    case = f"{problem}/{name}/float32/n={n}/block={block}"
    kernels = tuple(f"kernel_{i}" for i in range(max(len(v.steps), 1)))
    records: list[Record] = [
        Planned(case, problem, name, "float32", {"n": n}, {"block": block}, 4 * n, v.flops,
                is_baseline, v.is_library, kernels, v.builds_on, idea=v.idea,
                is_trap=v.is_trap, written_bytes=v.written_bytes,
                reread_bytes=v.reread_bytes, exponentials=v.exponentials),
        Outcome(case, "ok"),
    ]  # fmt: skip
    for step, kernel in enumerate(kernels if not v.is_library else ()):
        records.append(
            Compiled(case, step, kernel, v.source * 32, v.cubin or name, v.registers, 0, 0, 0,
                     block, 1.0, "warps")
        )  # fmt: skip
    for step, counters in enumerate(v.counters):
        records += [
            Counted(case, step, f"kernel_{step}", metric, value, "", v.provenance)
            for metric, value in counters.items()
        ]
        records += [Uncounted(case, step, metric, why) for metric, why in v.missing.items()]
    for repeat in (False, True) if is_baseline and ns else (False,):
        for i in range(ROUNDS if ns else 0):
            assert ns is not None
            factor = 1 + WIGGLE[(i + repeat) % len(WIGGLE)]
            steps = tuple((factor * step,) for step in v.steps)
            records.append(Round(case, "cold", i, repeat, (factor * ns,), steps))
    return records
