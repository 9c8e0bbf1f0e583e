"""Record a GPU's counters for Hopper's asynchronous instructions, launch by launch.

    python scripts/asynchronous_counters/readings_on_gpu.py prepare FOLDER [FILE …]
    python scripts/asynchronous_counters/readings_on_gpu.py FOLDER OUT [SECONDS [FILE …]]

The first command needs nvcc. It compiles the kernels, and records what each launch leaves in memory
according to the emulator. The second needs a GPU, ncu and NumPy, and writes two files to OUT:

- asynchronous.csv.gz has a row for each counter of each launch. `set` is `probe` for the kernels of
  tests/fidelity/asynchronous and `held_out` for those that mixed_kernels.py draws; `reading` is 1,
  or 2 for the launches that are read again to see which counters vary. The metric `result` is the
  digest of what the launch left in memory, and `expected` is the emulator's digest; `error` gives
  the reason if there is no result.
- asynchronous.json names the GPU, the driver, ncu's version and the metrics.

Launches that do not fit into SECONDS (240 by default) are left out, the second readings first. FILE
arguments, such as `products` or `held_out`, select the files whose launches are read; `further` has
to be named, because its launches were read separately (further_launches.py). The environment
variable NCU selects a different ncu.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "readings"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import drawn_files
import further_launches
import mixed_kernels
import one_launch
import probe_launches as listed
from counters_to_read import METRICS

if TYPE_CHECKING:
    from harness.compiler import compile as compiler

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "fidelity" / "asynchronous"
DRAWN_IN = ROOT / "build" / "asynchronous_counters"
FILES = (
    "bulk_copies", "tensor_copies", "cluster_memory", "barriers", "matrices", "products",
    mixed_kernels.FILE,
)  # fmt: skip
ARCH = "sm_90a"
EXPECTED = "expected.json"
HEAD = ("set", "reading", "file", "kernel", "launch", "metric", "value")
TOGETHER = 64
"""The number of launches in one process under ncu."""
AGAIN = 5
"""One in this many launches is read a second time."""
SECONDS, LONGEST = 240.0, 150.0
"""The seconds allowed for everything, and for one process."""
Row = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Launches of one file that one process executes, as positions in `every(file)`."""

    file: str
    numbers: tuple[int, ...]
    reading: int = 1


def every(file: str) -> list[one_launch.Launch]:
    """The launches of a file, in order."""
    others = {mixed_kernels.FILE: listed.held_out, further_launches.FILE: further_launches.further}
    return [each for each in others.get(file, listed.probes)() if each.file == file]


def parts(files: Sequence[str] = FILES) -> Iterator[Part]:
    """Yield all launches of the given files once, and then some of them again."""
    for reading, step in ((1, 1), (2, AGAIN)):
        for file in files:
            numbers = range(0, len(every(file)), step)
            for first in range(0, len(numbers), TOGETHER):
                yield Part(file, tuple(numbers[first : first + TOGETHER]), reading)


def source(file: str) -> Path:
    """The path of a file's kernels, which are drawn first if necessary."""
    if file != mixed_kernels.FILE:
        return SOURCES / f"{file}.cu"
    return drawn_files.keep(DRAWN_IN / f"{file}.cu", mixed_kernels.text())


def unit(file: str) -> compiler.Unit:
    """The command that compiles a file."""
    from harness.compiler import compile as compiler

    return compiler.Unit(source(file), (SOURCES,), (), ARCH, (), (), ())


def prepare(folder: Path, files: Sequence[str] = FILES) -> None:
    """Compile each file into a cubin, and write what each launch leaves in memory."""
    import emulated_launches

    from harness.compiler import compile as compiler

    folder.mkdir(parents=True, exist_ok=True)
    expected: dict[str, list[str]] = {}
    for file in files:
        built = compiler.build(unit(file))
        shutil.copyfile(built.cubin, folder / f"{file}.cubin")
        expected[file] = []
        for each in every(file):
            outcome = emulated_launches.of_machine_code(built, each)
            if outcome.report.faults:
                raise SystemExit(f"{each.kernel} {each.name}: {outcome.report.faults[0]}")
            expected[file].append(outcome.digest)
    (folder / EXPECTED).write_text(json.dumps(expected, indent=0), encoding="utf-8")


def launch(folder: Path, file: str, numbers: Sequence[int], told: Path) -> None:
    """Execute launches in order, and write the digest of each, until one of them fails."""
    import cuda_driver

    launches = every(file)
    with told.open("w", encoding="utf-8") as out, cuda_driver.opened() as context:
        module = context.loaded((folder / f"{file}.cubin").read_bytes())
        addresses = [context.allocated(one_launch.BYTES) for _ in range(4)]
        for number in numbers:
            try:
                said = executed(context, module, addresses, launches[number])
            except cuda_driver.DriverError as error:
                out.write(f"{number} error {error}\n")
                return
            out.write(f"{number} {said}\n")
            out.flush()


def executed(context: Any, module: Any, addresses: Sequence[int], each: one_launch.Launch) -> str:
    """Execute one launch; return the digest of what it left."""
    import ctypes

    import cuda_driver

    buffers = each.buffers()
    for address, data in zip(addresses, buffers, strict=False):
        context.write(address, data)
    maps = [
        cuda_driver.tensor_map(layout, address)
        for layout, address in zip(each.maps, addresses[2:], strict=False)
    ]
    arguments = [
        *maps, *map(ctypes.c_uint64, addresses[:2]), *map(ctypes.c_int, each.scalars)
    ]  # fmt: skip
    function = context.function(module, each.kernel)
    context.launch(function, each.grid, each.block, each.shared, arguments)
    return one_launch.digest(
        [
            context.read(address, one_launch.BYTES)
            for address, _ in zip(addresses, buffers, strict=False)
        ]
    )


def collected(folder: Path, part: Part, metrics: Sequence[str], deadline: float) -> Iterator[Row]:
    """Yield the rows of a part. If a launch ends its process, another process continues with the
    next launch."""
    left = list(part.numbers)
    launches = every(part.file)
    expected = json.loads((folder / EXPECTED).read_text("utf-8"))[part.file]
    while left:
        said, results, ended = _under_ncu(folder, part.file, left, metrics, deadline)
        read = [launches[number].kernel for number in left[: len(said)]]
        if [row["Kernel Name"].partition("(")[0] for row in said] != read:
            said = []  # ncu's rows do not belong to these launches
        for position, number in enumerate(left):
            if number not in results:
                break
            result = results[number]
            values = {"result": result, "expected": expected[number]}
            if result.startswith("error"):
                values = {"error": result.partition(" ")[2]}
            elif position < len(said):
                values |= _values(said[position], metrics)
            one = launches[number]
            kind = "held_out" if part.file == mixed_kernels.FILE else "probe"
            for metric, value in values.items():
                yield kind, str(part.reading), part.file, one.kernel, one.name, metric, value
        left = left[len(results) + (not ended) :]  # without the launch that hung, if one did
        if time.monotonic() > deadline or (ended and not results):
            return


def _under_ncu(
    folder: Path, file: str, numbers: Sequence[int], metrics: Sequence[str], deadline: float
) -> tuple[list[dict[str, str]], dict[int, str], bool]:
    """Return ncu's rows, the digests by launch number, and whether the process ended by itself."""
    with tempfile.TemporaryDirectory() as own:
        told = Path(own) / "results"
        command = [
            ncu(), "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
            "--print-fp", "--metrics", ",".join(metrics), sys.executable, __file__, "launch",
            str(folder), file, ",".join(map(str, numbers)), str(told),
        ]  # fmt: skip
        left = max(1.0, min(LONGEST, deadline - time.monotonic()))
        said, ended = _said(command, left)
        lines = told.read_text("utf-8").splitlines() if told.exists() else []
    for line in said.splitlines():
        if line.startswith("==ERROR=="):
            print(line, file=sys.stderr)
    found = (line.partition(" ") for line in lines)
    return table(said), {int(number): text for number, _, text in found}, ended


def _said(command: Sequence[str], seconds: float) -> tuple[str, bool]:
    """Run a program; return its output, and whether it ended in time. If it did not, kill it and
    its child processes."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    )  # fmt: skip
    try:
        return process.communicate(timeout=seconds)[0], True
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], False


def table(said: str) -> list[dict[str, str]]:
    """The launches in ncu's output, in order, each with its columns."""
    lines = said.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = [line for line in lines[start:] if line.startswith('"')]
    return list(csv.DictReader(rows))[1:]  # the first row holds the units


def _values(row: dict[str, str], metrics: Sequence[str]) -> dict[str, str]:
    found = {}
    for metric in metrics:
        number = re.match(r"[\d,.]+", row.get(metric) or "")
        found[metric] = f"{float(number[0].replace(',', '')):.0f}" if number else ""
    return found


def ncu() -> str:
    return os.environ.get("NCU", "ncu")


def offered() -> list[str]:
    """The wanted counters that ncu offers for this GPU; all wanted counters if ncu lists none."""
    asked = [ncu(), "--query-metrics", "--devices", "0"]
    said = subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    names = set(re.findall(r"^(\w+__\w+) ", said.stdout, re.MULTILINE))
    if not names:
        return list(METRICS)
    known = [each for each in METRICS if "__" not in each or each.removesuffix(".sum") in names]
    for each in sorted({*METRICS} - {*known}):
        print(f"ncu has no {each} here", file=sys.stderr)
    return known


def write_machine(out: Path, metrics: Sequence[str]) -> None:
    """Record which counters are read, and on which machine."""
    import cuda_driver

    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        said = subprocess.run(asked, stdout=subprocess.PIPE, text=True).stdout.strip()
    except OSError:
        said = ""
    version = subprocess.run([ncu(), "--version"], stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"Version ([\d.]+)", version)
    with cuda_driver.opened() as context:
        name, cuda = context.device_name(), context.version()
    values = {
        "device": name, "driver": said.rpartition(",")[2].strip(), "cuda": cuda,
        "ncu": found[1] if found else "", "metrics": list(metrics),
    }  # fmt: skip
    (out / "asynchronous.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def read(folder: Path, out: Path, seconds: float, files: Sequence[str]) -> None:
    """Read as many parts of the given files as time allows, and report how each went."""
    began = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    metrics = offered()
    write_machine(out, metrics)
    every_row: list[Row] = []
    with gzip.open(out / "asynchronous.csv.gz", "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for part in parts(files):
            if time.monotonic() > began + seconds:
                print(f"no time for {part.file}, reading {part.reading}", file=sys.stderr)
                continue
            rows = list(collected(folder, part, metrics, began + seconds))
            every_row += rows
            writer.writerows(rows)
            print(summary(part, rows, time.monotonic() - began), file=sys.stderr)
    for metric, kernels in sorted(varying(every_row).items()):
        print(f"{metric} varies: {', '.join(sorted(kernels))}", file=sys.stderr)


def summary(part: Part, rows: Sequence[Row], seconds: float) -> str:
    """A line about a part: how many of its launches have counters and the emulator's result."""
    of_launch: dict[tuple[str, str], dict[str, str]] = {}
    for _, _, _, kernel, name, metric, value in rows:
        of_launch.setdefault((kernel, name), {})[metric] = value
    counted = sum(METRICS[0] in values for values in of_launch.values())
    told = [values for values in of_launch.values() if "result" in values]
    right = sum(values["result"] == values["expected"] for values in told)
    failed = [f"{kernel} {name}: {values['error']}" for (kernel, name), values in of_launch.items()
              if "error" in values]  # fmt: skip
    differ = [kernel for (kernel, _), values in of_launch.items()
              if values.get("result") != values.get("expected")]  # fmt: skip
    line = (
        f"{seconds:5.0f} s: {part.file}, reading {part.reading}: of {len(part.numbers)} launches "
        f"{counted} have counters and {right} the emulator's result"
    )
    others = [f"different: {', '.join(sorted(set(differ)))}"] if differ else []
    return "\n    ".join([line, *others, *failed])


def varying(rows: Sequence[Row]) -> dict[str, set[str]]:
    """Map each counter whose second reading differs from the first to the kernels in which the
    two differ."""
    first = {row[2:6]: row[6] for row in rows if row[1] == "1"}
    again = [row for row in rows if row[1] == "2" and first.get(row[2:6], row[6]) != row[6]]
    return {row[5]: {other[3] for other in again if other[5] == row[5]} for row in again}


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["prepare"]:
        prepare(Path(arguments[1]), arguments[2:] or FILES)
    elif arguments[:1] == ["launch"]:
        folder, file, numbers, told = arguments[1:]
        launch(Path(folder), file, [int(each) for each in numbers.split(",")], Path(told))
    else:
        folder, out, *more = arguments
        seconds = float(more[0]) if more else SECONDS
        read(Path(folder), Path(out), seconds, more[1:] or FILES)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
