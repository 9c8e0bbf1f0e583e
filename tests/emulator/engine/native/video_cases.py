"""Video instructions in every valid form, with varying parts and masks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from operation_kernels import Group

_TYPES = ("u32", "s32")
_PARTS = ("", ".b0", ".h1", ".b3", ".h0", ".b2", ".b1")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_WORDS = ("u32", "u32", "u32")
PLACES = (".b0", ".b1", ".b2", ".b3", ".h0")


def video() -> Iterator[Group]:
    turn = itertools.count()

    def part() -> str:
        return _PARTS[next(turn) % len(_PARTS)]

    def scalar(opcode: str, second: str = "") -> str:
        third = ", $3" if second else ""
        return f"{opcode}{second} $0, $1{part()}, $2{part()}{third}"

    for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"):
        shifts, compares = name.startswith("vsh"), name == "vset"
        modes = [".clamp", ".wrap"] if shifts else [f".{c}" for c in _COMPARISONS * compares]
        for mode in modes or [""]:
            texts = []
            b_types = _TYPES[:1] if shifts else _TYPES
            for types in itertools.product(*([] if compares else [_TYPES]), _TYPES, b_types):
                opcode = ".".join([name, *types])
                texts += [scalar(opcode + mode), scalar(opcode + mode, ".add")]
                texts += [f"{opcode}{mode} $0{p}, $1{part()}, $2{part()}, $3" for p in PLACES]
                if types[0] == "s32" and name not in ("vshl", "vset"):
                    texts += [scalar(f"{opcode}.sat{mode}", second) for second in ("", ".add")]
            if name in ("vmin", "vmax"):
                texts += [scalar(f"{name}.{t}.{t}.{t}{sat}", second) for t in _TYPES
                          for sat in ("", ".sat") for second in (".min", ".max")]  # fmt: skip
            yield Group(tuple(texts), "u32", _WORDS)
    texts = []
    for types in itertools.product(_TYPES, repeat=3):
        opcode = ".".join(["vmad", *types])
        texts += [f"{opcode}{po} $0, {a}$1{part()}, {b}$2{part()}, {c}$3" for po, a, b, c in (
            ("", "", "", ""), (".po", "", "", ""), ("", "-", "", ""), ("", "", "-", ""),
            ("", "-", "-", ""), ("", "", "", "-"))]  # fmt: skip
        if types[1:] == ("s32", "s32"):
            texts += [f"{opcode}{po}{sat}{scale} $0, $1, $2{part()}, $3" for po in ("", ".po")
                      for sat in ("", ".sat") for scale in ("", ".shr7", ".shr15")]  # fmt: skip
    yield Group(tuple(texts), "u32", _WORDS)
    yield from _on_fields()


def _on_fields() -> Iterator[Group]:
    masks = {2: ("", ".h0", ".h1", ".h10"), 4: ("", ".b0", ".b20", ".b321", ".b3210")}
    chosen = {2: ("", ".h10", ".h03", ".h22"), 4: ("", ".b7654", ".b0246", ".b7070", ".b1111")}
    for name, count in itertools.product(
        ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"), (2, 4)
    ):
        texts, turn = [], itertools.count()
        compares = name == "vset"
        hows = [f".{c}{how}" for c in _COMPARISONS for how in ("", ".add")] if compares else [
            "", ".sat", ".add"]  # fmt: skip
        for types in itertools.product(_TYPES, repeat=2 if compares else 3):
            for how in hows:
                n = next(turn)
                mask = masks[count][n % len(masks[count])]
                a, b = (chosen[count][(n // k) % len(chosen[count])] for k in (1, 3))
                opcode = ".".join([f"{name}{count}", *types]) + how
                texts += [f"{opcode} $0, $1, $2, $3", f"{opcode} $0{mask}, $1{a}, $2{b}, $3"]
        yield Group(tuple(texts), "u32", _WORDS)
