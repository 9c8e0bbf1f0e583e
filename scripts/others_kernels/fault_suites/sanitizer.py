"""NVIDIA's compute-sanitizer samples with a fault in a kernel: one or two for each tool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fault_suites.kernels import BOUNDS, RACE, Kernel


def kernels(clone: Path) -> Iterator[Kernel]:
    def made(path: str, entry: str, faults: frozenset[str], grid: int, block: int,
             *words: int) -> Kernel:  # fmt: skip
        """Make a kernel. `words`: the number of elements of each array."""

        def arguments() -> list[Any]:
            return [np.zeros(count, np.int32) for count in words]

        name = f"{Path(path).stem}_{entry}"
        return Kernel(name, (clone / path).read_text(), faults, grid, block, arguments, entry)

    memcheck = "Memcheck/memcheck_demo.cu"
    yield made(memcheck, "unaligned_kernel", BOUNDS | {"misaligned"}, 1, 1)
    yield made(memcheck, "out_of_bounds_kernel", BOUNDS, 1, 1)
    yield made("Racecheck/block_error.cu", "sumKernel", RACE, 1, 128, 128, 1)
    yield made("Racecheck/warp_error.cu", "sumKernel", RACE, 1, 64, 64, 1)
    diverged = frozenset({"divergent barrier"})
    yield made("Synccheck/divergent_threads.cu", "myKernel", diverged, 1, 64, 64 * 16 - 16, 1)
    yield made("Synccheck/illegal_syncwarp.cu", "myKernel", frozenset({"warp mask"}), 1, 32, 1)
    unset = made("Initcheck/memset_error.cu", "vectorAdd", frozenset({"uninitialised"}), 2, 32, 64)
    yield unset.after_writing(2 * 32)  # a number of bytes, where words were intended
