"""Run other people's kernels that use Hopper's asynchronous instructions, as PTX and machine code.

    python scripts/others_kernels/hopper/asynchronous.py CHECKOUTS FOLDER [NUMBER ...]

The eleven bfloat16 matrix products of fast.cu (matmul_2.cuh to matmul_12.cuh) use TMA loads and
stores, mbarriers, `wgmma`, `setmaxnreg`, and clusters with multicast. CHECKOUTS holds
`pranjalssh+fast.cu` at the commit below, which is cloned if it is missing; FOLDER gets nvcc's
output. Each kernel is launched as PTX and as machine code with all checks, and its result is
compared with the product in double precision. Prints a CSV row for each. A launch that the checks
stop is repeated without them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from harness.compiler import toolchain
from harness.emulator import EmulatorError, Fault, Module, TensorMap, launch, parse
from harness.emulator.sass import MachineCode, launch_machine_code, read

REPOSITORY: Final = "pranjalssh/fast.cu"
COMMIT: Final = "38eb642e0c081231d6f695978be63604bd7c689b"
_NUMBERS = range(2, 13)
_HEAD = """
#include <cassert>
#include <cstdio>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <vector>
typedef __nv_bfloat16 bf16;
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define cudaCheck(error) (void)(error)
"""
_BLOCKS, _PLACES = 128, 128  # blocks of persistent kernels; tiles per block in a list


@dataclass(frozen=True)
class Launch:
    """The launch of a kernel, with the same parameters as in its own host function. `tile`: its
    rows, columns and depth."""

    tile: tuple[int, int, int]
    threads: int
    places: int  # slots of the ring buffer; 0 for static shared memory
    sizes: tuple[int, int, int]

    def shared(self, number: int) -> int:
        m, n, k = self.tile
        ring = 2 * (m + n) * k * self.places
        if number < 10:
            return ring
        sums = 2 * n * (m + (m // 64 * 8 if number == 12 else 0))
        lists = 4 * _PLACES if number > 10 else 0
        return -(-(ring + sums + 16 * self.places + lists) // 128) * 128


def _launch(number: int) -> Launch:
    if number == 2:
        return Launch((64, 64, 64), 128, 0, (128, 192, 256))
    if number < 5:
        return Launch((128, 128, 64), 128 * (number - 2), 1 if number == 3 else 5, (256, 384, 512))
    # Persistent kernels process 16 by 8 tiles at a time, so the sizes have that number of tiles.
    sizes = (256, 512, 320) if number == 5 else (2048, 2048, 256)
    return Launch((128, 256, 64), 384, 3, sizes)


def _map(number: int, array: np.ndarray, rows: int, columns: int, box: tuple[int, int],
         swizzle: str = "128B") -> TensorMap:  # fmt: skip
    """A tensor map of a row-major matrix, with a box of this many rows and columns."""
    if number < 7:
        return TensorMap(array, [box[1], box[0]], [columns, rows], element="bf16", swizzle=swizzle)
    more = [1, 1] if number == 7 else []  # five dimensions, two of them of size one
    return TensorMap(
        array, [64, box[0], box[1] // 64, *more], [64, rows, columns // 64, *more],
        [2 * columns, 128, *(0 for _ in more)], element="bf16", swizzle=swizzle,
    )  # fmt: skip


def _arguments(number: int, how: Launch, a: np.ndarray, b: np.ndarray) -> tuple[list[Any], Any]:
    """The arguments, and the array that receives the product in column-major order."""
    m, n, k = how.sizes
    rows, columns, depth = how.tile
    c = np.zeros(m * n, np.uint16)
    maps = [_map(number, a, m, k, (rows, depth)), _map(number, b, n, k, (columns, depth))]
    if number < 10:
        return [m, n, k, c, *maps, *([None] if number == 3 else [])], c
    of_sums = _map(number, c, n, m, (columns, rows), "none")
    if number == 12:  # per warpgroup, rows of 64 values followed by a gap
        of_sums = replace(of_sums, box=[72, columns, 1])
    made: list[Any] = [m, n, k, of_sums, *maps]
    if number > 10:  # a list of tiles per cluster, whose two blocks get adjacent rows
        lists = np.full((_BLOCKS, _PLACES), -1, np.int32)
        tiles = [(i, j) for i in range(m // (2 * rows)) for j in range(n // columns)]
        for place, (i, j) in enumerate(tiles):
            lists[place % (_BLOCKS // 2), place // (_BLOCKS // 2)] = i << 16 | j
        made.append(lists)
    return made, c


def _compiled(number: int, checkout: Path, folder: Path) -> tuple[Module, MachineCode]:
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"matmul_{number}.cu"
    header = checkout / "examples" / "matmul" / f"matmul_{number}.cuh"
    source.write_text(f'{_HEAD}#include "{header}"\n')
    ptx, cubin = source.with_suffix(".ptx"), source.with_suffix(".cubin")
    options = ["-std=c++17", "-O3", "-DNDEBUG", "-lineinfo", "-arch=sm_90a"]
    if not cubin.exists():
        nvcc = toolchain.find().nvcc
        subprocess.run([nvcc, "-ptx", *options, str(source), "-o", str(ptx)], check=True)
        subprocess.run([nvcc, "-cubin", "-lineinfo", "-arch=sm_90a", str(ptx), "-o", str(cubin)],
                       check=True)  # fmt: skip
    return parse(ptx.read_text()), read(cubin)


def _row(number: int, checkout: Path, folder: Path) -> list[object]:
    module, code = _compiled(number, checkout, folder)
    kernel = next(name for name in code.functions if f"matmulKernel{number}" in name
                  and "Lb1E" not in name)  # fmt: skip
    how, random = _launch(number), np.random.default_rng(number)
    m, n, k = how.sizes
    a, b = (random.normal(size=(rows, k)).astype(ml_dtypes.bfloat16) for rows in (m, n))
    wanted = (b.astype(np.float64) @ a.astype(np.float64).T).ravel()
    grid = _BLOCKS if number > 5 else m // how.tile[0] * (n // how.tile[1])
    shape, shared = (grid, how.threads), how.shared(number)

    def launched(front_end: str, checks: bool) -> tuple[Sequence[Fault], np.ndarray]:
        bits = [x.view(np.uint16).ravel().copy() for x in (a, b)]
        arguments, c = _arguments(number, how, *bits)
        if front_end == "ptx":
            return launch(module, kernel, *shape, arguments, shared, checks=checks).faults, c
        report = launch_machine_code(
            code, kernel, *shape, arguments, shared, signature=module.kernels[kernel],
            ptx=module if checks else None,
        )  # fmt: skip
        return report.faults, c

    out: list[object] = [f"matmul_{number}", f"{m}x{n}x{k}", grid, how.threads]
    found = []
    for front_end in ("ptx", "code"):
        begun = time.process_time()
        try:
            faults, c = launched(front_end, True)
            seconds = time.process_time() - begun
            said = "; ".join(f"{each.kind} {each.line}: {each.message}" for each in faults)
            unchecked = ""
            if faults:  # a fault ends the launch
                faults, c = launched(front_end, False)
                unchecked = "; ".join(each.kind for each in faults) or "none"
        except EmulatorError as error:
            out += ["refused", "", str(error).replace(",", ";"), ""]
            continue
        values = c.view(ml_dtypes.bfloat16).astype(np.float64)
        furthest = float(np.abs(values - wanted).max() / np.abs(wanted).max())
        found.append(c.tobytes())
        out += [said.replace(",", ";") or "none", unchecked, f"{furthest:.2g}", f"{seconds:.1f}"]
    equal = len(found) == 2 and found[0] == found[1]
    return [*out, "yes" if equal else "no"]


def _checkout(checkouts: Path) -> Path:
    folder = checkouts / REPOSITORY.replace("/", "+")
    if not folder.exists():
        folder.mkdir(parents=True)
        address = f"https://github.com/{REPOSITORY}"
        for command in (["init", "-q"], ["fetch", "-q", "--depth=1", address, COMMIT],
                        ["checkout", "-q", "FETCH_HEAD"]):  # fmt: skip
            subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


def main(given: Sequence[str]) -> int:
    """Print a row per kernel."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("checkouts", type=Path)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("numbers", type=int, nargs="*", default=list(_NUMBERS))
    asked = arguments.parse_args(given)
    of_each = ("faults", "unchecked", "furthest", "seconds")
    print("kernel,sizes,blocks,threads,"
          + ",".join(f"{end}_{each}" for end in ("ptx", "code") for each in of_each)
          + ",equal_bits")  # fmt: skip
    for number in asked.numbers:
        print(*_row(number, _checkout(asked.checkouts), asked.folder), sep=",", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
