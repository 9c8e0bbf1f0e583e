"""Record a GPU's texture fetches, and its surface loads and stores.

    python scripts/textures/fetches_on_gpu.py OUT       needs a GPU and nvcc

OUT/textures.csv.gz has one row for each fetch of fetch_cases.py, with its four channels as bits,
and OUT/surfaces.csv.gz has one for each case of surface_cases.py: the loaded values, and the texels
after the stores, as bytes. The files are committed in reports/h200/fidelity, where
tests/emulator/engine/instructions/memory/test_textures.py compares the emulator with them.
"""

from __future__ import annotations

import csv
import ctypes
import gzip
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import fetch_cases as listed
import numpy as np
import surface_cases

LIBRARY = Path(__file__).with_name("fetches_on_gpu.cu")
MODES = ("clamp", "border", "wrap", "mirror")
FORMATS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")


class Asked(ctypes.Structure):
    """The struct of fetches_on_gpu.cu."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("kind", "width", "height", "depth", "channels",
                                             "format")),
        ("address", ctypes.c_int * 3),
        *((name, ctypes.c_int) for name in ("linear", "normalized", "fractions", "floats")),
    ]  # fmt: skip


def fetched(library: ctypes.CDLL, case: listed.Case) -> np.ndarray:
    """Fetch on the GPU; return the results' bits, shaped (FETCHES, 4)."""
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


def accessed(library: ctypes.CDLL, case: surface_cases.Case) -> tuple[bytes, bytes]:
    """Access a surface on the GPU; return the loaded values, and the texels after the stores."""
    asked = Asked(
        list(listed.NAMES).index(case.kind), *case.extent, case.channels, FORMATS.index(case.dtype)
    )
    stored, loaded = case.texels(), np.zeros_like(case.values())
    arrays = (case.texels(), case.places(), case.values(), loaded, stored)
    texels, places, *others = (ctypes.c_void_p(each.ctypes.data) for each in arrays)
    error = library.accessed(
        ctypes.byref(asked), texels, case.bytes, case.clamp, places, surface_cases.ACCESSES, *others
    )
    if error:
        raise RuntimeError(f"{case.name}: CUDA error {error}")
    return loaded.tobytes(), stored.tobytes()


def main(out: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "fetches.so"
        subprocess.run(
            ["nvcc", "-O3", "-std=c++17", "-arch=sm_90", "-Xcompiler", "-fPIC", "-shared", "-o",
             str(built), str(LIBRARY)], check=True,
        )  # fmt: skip
        library = ctypes.CDLL(str(built))

    def fetches(case: listed.Case) -> list[list[str]]:
        return [[f"{bits:08x}" for bits in row] for row in fetched(library, case).tolist()]

    def accesses(case: surface_cases.Case) -> list[list[str]]:
        return [[found.hex() for found in accessed(library, case)]]

    return sum((
        _write(out / "textures.csv.gz", ["r", "g", "b", "a"], listed.cases(), fetches),
        _write(out / "surfaces.csv.gz", ["loaded", "stored"], surface_cases.cases(), accesses),
    ))  # fmt: skip


def _write(
    path: Path, columns: list[str], cases: Iterable[Any], read: Callable[[Any], list[list[str]]]
) -> int:
    """Write each case's rows after its name; return the number of failed cases, which do not affect
    the others."""
    failed = 0
    with gzip.open(path, "wt", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["case", *columns])
        for case in cases:
            try:
                rows.writerows([case.name, *row] for row in read(case))
            except RuntimeError as error:
                print(error, file=sys.stderr)
                failed += 1
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
