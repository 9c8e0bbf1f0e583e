"""The supported instructions: their types, their modifiers, and the types of their operands.

Each opcode that computes a result from registers alone has one row. An instruction that does not
match its row exactly, modifiers included, is unknown; guessing a modifier's meaning would make
wrong results look right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.emulator.program.ir import UNSIGNED, is_float, unsigned
from harness.emulator.ptx.syntax import TYPE_SIZES

_INT16 = ("u16", "s16")
_INT32 = ("u32", "s32")
_INT64 = ("u64", "s64")
_INT = _INT16 + _INT32 + _INT64
_SIGNED = ("s16", "s32", "s64")
_BITS = ("b16", "b32", "b64")
_FLOAT = ("f32", "f64")
_F32, _F64 = _FLOAT[:1], _FLOAT[1:]
_PAIR = ("f32x2",)
_F16 = ("f16", "f16x2")
_BF16 = ("bf16", "bf16x2")
_HALF = _F16 + _BF16

_INTEGER_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs")
_UNORDERED_COMPARISONS = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
_SIGNED_COMPARISONS = _INTEGER_COMPARISONS[:6]
COMPARISONS = frozenset((*_INTEGER_COMPARISONS, *_UNORDERED_COMPARISONS))
ROUNDINGS = frozenset(("rn", "rz", "rm", "rp"))
BOOLEANS = frozenset(("and", "or", "xor"))  # operations that combine a comparison with a predicate

Types = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Signature:
    """Allowed types and modifiers; `operands` gives (result types, source types) for a type.

    One of each set in `required` must be present; one of `ROUNDINGS` may be.
    """

    types: tuple[str, ...]
    modifiers: frozenset[str]
    operands: Callable[[str, frozenset[str]], Types]
    required: tuple[frozenset[str], ...] = ()

    def fits(self, type_: str, given: frozenset[str]) -> bool:
        return (
            type_ in self.types
            and given <= self.modifiers
            and all(len(given & group) == 1 for group in self.required)
            and len(given & ROUNDINGS) <= 1
            and ("xorsign" in given) == ("abs" in given)
        )


def _same(count: int, *, bitwise: bool = False) -> Callable[[str, frozenset[str]], Types]:
    """All operands have the instruction's type; `bitwise` if the sign makes no difference."""

    def operands(type_: str, _: frozenset[str]) -> Types:
        kind = unsigned(type_) if bitwise else type_
        return (kind,), (kind,) * count

    return operands


def _multiply(count: int) -> Callable[[str, frozenset[str]], Types]:
    """mul and mad: .wide doubles the result's width, .lo is the same for signed and unsigned
    types."""

    def operands(type_: str, modifiers: frozenset[str]) -> Types:
        if is_float(type_):
            return (type_,), (type_,) * count
        if "wide" in modifiers:
            wide = type_[0] + str(int(type_[1:]) * 2)
            return (wide,), (type_, type_, *(wide,) * (count - 2))
        kind = unsigned(type_) if "lo" in modifiers else type_
        return (kind,), (kind,) * count

    return operands


def _typed(*sources: str, result: str = "") -> Callable[[str, frozenset[str]], Types]:
    """Source types by name; `T` is the instruction's own and `U` its unsigned counterpart."""

    def operands(type_: str, _: frozenset[str]) -> Types:
        kinds = {"T": type_, "U": unsigned(type_)}
        own = kinds.get(result, result) or kinds["U"]
        return (own,), tuple(kinds.get(s, s) for s in sources)

    return operands


def _row(
    types: tuple[str, ...],
    modifiers: str,
    operands: Callable[[str, frozenset[str]], Types],
    *required: str,
) -> Signature:
    needs = tuple(frozenset(r.split()) for r in required)
    return Signature(types, frozenset(modifiers.split()).union(*needs), operands, needs)


def _integer_extremes() -> tuple[Signature, ...]:
    return (
        _row((*_INT, "u16x2"), "", _same(2)),
        _row(("s32", "s16x2"), "relu", _same(2)),
    )


def _float_sums(operands: Callable[[str, frozenset[str]], Types]) -> tuple[Signature, ...]:
    return (
        _row(_F32, "rn rz rm rp ftz sat", operands),
        _row(_F64, "rn rz rm rp", operands),
        _row(_PAIR, "rn rz rm rp ftz", operands),
    )


def _float_extremes() -> tuple[Signature, ...]:
    return (
        _row((*_F32, *_F16), "ftz NaN xorsign abs", _same(2)),
        _row(_BF16, "NaN xorsign abs", _same(2)),
        _row(_F64, "", _same(2)),
    )


def _float_signs() -> tuple[Signature, ...]:
    return (_row((*_F32, *_F16), "ftz", _same(1)), _row((*_F64, *_BF16), "", _same(1)))


def _half_sums() -> tuple[Signature, ...]:
    return (
        _row(_F16, "rn ftz sat", _same(2)),
        _row(_BF16, "rn", _same(2)),
    )


SIGNATURES: dict[str, tuple[Signature, ...]] = {
    "add": (
        _row(_INT, "", _same(2, bitwise=True)),
        _row(("s32",), "", _same(2), "sat"),
        *_float_sums(_same(2)),
        _row(("u16x2", "s16x2"), "", _same(2)),
        *_half_sums(),
    ),
    "sub": (
        _row(_INT, "", _same(2, bitwise=True)),
        _row(("s32",), "", _same(2), "sat"),
        *_float_sums(_same(2)),
        *_half_sums(),
    ),
    "mul": (
        _row(_INT16 + _INT32, "", _multiply(2), "lo hi wide"),
        _row(_INT64, "", _multiply(2), "lo hi"),
        *_float_sums(_multiply(2)),
        *_half_sums(),
    ),
    "mad": (
        _row(_INT16 + _INT32, "", _multiply(3), "lo hi wide"),
        _row(_INT64, "", _multiply(3), "lo hi"),
        _row(("s32",), "sat", _multiply(3), "hi"),
        _row(_F32, "ftz sat", _multiply(3), "rn rz rm rp"),
        _row(_F64, "", _multiply(3), "rn rz rm rp"),
    ),
    "fma": (
        _row(_F32, "ftz sat", _same(3), "rn rz rm rp"),
        _row(_F64, "", _same(3), "rn rz rm rp"),
        _row(_PAIR, "ftz", _same(3), "rn rz rm rp"),
        _row(_F16, "ftz sat relu", _same(3), "rn"),
        _row(_BF16, "relu", _same(3), "rn"),
    ),
    "div": (
        _row(_INT, "", _same(2)),
        _row(_F32, "ftz", _same(2), "rn rz rm rp full approx"),
        _row(_F64, "", _same(2), "rn rz rm rp"),
    ),
    "rem": (_row(_INT, "", _same(2)),),
    "sad": (_row(_INT, "", _typed("T", "T", "U")),),
    "mul24": (_row(_INT32, "", _same(2), "lo hi"),),
    "mad24": (_row(_INT32, "", _same(3), "lo hi"),),
    "min": (*_integer_extremes(), *_float_extremes()),
    "max": (*_integer_extremes(), *_float_extremes()),
    "neg": (_row(_SIGNED, "", _same(1, bitwise=True)), *_float_signs()),
    "abs": (_row(_SIGNED, "", _same(1)), *_float_signs()),
    "copysign": (_row(_FLOAT, "", _same(2)),),
    "and": (_row((*_BITS, "pred"), "", _same(2, bitwise=True)),),
    "or": (_row((*_BITS, "pred"), "", _same(2, bitwise=True)),),
    "xor": (_row((*_BITS, "pred"), "", _same(2, bitwise=True)),),
    "not": (_row((*_BITS, "pred"), "", _same(1, bitwise=True)),),
    "cnot": (_row(_BITS, "", _same(1, bitwise=True)),),
    "shl": (_row(_BITS, "", _typed("U", "u32")),),
    "shr": (_row(_BITS, "", _typed("U", "u32")), _row(_INT, "", _typed("T", "u32", result="T"))),
    "shf": (_row(("b32",), "", _typed("u32", "u32", "u32"), "l r", "clamp wrap"),),
    "bfe": (_row(_INT32 + _INT64, "", _typed("T", "u32", "u32", result="T")),),
    "bfi": (_row(("b32", "b64"), "", _typed("U", "U", "u32", "u32")),),
    "bfind": (_row(_INT32 + _INT64, "shiftamt", _typed("T", result="u32")),),
    "szext": (_row(_INT32, "", _typed("T", "u32", result="T"), "clamp wrap"),),
    "bmsk": (_row(("b32",), "", _typed("u32", "u32"), "clamp wrap"),),
    "fns": (_row(("b32",), "", _typed("u32", "u32", "s32"),),),
    "popc": (_row(("b32", "b64"), "", _typed("U", result="u32")),),
    "clz": (_row(("b32", "b64"), "", _typed("U", result="u32")),),
    "brev": (_row(("b32", "b64"), "", _same(1, bitwise=True)),),
    "prmt": (),  # modes after the type, and a form with a predicate: decoded separately
    "lop3": (),
    "selp": (
        _row(_BITS + _INT, "", _typed("U", "U", "pred")),
        _row(_FLOAT, "", _typed("T", "T", "pred")),
    ),
    "slct": (),  # two types: decoded separately
    "rcp": (
        _row(_F32, "ftz", _same(1), "rn rz rm rp approx"),
        _row(_F64, "", _same(1), "rn rz rm rp"),
        _row(_F64, "", _same(1), "approx", "ftz"),
    ),
    "sqrt": (
        _row(_F32, "ftz", _same(1), "rn rz rm rp approx"),
        _row(_F64, "", _same(1), "rn rz rm rp"),
    ),
    "rsqrt": (_row(_FLOAT, "ftz", _same(1), "approx"),),
    "ex2": (
        _row(_F32, "ftz", _same(1), "approx"),
        _row(_F16, "", _same(1), "approx"),
        _row(_BF16, "", _same(1), "approx", "ftz"),
    ),
    "lg2": (_row(("f32",), "ftz", _same(1), "approx"),),
    "sin": (_row(("f32",), "ftz", _same(1), "approx"),),
    "cos": (_row(("f32",), "ftz", _same(1), "approx"),),
    "tanh": (_row(("f32", *_HALF), "", _same(1), "approx"),),
    "testp": (
        _row(
            _FLOAT, "", _typed("T", result="pred"),
            "finite infinite number notanumber normal subnormal",
        ),
    ),
}  # fmt: skip

CONVERSION_TYPES = frozenset(
    ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16"]
)
TO_INTEGER = frozenset(("rni", "rzi", "rmi", "rpi"))
MOVE_TYPES = frozenset((*_BITS, *_INT, *_FLOAT, "pred"))
COMPARE_TYPES = frozenset((*_BITS, *_INT, *_FLOAT, *_HALF))


def split_opcode(opcode: str) -> tuple[str, list[str], list[str]]:
    """`mul.wide.u32` → ("mul", ["wide"], ["u32"]): name, modifiers, trailing types."""
    name, *rest = opcode.split(".")
    types: list[str] = []
    while rest and rest[-1] in TYPE_SIZES:
        types.insert(0, rest.pop())
    return name, rest, types


def match(name: str, modifiers: list[str], types: list[str]) -> Types | None:
    """Result and source types of an arithmetic instruction, or None if it is unknown."""
    given = frozenset(modifiers)
    for row in SIGNATURES.get(name, ()):
        if len(types) == 1 and len(given) == len(modifiers) and row.fits(types[0], given):
            return row.operands(types[0], given)
    return None


def compares(comparison: str, type_: str) -> bool:
    """Return whether values of a type can be compared with this operator."""
    if type_[0] == "b" and type_[1] != "f":
        return comparison in ("eq", "ne")
    if type_[0] == "u":
        return comparison in _INTEGER_COMPARISONS
    return comparison in _SIGNED_COMPARISONS or (
        type_[0] != "s" and comparison in _UNORDERED_COMPARISONS
    )


def converts(modifiers: list[str], to: str, source: str) -> bool:
    """Return whether a `cvt` of these types may have these modifiers, which include the
    rounding."""
    given = frozenset(modifiers)
    if len(given) < len(modifiers):
        return False
    rounding, rest = given & (ROUNDINGS | TO_INTEGER | {"rna"}), given - ROUNDINGS - TO_INTEGER
    allowed, needed = _roundings(to, source)
    if not rounding <= allowed or not needed <= len(rounding) <= 1:
        return False
    limits = rest - {"rna"}
    if limits & {"relu", "satfinite"}:
        towards = {"rna"} if to == "tf32" and "satfinite" in limits else {"rn", "rz"}
        narrow = source == "f32" and to in ("f16", "bf16", "f16x2", "bf16x2", "tf32")
        alone = to == "tf32" and len(limits) > 1
        return narrow and not alone and rounding <= towards and limits <= {"relu", "satfinite"}
    plain = not to.endswith("x2") and to != "tf32"
    known = {"ftz"} if "f32" in (to, source) and plain else set()
    if plain and "bf16" not in (to, source):
        known.add("sat")
    return limits <= known


def _roundings(to: str, source: str) -> tuple[frozenset[str], int]:
    """The roundings that a conversion may have, and how many it must have."""
    from_float, to_float = _is_real(source), _is_real(to)
    if not to_float:
        byte = TYPE_SIZES[to] == 1
        if not from_float:
            return frozenset(), 0
        return (frozenset(), 1) if byte and source == "bf16" else (TO_INTEGER, 1)
    if to == "tf32" or to.endswith("x2"):
        return frozenset(("rn", "rz", "rna") if to == "tf32" else ("rn", "rz")), 1
    if not from_float:
        byte = TYPE_SIZES[source] == 1
        return (frozenset(), 1) if byte and to == "bf16" else (ROUNDINGS, 1)
    if to == source:
        return TO_INTEGER, 0
    if "bf16" in (to, source):
        return ROUNDINGS, int(to == "bf16" and source != "f16")
    narrows = TYPE_SIZES[to] < TYPE_SIZES[source]
    return (ROUNDINGS, 1) if narrows else (frozenset(), 0)


def _is_real(type_: str) -> bool:
    return type_[0] == "f" or type_.startswith(("bf", "tf"))


def storage_type(register_type: str) -> str:
    """The type in which a register's bits are stored."""
    if register_type in ("pred", "f32", "f64"):
        return register_type
    return UNSIGNED[TYPE_SIZES[register_type]]
