"""Synthetic runs: the journal's content after a timed and after an emulated run, with every kind of
failure.

The numbers are invented, so that the winner, ties and failures are known.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from harness.journal.counter_records import Counted
from harness.journal.records import (
    Ceiling,
    Compiled,
    Conditions,
    EventCost,
    Outcome,
    Planned,
    Record,
    Remark,
    Round,
    Verified,
)
from harness.statistics.event_cost import IN_AND_OUT_NS
from harness.tables import Run

GBPS = {
    "v0_global_memory": 367, "v1_shared_memory": 433, "v2_no_divergence": 396,
    "v3_no_bank_conflict": 900, "v4a_add_during_load_half_blocks": 1699,
    "v4b_add_during_load_half_threads": 1650, "v5_unroll_last_warp": 2237,
    "v6_unroll_all": 2372, "v7_fixed_blocks": 2513, "v8_warp_shuffle": 2518,
    "v9_vectorized": 4310, "v10_cooperative_groups": 2500, "v11_single_pass_atomic": 4340,
    "v12_single_pass_last_block": 4396, "t1_partitioned_unaligned": 2105,
    "t2_adjacent_elements_per_thread": 1190, "torch": 4208,
}  # fmt: skip
"""Each variant's rate at the largest size, roughly as on an H200."""
TWO_STEPS = [name for name in GBPS if name[0] == "v" and "single_pass" not in name]
COMPILE_ERROR = """\
v6_unroll_all.cu(41): error: expected a ";" before '<T & U>' && "x" > 0
          smem[tid] += smem[tid + 32]<script>alert(1)</script>
                       ^
1 error detected in the compilation of "v6_unroll_all.cu"."""
SIZES = ({"n": 2**20}, {"n": 2**24}, {"n": 2**28})
BLOCKS = ({"block": 128}, {"block": 256}, {"block": 512})
WRONG = "wrong result: |error| is 12.5 times its bound at out[0]"


@dataclass
class Bench:
    """The content of the synthetic run; tests change a field and build it."""

    problem: str = "reduce_sum"
    gbps: dict[str, float] = field(default_factory=lambda: dict(GBPS))
    libraries: tuple[str, ...] = ("torch",)
    dtypes: tuple[str, ...] = ("float32",)
    uncompiled: tuple[str, ...] = ()
    """Variants that are Python or host functions, for which nothing is compiled."""
    remarks: dict[str, str] = field(default_factory=dict)
    """Variant → the remark on it."""
    placements: int = 1
    """Each case has `rounds` rounds; the variant v8 takes longer in every other round."""
    ladder: bool = True
    """True if each variant states the variant that it builds on: the previous one or, for traps,
    the first."""
    sizes: Sequence[dict[str, int]] = SIZES
    launches: Sequence[dict[str, int]] = BLOCKS
    failed: dict[str, str] = field(default_factory=dict)
    """Variant → reason."""
    skipped: dict[tuple[str, int], str] = field(default_factory=dict)
    """(variant, block) → reason."""
    failed_after_timing: bool = False
    """True if failing variants fail in the check after their rounds, false if before any round."""
    unreached: tuple[str, ...] = ()
    ceilings: bool = True
    counted: bool = False
    """True if a timed run has counters, too."""
    noise: float = 0.002
    rounds: int = 20
    info: dict[str, Any] = field(default_factory=dict)

    def cases(self) -> list[Planned]:
        found = []
        ours = [name for name in self.gbps if name not in self.libraries]
        for dtype, variant in product(self.dtypes, self.gbps):
            library = variant in self.libraries
            before = ours[max(ours.index(variant) - 1, 0)] if variant in ours[1:] else ""
            parent = ours[0] if variant[0] == "t" and before else before
            for size in self.sizes:
                elements = int(np.prod(list(size.values())))
                for launch in [{}] if library else self.launches:
                    parts = [self.problem, variant, dtype]
                    parts += [f"{k}={x}" for k, x in {**size, **launch}.items()]
                    found.append(
                        Planned("/".join(parts), self.problem, variant, dtype, size, launch,
                                4 * elements + 4, elements - 1, variant == ours[0], library,
                                builds_on=parent if self.ladder else "", written_bytes=4)
                    )  # fmt: skip
        return found

    def outcome(self, p: Planned) -> Outcome | None:
        if p.variant in self.unreached:
            return None
        if p.variant in self.failed:
            return Outcome(p.case, "failed", self.failed[p.variant])
        reason = self.skipped.get((p.variant, p.launch.get("block", 0)))
        return Outcome(p.case, "skipped", reason) if reason else Outcome(p.case, "ok")

    def timed(self, folder: Path) -> Run:
        return Run(folder, run_info("cuda", self.info), [*self.records(), *self.limits()])

    def records(self) -> list[Record]:
        """A timed run's records of the problem."""
        records: list[Record] = []
        cases = self.cases()
        for p in cases:
            records += [p, *self._common(p)]
            outcome = self.outcome(p)
            if outcome and outcome.status == "ok":
                records += (
                    self._verified(p, "before") + self._rounds(p) + self._verified(p, "after")
                )
                records += _counted(p) if self.counted and not p.is_library else []
            elif outcome and self.failed_after_timing and outcome.status == "failed":
                records += self._rounds(p) + self._verified(p, "after", outcome.reason)
            elif outcome and outcome.reason == WRONG:
                records += self._verified(p, "before", WRONG)
            records += [outcome] if outcome else []
        records += [
            EventCost(p.group, cache, placement, (IN_AND_OUT_NS,) * 24)
            for p in {p.group: p for p in self.cases()}.values()
            for placement, cache in product(range(self.placements), ("cold", "warm"))
        ]
        for size in self.sizes:
            group = "/".join([self.problem, "float32", *(f"{k}={x}" for k, x in size.items())])
            for i in range(self.rounds):
                throttle = ("software power cap",) if i % 9 == 8 else ()
                records.append(
                    Conditions(group, i, 1_980_000_000 - 15_000_000 * (i % 3), 3_201_000_000,
                               41 + i % 4, 288.0 + 7.5 * i, throttle, 0)
                )  # fmt: skip
        records += [
            Remark(self.problem, variant, dtype, text, "measured")
            for variant, text in self.remarks.items()
            for dtype in self.dtypes
        ]
        return records

    def limits(self) -> list[Record]:
        records: list[Record] = []
        if self.ceilings:
            for name, value, unit in (
                ("read_bandwidth", 4.55e12, "byte/s"), ("copy_bandwidth", 4.21e12, "byte/s"),
                ("fp32_rate", 60.3e12, "flop/s"), ("empty_kernel", 2110.0, "ns"),
            ):  # fmt: skip
                records.append(
                    Ceiling(name, value, value * 0.998, value * 1.002, unit,
                            "the best of several grids, median of 20 rounds", (value,))
                )  # fmt: skip
        return records

    def emulated(self, folder: Path) -> Run:
        records: list[Record] = []
        for p in self.cases():
            if p.is_library:
                continue
            records += [p, *self._common(p)]
            outcome = self.outcome(p)
            if p.sizes.get("n", 0) > 2**22 and outcome and outcome.status == "ok":
                outcome = Outcome(p.case, "skipped", "its buffers exceed limits.emulate_bytes")
            elif outcome and outcome.status == "ok":
                records += _counted(p)
            records += [outcome] if outcome else []
        return Run(folder, run_info("emulator", self.info), records)

    def _common(self, p: Planned) -> list[Record]:
        """Both backends' records of a case before its run: compiled, and tested at small sizes."""
        if (
            p.is_library
            or p.variant in self.uncompiled
            or "error:" in self.failed.get(p.variant, "")
            or p.variant in self.unreached
        ):
            return []
        records: list[Record] = []
        for step in range(2 if p.variant in TWO_STEPS else 1):
            block = p.launch.get("block", 256)
            records.append(
                Compiled(p.case, step, f"reduce_step_{step}", "ab" * 32, p.variant, 16 + 2 * step,
                         4 * block, 0, 0, block, 0.75 if block == 512 else 1.0,
                         "shared memory" if block == 512 else "warps")
            )  # fmt: skip
        if p.sizes == self.sizes[0]:
            for n in (1, 31, 1009, 2**16 + 1, 1_000_003):
                sizes = dict.fromkeys(p.sizes, n)
                error = 0.02 + 0.18 * (zlib.crc32(f"{p.case}{n}".encode()) % 1000) / 1000
                for draw in (0, 1):
                    records.append(Verified(p.problem, p.variant, p.dtype, sizes, p.launch, "test",
                                            draw, True, "", error))  # fmt: skip
        return records

    @staticmethod
    def _verified(p: Planned, phase: Any, reason: str = "") -> list[Record]:
        error = 12.5 if reason else 0.031
        return [
            Verified(p.problem, p.variant, p.dtype, p.sizes, p.launch, phase, 0, not reason,
                     reason, error)
        ]  # fmt: skip

    def _rounds(self, p: Planned) -> list[Record]:
        rng = np.random.default_rng(zlib.crc32(p.case.encode()))
        block = {128: 1.05, 256: 1.0, 512: 1.09}.get(p.launch.get("block", 256), 1.0)
        base = p.bytes / self.gbps[p.variant]
        records: list[Record] = []
        for cache, cost in (("cold", base * block + 2600), ("warm", base * block * 0.7 + 2100)):
            again = (False, True) if p.is_baseline else (False,)
            for placement, repeat in product(range(self.placements), again):
                moved = 1.06 if p.variant == "v8_warp_shuffle" and placement % 2 else 1.0
                for i in range(self.rounds):
                    drift = moved * (1 + 0.01 * np.sin(i))
                    samples = cost * drift * (1 + self.noise * rng.standard_normal(4))
                    steps = ()
                    if p.variant in TWO_STEPS:
                        first = samples - 1500
                        steps = (tuple(map(float, first)), (1900.0, 1890.0, 1905.0, 1899.0))
                    records.append(
                        Round(
                            p.case,
                            cache,
                            i,
                            repeat,
                            tuple(map(float, samples)),
                            steps,  # type: ignore[arg-type]
                            placement,
                        )
                    )
        return records


def _counted(p: Planned) -> list[Record]:
    rank = list(GBPS).index(p.variant) if p.variant in GBPS else 5
    ideal = 0.0 if p.variant in {"v0_global_memory", "v8_warp_shuffle"} else 737_280.0
    excess = (1.0, 2.1, 3.3)[rank] if rank < 3 else 1.0
    instructions = 5_200_000.0 / (1 + rank)
    sectors = {"t2_adjacent_elements_per_thread": 16.0, "v9_vectorized": 16.0}.get(p.variant, 4.0)
    requests = p.sizes["n"] / (128 if sectors == 16 else 32)
    values = {
        "smsp__inst_executed.sum": (instructions, "inst", "ptx-level"),
        "smsp__thread_inst_executed.sum": (instructions * 31.5, "inst", "ptx-level"),
        "smsp__thread_inst_executed_pred_on.sum": (
            instructions * (8 + 1.4 * rank), "inst", "ptx-level",
        ),
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": (requests, "", "emulator-exact"),
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": (
            requests * sectors, "sector", "emulator-exact",
        ),
        "memory_l1_wavefronts_shared": (ideal * excess, "", "emulator-exact"),
        "memory_l1_wavefronts_shared_ideal": (ideal, "", "emulator-exact"),
    }  # fmt: skip
    return [
        Counted(p.case, step, f"reduce_step_{step}", metric, value if not step else value // 1000,
                unit, provenance)  # type: ignore[arg-type]
        for step in range(2 if p.variant in TWO_STEPS else 1)
        for metric, (value, unit, provenance) in values.items()
    ]  # fmt: skip


def run_info(backend: str, changes: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "20260101-120000",
        "started": "2026-01-01T12:00:00+00:00",
        "finished": "2026-01-01T12:03:10+00:00",
        "command": "python -m harness run --only 'reduce_sum/*'",
        "seed": 20260101,
        "backend": backend,
        "timing": {"rounds": 20, "batch": 4, "confidence": 0.95, "same_within": 0.01, "seed": 1},
        "device": {"name": "NVIDIA H200", "arch": "sm_90", "sm_count": 132,
                   "l2_bytes": 60 * 2**20, "memory_bytes": 150_000_000_000},
        "machine": {"platform": "Linux", "cpu": "a processor", "python": "3.11.2"},
        "versions": {"numpy": "2.3", "pycuda": "2026.1", "torch": "2.11", "driver": "580.1"},
        "commit": {"id": "0123456789abcdef", "dirty": False},
        "problems": {"reduce_sum": {"title": "the sum of n numbers", "library": "torch",
                                    "baseline": "v0_global_memory"}},
        "sources": {"kernels/reduce_sum/v0_global_memory.cu": "ab" * 32},
        "compiler": {"path": "nvcc", "version": "13.0.88"},
        "exit_code": 0,
        **changes,
    }  # fmt: skip


def mishaps() -> dict[str, Any]:
    """A wrong variant, one that does not compile, skipped cells, and one that was not reached."""
    return {
        "failed": {"v6_unroll_all": COMPILE_ERROR, "v2_no_divergence": WRONG},
        "skipped": {("v8_warp_shuffle", 512): "the variant is limited to `block <= 256`"},
        "unreached": ("t1_partitioned_unaligned",),
    }


def many(
    folder: Path, problems: int = 28, rounds: int = 8, variants: int = 6, sizes: int = 3
) -> Run:
    """A run of many problems, with failures among them, and torch."""
    names = [name for name in GBPS if name[0] == "v"][: 3 * (variants - 1) : 3]
    names.append("v12_single_pass_last_block")
    records: list[Record] = []
    about = {}
    for i in range(problems):
        problem = f"problem_{i:02}_{('copy', 'scan', 'transpose', 'softmax', 'histogram')[i % 5]}"
        gbps = {name: GBPS[name] * (1 - 0.011 * i) for name in names} | {"torch": 3000.0 + 40 * i}
        failed = {"v5_unroll_last_warp": COMPILE_ERROR} if i % 9 == 4 else {}
        bench = Bench(
            problem, gbps, sizes=SIZES[-sizes:], launches=BLOCKS[:2], rounds=rounds, failed=failed
        )
        records += bench.records()
        about[problem] = {"title": f"what problem {i} computes, in a clause of its own"}
    return Run(folder, run_info("cuda", {"problems": about}), [*records, *Bench().limits()])
