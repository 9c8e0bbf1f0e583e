"""The bytes that a launch read and wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Observed:
    """One buffer in one launch.

    Each array has an entry per byte: 0, or 1 + the index of the first instruction to access it
    (`LaunchReport.place` gives its location). `read_before_write`: reads of bytes that the launch
    had not written before. An atomic both reads and writes, even if its result is unused.
    """

    name: str
    """The name used in messages: the argument's or the variable's."""
    is_variable: bool
    """True if it is a variable of the module rather than an argument."""
    read: Array
    written: Array
    read_before_write: Array
