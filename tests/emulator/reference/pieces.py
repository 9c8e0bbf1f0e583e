"""Random pieces of a kernel: statements, bodies, and collectives of a whole block.

No piece may depend on an order that hardware leaves open, because equal results would then be
coincidental: data that other threads can see is written only before a barrier and read only after
it, each total is updated only by one operation, which commutes, and collectives are placed only
where whole blocks meet.

A strategy is created once for each set of arguments: Hypothesis checks each new one, which takes
longer than generating examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

from reference.kernel import (
    LOCAL_BYTES,
    Atomic,
    Collective,
    Guard,
    If,
    Instr,
    Leave,
    Load,
    Loop,
    Operand,
    Reg,
    Statement,
    Store,
    Switch,
)
from reference.semantics import OPCODES, WIDTHS

# Registers that a body computes with, all set before it and stored after it.
POOL = {
    "b16": [Reg("b16", f"%h{n}") for n in range(3)],
    "b32": [Reg("b32", f"%r{n}") for n in range(8)],
    "b64": [Reg("b64", f"%l{n}") for n in range(4)],
    "pred": [Reg("pred", f"%p{n}") for n in range(4)],
    "f32": [Reg("f32", f"%f{n}") for n in range(2)],
}
ORDER = [register for pool in POOL.values() for register in pool]
THREAD, THREADS, GLOBAL = (Reg("b32", f"%{n}") for n in ("thread", "threads", "global"))
MASK, LANES = Reg("b32", "%mask"), Reg("b32", "%lanes")
INPUT, WORDS, OUTPUT = Reg("b64", "%input"), Reg("b32", "%words"), Reg("b64", "%output")
TOTALS, OWN, SHARED_BASE = Reg("b64", "%totals"), Reg("b64", "%own"), Reg("b32", "%shared")
LOCAL_BASE = Reg("b64", "%local")
OWN_SHARED, SHARED_TOTALS = Reg("b32", "%ownshared"), Reg("b32", "%sharedtotals")
INDEX, ADDRESS, SHARED_ADDRESS = Reg("b32", "%index"), Reg("b64", "%address"), Reg("b32", "%at")
# Unused results of atomics that are `atom` rather than `red`.
IGNORED32, IGNORED64 = Reg("b32", "%ignored"), Reg("b64", "%ignoredl")

# One row of four totals of 8 bytes for each of these.
COMMUTING = [
    "add.u32", "max.u32", "max.s32", "min.u32", "min.s32", "and.b32", "or.b32", "xor.b32",
    "add.u64", "max.s64", "min.u64", "xor.b64",
]  # fmt: skip
TOTAL_BYTES = len(COMMUTING) * 32
TOTAL_SLOTS = len(COMMUTING) * 4
ALONE = ["exch.b32", "exch.b64", "cas.b32", "cas.b64", "inc.u32", "dec.u32"]
SLOT = 8  # bytes of each thread's own shared and global memory
OUTPUT_STRIDE = 8 * len(ORDER)
EDGES = [
    0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF,
    0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 2**32, 2**63 - 1, 2**63, 2**64 - 1,
]  # fmt: skip
NAMES = sorted(OPCODES)
COMMON = [n for n in NAMES if not n.startswith(("cvt", "setp", "set."))]

Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Context:
    """The statements allowed at a position: `shared` is "write" or "read", depending on the phase
    between barriers.

    `plain` prevents lanes from leaving inside branches, so that warp instructions have one possible
    count (`Kernel.reconvergence_is_plain`).
    """

    shared: str
    plain: bool
    counters: tuple[Reg, ...] = ()
    leaves: tuple[str, ...] = ()
    depth: int = 0

    @property
    def inside_branch(self) -> Context:
        leaves = () if self.plain else self.leaves
        return Context(self.shared, self.plain, self.counters, leaves, self.depth + 1)

    def inside_loop(self, counter: Reg) -> Context:
        leaves = ("break", "continue", *(() if self.plain else self.leaves))
        counters = (*self.counters, counter)
        return Context(
            self.shared, self.plain, counters, tuple(sorted(set(leaves))), self.depth + 1
        )


def do(name: str, result: Reg, *sources: Operand, guard: Guard | None = None) -> Instr:
    return Instr(name, result, sources, guard)


@cache
@st.composite
def _operands(draw: st.DrawFn, kind: str, counters: tuple[Reg, ...] = ()) -> Operand:
    if kind == "lut":
        return draw(st.integers(0, 255))
    mask = 255 if kind == "byte" else (1 << WIDTHS[kind]) - 1
    kind = "b32" if kind == "byte" else kind
    pool: list[Reg] = [*POOL[kind], *(counters if kind == "b32" else ())]
    if kind in ("pred", "f32") or draw(st.integers(0, 3)):
        return draw(st.sampled_from(pool))
    return draw(_values(mask)) & mask


@cache
def _values(mask: int) -> st.SearchStrategy[int]:
    return st.sampled_from(EDGES) | st.integers(0, mask)


@cache
@st.composite
def guards(draw: st.DrawFn) -> Guard:
    return Guard(draw(st.sampled_from(POOL["pred"])), draw(st.booleans()))


MAYBE = st.none() | guards()
ANY_NAME = st.sampled_from(COMMON) | st.sampled_from(NAMES)


@cache
@st.composite
def _computing(draw: st.DrawFn, context: Context) -> Body:
    name = draw(ANY_NAME)
    definition = OPCODES[name]
    before: list[Statement] = []
    sources: list[Operand] = []
    for kind in definition.sources:
        if kind.startswith("nonzero"):
            bits = kind.removeprefix("nonzero")
            divisor = INDEX if bits == "32" else ADDRESS
            dividing = draw(_operands(f"b{bits}", context.counters))
            before.append(do(f"max.u{bits}", divisor, dividing, 1))
            sources.append(divisor)
        else:
            sources.append(draw(_operands(kind, context.counters)))
    guard = draw(MAYBE)
    result = draw(st.sampled_from(POOL[definition.result]))
    return (*before, Instr(name, result, tuple(sources), guard))


def _type(draw: st.DrawFn) -> tuple[str, Reg, Reg | None]:
    """Draw the type of a load or store, and its register; a vector of two has a second register."""
    type_ = draw(st.sampled_from(["u32", "u64", "s32", "b32", "u8", "s8", "u16", "s16", "b64"]))
    bits = int(type_[1:])
    kinds = ["b32", "b64"] if bits < 32 else [f"b{bits}"]
    pool = POOL[draw(st.sampled_from(kinds))]
    register = draw(st.sampled_from(pool))
    second = draw(st.none() | st.sampled_from(pool)) if bits < 64 else None
    return type_, register, None if second == register else second


@cache
@st.composite
def _accesses(draw: st.DrawFn, context: Context) -> Body:
    """A load or store at an address that no other thread writes at the same time."""
    guard = draw(MAYBE)
    type_, register, second = _type(draw)
    size = int(type_[1:]) // 8 * (1 if second is None else 2)
    index = draw(_operands("b32", context.counters))
    offset = draw(st.integers(0, SLOT // size - 1)) * size
    where = draw(st.sampled_from(["input", "own", "shared", "local"]))
    if where == "input":
        at = (do("rem.u32", INDEX, index, WORDS), do("mad.wide.u32", ADDRESS, INDEX, 8, INPUT))
        return (*at, Load("global", type_, register, ADDRESS, offset, guard, second))
    if where != "shared" or context.shared == "write":
        before: Body = ()
        space, address = {
            "own": ("global", OWN), "shared": ("shared", OWN_SHARED), "local": ("local", ADDRESS),
        }[where]  # fmt: skip
        if where == "local":
            before = (
                do("and.b32", INDEX, index, LOCAL_BYTES // SLOT - 1),
                do("mad.wide.u32", ADDRESS, INDEX, SLOT, LOCAL_BASE),
            )
        if draw(st.booleans()):
            return (*before, Load(space, type_, register, address, offset, guard, second))
        return (*before, Store(space, type_, address, register, offset, guard, second))
    whose = draw(st.sampled_from([(THREADS, SHARED_BASE), (TOTAL_SLOTS, SHARED_TOTALS)]))
    return (
        do("rem.u32", INDEX, index, whose[0]),
        do("mad.lo.u32", SHARED_ADDRESS, INDEX, SLOT, whose[1]),
        Load("shared", type_, register, SHARED_ADDRESS, offset, guard, second),
    )


@cache
@st.composite
def _atomics(draw: st.DrawFn, context: Context) -> Body:
    guard = draw(MAYBE)
    alone = draw(st.booleans())
    full = draw(st.sampled_from(COMMUTING + ALONE if alone else COMMUTING))
    operation, type_ = full.split(".")
    kind = f"b{type_[1:]}"
    value = draw(_operands(kind))
    space = draw(st.sampled_from(["global", "shared"])) if context.shared == "write" else "global"
    if alone:  # no other thread's, so that the old value is defined
        compared = draw(_operands(kind)) if operation == "cas" else None
        result = draw(st.sampled_from(POOL[kind]))
        address = OWN if space == "global" else OWN_SHARED
        return (Atomic(space, operation, type_, result, address, value, compared, guard),)
    ignored = IGNORED32 if kind == "b32" else IGNORED64
    result_ = draw(st.sampled_from([None, ignored]))
    row = COMMUTING.index(full) * 32
    choose = do("and.b32", INDEX, draw(_operands("b32", context.counters)), 3)
    if space == "global":
        at: Body = (
            choose,
            do("mad.wide.u32", ADDRESS, INDEX, SLOT, TOTALS),
            do("add.u64", ADDRESS, ADDRESS, row),
        )
        return (*at, Atomic(space, operation, type_, result_, ADDRESS, value, None, guard))
    at = (
        choose,
        do("mad.lo.u32", SHARED_ADDRESS, INDEX, SLOT, SHARED_TOTALS),
        do("add.u32", SHARED_ADDRESS, SHARED_ADDRESS, row),
    )
    return (*at, Atomic(space, operation, type_, result_, SHARED_ADDRESS, value, None, guard))


@st.composite
def _ifs(draw: st.DrawFn, context: Context) -> Body:
    inner = context.inside_branch
    then = draw(bodies(inner, 1, 4))
    otherwise = draw(st.just(()) | bodies(inner, 1, 3))
    return (If(draw(guards()), then, otherwise),)


@cache
@st.composite
def _switches(draw: st.DrawFn, context: Context) -> Body:
    inner = context.inside_branch
    ways = draw(st.lists(bodies(inner, 0, 2), min_size=1, max_size=4))
    chosen = draw(_operands("b32", context.counters))
    return (do("rem.u32", INDEX, chosen, len(ways)), Switch(INDEX, tuple(ways)))


@st.composite
def _loops(draw: st.DrawFn, context: Context) -> Body:
    """A loop of up to seven iterations, whose number depends on the lane."""
    level = len(context.counters)
    counter, limit = Reg("b32", f"%count{level}"), Reg("b32", f"%limit{level}")
    inner = context.inside_loop(counter)
    most = draw(st.sampled_from([1, 3] if context.counters else [1, 3, 7]))
    return (
        do("and.b32", limit, draw(_operands("b32", context.counters)), most),
        Loop(counter, Reg("pred", f"%test{level}"), draw(st.integers(0, 2)), limit,
             draw(st.integers(1, 2)), draw(bodies(inner, 1, 4)), draw(st.booleans())),
    )  # fmt: skip


@cache
@st.composite
def _leaving(draw: st.DrawFn, context: Context) -> Body:
    return (Leave(draw(st.sampled_from(context.leaves)), draw(guards())),)


@cache
def _parts(context: Context, least: int, most: int) -> st.SearchStrategy[list[Body]]:
    """All parts have equal weight, except branches and loops, which have twice the weight: there
    are two strategies for each, so they are never cached."""
    options = [_computing(context), _accesses(context), _atomics(context)]
    if context.depth < 3:
        options += [_ifs(context), _loops(context), _ifs(context), _loops(context)]
        options += [_switches(context)]
    if context.leaves:
        options += [_leaving(context)]
    return st.lists(st.one_of(options), min_size=least, max_size=most)


@cache
@st.composite
def bodies(draw: st.DrawFn, context: Context, least: int, most: int) -> Body:
    parts = draw(_parts(context, least, most))
    return tuple(statement for part in parts for statement in part)


@cache
@st.composite
def _collectives(draw: st.DrawFn, full_warps: bool) -> Body:
    """An instruction that all threads execute together. Lanes that are missing from the last warp
    are not read."""
    result = draw(st.sampled_from(POOL["b32"]))
    predicate = draw(st.sampled_from(POOL["pred"]))
    condition = draw(guards())
    value = draw(st.sampled_from(POOL["b32"]))
    what = draw(st.sampled_from(["shfl", "vote", "ballot", "redux", "match", "bar.red"]))
    if what == "vote":
        mode = draw(st.sampled_from(["all", "any", "uni"]))
        return (Collective(f"vote.sync.{mode}.pred", predicate, (condition, MASK)),)
    if what == "ballot":
        return (Collective("vote.sync.ballot.b32", result, (condition, MASK)),)
    if what == "redux":
        modes = ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32",
                 "or.b32", "xor.b32"]  # fmt: skip
        mode = draw(st.sampled_from(modes))
        return (Collective(f"redux.sync.{mode}", result, (value, MASK)),)
    if what == "match":
        bits = draw(st.sampled_from(["b32", "b64"]))
        value = draw(st.sampled_from(POOL[bits]))
        if draw(st.booleans()):
            return (Collective(f"match.all.sync.{bits}", result, (value, MASK), predicate),)
        return (Collective(f"match.any.sync.{bits}", result, (value, MASK)),)
    if what == "bar.red":
        mode = draw(st.sampled_from(["popc.u32", "and.pred", "or.pred"]))
        made = result if mode == "popc.u32" else predicate
        return (Collective(f"bar.red.{mode}", made, (0, condition)),)
    mode = draw(st.sampled_from(["up", "down", "bfly", "idx"] if full_warps else ["up", "idx"]))
    before: Body = ()
    distance = draw(_operands("b32"))
    segment = (32 - draw(st.sampled_from([32, 16, 8, 4, 2, 1]))) << 8
    clamp = segment | (0 if mode == "up" else 31)
    if mode == "idx" and not full_warps:
        before, distance, clamp = (do("rem.u32", INDEX, distance, LANES),), INDEX, 31
    second = draw(st.sampled_from([None, predicate]))
    sources = (value, distance, clamp, MASK)
    return (*before, Collective(f"shfl.sync.{mode}.b32", result, sources, second))


BARRIER = Collective("bar.sync", None, (0,))


@cache
@st.composite
def phases(draw: st.DrawFn, full_warps: bool, plain: bool) -> Body:
    """A phase that writes shared memory and one that reads it, each of which ends at a barrier; or
    nothing."""
    out: list[Statement] = []
    for shared in draw(st.sampled_from([(), ("write", "read")])):
        out += draw(bodies(Context(shared, plain), 0, 4))
        for each in draw(st.lists(_collectives(full_warps), max_size=2)):
            out += each
        out.append(BARRIER)
    return tuple(out)
