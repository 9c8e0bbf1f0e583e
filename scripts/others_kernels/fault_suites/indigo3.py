"""Indigo3: whole graph programs, with and without planted bugs.

The suite generates its programs by its own configuration. Which of them are run was decided before
any was: a draw of those without a bug, and for each kind of bug a draw of those that have this bug
and no other. Three kinds are left out: an endless loop of the host, a sum that overflows, and an
order of operations are no faults of a kernel.
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
"""The kinds of faults that show each planted bug. Where an array is longer than what is in it, an
index beyond the end finds elements that nothing has written."""
CLEAN, FAULTY_OF_EACH = 60, 9
_SEED = 37
_INPUT = "undirect2dim_rand_torus_100n_400e.egr"
_OPTIONS = ("-O3", "-w", "-DclockRate=major", "-DmemoryClockRate=minor")
"""CUDA 13 has no such members of cudaDeviceProp; the programs print them."""
_MULTIPROCESSORS = 4  # persistent threads are as many as these hold


@dataclass(frozen=True)
class Code:
    """A program of the suite. faults: the kinds of faults that show its bug; none if it has no
    bug."""

    source: Path
    bug: str
    library: Path
    data: Path

    @property
    def name(self) -> str:
        return self.source.stem

    @property
    def faults(self) -> frozenset[str]:
        return BUGS.get(self.bug, frozenset())


def codes(clone: Path, folder: Path) -> Iterator[Code]:
    """Generate the suite's programs, and draw those that are run."""
    clean = _generated(clone, folder, "nobug")
    planted = _generated(clone, folder, "hasbug")
    library, data = (clone / "lib").resolve(), (clone / "inputs" / _INPUT).resolve()
    for path in _drawn(clean, CLEAN):
        yield Code(path, "", library, data)
    for bug in BUGS:
        alone = [path for path in planted if _bugs(path) == {bug}]
        for path in _drawn(alone, FAULTY_OF_EACH):
            yield Code(path, bug, library, data)


def in_ptx(code: Code, folder: Path) -> set[str]:
    """Return the kinds of faults found in a program's PTX."""
    return _kinds(_row(code, folder)["ptx"])


def in_machine_code(code: Code, folder: Path) -> set[str]:
    """The same for its machine code, which does not show uses of unwritten memory."""
    return _kinds(_row(code, folder)["code"])


def rows() -> dict[str, dict[str, str]]:
    """Read what has been found, by program."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {each["program"]: each for each in csv.DictReader(file)}


def _kinds(said: str) -> set[str]:
    return {said.split(": ")[1]} if said else set()


def _row(code: Code, folder: Path) -> dict[str, str]:
    """Run a program unless the table has it, and keep what was found: the first fault of each
    form. To run it again, remove its line."""
    known = rows()
    if code.name not in known:
        told = {end: _first_fault(code, folder, end == "code") for end in ("ptx", "code")}
        known[code.name] = {"program": code.name, "bug": code.bug, **told}
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ("program", "bug", "ptx", "code"), lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(known.values(), key=lambda row: (row["bug"], row["program"])))
    return known[code.name]


def _first_fault(code: Code, folder: Path, machine_code: bool) -> str:
    """Run a program on a small torus of the suite, to its first fault. Some take a source as well;
    the others ignore it."""
    built = programs.build(code.source, folder / code.name, [code.library], _OPTIONS)
    run = programs.run(built, [str(code.data), "1", "0"], machine_code, again=True,
                       multiprocessors=_MULTIPROCESSORS, to_first_fault=True)  # fmt: skip
    if run.refused or not run.launches:
        raise LookupError(f"{code.name}: {run.refused or run.said}")
    return run.faults[0].removeprefix(f"{code.name}.cu:") if run.faults else ""


def _bugs(path: Path) -> set[str]:
    parts = path.stem.replace("Nbor", "Nbr").split("_")
    return {each for each in parts if each.endswith("Bug") and not each.startswith("No")}


def _drawn(paths: list[Path], count: int) -> list[Path]:
    shuffled = sorted(paths, key=lambda path: path.name)
    random.Random(_SEED).shuffle(shuffled)
    return shuffled[:count]


def _generated(clone: Path, folder: Path, bug: str) -> list[Path]:
    """Let the suite generate its CUDA programs, without bugs or with them."""
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
