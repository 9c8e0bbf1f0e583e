"""Make the committed readings of other people's kernels from the output of on_gpu.py.

    python scripts/others_kernels/readings.py readings.tar.xz

Writes reports/h200/fidelity/others.csv, a row per launch and counter, and others_results.csv, a row
per launch and buffer: the hash of its contents before and after, and a few values of a result. A
launch is matched to its reading by its position in the report, and both must have the same kernel
symbol.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from on_gpu import METRICS

FOLDER = Path(__file__).resolve().parents[2] / "reports" / "h200" / "fidelity"
COUNTERS, RESULTS = FOLDER / "others.csv", FOLDER / "others_results.csv"
OPCODES = "sass__inst_executed_per_opcode"

Row = tuple[str, str, float]
"""Launch, counter, reading."""


def actions(report: Path) -> list[Any]:
    """The launches of a report, in order."""
    import ncu_report

    context = ncu_report.load_report(str(report))
    groups = [context.range_by_idx(i) for i in range(context.num_ranges())]
    return [group.action_by_idx(k) for group in groups for k in range(group.num_actions())]


def parts(folder: Path) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Pair on_gpu.py's record of each launch with its entry in ncu's report. Raises ValueError if
    they do not match."""
    for part in json.loads((folder / "results.json").read_text(encoding="utf-8"))["parts"]:
        report = folder / f"part-{part['part']}.ncu-rep"
        if not part["report"] or not report.exists():
            continue
        found = actions(report)
        for told, action in zip(part["launches"], found, strict=False):
            symbol = action.name(action.NameBase_MANGLED)
            if symbol != told["symbol"]:
                raise ValueError(f"{told['done']}: the report has {symbol} there")
            yield told, action


def rows(name: str, action: Any) -> Iterator[Row]:
    """Every numeric counter, and the instructions of each opcode."""
    for metric_name in METRICS:
        metric = action.metric_by_name(metric_name)
        if metric is not None and _is_number(metric):
            value = metric.as_double()
            if math.isfinite(value):
                yield name, metric_name, value
    for opcode, count in sorted(by_opcode(action).items()):
        yield name, f"{OPCODES}/{opcode}", count


def by_opcode(action: Any) -> dict[str, float]:
    """The warp instructions of each opcode; empty if they were not read."""
    metric = action.metric_by_name(OPCODES)
    if metric is None or not metric.has_correlation_ids():
        return {}
    names = metric.correlation_ids()
    return {names.as_string(k): metric.as_double(k) for k in range(metric.num_instances())}


def by_address(action: Any, metric_name: str) -> dict[int, float]:
    """Return a counter's value for each machine instruction, by its offset from the kernel's
    first."""
    metric = action.metric_by_name(metric_name)
    if metric is None or not metric.has_correlation_ids():
        return {}
    places = metric.correlation_ids()
    found = {places.as_uint64(k): metric.as_double(k) for k in range(metric.num_instances())}
    first = min(found, default=0)
    return {at - first: count for at, count in found.items()}


def _is_number(metric: Any) -> bool:
    return metric.kind() in {
        metric.ValueKind_FLOAT, metric.ValueKind_DOUBLE,
        metric.ValueKind_UINT32, metric.ValueKind_UINT64,
    }  # fmt: skip


def results(told: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str]]:
    for name, before in told["before"].items():
        values = " ".join(repr(value) for value in told["samples"].get(name, ()))
        yield told["done"], name, before, told["after"][name], values


def write(path: Path, head: Sequence[str], lines: Sequence[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(head)
        out.writerows(lines)


def unpacked(given: Path, scratch: Path) -> Path:
    """Return the folder of readings: the given one, or the one into which the given archive is
    unpacked."""
    if given.is_dir():
        return given
    with tarfile.open(given) as packed:
        packed.extractall(scratch, filter="data")
    return scratch


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("readings", type=Path)
    options = parser.parse_args(arguments)
    counters: list[Row] = []
    kept: list[tuple[str, str, str, str, str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for told, action in parts(unpacked(options.readings, Path(scratch))):
            counters += rows(told["done"], action)
            kept += results(told)
    digits = [(name, counter, f"{value:.10g}") for name, counter, value in counters]
    write(COUNTERS, ("launch", "counter", "reading"), digits)
    write(RESULTS, ("launch", "buffer", "before", "after", "values"), kept)
    print(f"{len({row[0] for row in counters})} launches, {len(counters)} readings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
