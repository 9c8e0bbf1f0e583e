"""Text output of machine code through the driver: printf and assertions."""

from __future__ import annotations

from typing import Any

from harness.emulator.engine.printing import Printer, assertion
from harness.emulator.sass import layout


class DriverCalls:
    """The driver calls of one launch. `handle`: the machine's handle. `raised`: an exception during
    printing."""

    def __init__(self, library: Any) -> None:
        self.handle: Any = None
        self.raised: BaseException | None = None
        self.callback = layout.ffi.callback("Print", self._print)
        self._library = library
        self._printer = Printer(self._peek)

    @property
    def printed(self) -> tuple[str, ...]:
        """The output of each printf call, block by block."""
        in_order = sorted(self._printer.printed, key=lambda entry: entry[0])
        return tuple(text for _, text in in_order)

    def said(self, verdict: Any, numbers: list[int]) -> str:
        """Return the message of a fault in one of these calls. This must be called while the
        machine still exists."""
        if verdict.outcome != layout.FAULTY:
            return ""
        if verdict.fault == layout.ASSERTED:
            return assertion(self._peek, 0, *numbers)
        return self._printer.too_much if verdict.fault == layout.PRINTED_TOO_MUCH else ""

    def _print(self, block: int, lane: int, format_: int, arguments: int) -> int:
        try:
            return self._printer.print(block, lane, format_, arguments)
        except BaseException as error:  # an interrupt, which C++ would lose
            self.raised = error
            return -1

    def _peek(self, _: int, address: int, count: int) -> bytes:
        out = layout.ffi.new("char[]", count)
        signed = layout.ffi.cast("i64", address)
        there = self._library.sass_peek(self.handle, signed, out, count)
        return bytes(layout.ffi.buffer(out, max(there, 0)))
