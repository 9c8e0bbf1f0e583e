"""Record a GPU's counts for diverging warps: every launch of the kernels under Nsight Compute.

    python scripts/divergence/diverging_on_gpu.py prepare FOLDER    compile, where there is nvcc
    python scripts/divergence/diverging_on_gpu.py FOLDER OUT        needs a GPU, PyCUDA and ncu

OUT/divergence.csv.gz has one row per launch: the kernel, its masks and its counters. The file is
committed in reports/h200/fidelity, where tests/emulator/sass/machine/test_divergence.py compares
the emulator with it. The environment variable NCU selects a different ncu.
"""

from __future__ import annotations

import csv
import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import diverging_launches as listed

if TYPE_CHECKING:
    from harness.compiler import compile as compiler

COUNTERS = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    "smsp__sass_branch_targets.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__sass_branch_targets_threads_uniform.sum",
)
OUT = "divergence.csv.gz"
HEAD = ("kernel", "a", "b", "c", "d", *COUNTERS)


def prepare(folder: Path) -> None:
    """Compile each file into a cubin."""
    from harness.compiler import compile as compiler

    folder.mkdir(parents=True, exist_ok=True)
    for file in listed.FILES:
        built = compiler.build(unit(file))
        shutil.copyfile(built.cubin, folder / f"{file}.cubin")


def unit(file: str) -> compiler.Unit:
    """The command that compiles a file."""
    from harness.compiler import compile as compiler

    return compiler.Unit(listed.source(file), (listed.FOLDER,), (), listed.ARCH, (), (), ())


def launch(folder: Path) -> None:
    """Run every launch once, in order, under ncu."""
    import numpy as np
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).make_context()
    try:
        modules = {f: cuda.module_from_file(str(folder / f"{f}.cubin")) for f in listed.FILES}
        words = np.arange(1, listed.LANES + 1, dtype=np.uint32)
        x, y = cuda.to_device(words), cuda.mem_alloc(words.nbytes)
        for each in listed.launches():
            scalars = map(np.uint32, each.scalars)
            function = modules[each.file].get_function(each.kernel)
            function(x, y, *scalars, grid=(1, 1), block=(listed.LANES, 1, 1))
        context.synchronize()
    finally:
        context.pop()


def read(folder: Path) -> Iterator[list[str]]:
    """The rows of the table, read from ncu's report."""
    command = [
        os.environ.get("NCU", "ncu"), "--clock-control", "none", "--csv", "--page", "raw",
        "--print-units", "base", "--print-fp", "--metrics", ",".join(COUNTERS),
        sys.executable, __file__, "launch", str(folder),
    ]  # fmt: skip
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = said.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith('"ID"'))
    rows = list(csv.DictReader(lines[start:]))[1:]  # the first row holds the units
    every = list(listed.launches())
    if [row["Kernel Name"].partition("(")[0] for row in rows] != [each.kernel for each in every]:
        raise SystemExit(f"ncu reported {len(rows)} launches, and not the {len(every)} that ran")
    for each, row in zip(every, rows, strict=True):
        masks = (f"{mask:08x}" for mask in each.masks)
        yield [each.kernel, *masks, *(f"{float(row[c].replace(',', '')):.0f}" for c in COUNTERS)]


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["prepare"]:
        prepare(Path(arguments[1]))
    elif arguments[:1] == ["launch"]:
        launch(Path(arguments[1]))
    else:
        folder, out = map(Path, arguments)
        out.mkdir(parents=True, exist_ok=True)
        with gzip.open(out / OUT, "wt", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEAD, *read(folder)])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
