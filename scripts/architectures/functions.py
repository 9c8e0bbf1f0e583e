"""Run every device function of declared.py for each architecture, as PTX and as machine code.

    python scripts/architectures/functions.py [sm_75 sm_90 …] [--again]

Each function is called with 2,048 operands that test rounding and limits, both as PTX and as
machine code. reports/emulated/device_functions.csv gets a row for each architecture: the number of
functions, and how many of them are executed as machine code; how many give results that are
bit-identical to PTX's, and how many do so if multiplications and additions are not fused; the
functions that differ, with the largest relative difference; the functions that are refused; how
many give results that are bit-identical to those of sm_90's machine code, and the functions that
differ from it. `--again` retries only the functions that were refused or differed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import declared
import numpy as np
from declared import FIRST_LINE, Declared
from numpy.typing import NDArray
from others import ARCHES, FOLDER, READ, keep, rows, why

from harness.compiler import toolchain
from harness.emulator import launch, parse
from harness.emulator.errors import EmulatorError
from harness.emulator.sass import MachineCode, launch_machine_code
from harness.emulator.sass import read as read_cubin

COLUMNS = (
    "arch", "functions", "executed", "equal", "equal_unfused", "refused", "differ", "refusals",
    "equal_to_sm_90", "differ_from_sm_90",
)  # fmt: skip
NO_RESULT = "no-result"
"""The entry if there is no difference to report, because the function does not exist for sm_90 or
is not executed."""
BLOCK = 256
MOST_COMPLAINTS = 20
_COMPLAINT = re.compile(r"k\.cu\((\d+)\): error")
Array = NDArray[np.unsignedinteger]


def _include() -> Path:
    """The folder of the headers that nvcc includes."""
    command = [toolchain.find().nvcc, "-E", "-x", "cu", "-"]
    said = subprocess.run(
        command, input="#include <cuda_fp16.h>", capture_output=True, text=True, check=True
    )
    found = re.search(r'"(.+)/cuda_fp16\.h"', said.stdout)
    assert found is not None
    return Path(found[1])


@dataclass
class Compiled:
    """The functions that compile for an architecture, as PTX and as machine code."""

    functions: list[Declared]
    module: Any
    fused: MachineCode
    unfused: MachineCode


def compiled(listed: Sequence[Declared], arch: str, folder: Path) -> Compiled:
    """Compile the functions, without those that nvcc rejects because the architecture or C++ lacks
    them."""
    left, nvcc = list(listed), toolchain.find().nvcc
    path, ptx = folder / "k.cu", folder / "k.ptx"
    for _ in range(MOST_COMPLAINTS):
        path.write_text(declared.source(left), encoding="utf-8")
        command = [nvcc, f"-arch={arch}", "-w", "-std=c++17", "-ptx", "-o", str(ptx), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        wrong = {int(line) - FIRST_LINE for line in _COMPLAINT.findall(done.stderr)}
        if not wrong:
            sys.exit(f"{arch}: {done.stderr[-2000:]}")
        left = [each for n, each in enumerate(left) if n not in wrong]
    made = []
    for fused in ("true", "false"):
        cubin = folder / f"{fused}.cubin"
        command = [nvcc, f"-arch={arch}", "-Xptxas", f"--fmad={fused}", "-cubin", "-o"]
        subprocess.run([*command, str(cubin), str(ptx)], check=True, capture_output=True)
        made.append(read_cubin(cubin))
    return Compiled(left, parse(ptx.read_text(encoding="utf-8")), *made)


def _results(function: Declared, launched: Any) -> Array | str:
    """The results of one front end, or the reason why there are none."""
    operands = function.drawn()
    width = np.dtype(f"u{instruction_bytes(function.types[0])}")
    out = np.zeros(len(operands[0]), width)
    try:
        report = launched([out, *operands])
    except EmulatorError as error:
        return why(error)
    return why(report.faults[0]) if report.faults else out


def instruction_bytes(type_: str) -> int:
    return declared.instructions.bits(type_) // 8


def _reals(bits: Array, type_: str) -> NDArray[np.float64] | None:
    """Convert results to floats, with all NaNs made equal; None for integers."""
    if type_.endswith("x2"):
        halves = bits.view(np.uint16)
        return _reals(halves, type_[:-2])
    if type_ == "bf16":
        bits, type_ = bits.astype(np.uint32) << np.uint32(16), "f32"
    if type_[0] != "f":
        return None
    with np.errstate(invalid="ignore"):
        return bits.view(f"f{int(type_[1:]) // 8}").astype(np.float64)


def _difference(one: Array, other: Array, type_: str) -> float:
    """The largest difference relative to the value; 0 if there is none, infinite if integers
    differ."""
    a, b = _reals(one, type_), _reals(other, type_)
    if a is None or b is None:
        return 0.0 if np.array_equal(one, other) else float("inf")
    same = (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))
    with np.errstate(all="ignore"):
        least = np.finfo(np.float64).tiny  # also the error between zeros of opposite sign
        off = np.maximum(np.abs(a - b) / np.maximum(np.abs(b), least), least)
    return float(np.max(np.where(same, 0.0, np.nan_to_num(off, nan=np.inf))))


def _from_code(code: MachineCode, number: int, function: Declared) -> Array | str:
    def launched(arguments: list[Any]) -> Any:
        blocks = len(arguments[0]) // BLOCK
        return launch_machine_code(code, f"k{number}", blocks, BLOCK, arguments)

    return _results(function, launched)


def as_read(listed: Sequence[Declared]) -> Mapping[str, Array | str]:
    """Function → its results from sm_90's machine code."""
    with tempfile.TemporaryDirectory() as folder:
        there = compiled(listed, READ, Path(folder))
    return {
        each.text: _from_code(there.fused, number, each)
        for number, each in enumerate(there.functions)
    }


def row(arch: str, listed: Sequence[Declared], read: Mapping[str, Array | str]) -> dict[str, str]:
    """The row of an architecture. `read`: the results for sm_90."""
    with tempfile.TemporaryDirectory() as folder:
        there = compiled(listed, arch, Path(folder))
    equal = unfused = 0
    differ, apart, refused = list[str](), list[str](), dict[str, list[str]]()
    for number, function in enumerate(there.functions):
        type_ = function.types[0]

        def from_ptx(arguments: list[Any], name: str = f"k{number}") -> Any:
            return launch(there.module, name, len(arguments[0]) // BLOCK, BLOCK, arguments)

        ours = _from_code(there.fused, number, function)
        if isinstance(ours, str):
            refused.setdefault(ours.partition(" at 0x")[0], []).append(function.text)
            continue
        wanted = read.get(function.text, "")
        if isinstance(wanted, str):
            apart.append(f"{function.text} {NO_RESULT}")
        elif off := _difference(ours, wanted, type_):
            apart.append(f"{function.text} {off:.1e}")
        theirs = _results(function, from_ptx)
        if isinstance(theirs, str):
            differ.append(f"{function.text} (from PTX: {theirs})")
        elif off := _difference(ours, theirs, type_):
            split = _from_code(there.unfused, number, function)
            is_equal = not isinstance(split, str) and not _difference(split, theirs, type_)
            unfused += is_equal
            if not is_equal:
                differ.append(f"{function.text} {off:.1e}")
        else:
            equal += 1
    count, lost = len(there.functions), sum(map(len, refused.values()))
    reasons = "; ".join(f"{why}: {', '.join(names)}" for why, names in sorted(refused.items()))
    return dict(zip(COLUMNS, (
        arch, str(count), str(count - lost), str(equal), str(unfused), str(lost),
        "; ".join(differ), reasons, str(count - lost - len(apart)), "; ".join(apart),
    ), strict=True))  # fmt: skip


def earlier(table: Path, arch: str) -> Mapping[str, str] | None:
    return next((each for each in rows(table) if each["arch"] == arch), None)


def again(
    arch: str, listed: Sequence[Declared], read: Mapping[str, Array | str], old: Mapping[str, str]
) -> dict[str, str]:
    """Try again the functions that were refused or differed, and return the updated row."""
    left = f"{old['differ']} {old['refusals']}"
    apart = [each for each in listed if re.search(rf"(?<!\w){re.escape(each.text)}", left)]
    found = row(arch, apart, read)
    tried = tuple(each.text for each in apart)
    was = [each for each in old["differ_from_sm_90"].split("; ") if not each.startswith(tried)]
    now = [*filter(None, was), *filter(None, found["differ_from_sm_90"].split("; "))]
    found["differ_from_sm_90"] = "; ".join(now)
    for column in ("equal", "equal_unfused"):
        found[column] = str(int(old[column]) + int(found[column]))
    found["functions"] = old["functions"]
    executed = int(old["functions"]) - int(found["refused"])
    found["executed"], found["equal_to_sm_90"] = str(executed), str(executed - len(now))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("arches", nargs="*", default=ARCHES, metavar="ARCH")
    parser.add_argument("--again", action="store_true", help="what was refused or differed alone")
    parser.add_argument("--out", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    listed, table = declared.functions(_include()), options.out / "device_functions.csv"
    read = as_read(listed)
    for arch in options.arches:
        old = earlier(table, arch) if options.again else None
        found = again(arch, listed, read, old) if old else row(arch, listed, read)
        keep(table, COLUMNS, 1, [found])
        print(", ".join(f"{name} {value}" for name, value in found.items()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
