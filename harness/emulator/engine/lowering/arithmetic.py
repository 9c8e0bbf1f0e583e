"""Lower operations that compute: arithmetic, comparisons, conversions, packing.

Most operations exist in the machine under the same name. Rare ones are composed of several: a
modifier on halves becomes an operation before or after the arithmetic, and a conversion goes
through floats or doubles that represent its operand exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.emulator.engine.lowering.register_rows import NOWHERE, Emitter, Unsupported, lane_bytes
from harness.emulator.program.ir import FP8_PAIRS, HALVES, Op, element, is_float, unsigned
from harness.emulator.ptx.syntax import TYPE_SIZES

_UNSIGNED_ORDER = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
HARMLESS = {
    "rn": "without a direction it is the nearest number",
    "approx": "the nearest number is as near as is promised",
    "full": "the nearest number is as near as is promised",
}
"""Modifiers that do not affect results here, and why."""
# The bits by which an operation's immediate encodes its modifiers; see `arithmetic/floats.h`.
_ROUNDINGS = {"rn": 0, "rz": 1, "rm": 2, "rp": 3, "rna": 4}
_FLAGS = {"ftz": 8, "sat": 16, "relu": 32, "satfinite": 64}
_DIRECTED = {"rz", "rm", "rp"}
_JOINS = ("and", "or", "xor")
_TWO_TYPES = ("dp4a", "dp2a")
_ONES = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000, "u16": 0xFFFF, "u32": 0xFFFFFFFF}

# A step of a conversion: the operation, the type of its result and its immediate.
_Step = tuple[str, str, int]


def _immediate(*words: str) -> int:
    try:
        return sum({**_ROUNDINGS, **_FLAGS}[word] for word in words)
    except KeyError as unknown:
        raise Unsupported(f"modifier {unknown}") from None


class ComputingEncoder(Emitter):
    """Encodes the operations that compute from registers alone."""

    def computed(self, op: Op) -> None:
        """Emit an operation that has the same name in the machine, apart from modifiers."""
        words, type_ = {v for v in op.variant if v not in HARMLESS}, op.source_types[0]
        sources = self.sources(op)
        results = [self.widened(op, i) for i in range(len(op.results))]
        if type_ == "f64" and {"approx", "ftz"} <= set(op.variant):  # reads only the upper word
            words.add("approx")
        if op.name == "div" and "approx" in op.variant:  # large divisors give 0
            words.add("approx")
        if "xorsign" in words:
            self._extreme_magnitude(op, words - {"abs", "xorsign"}, results[0], sources)
        elif type_ in HALVES:
            self._halves(op.name, words, type_, results[0], sources)
        elif type_ == "f32x2":
            self._each_float(op.name, words, results[0], sources)
        else:
            types = ".".join(op.source_types[:2]) if op.name in _TWO_TYPES else type_
            self._plain(op.name, words, types, results, sources)

    def _plain(
        self, name: str, words: set[str], types: str, results: list[int], sources: Sequence[int]
    ) -> None:
        if words & _DIRECTED:
            self.emit(f"{name}.directed/{types}", results, sources, immediate=_immediate(*words))
        else:
            self.emit(".".join([name, *sorted(words)]) + f"/{types}", results, sources)

    def _each_float(self, name: str, words: set[str], result: int, sources: Sequence[int]) -> None:
        """Emit the operation once for each float in a pair."""
        made = [self.temporary(4), self.temporary(4)]
        for each, end in zip(made, ("low/8", "high/8"), strict=True):
            self._plain(name, words, "f32", [each], [self.made(end, 4, row) for row in sources])
        self.emit("join/4", [result], made)

    def _halves(
        self, name: str, words: set[str], type_: str, result: int, sources: Sequence[int]
    ) -> None:
        after = words & _FLAGS.keys()
        if "ftz" in words:
            sources = [self._flushed(row, type_) for row in sources]
        self.emit(".".join([name, *sorted(words - after)]) + f"/{type_}", [result], sources)
        if after:
            self.emit(f"modified/{type_}", [result], [result], immediate=_immediate(*after))

    def _extreme_magnitude(
        self, op: Op, words: set[str], result: int, sources: Sequence[int]
    ) -> None:
        """`.xorsign.abs`: the smaller or larger magnitude, with the exclusive or of the signs."""
        type_, size = op.type, lane_bytes(op.type)
        magnitudes = [self.made(f"abs/{type_}", size, row) for row in sources]
        magnitude = self.temporary(size)
        if type_ in HALVES:
            self._halves(op.name, words, type_, magnitude, magnitudes)
        else:
            full = ".".join([op.name, *sorted(words)]) + f"/{type_}"
            self.emit(full, [magnitude], magnitudes)
        signs = self.made(f"xor/u{8 * size}", size, *sources)
        self.emit(f"with_sign/{type_}", [result], [magnitude, signs])

    def _flushed(self, row: int, type_: str) -> int:
        """Flush subnormal floats and halves to zero (`.ftz`); return the row of any other type
        unchanged."""
        if type_ == "f32":
            return self.made("cvt.ftz/f32.f32", 4, row)
        if type_ in HALVES:
            return self.made(f"modified/{type_}", 4, row, immediate=_FLAGS["ftz"])
        return row

    def _op_mov(self, op: Op) -> None:
        source = self.read(op.sources[0], op.source_types[0])
        self.emit(f"mov/{lane_bytes(op.type)}", [self.widened(op)], [source])

    # --- comparison and selection ---------------------------------------------------------

    def _op_selp(self, op: Op) -> None:
        self.emit(f"selp/{lane_bytes(op.type)}", [self.widened(op)], self.sources(op))

    def _op_slct(self, op: Op) -> None:
        a, b, c = self.sources(op)
        type_ = op.source_types[2]
        if "ftz" in op.variant:
            c = self._flushed(c, type_)
        chosen = self.made(f"setp.ge/{type_}", 4, c, self.constant(0, 4))
        self.emit(f"selp/{lane_bytes(op.type)}", [self.widened(op)], [a, b, chosen])

    def _join(self, op: Op) -> tuple[str, int] | None:
        """Return the operation that combines a comparison's result with another operand, and that
        operand's row; None if the result is not combined.
        """
        joins = [v for v in op.variant[1:] if v in _JOINS]
        return (joins[0], self.read(op.sources[2], "pred")) if len(op.sources) > 2 else None

    def _compared(self, op: Op, straight_to: int | None = None) -> list[int]:
        """Emit a comparison; return the rows that mark the lanes in which it holds: one row, or two
        for a pair of halves.
        """
        type_ = op.source_types[0]
        if type_[0] == "b" and type_ not in HALVES:
            type_ = unsigned(type_)
        a, b = (self.read(s, type_) for s in op.sources[:2])
        if "ftz" in op.variant:
            a, b = self._flushed(a, type_), self._flushed(b, type_)
        comparison = _UNSIGNED_ORDER.get(op.variant[0], op.variant[0])
        name = f"setp.{comparison}/{element(type_)}"
        if type_.endswith("x2"):
            parts = [[self.made(f"{end}/4", 4, row) for row in (a, b)] for end in ("low", "high")]
            return [self.made(name, 4, *part) for part in parts]
        row = self.temporary(4) if straight_to is None else straight_to
        self.emit(name, [row], [a, b])
        return [row]

    def _op_setp(self, op: Op) -> None:
        join = self._join(op)
        if join is None and len(op.results) == 1 and not op.source_types[0].endswith("x2"):
            self._compared(op, self.result(op))
            return
        holds = self._compared(op)
        if len(holds) < len(op.results):
            holds.append(self.made("not/pred", 4, holds[0]))
        if join is not None:
            holds = [self.made(f"{join[0]}/pred", 4, row, join[1]) for row in holds]
        for i, row in enumerate(holds[: len(op.results)]):
            self.emit("mov/4", [self.result(op, i)], [row])

    def _op_set(self, op: Op) -> None:
        to, join, holds = op.result_types[0], self._join(op), self._compared(op)
        if join is not None:
            holds = [self.made(f"{join[0]}/pred", 4, row, join[1]) for row in holds]
        if len(holds) > 1 and to not in ("u32", op.source_types[0]):
            raise Unsupported(f"set.{to}.{op.source_types[0]}")
        one = _ONES["u16" if len(holds) > 1 and to == "u32" else element(to)]
        constants = [self.constant(one, 4), self.constant(0, 4)]
        if len(holds) == 1:
            self.emit("selp/4", [self.widened(op)], [*constants, holds[0]])
            return
        parts = [self.made("selp/4", 4, *constants, row) for row in holds]
        self.emit("join/2", [self.result(op)], parts)

    def _op_isspacep(self, op: Op) -> None:
        first, size = self.window(op.variant[0])
        address = self.read(op.sources[0], "u64")
        if first == 0:
            self.emit("setp.lt/u64", [self.result(op)], [address, self.constant(size, 8)])
            return
        within = [self.made("setp.ge/u64", 4, address, self.constant(first, 8)),
                  self.made("setp.lt/u64", 4, address, self.constant(first + size, 8))]  # fmt: skip
        self.emit("and/pred", [self.result(op)], within)

    # --- conversion -----------------------------------------------------------------------

    def _op_cvt(self, op: Op) -> None:
        to, source = op.result_types[0], op.source_types[0]
        if not {to, source}.isdisjoint(FP8_PAIRS):
            how = _immediate(*(set(op.variant) & {"relu"}))
            self.emit(f"cvt/{to}.{source}", [self.widened(op)], self.sources(op), immediate=how)
            return
        rounding = next((m for m in op.variant if m[0] == "r" and m != "relu"), "")
        flags = frozenset(op.variant) - {rounding}
        rows = self.sources(op)
        if "sat" in flags and source[0] in "us" and to[0] in "us":
            rows, source = [self._clamped(rows[0], source, to)], _at_least_16_bits(source)
            flags -= {"sat"}
        steps = _conversion(to, source, rounding, flags)
        if len(rows) == 1:
            self._stepwise(steps, rows[0], self.widened(op))
        elif [name for name, _, _ in steps] == [f"cvt/{element(to)}.f32"]:
            self.emit(f"cvt/{to}.f32", [self.result(op)], rows)
        else:  # the first operand is the upper half
            halves = [self.temporary(4) for _ in rows]
            for row, half in zip(reversed(rows), halves, strict=True):
                self._stepwise(steps, row, half)
            self.emit("join/2", [self.result(op)], halves)

    def _stepwise(self, steps: list[_Step], row: int, result: int) -> None:
        for name, type_, how in steps[:-1]:
            row = self.made(name, lane_bytes(type_), row, immediate=how)
        name, _, how = steps[-1]
        self.emit(name, [result], [row], immediate=how)

    def _clamped(self, row: int, source: str, to: str) -> int:
        """Clamp an integer to the range of another type, with at least 16 bits."""
        kind = _at_least_16_bits(source)
        if kind != source:
            row = self.made(f"cvt/{kind}.{source}", 4, row)
        (low, high), (least, most) = _limits(source), _limits(to)
        size = lane_bytes(kind)
        for name, own, bound in (("max", low, max(low, least)), ("min", high, min(high, most))):
            if bound != own:
                bits = bound & ((1 << 8 * TYPE_SIZES[kind]) - 1)
                row = self.made(f"{name}/{kind}", size, row, self.constant(bits, size))
        return row

    # --- packing --------------------------------------------------------------------------

    def _op_pack(self, op: Op) -> None:
        rows, size = self.sources(op), TYPE_SIZES[op.source_types[0]]
        while len(rows) > 2:
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows, size = [self.made(f"join/{size}", 4, *pair) for pair in pairs], size * 2
        self.emit(f"join/{size}", [self.result(op)], rows)

    def _op_unpack(self, op: Op) -> None:
        rows, size = self.sources(op), TYPE_SIZES[op.source_types[0]]
        while len(rows) < len(op.results):
            ends = (f"low/{size}", f"high/{size}")
            rows, size = [self.made(end, 4, row) for row in rows for end in ends], size // 2
        for i, row in enumerate(rows):
            if self.result(op, i, optional=True) != NOWHERE:
                self.emit("mov/4", [self.widened(op, i)], [row])


def _limits(type_: str) -> tuple[int, int]:
    bits = 8 * TYPE_SIZES[type_]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def _at_least_16_bits(type_: str) -> str:
    return f"{type_[0]}16" if TYPE_SIZES[type_] == 1 else type_


def _conversion(to: str, source: str, rounding: str, flags: frozenset[str]) -> list[_Step]:
    """Return the steps that convert one operand."""
    if source in HALVES:  # a float represents every half exactly
        if to == "f32" and not flags:
            return [("cvt/f32.f16" if source == "f16" else "widen/bf16", "f32", 0)]
        return [(f"widen/{source}", "f32", 0), *_conversion(to, "f32", rounding, flags)]
    if to == "tf32":
        return [("cvt/tf32.f32", to, _immediate(rounding, *flags))]
    if to in HALVES:
        return _to_half(element(to), source, rounding, flags)
    if is_float(to):
        return _to_float(to, source, rounding, flags)
    how = _immediate(rounding[:2] or "rz", *(flags - {"sat"})) if is_float(source) else 0
    return [(f"cvt/{to}.{source}", to, how)]  # the operation clamps values out of range


def _to_float(to: str, source: str, rounding: str, flags: frozenset[str]) -> list[_Step]:
    """Return the steps that convert to f32 or f64."""
    steps: list[_Step] = []
    flushes = "ftz" in flags
    if not is_float(source):
        # The direction matters only for integers with more bits than the float's significand.
        digits, room = 8 * TYPE_SIZES[source], {"f32": 24, "f64": 53}[to]
        if rounding in _DIRECTED and digits > room and "sat" not in flags:
            return [(f"cvt.directed/{to}.{source}", to, _immediate(rounding))]
        steps.append((f"cvt/{to}.{source}", to, 0))
        return [*steps, (f"cvt.sat/{to}.{to}", to, 0)] if "sat" in flags else steps
    finish = flags & {"sat"}
    if rounding.endswith("i"):
        how = _immediate(rounding[:2], *(flags & {"ftz"}))
        steps.append((f"cvt.whole/{source}.{source}", source, how))
        flushes = False
    if rounding in _DIRECTED and to == "f32" and source == "f64":
        how = _immediate(rounding, *(flags & {"ftz"}))
        steps.append(("cvt.directed/f32.f64", to, how))
    elif to != source:
        steps.append((f"cvt.ftz/{to}.{source}" if flushes else f"cvt/{to}.{source}", to, 0))
    elif flushes and to == "f32":
        finish |= {"ftz"}
    if finish or not steps:
        steps.append((".".join(["cvt", *sorted(finish)]) + f"/{to}.{to}", to, 0))
    return steps


def _to_half(format_: str, source: str, rounding: str, flags: frozenset[str]) -> list[_Step]:
    """Return the steps that convert to f16 or bf16: from floats directly, from integers through
    doubles."""
    steps: list[_Step] = []
    if "ftz" in flags and source == "f32" and format_ == "bf16":  # ptxas has no such form for f16
        steps.append(("cvt.ftz/f32.f32", source, 0))
    if rounding.endswith("i"):
        how = _immediate(rounding[:2])
        steps.append((f"cvt.whole/{source}.{source}", source, how))
    if not is_float(source):
        odd = ".odd" if TYPE_SIZES[source] == 8 else ""
        steps.append((f"cvt{odd}/f64.{source}", "f64", 0))
        source = "f64"
    if rounding in _DIRECTED:
        steps.append((f"cvt.directed/{format_}.{source}", format_, _immediate(rounding)))
    elif rounding in ("", "rn") or rounding.endswith("i"):
        steps.append((f"cvt/{format_}.{source}", format_, 0))
    else:
        raise Unsupported(f"cvt.{rounding}.{format_}.{source}")
    after = flags - {"ftz"}
    if after:
        steps.append((f"modified/{format_}", format_, _immediate(*after)))
    return steps
