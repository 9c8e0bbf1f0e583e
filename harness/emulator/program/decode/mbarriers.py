"""Decode asynchronous copies, and the mbarriers on which they signal completion.

In the emulator, an mbarrier is one word with these fields: the arrivals that its current phase
still waits for, the arrivals per phase, the bytes still to come, and the phase's parity
(`memory/mbarrier.h`). Arriving is an atomic on that word, and testing is a load of it; both order
memory accesses between threads, as in the memory model. Copies move their bytes when they are
issued, except that `cp.async` writes when its thread waits. The checks do not rely on this timing:
until a thread knows that a copy is complete, it may neither write the source nor access the
destination (`judge/ordering/flights.h`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.emulator.program.decode.memory import MemoryDecoder
from harness.emulator.program.ir import Constant, Op, Register, Source, unsigned
from harness.emulator.ptx.syntax import TYPE_SIZES, Group, Instruction, Number, Operand

COUNT_BITS, PARITY_BIT = 20, 63
_ORDERS = {"release", "acquire", "relaxed"}
_SCOPES = {"cta", "cluster"}
_REDUCED_IN_BULK = {
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "bf16"), "inc": ("u32",), "dec": ("u32",),
    "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "max": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
}  # fmt: skip
TELLS = "mbarrier::complete_tx::bytes"
_STORED_ASYNC = ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")
_REDUCED_ASYNC = {
    "add": ("u32", "s32", "u64"), "min": ("u32", "s32"), "max": ("u32", "s32"), "and": ("b32",),
    "or": ("b32",), "xor": ("b32",), "inc": ("u32",), "dec": ("u32",),
}  # fmt: skip


class MbarrierDecoder(MemoryDecoder):
    """`mbarrier`, `cp.async` and `cp.async.bulk`, `st.async` and `red.async`."""

    # --- mbarriers ------------------------------------------------------------------------

    def _op_mbarrier(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if types != ["b64"] or not modifiers:
            raise self.unknown()
        operation, *rest = modifiers
        space, rest = self._space(rest)
        if space not in ("", "shared"):
            raise self.unknown("an mbarrier is in shared memory")
        reader = getattr(self, f"_mbarrier_{operation}", None)
        if reader is None:
            raise self.unknown()
        made: list[Op] = reader(instruction, space, rest)
        return made

    def _ordered(self, rest: list[str], *besides: str) -> None:
        """Reject modifiers other than an order, a scope or the given ones."""
        if set(rest) - _ORDERS - _SCOPES - set(besides) or len(set(rest)) < len(rest):
            raise self.unknown()

    def _mbarrier_init(self, instruction: Instruction, space: str, rest: list[str]) -> list[Op]:
        self._ordered(rest)
        where, given = self.given(instruction, 2)
        ops: list[Op] = []
        taken = self.source(given, "u32")
        ops.append(Op("mbarrier_count", (), (), (), (taken,), ("u32",), self.site))
        count = self._wide("!mbarrier count", taken, ops)
        state = self.declare("!mbarrier state", "u64")
        both = Constant(1 | 1 << COUNT_BITS)
        ops.append(Op("mul", ("lo",), (state,), ("u64",), (count, both), ("u64", "u64"), self.site))
        return [*ops, self._store_state(space, where, state)]

    def _mbarrier_inval(self, instruction: Instruction, space: str, rest: list[str]) -> list[Op]:
        self._ordered(rest)
        (where,) = self.given(instruction, 1)
        return [self._store_state(space, where, Constant(0))]

    def _store_state(self, space: str, where: Operand, state: Source) -> Op:
        base, offset, kind = self._place(self._own_space(space, where), where)
        return Op("st", (space,), (), (), (base, offset, state), (kind, "s64", "u64"), self.site)

    def _mbarrier_arrive(self, instruction: Instruction, space: str, rest: list[str]) -> list[Op]:
        self._ordered(rest, "expect_tx", "noComplete")
        target, where, *given = self.given(instruction, 2, 3)
        ops: list[Op] = []
        expects = "expect_tx" in rest
        if expects and not given:
            raise self.unknown("without the bytes to expect")
        amount = (
            self._wide("!mbarrier amount", self.source(given[0], "u32"), ops) if given else None
        )
        count: Source = Constant(1) if expects or amount is None else amount
        more: Source = amount if expects and amount is not None else Constant(0)
        drops = instruction.opcode.startswith("mbarrier.arrive_drop")
        name = "arrive_drop" if drops else "arrive"
        if "noComplete" in rest:
            name += ".within"
        return [*ops, self._update(name, space, where, self.result(target), count, more)]

    _mbarrier_arrive_drop = _mbarrier_arrive

    def _mbarrier_expect_tx(
        self, instruction: Instruction, space: str, rest: list[str]
    ) -> list[Op]:
        self._ordered(rest)
        where, given = self.given(instruction, 2)
        ops: list[Op] = []
        more = self._wide("!mbarrier amount", self.source(given, "u32"), ops)
        return [*ops, self._update("arrive", space, where, None, Constant(0), more)]

    def _mbarrier_complete_tx(
        self, instruction: Instruction, space: str, rest: list[str]
    ) -> list[Op]:
        self._ordered(rest)
        where, given = self.given(instruction, 2)
        ops: list[Op] = []
        done = self._less(self.source(given, "u32"), ops)
        return [*ops, self._update("arrive", space, where, None, Constant(0), done)]

    def _update(
        self, name: str, space: str, where: Operand, result: Register | None, count: Source,
        more_bytes: Source,
    ) -> Op:  # fmt: skip
        base, offset, kind = self._place(self._own_space(space, where), where)
        made = () if result is None else (result,)
        read = (base, offset, count, more_bytes)
        kinds = (kind, "s64", "u64", "u64")
        return Op("atom", (space, name), made, ("u64",) * len(made), read, kinds, self.site)

    def _mbarrier_test_wait(
        self, instruction: Instruction, space: str, rest: list[str]
    ) -> list[Op]:
        """Decode a test for the end of a phase, which is given by a state or by its parity."""
        self._ordered(rest, "parity")
        tries = instruction.opcode.startswith("mbarrier.try_wait")
        target, where, phase, *_ = self.given(instruction, *((3, 4) if tries else (3,)))
        ops: list[Op] = []
        if "parity" in rest:
            of = self._wide("!mbarrier phase", self.source(phase, "u32"), ops)
            shift = (of, Constant(PARITY_BIT))
            ops.append(Op("shl", (), (of,), ("u64",), shift, ("u64", "u32"), self.site))
            waited_for: Source = of
        else:
            waited_for = self.source(phase, "u64")
        now, apart = (self.declare(f"!mbarrier {name}", "u64") for name in ("now", "apart"))
        base, offset, kind = self._place(self._own_space(space, where), where)
        return [
            *ops,
            Op("ld", (space,), (now,), ("u64",), (base, offset), (kind, "s64"), self.site),
            Op("xor", (), (apart,), ("u64",), (now, waited_for), ("u64", "u64"), self.site),
            Op("setp", ("lt",), (self.result(target),), ("pred",), (apart, Constant(0)),
               ("s64", "s64"), self.site),
        ]  # fmt: skip

    _mbarrier_try_wait = _mbarrier_test_wait

    def _mbarrier_pending_count(
        self, instruction: Instruction, _: str, rest: list[str]
    ) -> list[Op]:
        if rest:
            raise self.unknown()
        target, state = self.given(instruction, 2)
        low = self.declare("!mbarrier low", "u32")
        ones = Constant((1 << COUNT_BITS) - 1)
        return [
            Op("cvt", (), (low,), ("u32",), (self.source(state, "u64"),), ("u64",), self.site),
            Op("and", (), (self.result(target),), ("u32",), (low, ones), ("u32", "u32"), self.site),
        ]

    def _wide(self, name: str, source: Source, ops: list[Op]) -> Register:
        """Widen a 32-bit operand to a 64-bit register."""
        register = self.declare(name, "u64")
        ops.append(Op("cvt", (), (register,), ("u64",), (source,), ("u32",), self.site))
        return register

    def _less(self, source: Source, ops: list[Op]) -> Register:
        """Negate a 32-bit operand, in a 64-bit register."""
        register = self._wide("!mbarrier bytes", source, ops)
        ops.append(Op("neg", (), (register,), ("u64",), (register,), ("u64",), self.site))
        return register

    # --- stores and atomics ---------------------------------------------------------------

    def _op_st(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if modifiers[:1] != ["async"]:
            return super()._op_st(instruction, modifiers, types)
        if types not in ([t] for t in _STORED_ASYNC) or set(modifiers) & _ORDERS:
            raise self.unknown()
        return self._telling(instruction, modifiers, super()._op_st, types)

    def _op_red(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if modifiers[:1] != ["async"]:
            return super()._op_red(instruction, modifiers, types)
        known = len(types) == 1 and any(types[0] in _REDUCED_ASYNC.get(m, ()) for m in modifiers)
        if not known or not {"relaxed", "cluster"} <= set(modifiers):
            raise self.unknown()
        return self._telling(instruction, modifiers, super()._op_red, types)

    def _telling(
        self, instruction: Instruction, modifiers: list[str], reader: Callable[..., list[Op]],
        types: list[str],
    ) -> list[Op]:  # fmt: skip
        """Decode an asynchronous store or atomic. It takes effect at once, and then signals an
        mbarrier with the number of bytes moved.
        """
        rest = [m for m in modifiers if m not in ("async", TELLS)]
        where, value, barrier = self.given(instruction, 3)
        if len(modifiers) - len(rest) != 2 or self._space(rest)[0] not in ("", "shared"):
            raise self.unknown()
        made = reader(replace(instruction, operands=(where, value)), rest, types)
        count = TYPE_SIZES[types[0]] * (len(value.items) if isinstance(value, Group) else 1)
        space = self._space(rest)[0]
        done = Constant((1 << 64) - count)
        return [*made, self._update("arrive", space, barrier, None, Constant(0), done)]

    # --- copies ---------------------------------------------------------------------------

    def _op_cp(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        words = instruction.opcode.split(".")[1:]
        if words[:2] == ["async", "bulk"]:
            return self._bulk(instruction, words[2:])
        if words[:3] == ["reduce", "async", "bulk"]:
            return self._reduce_bulk(instruction, words[3:])
        if words[:3] == ["async", "mbarrier", "arrive"]:
            return self._arrive_after_copies(instruction, words[3:])
        if words in (["async", "commit_group"], ["async", "wait_all"]):
            name = "copy_commit" if words[1] == "commit_group" else "copy_wait"
            return [Op(name, (), (), (), (), (), self.site)]
        if words == ["async", "wait_group"]:
            (left,) = self.given(instruction, 1)
            return [Op("copy_wait", (str(self._literal(left)),), (), (), (), (), self.site)]
        hints = [w for w in words if w.startswith("L2::") and "cache_hint" not in w]
        words = [w.partition("::")[0] for w in words if w not in hints]
        if words not in (["async", "ca", "shared", "global"], ["async", "cg", "shared", "global"]):
            raise self.unknown()
        target, source, size, *filled = self.given(instruction, 3, 4)
        count = self._literal(size)
        if count not in ((16,) if "cg" in words else (4, 8, 16)):
            raise self.unknown()
        ops: list[Op] = []
        places = (("shared", target), ("global", source))
        ends = [self._end(s, o, f"!copy {i}", ops) for i, (s, o) in enumerate(places)]
        read = self.source(filled[0], "u32") if filled else Constant(count)
        kinds = ("u64", "u64", "u32")
        ops.append(Op("copy_async", (str(count),), (), (), (*ends, read), kinds, self.site))
        return ops

    def _arrive_after_copies(self, instruction: Instruction, words: list[str]) -> list[Op]:
        """Complete the thread's copies, then arrive; the arrival is counted only with `.noinc`."""
        counts = words[:1] == ["noinc"]
        space, rest = self._space(words[counts:])
        if rest != ["b64"] or space not in ("", "shared"):
            raise self.unknown()
        (where,) = self.given(instruction, 1)
        arrives = self._update("arrive", space, where, None, Constant(int(counts)), Constant(0))
        ops: list[Op] = []
        at = self._end(space, where, "!copy mbarrier", ops)
        hands = Op("copy_hand_over", (), (), (), (at,), ("u64",), self.site)
        return [*ops, hands, arrives]

    def _bulk(self, instruction: Instruction, words: list[str]) -> list[Op]:
        if words == ["commit_group"]:
            return [Op("bulk_commit", (), (), (), (), (), self.site)]
        if words in (["wait_group"], ["wait_group", "read"]):
            (left,) = self.given(instruction, 1)
            variant = (str(self._literal(left)), *words[1:])
            return [Op("bulk_wait", variant, (), (), (), (), self.site)]
        if words[:2] == ["prefetch", "L2"]:
            return [Op("fence", ("",), (), (), (), (), self.site)]
        return self._bulk_copy(instruction, words)

    def _bulk_copy(
        self, instruction: Instruction, words: list[str], reduces: tuple[str, ...] = ()
    ) -> list[Op]:
        """Decode a bulk copy or reduction by its spaces and by how it signals completion."""
        spaces = [w.partition("::")[0] for w in words[:2]]
        to_many = words == ["shared::cluster", "global", TELLS, "multicast::cluster"]
        between = words == ["shared::cluster", "shared::cta", TELLS]
        if to_many or between or (spaces == ["shared", "global"] and words[2:] == [TELLS]):
            target, source, size, *told = self.given(instruction, 4 + to_many)
        elif spaces == ["global", "shared"] and words[2:] == ["bulk_group"]:
            target, source, size, *told = self.given(instruction, 3)
        else:
            raise self.unknown()
        ops: list[Op] = []
        places = zip(spaces, (target, source), strict=True)
        ends = [self._end(s, o, f"!copy {i}", ops) for i, (s, o) in enumerate(places)]
        count = self.source(size, "u32")
        read: tuple[Source, ...] = (*ends, count)
        kinds: tuple[str, ...] = ("u64", "u64", "u32")
        variant = (spaces[0], "many" if to_many else "between" if between else "", *reduces)
        if not told:
            return [*ops, Op("copy_bulk", variant, (), (), read, kinds, self.site)]
        barrier, *ranks = told
        place = self._end("shared", barrier, "!copy mbarrier", ops)
        read, kinds = (*read, place), (*kinds, "u64")
        blocks = [self.source(each, "u16") for each in ranks]
        read, kinds = (*read, *blocks), (*kinds, *["u16"] * len(blocks))
        ops.append(Op("copy_bulk", variant, (), (), read, kinds, self.site))
        done = self._less(count, ops)
        if blocks:
            return [*ops, *self.arrive_in_many(place, done, blocks[0])]
        if between:
            return [*ops, *self._arrive_in_another(place, done)]
        return [*ops, self.arrive_at(place, done)]

    def arrive_at(self, place: Source, done: Register) -> Op:
        """Report bytes to the mbarrier of a copy, which may be in another block of the cluster."""
        read = (place, Constant(0), Constant(0), done)
        kinds = ("u64", "s64", "u64", "u64")
        return Op("atom", ("shared", "arrive"), (), (), read, kinds, self.site)

    def arrive_in_many(self, place: Source, done: Register, ranks: Source) -> list[Op]:
        """Report bytes to the mbarrier at the same offset in each of several blocks of the
        cluster."""
        blocks = self.declare("!copy blocks", "u64")
        widened = Op("cvt", (), (blocks,), ("u64",), (ranks,), ("u16",), self.site)
        return [widened, *self._arrive_in_another(place, done, "arrive_in_many", blocks)]

    def _arrive_in_another(
        self, place: Source, done: Register, name: str = "arrive", *blocks: Source
    ) -> list[Op]:
        """Report bytes to an mbarrier in the cluster's shared memory."""
        where = self.declare("!copy mbarriers", "u64")
        read = (where, Constant(0), Constant(0), done, *blocks)
        kinds = ("u64", "s64", "u64", "u64", *["u64"] * len(blocks))
        return [
            Op("cvta", ("from", "shared"), (where,), ("u64",), (place,), ("u64",), self.site),
            Op("atom", ("", name), (), (), read, kinds, self.site),
        ]

    def _reduce_bulk(self, instruction: Instruction, words: list[str]) -> list[Op]:
        """Reduce to global memory, or to another block's shared memory; halves are added without
        flushing subnormals."""
        where, rest, type_ = words[:3], words[3:-1], words[-1]
        known = {"global": _REDUCED_IN_BULK, "shared::cluster": _REDUCED_ASYNC}.get(where[0], {})
        if where[1:2] != ["shared::cta"] or not rest:
            raise self.unknown()
        half = type_ in ("f16", "bf16")
        keeps_subnormals = ["noftz"] * (half and rest[0] == "add")
        if type_ not in known.get(rest[0], ()) or rest[1:] != keeps_subnormals:
            raise self.unknown()
        signed_matters = half or rest[0] in ("min", "max") or type_[0] == "f"
        kind = type_ if signed_matters else unsigned(type_)
        return self._bulk_copy(instruction, where, (rest[0], kind))

    def _literal(self, operand: Operand) -> int:
        if not isinstance(operand, Number) or not isinstance(operand.value, int):
            raise self.unknown("expected an integer")
        return operand.value

    def _end(self, space: str, operand: Operand, name: str, ops: list[Op]) -> Source:
        """Put an address into one 64-bit register."""
        return self._whole(*self._place(space, operand), name, ops)

    def _whole(self, base: Source, offset: Constant, kind: str, name: str, ops: list[Op]) -> Source:
        register = self.declare(name, "u64")
        ops.append(Op("cvt", (), (register,), ("u64",), (base,), (kind,), self.site))
        ops.append(Op("add", (), (register,), ("u64",), (register, offset), ("u64", "u64"),
                      self.site))  # fmt: skip
        return register
