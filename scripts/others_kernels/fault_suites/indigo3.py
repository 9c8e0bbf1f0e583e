"""Indigo3: whole graph programs, with and without planted bugs.

The suite generates its programs from its own configuration. The programs to run were chosen before
any was run: a random sample of those without a bug and, for each kind of bug, a random sample of
those with this bug and no other. Three kinds are left out because they are not faults of a kernel:
an endless loop on the host, a sum that overflows, and an order of operations.
"""

from __future__ import annotations

import csv
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import programs

from fault_suites.kernels import BOUNDS, RACE

UNWRITTEN = frozenset({"uninitialised"})
TABLE = Path(__file__).resolve().parents[3] / "reports" / "emulated" / "indigo3.csv"
_BEYOND = BOUNDS | UNWRITTEN
BUGS = {
    "RaceBug": RACE, "SyncBug": RACE | UNWRITTEN, "BoundsBug": _BEYOND, "NbrBoundsBug": _BEYOND,
    "ExcessThreadsBug": _BEYOND, "FieldBug": _BEYOND, "UninitializedBug": UNWRITTEN,
}  # fmt: skip
"""For each planted bug, the kinds of faults by which the checks may find it. Some arrays are longer
than their contents, so an index past the end of the contents reads uninitialised elements."""
DEFECTS = (
    ({"PR", "Block", "BlockAdd"}, RACE),  # threads read a sum while one of them still adds to it
    (
        {"SSSP", "E", "Data"},
        UNWRITTEN,
    ),  # clears one stamp per vertex, but uses one per edge
    ({"TC", "Block", "Reduction"}, UNWRITTEN),  # adds up 32 words, of which 16 have been written
)
"""Faults of programs without a planted bug, by words in their names. The code of every program in
which a fault was reported has been read."""
NO_FAULT = (
    {"ExcessThreadsBug", "NonPersist", "Block"},  # there is a block for each element, and no more
    {"FieldBug", "E", "Topo"},  # stops early, because there are fewer vertices than edges
    {"FieldBug", "V", "Data", "NonPersist", "Block"},  # the grid ends where the work does
)
"""Programs whose planted bug is no fault on this graph, by words in their names. The code of every
program in which no fault was found has been read."""
CLEAN, FAULTY_OF_EACH = 60, 9
_SEED = 37
_BESIDE, _UNCHECKED = " || ", "without checks: "
_INPUT = "undirect_power_law_250n_2200e.egr"
"""The graph. On a regular one, page ranks would not change, so no race on them would show."""
_OPTIONS = ("-O3", "-w", "-DclockRate=major", "-DmemoryClockRate=minor")
"""nvcc's options. The programs print clockRate and memoryClockRate, which cudaDeviceProp no longer
has in CUDA 13; other members take their place."""
_MULTIPROCESSORS = 4  # there are as many persistent threads as these can hold


@dataclass(frozen=True)
class Code:
    """A program of the suite. `faults`: the kinds of faults that reveal its bug, or that it has
    although no bug was planted."""

    source: Path
    bug: str
    library: Path
    data: Path

    @property
    def name(self) -> str:
        return self.source.stem

    @property
    def faults(self) -> frozenset[str]:
        return faults(self.name, self.bug)


def faults(name: str, bug: str) -> frozenset[str]:
    """The kinds of faults that a program has."""
    if bug:
        return BUGS[bug]
    own = (kinds for words, kinds in DEFECTS if words <= set(name.split("_")))
    return next(own, frozenset())


def is_counted(name: str, bug: str) -> bool:
    """Return whether a program's bug can show as a fault, if it has one."""
    return not bug or not any(words <= set(name.split("_")) for words in NO_FAULT)


def codes(clone: Path, folder: Path) -> Iterator[Code]:
    """Generate the suite's programs, and draw those that are run and counted."""
    clean = _generated(clone, folder, "nobug")
    planted = _generated(clone, folder, "hasbug")
    library, data = (clone / "lib").resolve(), (clone / "inputs" / _INPUT).resolve()
    for path in _drawn(clean, CLEAN):
        yield Code(path, "", library, data)
    for bug in BUGS:
        alone = [path for path in planted if _bugs(path) == {bug}]
        for path in _drawn(alone, FAULTY_OF_EACH):
            if is_counted(path.stem, bug):
                yield Code(path, bug, library, data)


def in_ptx(code: Code, folder: Path) -> set[str]:
    """Return the kinds of faults found in a program's PTX."""
    return kinds(_row(code, folder)["ptx"])


def in_machine_code(code: Code, folder: Path) -> set[str]:
    """Return the kinds of faults found in a program's machine code."""
    return kinds(_row(code, folder)["code"])


def rows() -> dict[str, dict[str, str]]:
    """Read the faults found so far, by program."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {each["program"]: each for each in csv.DictReader(file)}


def kinds(said: str) -> set[str]:
    """Return the kinds of the faults that a cell of the table mentions."""
    told = (each.removeprefix(_UNCHECKED) for each in said.split(_BESIDE) if each)
    return {each.split(": ")[1] for each in told}


def _row(code: Code, folder: Path) -> dict[str, str]:
    """Run a program unless the table already has it, and keep the findings for PTX and for machine
    code: the fault of the first launch that has one, and the fault that this launch has without
    checks. To run a program again, remove its line."""
    known = rows()
    if code.name not in known:
        told = {end: _faults_of(code, folder, end == "code") for end in ("ptx", "code")}
        known[code.name] = {"program": code.name, "bug": code.bug, **told}
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ("program", "bug", "ptx", "code"), lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(known.values(), key=lambda row: (row["bug"], row["program"])))
    return known[code.name]


def _faults_of(code: Code, folder: Path, machine_code: bool) -> str:
    """Run a program on a small graph of the suite, up to its first fault. Some programs also take a
    source vertex; the others ignore it."""
    built = programs.build(code.source, folder / code.name, [code.library], _OPTIONS)
    run = programs.run(built, [str(code.data), "1", "0"], machine_code, again=True,
                       multiprocessors=_MULTIPROCESSORS, to_first_fault=True)  # fmt: skip
    if run.refused or not run.launches:
        raise LookupError(f"{code.name}: {run.refused or run.said}")
    return _BESIDE.join(each.replace(f"{code.name}.cu:", "", 1) for each in run.faults)


def _bugs(path: Path) -> set[str]:
    parts = path.stem.replace("Nbor", "Nbr").split("_")
    return {each for each in parts if each.endswith("Bug") and not each.startswith("No")}


def _drawn(paths: list[Path], count: int) -> list[Path]:
    shuffled = sorted(paths, key=lambda path: path.name)
    random.Random(_SEED).shuffle(shuffled)
    return shuffled[:count]


def _generated(clone: Path, folder: Path, bug: str) -> list[Path]:
    """Let the suite generate its CUDA programs, with or without bugs."""
    own = folder / bug
    if not own.exists():
        for each in ("codeGen", "scripts"):
            shutil.copytree(clone / each, own / each)
        for each in ("generate_all_codes.py", "copyright.txt"):
            shutil.copy(clone / each, own)
        configuration = own / "codeGen" / "configure.txt"
        text = configuration.read_text()
        configuration.write_text(re.sub(r"(?m)^( +bug: +)\{\w+\}", rf"\g<1>{{{bug}}}", text))
        subprocess.run([sys.executable, "generate_all_codes.py", "CUDA"], cwd=own, check=True,
                       capture_output=True)  # fmt: skip
    return list((own / "generatedCodes" / "CUDA").glob("*/*.cu"))
