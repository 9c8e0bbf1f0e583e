"""Operations that need more than their operands: the chunk they run in and the lanes that do.

Each takes the chunk, the active lanes, the site, the operation's variant and its operands, and
returns a tuple of results. `generate` calls them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.emulator.engine.judge import device_calls
from harness.emulator.engine.judge.arithmetic import matrix
from harness.emulator.engine.judge.memory import async_copies, stack

RUNTIME: dict[str, Callable[..., tuple[Any, ...]]] = {
    "enter_frame": stack.enter_frame,
    "copy_struct": stack.copy_struct,
    "printf": device_calls.printf,
    "assertfail": device_calls.assertfail,
    "copy_async": async_copies.copy_async,
    "copy_commit": async_copies.copy_commit,
    "copy_wait": async_copies.copy_wait,
    "mma": matrix.mma,
    "wmma": matrix.wmma,
    "fragment_address": matrix.fragment_address,
    "column_address": matrix.column_address,
    "matrix_rows": matrix.matrix_rows,
    "transpose_8x8": matrix.transpose_8x8,
}
