"""Tables about the run itself: what was verified, how the GPU behaved, what the machine can do."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from harness.measure.statistics import Interval
from harness.records import Verified
from harness.report import format as fmt
from harness.report.anchors import slug
from harness.report.cells import Cell, Column, Row, Table, named, optional
from harness.tables import Run


def verification_table(run: Run) -> Table:
    """Variant × phase: how many checks passed, and the worst error over its bound."""
    phases = {"test": "test sizes", "before": "before timing", "after": "after timing"}
    checks: dict[tuple[str, str, str], list[Verified]] = defaultdict(list)
    for v in run.of(Verified):
        checks[v.problem, v.variant, v.dtype].append(v)
    seen = [p for p in phases if any(v.phase == p for found in checks.values() for v in found)]
    columns = [
        Column("problem", numeric=False),
        Column("variant", numeric=False),
        Column("type", numeric=False),
        *(Column(phases[p], "checks passed, of those made") for p in seen),
        Column("worst error", "largest error over the bound that the arithmetic allows; 1 fails"),
        Column("first failure", numeric=False),
    ]
    rows: list[Row] = []
    for key, found in checks.items():
        errors = [v.error for v in found if v.error is not None]
        bad = next((v for v in found if not v.ok), None)
        rows.append(
            Row(
                [
                    *(named(text) if i == 1 else Cell(text, text) for i, text in enumerate(key)),
                    *(_passed([v for v in found if v.phase == phase]) for phase in seen),
                    optional(max(errors, default=None), fmt.three, "not comparable"),
                    Cell(_failure(bad), css="failed") if bad else Cell("none", css="none"),
                ],
                f"verified-{slug('-'.join(key))}",
            )
        )
    return Table("table-verified", "Verified launches", columns, rows)


def _passed(checks: list[Verified]) -> Cell:
    if not checks:
        return Cell("not run", css="none")
    good = sum(v.ok for v in checks)
    css = "ok" if good == len(checks) else "failed"
    return Cell(f"{good} of {len(checks)}", good / len(checks), css=css)


def _failure(v: Verified) -> str:
    where = fmt.assignments({**v.sizes, **v.launch})
    return f"{v.reason} ({where})"


def conditions_table(run: Run) -> Table:
    """The GPU's state over the rounds of each group: lowest, median, highest."""
    columns = [Column("group", numeric=False), Column("rounds"), Column("multiprocessor clock")]
    columns += [Column("memory clock"), Column("temperature"), Column("power")]
    columns += [Column("throttled", "rounds in which the driver gave a reason", numeric=False)]
    table, rows = run.conditions, []
    for group in dict.fromkeys(table.group) if len(table) else ():
        own = table[table.group == group]
        reasons = [reason for found in own.throttle for reason in found]
        counted = [f"{r} ({reasons.count(r)} of {len(own)})" for r in dict.fromkeys(reasons)]
        rows.append(
            Row(
                [
                    Cell(group, group),
                    Cell(str(len(own)), len(own)),
                    _range(own.sm_clock_hz, fmt.hertz),
                    _range(own.memory_clock_hz, fmt.hertz),
                    _range(own.temperature_c, lambda x: f"{x:.0f}{fmt.THIN}°C"),
                    _range(own.power_w, lambda x: f"{x:.0f}{fmt.THIN}W"),
                    Cell(", ".join(counted) or "in no round", css="" if counted else "none"),
                ]
            )
        )
    return Table("table-conditions", "The GPU during the rounds", columns, rows)


def _range(values: Any, show: Any) -> Cell:
    known = [float(x) for x in values if fmt.is_number(x)]
    if not known:
        return Cell("the driver does not tell", css="none")
    low, high, middle = show(min(known)), show(max(known)), sorted(known)[len(known) // 2]
    return Cell(low if low == high else f"{show(middle)} ({low} to {high})", middle)


def ceilings_table(run: Run) -> Table:
    """What the machine can do, measured in this run."""
    names = {
        "read_bandwidth": "read bandwidth", "copy_bandwidth": "copy bandwidth",
        "l2_bandwidth": "L2 bandwidth", "shared_bandwidth": "shared-memory bandwidth",
        "fp32_rate": "FP32 rate (fused multiply-add)", "fp64_rate": "FP64 rate",
        "fp16_rate": "FP16 rate", "tensor_rate": "tensor rate", "empty_kernel": "an empty kernel",
    }  # fmt: skip
    columns = [Column("ceiling", numeric=False), Column("value"), Column("how", numeric=False)]
    rows = []
    for c in run.ceilings.values():
        measured = Interval(c.value, c.low, c.high)
        scale, unit = {"byte/s": (1e9, "GB/s"), "flop/s": (1e12, "TFLOP/s")}.get(
            c.unit, (1.0, c.unit)
        )
        shown = (
            fmt.time_interval(measured) if c.unit == "ns" else fmt.interval(measured, scale, unit)
        )
        rows.append(Row([Cell(names.get(c.name, c.name)), Cell(shown), Cell(c.how)],
                        f"ceiling-{slug(c.name)}"))  # fmt: skip
    return Table("table-ceilings", "Ceilings measured in this run", columns, rows)


def noise_table(run: Run) -> Table:
    """The A/A noise floor of every group, cold and warm."""
    columns = [Column("group", numeric=False), Column("noise floor, cold")]
    columns += [Column("noise floor, warm")]
    rows = []
    for key, cases in run.groups().items():
        cells = [Cell(f"{key[0]}, {key[1]}, {fmt.assignments(cases[0].sizes)}")]
        for cache in ("cold", "warm"):
            floor = run.timings.noise(key, cache)
            shown = 100 * floor if fmt.is_number(floor) else None
            cells.append(optional(shown, fmt.percent, "not measured"))
        rows.append(Row(cells))
    return Table("table-noise", "Noise floor (A/A)", columns, rows)
