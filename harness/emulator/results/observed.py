"""What a launch read and wrote, byte by byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Observed:
    """One buffer in one launch.

    Each array has an entry a byte: 0, or 1 + the number of the instruction that was the first to
    do it (`LaunchReport.place` says where that is). read_before_write: what the launch took from
    the byte as it found it. An atomic, also one whose result nobody wants, reads and writes.
    """

    name: str
    """As in messages: the argument's name, or the variable's."""
    is_variable: bool
    """Whether it is a variable of the module and no argument."""
    read: Array
    written: Array
    read_before_write: Array
