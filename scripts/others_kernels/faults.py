"""Suites of small kernels with and without races: what the emulator finds, and what it accuses.

    python scripts/others_kernels/faults.py CHECKOUTS COMPILED           write docs/fidelity.md anew
    python scripts/others_kernels/faults.py CHECKOUTS COMPILED --check   exit 1 if it is out of date

CHECKOUTS holds clones of the repositories below, at those commits; COMPILED keeps the PTX. Nothing
of them is kept here. ScoR's kernels are compiled as they are. HiRace's sources of Indigo are its
kernels with calls of its own detector in between, which are taken out; those whose names have
`boundsBug` are left out, as the sizes of their buffers are set elsewhere.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))

import numpy as np
import sections

from harness import emulator
from harness.compiler import toolchain

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fidelity.md"
VERTICES, BLOCKS, THREADS = 40, 8, 64
BUDGET = 10**8


@dataclass(frozen=True)
class Kernel:
    """A kernel that has a race, or has none, and how it is launched."""

    name: str
    source: str
    has_race: bool
    grid: int
    block: int
    arguments: Callable[[], list[Any]]


@dataclass(frozen=True)
class Suite:
    """title: as the table says it. commit: of the clone that `kernels` reads."""

    title: str
    repository: str
    commit: str
    kernels: Callable[[Path], Iterator[Kernel]]


def scor(clone: Path, plain: bool) -> Iterator[Kernel]:
    """plain: without the word volatile."""
    for path in sorted((clone / "microbenchmarks" / "src").glob("*.cu")):
        text = path.read_text()
        grid, block = (
            int(re.search(rf"define {n}\s+(\d+)", text)[1]) for n in ("NBLOCKS", "TPERBLK")
        )  # type: ignore[index]
        source = "#include <cstdlib>\n" + (text.replace("volatile ", "") if plain else text)
        yield Kernel(path.stem, source, path.stem.startswith("race"), grid, block,
                     lambda: [np.zeros(1, np.uint32)])  # fmt: skip


def hirace(clone: Path) -> Iterator[Kernel]:
    """Those that go by blocks, in whose shared memory barriers may be missing."""
    for path in sorted((clone / "indigo" / "indigo_hirace_sources").glob("*_block/*.cu")):
        if "boundsBug" in path.stem:
            continue
        source = _without_detector(path.read_text())
        yield Kernel(path.stem, source, "Bug" in path.stem, BLOCKS, THREADS,
                     lambda source=source: _graph(source))  # fmt: skip


def _without_detector(text: str) -> str:
    text = re.sub(r"HIRACE START.*?HIRACE END", "", text, flags=re.DOTALL)
    text = re.sub(r", *hr_shadowt\* *__hr_metadata_\w+", "", text)
    text = re.sub(r"__hr_[bw]count\+\+;", "", text)
    text = re.sub(r"__hr_(\w+)", r"\1", text)
    types = "\n".join(re.findall(r"typedef .*?;", text))
    sizes = "static const int ThreadsPerBlock = 64, WS = 32, warpsize = 32;"
    kernel = text[text.index("__global__") : text.index("void serial_code")]
    return f"{types}\n{sizes}\n{kernel}"


def _graph(source: str) -> list[Any]:
    """What a kernel takes, by the names of its parameters: a graph and two arrays of data."""
    random = np.random.default_rng(5)
    degrees = random.integers(0, 7, VERTICES)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    ends = np.concatenate([*(np.sort(random.integers(0, VERTICES, d)) for d in degrees), [0]])
    known = {
        "nindex": starts,
        "nlist": ends,
        "data2": random.integers(0, 50, 4096),
        "data1": np.full(4096, 25),
    }  # which less and more of the others changes
    found = re.search(r"__global__ void \w+\((.*?)\)", source, re.DOTALL)
    assert found
    return [
        known.get(p.split()[-1].strip("*"), np.zeros(4096)).astype(np.int32) if "*" in p
        else VERTICES
        for p in found[1].split(",")
    ]  # fmt: skip


SCOR = "csl-iisc/ScoR", "6dc3507ecc419aac6ea3a49ec746b610d5029219"
HIRACE = "JohnJacobsonIII/HiRace-Artifact-SC24", "44a935f90acfe43c6178b2187ea84c9ab0c01450"
SUITES = (
    Suite("ScoR's microbenchmarks", *SCOR, lambda clone: scor(clone, plain=False)),
    Suite("the same without `volatile`", *SCOR, lambda clone: scor(clone, plain=True)),
    Suite("Indigo by blocks, as HiRace has it", *HIRACE, hirace),
)  # fmt: skip


def compiled(kernel: Kernel, folder: Path) -> Path:
    """Its PTX, made where the folder has none of the same source."""
    source, ptx = folder / f"{kernel.name}.cu", folder / f"{kernel.name}.ptx"
    if not (ptx.exists() and source.exists() and source.read_text() == kernel.source):
        source.write_text(kernel.source)
        nvcc = str(toolchain.find().nvcc)
        options = ["-ptx", "-O3", "-lineinfo", "-std=c++17", "-arch=sm_90", "-w"]
        subprocess.run([nvcc, *options, str(source), "-o", str(ptx)], check=True)
    return ptx


def accused(kernel: Kernel, ptx: Path) -> bool:
    module = emulator.parse(ptx.read_text())
    (name,) = module.kernels
    report = emulator.launch(
        module, name, kernel.grid, kernel.block, kernel.arguments(), max_thread_instructions=BUDGET
    )
    return bool(report.faults)


def row(suite: Suite, checkouts: Path, folder: Path) -> str:
    own = folder / re.sub(r"\W+", "_", suite.title)
    own.mkdir(parents=True, exist_ok=True)
    kernels = list(suite.kernels(checkouts / suite.repository.split("/")[1]))
    with ThreadPoolExecutor() as pool:
        files = list(pool.map(lambda kernel: compiled(kernel, own), kernels))
    seen = [(k, accused(k, ptx)) for k, ptx in zip(kernels, files, strict=True)]
    wrong = [k.name for k, found in seen if k.has_race != found]
    if wrong:
        print(f"{suite.title}: {', '.join(wrong)}", file=sys.stderr)
    races = [found for k, found in seen if k.has_race]
    clean = [found for k, found in seen if not k.has_race]
    link = f"[{suite.repository}](https://github.com/{suite.repository}/tree/{suite.commit})"
    return (
        f"| {suite.title} | {link} | {sum(races)} of {len(races)} | {sum(clean)} of {len(clean)} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("compiled", type=Path)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    rows = [row(suite, asked.checkouts, asked.compiled) for suite in SUITES]
    head = "| suite | repository | races found | accused without one |\n|---|---|--:|--:|"
    command = f"python {' '.join(sys.argv[:3])}"
    return sections.keep(PAGE, {"faults": "\n".join([head, *rows])}, asked.check, command)


if __name__ == "__main__":
    sys.exit(main())
