"""Generate random kernels whose warps diverge in many ways, for comparing the emulator with a GPU.

Each kernel is generated from its number, and the hash of each generated file has to match that of
the file executed on an H200. Branches, loops whose lanes leave at different iterations, breaks,
switches and early exits are nested at random. Four mask arguments, a to d, control the path of each
lane.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from functools import cache

KERNELS = {"random": range(48), "held_out": range(48, 96)}
SHA256 = {
    "random": "ee8e4a961681a86b9c9993c6376235952c9e55239b778e4098f1a16942df5795",
    "held_out": "5d3ed4f43ceca406c8a201be410062761e9e61ad9022affdad2923fc0db0dd37",
}
DEEPEST = 4
HEAD = """// Made by scripts/divergence/generate.py: warps that divide at random. See divergence.h.

#include "divergence.h"
"""


class Writer:
    """One kernel, generated from its number. Each loop has its own constants, so that the compiler
    cannot merge any."""

    def __init__(self, number: int) -> None:
        self._draw = random.Random(number)
        self._number = number
        self._factor = 1
        self._loops = 0

    def text(self) -> str:
        body = "\n".join(self._block(1, 3, ""))
        return (
            f"KERNEL(random_{self._number}) {{\n    START\n{body}\n"
            "    k = repeat(k, trips, 3, 1);\n    END\n}\n"
        )

    def _block(self, depth: int, most: int, leave: str) -> Iterator[str]:
        for _ in range(self._draw.randint(1, most)):
            yield from self._statement(depth, leave)

    def _statement(self, depth: int, leave: str) -> Iterator[str]:
        kinds = ["work", "work", "repeat"]
        if depth < DEEPEST:
            kinds += ["if", "if", "if", "else", "else", "loop", "switch"]
        if leave:
            kinds += ["leave"]
        if depth > 1:
            kinds += ["exit"] * (self._draw.random() < 0.15)
        yield from getattr(self, f"_{self._draw.choice(kinds)}")(depth, leave)

    def _work(self, depth: int, leave: str) -> Iterator[str]:
        yield _line(depth, f"k = k * {self._odd()} + {self._draw.randint(1, 9)};")

    def _repeat(self, depth: int, leave: str) -> Iterator[str]:
        yield _line(depth, f"k = repeat(k, trips, {self._odd()}, {self._draw.randint(1, 9)});")

    def _if(self, depth: int, leave: str) -> Iterator[str]:
        yield _line(depth, f"if ({self._condition()}) {{")
        yield from self._block(depth + 1, 3, leave)
        yield _line(depth, "}")

    def _else(self, depth: int, leave: str) -> Iterator[str]:
        yield _line(depth, f"if ({self._condition()}) {{")
        yield from self._block(depth + 1, 2, leave)
        yield _line(depth, "} else {")
        yield from self._block(depth + 1, 2, leave)
        yield _line(depth, "}")

    def _loop(self, depth: int, leave: str) -> Iterator[str]:
        """Write a loop in which the lanes of one mask run one iteration fewer; some lanes may leave
        in the middle of an iteration."""
        self._loops += 1
        trip = f"r{self._loops}"
        yield _line(depth, "#pragma unroll 1")
        bound = f"trips + ({self._condition()})"
        yield _line(depth, f"for (unsigned int {trip} = 0; {trip} < {bound}; ++{trip}) {{")
        yield _line(depth + 1, f"k += {trip};")
        yield from self._block(depth + 1, 3, trip)
        yield _line(depth, "}")

    def _leave(self, depth: int, leave: str) -> Iterator[str]:
        word = self._draw.choice(["break", "break", "continue"])
        condition = f"{self._condition()} && {leave} >= {self._draw.randint(0, 1)}"
        yield _line(depth, f"if ({condition}) {word};")

    def _exit(self, depth: int, leave: str) -> Iterator[str]:
        yield _line(depth, f"if ({self._condition()}) {{ END return; }}")

    def _switch(self, depth: int, leave: str) -> Iterator[str]:
        """Write a switch with eight cases, some of which fall through."""
        yield _line(depth, "switch (number) {")
        for case in range(8):
            yield _line(depth + 1, f"case {case}: k = repeat(k, trips, {self._odd()}, {case});")
            if self._draw.random() < 0.7:
                yield _line(depth + 2, "break;")
        yield _line(depth, "}")

    def _condition(self) -> str:
        one, other = self._draw.sample("abcd", 2)
        forms = [f"ON({one})", f"!ON({one})", f"ON({one} & {other})", f"ON({one} | {other})"]
        return self._draw.choice(forms)

    def _odd(self) -> int:
        self._factor += 2
        return self._factor


def _line(depth: int, text: str) -> str:
    return text if text.startswith("#") else "    " * depth + text


@cache
def text(file: str) -> str:
    """Return a file of kernels. Raises ValueError if it differs from the file executed on a GPU."""
    found = "\n".join([HEAD, *(Writer(number).text() for number in KERNELS[file])])
    digest = hashlib.sha256(found.encode()).hexdigest()
    if digest != SHA256[file]:
        raise ValueError(f"{file}.cu is drawn differently here: {digest}, not {SHA256[file]}")
    return found
