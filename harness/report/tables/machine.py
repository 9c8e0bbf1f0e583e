"""Tables of verification results, the GPU's state during the rounds, and the ceilings."""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from typing import Any

from harness.journal.records import Verified
from harness.report import format as fmt
from harness.report.anchors import slug
from harness.report.tables.cells import Cell, Column, Row, Table, named, none, optional
from harness.statistics.intervals import Interval
from harness.statistics.net_times import Group
from harness.tables import Run


def verification_table(run: Run, problem: str) -> Table:
    """Variant × phase: how many checks passed, and the worst error over its bound."""
    phases = {"test": "test sizes", "before": "before timing", "after": "after timing"}
    # In the matrix's order; variants are verified as cores become free.
    checks: dict[tuple[str, str], list[Verified]] = {
        (p.variant, p.dtype): [] for p in run.planned.values() if p.problem == problem
    }
    for v in run.of(Verified):
        if v.problem == problem:
            checks.setdefault((v.variant, v.dtype), []).append(v)
    checks = {key: found for key, found in checks.items() if found}
    seen = [p for p in phases if any(v.phase == p for found in checks.values() for v in found)]
    columns = [
        Column("variant", numeric=False),
        Column("type", numeric=False),
        *(Column(phases[p], "checks passed, of those made") for p in seen),
        Column("worst error", "largest error over the bound that the arithmetic allows; 1 fails"),
        Column("first failure", numeric=False),
    ]
    rows: list[Row] = []
    for (variant, dtype), found in checks.items():
        errors = [v.error for v in found if v.error is not None]
        bad = next((v for v in found if not v.ok), None)
        rows.append(
            Row(
                [
                    named(variant),
                    Cell(dtype),
                    *(_passed([v for v in found if v.phase == phase]) for phase in seen),
                    _worst(errors),
                    Cell(_failure(bad), css="failed wrap") if bad else none("none"),
                ],
                f"verified-{slug(f'{problem}-{variant}-{dtype}')}",
            )
        )
    return Table(f"table-verified-{slug(problem)}", "Verified launches", columns, rows)


def _worst(errors: list[float]) -> Cell:
    """The largest error over its bound; if the bound is 0, the journal holds the largest float
    instead."""
    worst = max(errors, default=None)
    if worst == float_info.max:
        return Cell("beyond a bound of 0", worst)
    return optional(worst, fmt.three, "not comparable")


def _passed(checks: list[Verified]) -> Cell:
    if not checks:
        return none("not run")
    good = sum(v.ok for v in checks)
    css = "ok" if good == len(checks) else "failed"
    return Cell(f"{good} of {len(checks)}", good / len(checks), css=css)


def _failure(v: Verified) -> str:
    return f"{v.reason} ({fmt.assignments({**v.sizes, **v.launch})})"


def steadiness_table(run: Run, groups: list[Group]) -> Table:
    """The difference between equal kernels, what was left out and why, and the state of the GPU."""
    columns = [
        Column("size", numeric=False),
        Column("rounds", "kept, of those run, over all placements"),
        Column("left out", "rounds that are in no figure, by reason", numeric=False),
        Column("equal kernels differ by, cold",
               "at most: two runs of the same kernel in each round"),
        Column("warm", "the same with what fits left in the L2 cache"),
        Column("multiprocessor clock"), Column("memory clock"), Column("temperature"),
        Column("power"), Column("throttled", "by the driver's reasons", numeric=False),
    ]  # fmt: skip
    rows = [_steadiness(run, group) for group in groups]
    return Table(f"table-steady-{slug('-'.join(groups[0][:2]))}", "The GPU during the rounds",
                 columns, rows)  # fmt: skip


def _steadiness(run: Run, group: Group) -> Row:
    cases = run.groups()[group]
    rounds = {(r.placement, r.round) for p in cases for r in run.timings.rounds(p.case, "cold")}
    left: Mapping[str, int] = run.timings.left_out.get(group, {})
    reasons = ", ".join(f"{count} {reason}" for reason, count in left.items())
    table = run.conditions
    name = cases[0].group
    own = table[table.group == name] if len(table) else table
    throttled = [reason for found in own.get("throttle", ()) for reason in found]
    counted = [f"{r} ({throttled.count(r)} of {len(own)})" for r in dict.fromkeys(throttled)]
    return Row(
        [
            Cell(fmt.assignments(cases[0].sizes) or "the only one"),
            Cell(f"{len(rounds) - sum(left.values())} of {len(rounds)}", len(rounds)),
            Cell(reasons, css="wrap") if left else none("none"),
            *(_noise(run, group, cache) for cache in ("cold", "warm")),
            _range(own.get("sm_clock_hz", ()), fmt.hertz),
            _range(own.get("memory_clock_hz", ()), fmt.hertz),
            _range(own.get("temperature_c", ()), lambda x: f"{x:.0f}{fmt.THIN}°C"),
            _range(own.get("power_w", ()), lambda x: f"{x:.0f}{fmt.THIN}W"),
            Cell(", ".join(counted), css="wrap") if counted else none("in no round"),
        ]
    )


def _noise(run: Run, group: Group, cache: str) -> Cell:
    noise = run.timings.noise(group, cache)
    return optional(100 * noise if fmt.is_number(noise) else None, fmt.percent, "not measured")


def _range(values: Any, show: Any) -> Cell:
    known = sorted(float(x) for x in values if fmt.is_number(x))
    if not known:
        return none("not told", "the driver does not tell")
    low, high, middle = show(known[0]), show(known[-1]), known[len(known) // 2]
    return Cell(low if low == high else f"{low} to {high}", middle)


CEILINGS = {
    "read_bandwidth": "read bandwidth", "copy_bandwidth": "copy bandwidth",
    "mix_4_1_bandwidth": "4 bytes read to 1 written", "write_bandwidth": "write bandwidth",
    "mix_2_1_bandwidth": "2 bytes read to 1 written",
    "mix_1_4_bandwidth": "1 byte read to 4 written",
    "l2_bandwidth": "L2 bandwidth", "shared_bandwidth": "shared-memory bandwidth",
    "fp32_rate": "FP32 rate (fused multiply-add)", "fp64_rate": "FP64 rate",
    "fp16_rate": "FP16 rate", "tensor_rate": "FP16 tensor rate",
    "bf16_tensor_rate": "BF16 tensor rate", "tf32_rate": "TF32 tensor rate",
    "exponential_rate": "exponentials",
    "empty_kernel": "an empty kernel",
}  # fmt: skip


UNITS = {
    "byte/s": (1e9, "GB/s"), "flop/s": (1e12, "TFLOP/s"), "exp/s": (1e9, "billion/s"),
}  # fmt: skip


def ceilings_table(run: Run) -> Table:
    """The machine's peak rates, measured in this run."""
    columns = [Column("ceiling", numeric=False), Column("value"), Column("how", numeric=False)]
    rows = []
    for c in run.ceilings.values():
        measured = Interval(c.value, c.low, c.high)
        scale, unit = UNITS.get(c.unit, (1.0, c.unit))
        shown = (
            fmt.time_interval(measured) if c.unit == "ns" else fmt.interval(measured, scale, unit)
        )
        rows.append(Row([Cell(CEILINGS.get(c.name, c.name)), Cell(shown),
                         Cell(c.how, css="wrap")], f"ceiling-{slug(c.name)}"))  # fmt: skip
    return Table("table-ceilings", "Ceilings measured in this run", columns, rows)
