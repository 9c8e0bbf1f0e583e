"""The stack of recursive calls: a part of each thread's local memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import Active
from harness.emulator.program.calls import STACK, STACK_BYTES

if TYPE_CHECKING:
    from harness.emulator.engine.judge.chunk import Chunk

Array = NDArray[Any]


def enter_frame(
    chunk: Chunk, lanes: Active, site: int, variant: tuple[str, ...], pointer: Array, step: Array,
    size: Array,
) -> tuple[Array]:  # fmt: skip
    """The stack pointer of a callee. Raises KernelFault where the stack is used up."""
    moved = pointer + step
    limit = chunk.program.local[STACK] + STACK_BYTES - int(size.flat[0])
    if int(moved.max()) > limit:
        position = int(np.argmax(lanes.full(moved) > limit))
        message = (
            f"calls of `{variant[0]}` nest too deep: a thread's stack has {STACK_BYTES} bytes, "
            f"a call of it takes {int(size.flat[0])}"
        )
        raise KernelFault("stack overflow", message, site, lanes, position)
    return (moved,)


def copy_struct(
    chunk: Chunk, lanes: Active, site: int, variant: tuple[str, ...], source: Array,
    source_offset: Array, target: Array, target_offset: Array,
) -> tuple[()]:  # fmt: skip
    """Copy a struct within local memory. Members and padding that nothing wrote may be copied."""
    size, unit = int(variant[0]), int(variant[1])
    dtype = np.dtype(f"u{unit}")
    start = (source + source_offset).view(np.int64)
    end = (target + target_offset).view(np.int64)
    local = chunk.local
    for at in range(0, size, unit):
        watch, local.watch = local.watch, None
        words = local.load(chunk.counts, lanes, site, start + at, dtype, 1)
        local.watch = watch
        local.store(chunk.counts, lanes, site, end + at, words)
    return ()
