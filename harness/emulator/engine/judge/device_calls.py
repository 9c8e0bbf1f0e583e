"""What device code asks of the system: `printf` and a failed `assert`.

nvcc passes `printf` its format and a buffer with the promoted arguments, each aligned to its size.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import Active
from harness.emulator.memory.address_space import LOCAL_WINDOW, SHARED_WINDOW

if TYPE_CHECKING:
    from harness.emulator.engine.judge.chunk import Chunk

Array = NDArray[Any]

# In a launch, so that an endless loop around printf ends, too: calls, and characters of all.
MOST_PRINTED = 1 << 18
MOST_CHARACTERS = 1 << 24
_WIDEST_FIELD = 1 << 12
_LONGEST_STRING = 1 << 16
_DIRECTIVE = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d*))?"
    r"(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>[a-zA-Z%])"
)


def printf(
    chunk: Chunk, lanes: Active, site: int, _: tuple[str, ...], formats: Array, buffers: Array
) -> tuple[Array]:
    """Format and keep what each lane prints; the result is the number of its arguments."""
    counts = np.zeros(lanes.count, np.uint32)
    each = zip(lanes.lanes().tolist(), lanes.full(formats).tolist(), lanes.full(buffers).tolist(),
               strict=True)  # fmt: skip
    printed = chunk.counts.printed
    if len(printed) + lanes.count > MOST_PRINTED:
        message = f"the launch printed more than {MOST_PRINTED} times"
        raise KernelFault("budget", message, site, lanes, 0)
    for position, (lane, format_, buffer) in enumerate(each):
        reader = _Arguments(chunk, lane, buffer)
        try:
            text = _DIRECTIVE.sub(reader.replace, _string(chunk, lane, format_))
        except _TooWide as field:
            message = f"printf asks for {field} characters; a field has at most {_WIDEST_FIELD}"
            raise KernelFault("budget", message, site, lanes, position) from None
        chunk.counts.printed_characters += len(text)
        if chunk.counts.printed_characters > MOST_CHARACTERS:
            message = f"the launch printed more than {MOST_CHARACTERS} characters"
            raise KernelFault("budget", message, site, lanes, position)
        counts[position] = reader.count
        printed.append((chunk.first_block + lane // chunk.geometry.threads, text))
    return (counts.reshape(lanes.n_rows, lanes.n_columns),)


def assertfail(
    chunk: Chunk, lanes: Active, site: int, _: tuple[str, ...], message: Array, function: Array
) -> tuple[()]:
    """Raises the fault of the first lane whose assertion failed."""
    lane = int(lanes.lanes()[0])
    texts = [_string(chunk, lane, int(lanes.full(where)[0])) for where in (message, function)]
    raise KernelFault("assert", f"assertion `{texts[0]}` failed in {texts[1]}", site, lanes, 0)


class _TooWide(Exception):
    """A field whose width or precision would fill the memory."""


class _Arguments:
    """Takes the arguments of one call out of its buffer, one directive after another."""

    def __init__(self, chunk: Chunk, lane: int, buffer: int) -> None:
        self.chunk, self.lane, self.at = chunk, lane, buffer
        self.count = 0

    def _take(self, code: str) -> Any:
        size = struct.calcsize(code)
        self.at = -(-self.at // size) * size
        raw = _bytes(self.chunk, self.lane, self.at, size)
        self.at += size
        self.count += 1
        return struct.unpack(f"<{code}", raw)[0] if len(raw) == size else 0

    def replace(self, match: re.Match[str]) -> str:
        kind, length = match["kind"], match["length"] or ""
        if kind == "%":
            return "%"
        flags, width, precision = match["flags"], match["width"] or "", match["precision"]
        if width == "*":
            width = str(self._take("i"))
        if precision == "*":
            given = self._take("i")
            precision = str(given) if given >= 0 else None  # as in C: as if there were none
        for size in (width, precision):
            if len(size or "") > 9 or abs(int(size or 0)) > _WIDEST_FIELD:
                raise _TooWide(size)
        form = f"%{flags}{width}" + (f".{precision or 0}" if precision is not None else "")
        if kind in "diouxXc":
            return _integer(form, kind, length, self._take("q" if length[:1] in _WIDE else "i"))
        if kind in "eEfFgG":
            return (form + kind) % self._take("d")
        if kind in "aA":
            text = float(self._take("d")).hex()
            return (f"%{flags}{width}s") % (text.upper() if kind == "A" else text)
        if kind == "p":
            return (f"%{flags}{width}s") % hex(self._take("Q"))
        if kind == "s":
            where = self._take("Q")
            return (form + "s") % (_string(self.chunk, self.lane, where) if where else "(null)")
        return match.group()


_WIDE = ("l", "j", "z", "t")


def _integer(form: str, kind: str, length: str, value: int) -> str:
    bits = {"hh": 8, "h": 16}.get(length, 64 if length[:1] in _WIDE and length else 32)
    value &= (1 << bits) - 1
    if kind == "c":
        return (form + "s") % chr(value & 0xFF)
    if kind in "di" and value >> (bits - 1):
        value -= 1 << bits
    if kind in "ouxX":
        form = form.replace("+", "").replace(" ", "")
    if kind == "o" and "#" in form:
        return (form.replace("#", "") + "s") % (f"0{value:o}" if value else "0")
    return (form + ("d" if kind == "u" else kind)) % value


def _string(chunk: Chunk, lane: int, address: int) -> str:
    """A string that ends in a zero byte."""
    return _bytes(chunk, lane, address, _LONGEST_STRING).split(b"\0")[0].decode("utf-8", "replace")


def _bytes(chunk: Chunk, lane: int, address: int, count: int) -> bytes:
    """Up to so many bytes at a generic address, as a lane sees them; none where nothing is."""
    if address >= LOCAL_WINDOW:
        if not chunk.local.size:
            return b""
        row, offset = chunk.local.data[lane], address - LOCAL_WINDOW
    elif address >= SHARED_WINDOW:
        row = chunk.shared.data[lane // chunk.geometry.threads]
        offset = address - SHARED_WINDOW
    else:
        for allocation in chunk.memory.allocations:
            if allocation.base <= address < allocation.base + allocation.size:
                row, offset = allocation.data, address - allocation.base
                break
        else:
            return b""
    return bytes(row[offset : offset + count].tobytes())
