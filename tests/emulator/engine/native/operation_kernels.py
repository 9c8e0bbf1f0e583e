"""Groups of instructions with the same operands, as kernels, and their operands."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from harness.emulator import Module, parse
from harness.emulator.ptx.syntax import TYPE_SIZES

BLOCKS = 4


def size_of(type_: str) -> int:
    """The size of a stored element in bytes; predicates are stored as words."""
    return 4 if type_ in ("shift", "pred") else TYPE_SIZES[type_.rsplit(maxsplit=1)[-1]]


@dataclass(frozen=True)
class Group:
    """Instructions whose results have one type and whose operands have others."""

    instructions: tuple[str, ...]
    result: str
    sources: tuple[str, ...]
    shared: int = 0
    threads: int = 32 * 15 + 19  # per block: the last warp is not full

    @property
    def name(self) -> str:
        opcodes = [text.split(maxsplit=1)[0] for text in self.instructions]
        return f"{opcodes[0]}+{len(opcodes) - 1}({','.join(self.sources)})"

    @property
    def count(self) -> int:
        return self.threads * BLOCKS


def _float_edges(digits: int, bits: int) -> list[int]:
    """The patterns of a format with this many fraction digits, of both signs."""
    infinite = ((1 << bits - 1 - digits) - 1) << digits
    one = (infinite >> digits + 1) << digits
    positive = [
        0, 1, 2, (1 << digits) - 1, 1 << digits, one - 1, one, one + 1, one + (1 << digits - 1),
        one - (1 << digits), infinite - 1, infinite, infinite | 1 << digits - 1,
    ]  # fmt: skip
    return [*positive, *(p | 1 << bits - 1 for p in positive)]


def _edges(type_: str) -> list[int]:
    if type_ == "shift":
        return [0, 1, 5, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 255, 256, 2**31, 2**32 - 1]
    bits = 8 * size_of(type_)
    if type_ in ("f16", "bf16", "f32", "f64", "tf32"):
        digits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52, "tf32": 23}[type_]
        edges = _float_edges(digits, bits)
        if type_ == "f32":  # the limits of halves and integers
            values = [
                65504,
                65519.9,
                65520,
                2.0**-24,
                2.0**-25,
                2.0**31,
                2.0**32,
                2.0**63,
                2.0**64,
                127.5,
                254.5,
                255.5,
                0.5,
                1.5,
                2.5,
                3.3895314e38,
                2.0**-133,
                1.00048828125,
            ]
            edges += np.array([*values, *(-v for v in values)], np.float32).view(np.uint32).tolist()
        if type_ == "f64":
            values = [
                65504,
                65519.99,
                65520,
                2.0**-25,
                3.4028235677973366e38,
                2.0**-150,
                1e-45,
                2.0**63,
                2.0**64,
                0.5,
                2.5,
                1 + 2.0**-24,
                1 + 2.0**-9,
                1e300,
                1e-300,
            ]
            edges += np.array([*values, *(-v for v in values)], np.float64).view(np.uint64).tolist()
        return [int(e) for e in edges]
    if type_.endswith("x2"):
        half = _edges(type_.removesuffix("x2"))
        up = bits // 2
        return [low | high << up for low, high in zip(half, half[5:] + half[:5], strict=True)]
    top = 1 << bits - 1
    return [0, 1, 2, 3, 7, 100, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, top >> 1,
            0x55555555 & (2 * top - 1), (1 << bits // 2) - 1, 1 << bits // 2]  # fmt: skip


def operands(group: Group, seed: int = 0) -> list[np.ndarray]:
    """An array for each source: pairs of edge values, random edge values, neighbours, noise."""
    random = np.random.default_rng(seed)
    drawn = [t for t in group.sources if " " not in t]
    grid = np.array(list(itertools.product(*(_edges(t) for t in drawn[:2]))), np.uint64)
    grid = random.permutation(grid)[: group.count // 2]
    out = []
    for n, type_ in enumerate(group.sources):
        if " " in type_:
            out.append(_floats_like(type_, group.count, random))
            continue
        values = random.integers(0, 1 << 8 * size_of(type_), group.count, np.uint64)
        if type_ == "shift":
            values %= np.uint64(70)
        edges = np.array(_edges(type_), np.uint64)
        if n < 2:
            values[: len(grid)] = grid[:, n]
        some = random.choice(group.count, group.count // (8 if n < 2 else 2), replace=False)
        values[some] = random.choice(edges, len(some))
        if type_ in _ONE:  # close numbers: sums cancel, quotients are near 1
            count = group.count // 8
            off = random.integers(0, 64, count, np.uint64)
            sign = random.integers(0, 2, count, np.uint64) << np.uint64(8 * size_of(type_) - 1)
            values[-count:] = (np.uint64(_ONE[type_]) + off) | sign
        out.append(values.astype(f"u{max(size_of(type_), 2)}"))
    return out


_ONE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000, "f64": 0x3FF << 52,
        "f16x2": 0x3C003C00, "bf16x2": 0x3F803F80}  # fmt: skip


def _floats_like(type_: str, count: int, random: np.random.Generator) -> np.ndarray:
    """Tame floats have so few digits that sums of their products are exact; wild floats do not."""
    kind, format_ = type_.split()
    values = random.integers(-128, 129, 2 * count) / 32
    if kind == "wild":
        values = random.normal(size=2 * count) * 2.0 ** random.integers(-20, 20, 2 * count)
    if format_ in ("f32", "tf32", "f64"):
        return values[:count].astype(f"f{size_of(type_)}").view(f"u{size_of(type_)}")
    if format_ == "f16x2":
        return values.astype(np.float16).view(np.uint32)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)


def register_class(type_: str) -> str:
    """The letter in the names of registers of a type."""
    for format_, letter in (("f32", "f"), ("f64", "d"), ("pred", "p")):
        if type_.endswith(format_) and not type_.endswith("tf32"):
            return letter
    return {1: "h", 2: "h", 4: "r", 8: "l"}[size_of(type_)]


BITS = {"h": "b16", "r": "b32", "l": "b64", "f": "f32", "d": "f64"}


_BYTES = {"h": 2, "r": 4, "l": 8, "f": 4, "d": 8}


def kernel(group: Group) -> Module:
    """A kernel with a parameter for each operand, followed by one for each instruction's result."""
    lines, at = [], 0
    registers = [f"%{register_class(t)}{n + 1}" for n, t in enumerate(group.sources)]

    def place(letter: str) -> str:
        nonlocal at
        at += 1
        lines.append(f"ld.param.u64 %a0, [p{at - 1}];")
        lines.append(f"mad.wide.u32 %a0, %i, {_BYTES[letter]}, %a0;")
        return BITS[letter]

    for register in registers:
        kind = place(register[1])
        lines.append(f"ld.global.{kind} {register}, [%a0];")
    for instruction in group.instructions:
        letter = register_class(group.result)
        text = instruction.replace("$0", f"%{letter}0")
        for n in range(len(registers), 0, -1):
            text = text.replace(f"${n}", registers[n - 1])
        lines.append(text if text.endswith(";") else text + ";")
        if letter == "p":
            lines.append("selp.b32 %r0, 1, 0, %p0;")
            letter = "r"
        kind = place(letter)
        lines.append(f"st.global.{kind} [%a0], %{letter}0;")
    params = ",\n".join(f".param .u64 p{n}" for n in range(at))
    declared = "\n".join(f".reg .{kind} %{c}<48>;" for c, kind in (("p", "pred"), *BITS.items()))
    shared = f".shared .align 16 .b8 s[{group.shared}];" if group.shared else ""
    body = "\n".join(lines)
    return parse(f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry k({params})
{{
{declared}
.reg .b64 %a<8>;
.reg .b8 %q<10>;
.reg .b32 %i, %t, %z<48>;
{shared}
mov.u32 %t, %tid.x;
mov.u32 %i, %ctaid.x;
mad.lo.u32 %i, %i, {group.threads}, %t;
{body}
ret;
}}
""")
