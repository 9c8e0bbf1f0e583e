"""A synthetic timed run with profiling: every counter of metrics.yaml, with invented values.

The values are chosen so that the ladder's causes are known: v3 has no bank conflicts, v9 uses wider
loads.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from synthetic_runs import Bench

from harness.journal.counter_records import Counted, Uncounted
from harness.journal.records import Ceiling, Planned, Record
from harness.ncu.derived import FORMULAS
from harness.ncu.metrics import catalogue
from harness.tables import Run

REFUSED = "not permitted: the driver lets only an administrator read counters"
MISSING = "l1tex__t_sector_hit_rate.pct"


def profiled(bench: Bench, folder: Path, blocks: tuple[int, ...] = (128, 256, 512)) -> Run:
    """The bench's timed run with ncu's counters; one counter is denied in all cases."""
    run = bench.timed(folder)
    records = list(run.records)
    for name, value in (("l2_bandwidth", 9.1e12), ("shared_bandwidth", 30.2e12)):
        records.append(Ceiling(name, value, value, value, "byte/s", "made up", (value,)))
    for p in run.planned.values():
        if run.outcomes[p.case].status == "ok" and p.launch.get("block", 128) in blocks:
            steps = max(len(run.compiled.get(p.case, [])), 1)
            for step in range(steps):
                records += _counters(run, p, step)
    return Run(folder, run.info, records)


def _counters(run: Run, p: Planned, step: int) -> list[Record]:
    known, share = catalogue(), 1.0 if step == 0 else 0.001
    values = {
        key: _seeded(f"{p.variant}{key}", metric.unit) for key, metric in known.metrics.items()
    }
    compulsory = share * p.bytes
    excess = 3.3 if p.variant.startswith(("v1", "v2")) and p.variant[2] == "_" else 1.0
    per_request = 16.0 if p.variant.startswith(("v9", "v10", "v11", "v12")) else 4.0
    values |= {
        "memory_l1_wavefronts_shared": share * p.bytes / 32 * excess,
        "memory_l1_wavefronts_shared_ideal": share * p.bytes / 32,
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld": compulsory / 32 / per_request,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld": compulsory / 32,
        "dram__bytes_read": compulsory * (2 if p.is_baseline else 1),
        "dram__bytes_write": compulsory * (0.9 if p.is_baseline else 0.001),
        "lts__t_bytes": compulsory * 1.04,
        "l1tex__t_bytes": compulsory * (4 if p.is_baseline else 1.01),
        "sm__inst_executed_pipe_tensor": 0.0,
        "gpu__time_duration": share * _ns(run, p) * (1.3 if p.is_library else 1.01),
    }
    for letter in "fdh":
        for operation in ("add", "mul", "fma"):
            name = f"smsp__sass_thread_inst_executed_op_{letter}{operation}_pred_on"
            values[name] = p.flops * share * 1.1 if (letter, operation) == ("f", "add") else 0.0
    kernel = f"reduce_step_{step}"
    found: list[Record] = []
    for key, metric in known.metrics.items():
        if metric.name == MISSING:
            found.append(Uncounted(p.case, step, metric.name, REFUSED))
        else:
            found.append(
                Counted(p.case, step, kernel, metric.name, values[key], metric.unit, "ncu")
            )
    for key, derived in known.derived.items():
        answer = FORMULAS[key](values)
        if answer is not None:
            found.append(Counted(p.case, step, kernel, key, answer, derived.unit, "ncu"))
    return found


def _seeded(text: str, unit: str) -> float:
    share = (zlib.crc32(text.encode()) % 1000) / 1000
    return share if unit == "ratio" else 6 * share if unit == "warp" else 1e6 * (1 + share)


def _ns(run: Run, p: Planned) -> float:
    time = run.time(p.case)
    return time.value if time else 0.0
