"""Run suites of small kernels with and without faults; count findings and false alarms.

    python scripts/others_kernels/faults.py CHECKOUTS COMPILED           rewrite docs/fidelity.md
    python scripts/others_kernels/faults.py CHECKOUTS COMPILED --check   exit 1 if it is out of date
    python scripts/others_kernels/faults.py CHECKOUTS COMPILED --only TITLE   only rows like it

CHECKOUTS holds clones of the repositories below, at the commits given there; COMPILED keeps the
PTX. None of the suites' code is kept in this repository. `fault_suites/` defines how each suite is
read and launched.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))

import numpy as np
import sections
from fault_suites import gpuverify, hirace, indigo3, litmus, sanitizer, scor
from fault_suites.kernels import Kernel, Suite

from harness import emulator
from harness.compiler import toolchain
from harness.emulator import sass

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fidelity.md"
BUDGET = 10**8
HEAD = (
    "| suite | repository | found in PTX | accused without a fault | found in machine code "
    "| accused |\n|---|---|--:|--:|--:|--:|"
)

SCOR = "csl-iisc/ScoR", "6dc3507ecc419aac6ea3a49ec746b610d5029219"
HIRACE = "JohnJacobsonIII/HiRace-Artifact-SC24", "44a935f90acfe43c6178b2187ea84c9ab0c01450"
DAT3M = "hernanponcedeleon/Dat3M", "30640123b88d4fc5ca01403f936d45c54d83a9c1"
GPUVERIFY = "mc-imperial/gpuverify", "49219770aad01231edd0d8e0fa3ed036006cf32a"
SANITIZER = "NVIDIA/compute-sanitizer-samples", "1e1fab8e25148127f5dec10210ac70b799d1c36f"
INDIGO3 = "burtscher/Indigo3Suite", "f351177756f76c7836b8a81bb04fcdd1286eaedc"
SUITES = (
    Suite("ScoR's microbenchmarks", *SCOR, lambda clone: scor.kernels(clone, plain=False)),
    Suite("the same without `volatile`", *SCOR, lambda clone: scor.kernels(clone, plain=True)),
    Suite("Indigo by blocks, as HiRace has it", *HIRACE, hirace.by_blocks),
    Suite("all of it, 200 blocks of 256 threads: races", *HIRACE,
          lambda clone: hirace.all_of_them(clone, bounds=False)),
    Suite("all of it, 200 blocks of 256 threads: bounds", *HIRACE,
          lambda clone: hirace.all_of_them(clone, bounds=True)),
    Suite("litmus tests of PTX: racy in all executions", *DAT3M,
          lambda clone: litmus.kernels(clone, "always")),
    Suite("the same: in some executions", *DAT3M, lambda clone: litmus.kernels(clone, "sometimes")),
    Suite("the same: in none", *DAT3M, lambda clone: litmus.kernels(clone, "never")),
    Suite("GPUVerify's CUDA tests", *GPUVERIFY, gpuverify.kernels),
    Suite("samples of compute-sanitizer", *SANITIZER, sanitizer.kernels),
    Suite("programs of Indigo3", *INDIGO3, None),
)  # fmt: skip


def compiled(kernel: Kernel, folder: Path) -> Path:
    """Return a kernel's PTX, compiled unless the folder already has it for the same source."""
    source, ptx = folder / f"{kernel.name}.cu", folder / f"{kernel.name}.ptx"
    if kernel.is_ptx:
        if not ptx.exists() or ptx.read_text() != kernel.source:
            ptx.write_text(kernel.source)
    elif not (ptx.exists() and source.exists() and source.read_text() == kernel.source):
        source.write_text(kernel.source)
        nvcc = str(toolchain.find().nvcc)
        options = ["-ptx", *kernel.options, "-lineinfo", "-std=c++17", "-arch=sm_90", "-w"]
        subprocess.run([nvcc, *options, str(source), "-o", str(ptx)], check=True)
    return ptx


def cubins(files: list[Path]) -> None:
    """Assemble and list the machine code for each PTX file if it is missing or out of date."""
    old = [each for each in files if not _is_new(each.with_suffix(".cubin"), each)]
    nvcc = str(toolchain.find().nvcc)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda ptx: subprocess.run(
            [nvcc, "-cubin", "-lineinfo", "-arch=sm_90", str(ptx), "-o", ptx.with_suffix(".cubin")],
            check=True, capture_output=True,
        ), old))  # fmt: skip
    for first in range(0, len(files), 40):
        several = [each.with_suffix(".cubin") for each in files[first : first + 40]]
        sass.keep_listings({each: each.with_suffix(".listing") for each in several})


def _is_new(made: Path, source: Path) -> bool:
    return made.exists() and made.stat().st_mtime > source.stat().st_mtime


def in_ptx(kernel: Kernel, ptx: Path) -> set[str]:
    """Run the kernel's PTX; return the kinds of faults found."""
    module = emulator.parse(ptx.read_text())
    (name,) = (each for each in module.kernels if kernel.entry in each)
    arguments, written = kernel.arguments(), None
    if kernel.written is not None:
        written = {0: np.arange(arguments[0].nbytes) < kernel.written}
    report = emulator.launch(
        module, name, kernel.grid, kernel.block, arguments, max_thread_instructions=BUDGET,
        written=written,
    )  # fmt: skip
    return {fault.kind for fault in report.faults}


def in_machine_code(kernel: Kernel, ptx: Path) -> set[str] | None:
    """Run the kernel's machine code; return the kinds of faults found, or None if an instruction is
    not supported."""
    module = emulator.parse(ptx.read_text())
    (name,) = (each for each in module.kernels if kernel.entry in each)
    code = sass.read(ptx.with_suffix(".cubin"), ptx.with_suffix(".listing"))
    try:
        report = sass.launch_machine_code(
            code, name, kernel.grid, kernel.block, kernel.arguments(), ptx=module,
            max_thread_instructions=BUDGET,
        )  # fmt: skip
    except emulator.EmulatorError as error:
        print(error, file=sys.stderr)
        return None
    return {fault.kind for fault in report.faults}


def row(suite: Suite, checkouts: Path, folder: Path) -> str:
    own = folder / re.sub(r"\W+", "_", suite.repository.split("/")[1])
    own.mkdir(parents=True, exist_ok=True)
    clone = checkouts / suite.repository.split("/")[1]
    forms: tuple[Callable[[Any, Path], set[str] | None], ...] = in_ptx, in_machine_code
    if suite.kernels is None:
        kernels: list[Any] = list(indigo3.codes(clone, own))
        files = [own] * len(kernels)
        forms = indigo3.in_ptx, indigo3.in_machine_code
    else:
        kernels = list(suite.kernels(clone))
        with ThreadPoolExecutor() as pool:
            files = list(pool.map(lambda kernel: compiled(kernel, own), kernels))
        cubins(files)
    cells = []
    for form, launched in zip(("PTX", "machine code"), forms, strict=True):
        cells += _cells(f"{suite.title}, {form}", launched, kernels, files)
    link = f"[{suite.repository}](https://github.com/{suite.repository}/tree/{suite.commit})"
    return f"| {suite.title} | {link} | {' | '.join(cells)} |"


def _cells(
    title: str, launched: Callable[[Any, Path], set[str] | None], kernels: list[Any],
    files: list[Path],
) -> list[str]:  # fmt: skip
    """The numbers of faulty kernels found, and of false alarms."""
    faulty, found, clean, accused = 0, 0, 0, 0
    for kernel, ptx in zip(kernels, files, strict=True):
        kinds = launched(kernel, ptx)
        if kinds is None:
            continue
        right = bool(kinds & kernel.faults) if kernel.faults else not kinds
        if not right:
            told = ", ".join(sorted(kinds)) or "nothing"
            print(f"{title}: {kernel.name}: {told}", file=sys.stderr, flush=True)
        if kernel.faults:
            faulty, found = faulty + 1, found + right
        else:
            clean, accused = clean + 1, accused + (not right)
    return [_of(found, faulty), _of(accused, clean)]


def _of(count: int, total: int) -> str:
    return f"{count} of {total}" if total else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("compiled", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", metavar="TITLE", help="the suites whose titles have this in them")
    asked = parser.parse_args()
    suites = [suite for suite in SUITES if not asked.only or asked.only in suite.title]
    rows = []
    for suite in suites:
        rows.append(row(suite, asked.checkouts, asked.compiled))
        print(rows[-1], file=sys.stderr, flush=True)
    if asked.only:
        return 0
    command = f"python {' '.join(sys.argv[:3])}"
    return sections.keep(PAGE, {"faults": "\n".join([HEAD, *rows])}, asked.check, command)


if __name__ == "__main__":
    sys.exit(main())
