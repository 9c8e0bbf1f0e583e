"""Measure this card's ceilings as a run does, how long the measurement takes, and how well two
attempts agree.

    python scripts/timing/costs/ceilings.py

Prints a line for each ceiling: its value, the kernel and launch shape, and the value of a second
attempt. Fails if a kernel writes wrong numbers. Needs a GPU.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from harness.backends.cuda.backend import CudaBackend
from harness.measure.ceilings import measure_ceilings


def main() -> int:
    backend = CudaBackend()
    try:
        start = time.monotonic()
        first = list(measure_ceilings(backend, np.random.default_rng(1)))
        took = time.monotonic() - start
        again = {c.name: c.value for c in measure_ceilings(backend, np.random.default_rng(2))}
    finally:
        backend.close()
    for c in first:
        print(f"{c.name:20} {c.value:.4g} {c.unit:7} again {again[c.name] / c.value:.4f}×  {c.how}")
    print(f"{backend.device.name}: {took:.1f} s a time, compiling with the first")
    return 0


if __name__ == "__main__":
    sys.exit(main())
