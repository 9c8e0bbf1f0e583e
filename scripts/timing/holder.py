"""Hold all but a given amount (GiB) of the first GPU's memory until standard input ends.

    python scripts/timing/holder.py 7.5

Prints how much is free once the memory is held.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GIB = 1 << 30
_LEAST = 2 << 20  # the driver's page size


@contextmanager
def held_but_for(gib: float) -> Iterator[float]:
    """Let another process hold the card's memory; yield the GiB that it left free."""
    command = [sys.executable, str(Path(__file__)), str(gib)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        try:
            said = holder.stdout.readline()
            if not said:
                raise RuntimeError(f"{gib} GiB cannot be left free: the holder ended")
            yield float(said)
        finally:
            holder.stdin.close()


def main(gib: float) -> int:
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).make_context()
    try:
        free, _ = cuda.mem_get_info()
        surplus = free - int(gib * GIB)
        if surplus < 0:
            print(f"only {free / GIB:.2f} GiB are free", file=sys.stderr)
            return 1
        # In several parts, because the driver's own bookkeeping may take the last page.
        held = [cuda.mem_alloc(surplus // 8 // _LEAST * _LEAST) for _ in range(8)]
        print(cuda.mem_get_info()[0] / GIB, flush=True)
        sys.stdin.read()
        del held
    finally:
        context.pop()
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
