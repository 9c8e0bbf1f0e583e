"""Device code's calls to the system: `printf`, and the message of a failed `assert`.

nvcc passes `printf` its format and a buffer with the promoted arguments, each aligned to its size.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

# Limits per launch on calls and on total characters, so that an endless printf loop ends.
MOST_PRINTED = 1 << 18
MOST_CHARACTERS = 1 << 24
_WIDEST_FIELD = 1 << 12
_LONGEST_STRING = 1 << 16
_DIRECTIVE = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d*))?"
    r"(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>[a-zA-Z%])"
)

Peek = Callable[[int, int, int], bytes]
"""Reads up to `count` bytes at a generic address, as a lane sees them: (lane, address, count)."""


class Printer:
    """Formats and keeps the output of a launch. `too_much`: the reason why the launch was stopped,
    if it printed too much; otherwise empty.
    """

    def __init__(self, peek: Peek) -> None:
        self.printed: list[tuple[int, str]] = []  # block number, and what one thread printed
        self.too_much = ""
        self._peek = peek
        self._characters = 0

    def print(self, block: int, lane: int, format_: int, arguments: int) -> int:
        """Print one call of a lane; return the number of its arguments, or -1 if the launch has
        printed too much.
        """
        if len(self.printed) >= MOST_PRINTED:
            self.too_much = f"the launch printed more than {MOST_PRINTED} times"
            return -1
        reader = _Arguments(self._peek, lane, arguments)
        try:
            text = _DIRECTIVE.sub(reader.replace, string(self._peek, lane, format_))
        except _TooWide as field:
            self.too_much = (
                f"printf asks for {field} characters; a field has at most {_WIDEST_FIELD}"
            )
            return -1
        self._characters += len(text)
        if self._characters > MOST_CHARACTERS:
            self.too_much = f"the launch printed more than {MOST_CHARACTERS} characters"
            return -1
        self.printed.append((block, text))
        return reader.count


def assertion(peek: Peek, lane: int, message: int, function: int) -> str:
    """The message for a failed assertion."""
    texts = [string(peek, lane, where) for where in (message, function)]
    return f"assertion `{texts[0]}` failed in {texts[1]}"


class _TooWide(Exception):
    """Raised for a field whose width or precision would exhaust memory."""


class _Arguments:
    """Reads the arguments of one call from its buffer, one directive after another."""

    def __init__(self, peek: Peek, lane: int, buffer: int) -> None:
        self.peek, self.lane, self.at = peek, lane, buffer
        self.count = 0

    def _take(self, code: str) -> Any:
        size = struct.calcsize(code)
        self.at = -(-self.at // size) * size
        raw = self.peek(self.lane, self.at, size)
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
            precision = str(given) if given >= 0 else None  # as in C, a negative one is ignored
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
            return (form + "s") % (string(self.peek, self.lane, where) if where else "(null)")
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


def string(peek: Peek, lane: int, address: int) -> str:
    """Read a string that ends in a zero byte."""
    return peek(lane, address, _LONGEST_STRING).split(b"\0")[0].decode("utf-8", "replace")
