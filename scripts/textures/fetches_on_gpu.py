"""What a GPU fetches from textures: every case of fetch_cases.py.

    python scripts/textures/fetches_on_gpu.py OUT       needs a GPU and nvcc

OUT/textures.csv.gz has one row for each fetch, its four channels as bits. It belongs into
reports/h200/fidelity, and tests/emulator/engine/instructions/test_textures.py holds the emulator
to it.
"""

from __future__ import annotations

import csv
import ctypes
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fetch_cases as listed
import numpy as np

OUT = "textures.csv.gz"
LIBRARY = Path(__file__).with_name("fetches_on_gpu.cu")
MODES = ("clamp", "border", "wrap", "mirror")
FORMATS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")


class Asked(ctypes.Structure):
    """As fetches_on_gpu.cu has it."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("kind", "width", "height", "depth", "channels",
                                             "format")),
        ("address", ctypes.c_int * 3),
        *((name, ctypes.c_int) for name in ("linear", "normalized", "fractions", "floats")),
    ]  # fmt: skip


def fetched(library: ctypes.CDLL, case: listed.Case) -> np.ndarray:
    """Bits, shaped (FETCHES, 4)."""
    asked = Asked(
        list(listed.NAMES).index(case.kind), *case.extent, case.channels,
        FORMATS.index(case.dtype), tuple(map(MODES.index, case.address)), case.linear,
        case.normalized, case.fractions, case.floats,
    )  # fmt: skip
    texels, at = case.texels(), case.coordinates()
    out = np.zeros((listed.FETCHES, 4), np.uint32)
    pointers = (ctypes.c_void_p(a.ctypes.data) for a in (texels, at))
    error = library.fetched(
        ctypes.byref(asked), *pointers, listed.FETCHES, ctypes.c_void_p(out.ctypes.data)
    )
    if error:
        raise RuntimeError(f"{case.name}: CUDA error {error}")
    return out


def main(out: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "fetches.so"
        subprocess.run(
            ["nvcc", "-O3", "-std=c++17", "-arch=sm_90", "-Xcompiler", "-fPIC", "-shared", "-o",
             str(built), str(LIBRARY)], check=True,
        )  # fmt: skip
        library = ctypes.CDLL(str(built))
    failed = 0
    with gzip.open(out / OUT, "wt", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", "r", "g", "b", "a"])
        for case in listed.cases():
            try:
                found = fetched(library, case)
            except RuntimeError as error:
                print(error, file=sys.stderr)
                failed += 1
                continue
            rows.writerows([case.name, *(f"{bits:08x}" for bits in row)] for row in found.tolist())
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
