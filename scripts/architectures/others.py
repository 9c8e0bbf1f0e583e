"""Compile other people's kernels for each architecture in turn, and execute their machine code.

    python scripts/architectures/others.py CHECKOUTS [sm_75 sm_90 …] [--only LAUNCH]...

CHECKOUTS is described in scripts/others_kernels/sources.py. reports/emulated/others.csv gets a row
for each launch: whether its machine code was executed, how its results compare with PTX's, and the
digest of the results, which is used to compare architectures. If the results differ from PTX's, the
same PTX is assembled once more without fusing multiplications with additions, a choice that PTX
leaves to ptxas. If the results differ from sm_90's, whose rows must already exist, the PTX that
nvcc generates for sm_90 is assembled for the architecture instead, because for sm_100 and later
nvcc generates different PTX for some kernels. reports/emulated/others_kernels.csv lists the kernels
of every file, launched or not, with the reason if a kernel is refused. A row replaces the earlier
one for the same launch or file and architecture.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "others_kernels"))

import launches as listed
import numpy as np
import sources
from emulated import Launcher, Results, launchers

from harness.compiler import toolchain
from harness.emulator.errors import EmulatorError
from harness.emulator.sass.launch import prepare

FOLDER = Path(__file__).resolve().parents[2] / "reports" / "emulated"
ARCHES = ("sm_90", "sm_75", "sm_100", "sm_120")
EQUAL, UNFUSED, DIFFERS, FAULT = "equal", "equal unfused", "differs", "fault"
LAUNCHES = (
    "arch", "launch", "from_machine_code", "beside_ptx", "difference", "digest",
    "from_ptx_of_sm_90",
)  # fmt: skip
READ, OF_ITS_PTX = "sm_90", "from_ptx_of_sm_90"
KERNELS = ("arch", "file", "kernels", "executable", "refused")
EXECUTED = "executed"
Row = dict[str, str]


def why(refusal: object) -> str:
    """Shorten a refusal or a fault: drop the remedy, and all of its location except the file's
    name."""
    said = str(refusal).splitlines()[0].partition(". Nothing was run")[0]
    return re.sub(r"\S*/(?=[^/ ]+:\d+: )", "", said)


def _digest(results: Results) -> str:
    """A digest of all buffers. All NaNs count as equal, because their bits are not modelled."""
    found = hashlib.sha256()
    for name, array in sorted(results.buffers.items()):
        found.update(name.encode())
        found.update(_comparable(array).tobytes())
    return found.hexdigest()[:16]


def _comparable(array: listed.Array) -> listed.Array:
    if array.dtype.kind != "f":
        return array
    return np.where(np.isnan(array), array.dtype.type(np.nan), array)


def _difference(ours: Results, theirs: Results) -> float:
    """The largest difference in any buffer, relative to the buffer's largest value."""
    worst = 0.0
    for name, own in ours.buffers.items():
        with np.errstate(all="ignore"):
            a, b = own.astype(np.float64), theirs.buffers[name].astype(np.float64)
            off = np.where(a == b, 0, np.abs(a - b))
            worst = max(worst, float(np.nanmax(off) / max(np.nanmax(np.abs(b)), 1e-30)))
    return worst


def launched(launcher: Launcher) -> Row:
    """Run one launch as PTX and as machine code. The digest is empty if the machine code was not
    executed."""
    row = dict.fromkeys(LAUNCHES, "") | {"arch": launcher.arch, "launch": launcher.launch.name}
    try:
        machine = launcher.from_machine_code()
    except EmulatorError as error:
        return row | {"from_machine_code": why(error)}
    if machine.report.faults:
        return row | {"from_machine_code": why(machine.report.faults[0])}
    row |= {"from_machine_code": EXECUTED, "digest": _digest(machine)}
    try:
        ptx = launcher.from_ptx()
    except EmulatorError as error:
        return row | {"beside_ptx": why(error)}
    if ptx.report.faults:
        return row | {"beside_ptx": f"{FAULT} {ptx.report.faults[0].kind}"}
    wanted = _digest(ptx)
    if row["digest"] == wanted:
        return row | {"beside_ptx": EQUAL}
    apart = f"{_difference(machine, ptx):.1e}"
    with tempfile.TemporaryDirectory() as folder:
        cubin = unfused(launcher, Path(folder) / "k.cubin")
        is_equal = _digest(launcher.from_machine_code(cubin)) == wanted
    return row | {"beside_ptx": UNFUSED if is_equal else DIFFERS, "difference": apart}


def of_ptx_of(read: Launcher, arch: str) -> str:
    """Return the digest of a launch's results after assembling its PTX for another architecture."""
    text = read.ptx.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        ptx.write_text(text.replace(f".target {read.arch}", f".target {arch}"), encoding="utf-8")
        command = [toolchain.find().nvcc, f"-arch={arch}", "-lineinfo", "-cubin", "-o", str(cubin)]
        done = subprocess.run([*command, str(ptx)], capture_output=True, check=False)
        return _digest(read.from_machine_code(cubin)) if done.returncode == 0 else ""


def compare(new: Sequence[Row], known: Sequence[Mapping[str, str]], checkouts: Path) -> None:
    """Add the results of sm_90's PTX to the rows whose results differ from sm_90's."""
    wanted = {row["launch"]: row["digest"] for row in known if row["arch"] == READ}
    apart = [row for row in new if row["digest"] not in ("", wanted.get(row["launch"], ""))]
    names = {row["launch"] for row in apart} & wanted.keys()
    if not names:
        return
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder)
        again = [each for each in listed.read() if each.name in names]
        sources.compile_all(again, checkouts, compiled, READ)
        read = {each.launch.name: each for each in launchers(compiled, READ)}
        for row in apart:
            if launcher := read.get(row["launch"]):
                same = of_ptx_of(launcher, row["arch"]) == wanted[row["launch"]]
                row[OF_ITS_PTX] = EQUAL if same else DIFFERS


def unfused(launcher: Launcher, cubin: Path) -> Path:
    """Assemble a launch's PTX without fusing multiplications with additions."""
    nvcc = toolchain.find().nvcc
    arch, ptx = f"-arch={launcher.arch}", str(launcher.ptx)
    command = [nvcc, arch, "-lineinfo", "-Xptxas", "--fmad=false", "-cubin", "-o", str(cubin), ptx]
    subprocess.run(command, check=True, capture_output=True)
    return cubin


def kernels(cubin: Path) -> Row:
    """Count a file's kernels that can be executed, and list the instructions that the other kernels
    need."""
    try:
        code = sources.read_listed(cubin)
    except EmulatorError as error:
        return {"kernels": "", "executable": "0", "refused": why(error)}
    names = list(code.functions)
    refused: dict[str, str] = {}
    for name in names:
        try:
            prepare(code, name)
        except EmulatorError as error:
            refused[name] = why(error)
    reasons = "; ".join(sorted(set(refused.values())))
    taken = str(len(names) - len(refused))
    return {"kernels": str(len(names)), "executable": taken, "refused": reasons}


def of_architecture(
    launches: Sequence[listed.Launch], checkouts: Path, arch: str
) -> Iterator[tuple[str, Row]]:
    """The rows of one architecture, as mappings from column names."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder)
        manifest, failed = sources.compile_all(launches, checkouts, compiled, arch)
        for reason in failed:
            print(f"{arch}: {reason}", file=sys.stderr, flush=True)
        for each in launches:
            if each.name not in manifest:
                row = dict.fromkeys(LAUNCHES, "") | {"arch": arch, "launch": each.name}
                yield "launches", row | {"from_machine_code": "does not compile"}
        for launcher in launchers(compiled, arch):
            row = launched(launcher)
            if row["beside_ptx"] != EQUAL:
                print(", ".join(row[column] for column in LAUNCHES), flush=True)
            yield "launches", row
        for cubin in sorted(compiled.glob("*.cubin")):
            yield "kernels", {"arch": arch, "file": cubin.stem} | kernels(cubin)


def rows(path: Path) -> list[Mapping[str, str]]:
    """The rows of a table; none if the file does not exist."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def keep(path: Path, columns: Sequence[str], keys: int, new: Sequence[Row]) -> None:
    """Write rows; each replaces an earlier row with the same first columns."""

    def key(row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(row[column] for column in columns[:keys])

    fresh = {key(row) for row in new}
    kept = [row for row in rows(path) if key(row) not in fresh]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*kept, *new], key=lambda row: int(row["arch"][3:])))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("arches", nargs="*", default=ARCHES, metavar="ARCH")
    parser.add_argument("--only", action="append", metavar="LAUNCH")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    chosen = [each for each in listed.read() if each.name in (options.only or [each.name])]
    for arch in options.arches:
        found: dict[str, list[Row]] = {"launches": [], "kernels": []}
        for table, row in of_architecture(chosen, options.checkouts, arch):
            found[table].append(row)
        table = options.out / "others.csv"
        compare(found["launches"], rows(table), options.checkouts)
        keep(table, LAUNCHES, 2, found["launches"])
        keep(options.out / "others_kernels.csv", KERNELS, 2, found["kernels"])
        ran = sum(row["from_machine_code"] == EXECUTED for row in found["launches"])
        print(f"{arch}: {ran} of {len(found['launches'])} launches executed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
