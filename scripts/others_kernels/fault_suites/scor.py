"""ScoR's microbenchmarks: scopes, fences and locks that are too weak or just strong enough."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fault_suites.kernels import RACE, Kernel


def kernels(clone: Path, plain: bool) -> Iterator[Kernel]:
    """The kernels of the suite. `plain`: remove the word `volatile` from the source."""
    for path in sorted((clone / "microbenchmarks" / "src").glob("*.cu")):
        text = path.read_text()
        grid, block = (
            int(re.search(rf"define {n}\s+(\d+)", text)[1]) for n in ("NBLOCKS", "TPERBLK")
        )  # type: ignore[index]
        source = "#include <cstdlib>\n" + (text.replace("volatile ", "") if plain else text)
        faults = RACE if path.stem.startswith("race") else frozenset()
        yield Kernel(path.stem, source, faults, grid, block, lambda: [np.zeros(1, np.uint32)])
