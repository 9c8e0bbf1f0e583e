"""Decode instructions that involve several threads: shuffles, votes, fences, barriers."""

from __future__ import annotations

from harness.emulator.program import signatures
from harness.emulator.program.decode.operands import OperandReader
from harness.emulator.program.ir import Barrier, Constant, Op, Register, unsigned
from harness.emulator.ptx.syntax import Instruction, Number, Operand, Pair
from harness.silicon.architectures import WARP_SIZE

BARRIERS = 16  # per block


class WarpDecoder(OperandReader):
    """Decodes instructions by which threads exchange values or wait for each other."""

    def _warp_op(
        self, name: str, variant: str, results: tuple[Register | None, ...],
        result_types: tuple[str, ...], sources: tuple[Operand, ...], source_types: tuple[str, ...],
    ) -> list[Op]:  # fmt: skip
        if len(sources) != len(source_types):
            raise self.unknown()
        ops: list[Op] = []
        read = tuple(self.source(s, t, ops) for s, t in zip(sources, source_types, strict=True))
        ops.append(Op(name, (variant,), results, result_types, read, source_types, self.site))
        return ops

    def _op_shfl(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        modifiers = _sync_first(modifiers)
        if modifiers[:1] != ["sync"] or len(modifiers) != 2 or types != ["b32"]:
            raise self.unknown()
        if modifiers[1] not in ("up", "down", "bfly", "idx"):
            raise self.unknown()
        target, sources = self.result_and_sources(instruction)
        both = (target.first, target.second) if isinstance(target, Pair) else (target,)
        made = tuple(self.result(r) for r in both)
        return self._warp_op(
            "shfl", modifiers[1], made, ("u32", "pred")[: len(made)], sources, ("u32",) * 4
        )

    def _op_vote(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        modifiers = _sync_first(modifiers)
        if modifiers[:1] != ["sync"] or len(modifiers) != 2 or len(types) != 1:
            raise self.unknown()
        mode = modifiers[1]
        if (mode, types[0]) not in {
            ("all", "pred"), ("any", "pred"), ("uni", "pred"), ("ballot", "b32")
        }:  # fmt: skip
            raise self.unknown()
        target, sources = self.result_and_sources(instruction)
        kind = "u32" if mode == "ballot" else "pred"
        return self._warp_op(
            "vote", mode, (self.result(target),), (kind,), sources, ("pred", "u32")
        )

    def _op_match(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if set(modifiers) not in ({"sync", "any"}, {"sync", "all"}) or len(modifiers) != 2:
            raise self.unknown()
        mode = "any" if "any" in modifiers else "all"
        target, sources = self.result_and_sources(instruction)
        both = (target.first, target.second) if isinstance(target, Pair) else (target,)
        if types not in (["b32"], ["b64"]) or (mode == "any" and len(both) == 2):
            raise self.unknown()
        made = tuple(self.result(r) for r in both)
        kinds = ("u32", "pred")[: len(made)]
        return self._warp_op("match", mode, made, kinds, sources, (unsigned(types[0]), "u32"))

    def _op_redux(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers[:1] != ["sync"] or len(modifiers) != 2 or len(types) != 1:
            raise self.unknown()
        known = {"u32": ("add", "min", "max"), "b32": ("and", "or", "xor")}
        if modifiers[1] not in known.get(types[0].replace("s", "u"), ()):
            raise self.unknown()
        kind = types[0] if modifiers[1] in ("min", "max") else "u32"
        target, sources = self.result_and_sources(instruction)
        return self._warp_op(
            "redux", modifiers[1], (self.result(target),), (kind,), sources, (kind, "u32")
        )

    def _op_activemask(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers or types != ["b32"]:
            raise self.unknown()
        (target,) = self.given(instruction, 1)
        return self._warp_op("activemask", "", (self.result(target),), ("u32",), (), ())

    def _op_elect(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        target, mask = self.given(instruction, 2)
        if modifiers != ["sync"] or types or not isinstance(target, Pair):
            raise self.unknown()
        made = (self.result(target.first), self.result(target.second))
        return self._warp_op("elect", "", made, ("u32", "pred"), (mask,), ("u32",))

    def _op_bar(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if modifiers != ["warp", "sync"] or types:
            raise self.unknown()
        return self._warp_op("syncwarp", "", (), (), instruction.operands, ("u32",))

    def _op_fence(self, instruction: Instruction, modifiers: list[str], _: list[str]) -> list[Op]:
        if modifiers == ["mbarrier_init", "release", "cluster"] or _between_proxies(modifiers):
            return self._warp_op("fence", "", (), (), (), ())
        kinds = ("sc", "acq_rel", "acquire", "release")
        scopes = [m for m in modifiers if m not in kinds and "::" not in m]
        restricts = [m.partition("::")[0] for m in modifiers if "::" in m]
        if restricts not in ([], ["sync_restrict"]) or len(modifiers) > 2 + len(restricts):
            raise self.unknown()
        if scopes not in (["cta"], ["cluster"], ["gpu"], ["sys"]):
            raise self.unknown()
        return self._warp_op("fence", "", (), (), (), ())

    def _op_membar(self, instruction: Instruction, modifiers: list[str], _: list[str]) -> list[Op]:
        if modifiers not in (["cta"], ["gl"], ["sys"]):
            raise self.unknown()
        return self._warp_op("fence", "", (), (), (), ())

    def _op_nanosleep(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        return self._warp_op("fence", "", (), (), (), ())

    def _op_prefetch(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """Decode a prefetch hint, which moves data between caches and never faults."""
        return self._warp_op("fence", "", (), (), (), ())

    def _op_createpolicy(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """Decode a cache policy: a value that only accesses with a cache hint read."""
        if types != ["b64"] or not instruction.operands:
            raise self.unknown()
        made = (self.result(instruction.operands[0]),)
        return [Op("mov", (), made, ("u64",), (Constant(0),), ("u64",), self.site)]

    _op_pmevent = _op_nanosleep
    _op_prefetchu = _op_prefetch

    def _op_setmaxnreg(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """Decode a request for registers. In the emulator, no warp waits for them; the judge only
        adds up the requests."""
        (count,) = self.given(instruction, 1)
        known = modifiers in (["inc", "sync", "aligned"], ["dec", "sync", "aligned"])
        value = count.value if isinstance(count, Number) else 0
        if not known or types != ["u32"] or value not in range(24, 257, 8):
            raise self.unknown("it takes 24 to 256 registers, a multiple of 8")
        return [Op("set_registers", (str(value), modifiers[0]), (), (), (), (), self.site)]

    def _op_griddepcontrol(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """Do nothing: a launch begins only when the previous launch has ended."""
        if modifiers not in (["wait"], ["launch_dependents"]) or types or instruction.operands:
            raise self.unknown()
        return self._warp_op("fence", "", (), (), (), ())

    def barrier(self, instruction: Instruction) -> tuple[list[Op], Barrier]:
        """Decode `bar` and `barrier` with sync, arrive or red: preceding operations, and the
        barrier itself."""
        name, modifiers, types = signatures.split_opcode(instruction.opcode)
        if name == "bar" and "aligned" in modifiers:
            raise self.unknown()
        modifiers = [m for m in modifiers if m not in ("cta", "aligned")]
        operands = list(instruction.operands)
        ops: list[Op] = []
        if modifiers == ["sync"] and not types and len(operands) in (1, 2):
            count = self.source(operands[1], "u32") if len(operands) == 2 else None
            number = self.source(operands[0], "u32")
            return ops, self._in_range(Barrier(number, count, -1, self.site))
        if modifiers == ["arrive"] and not types and len(operands) == 2:
            number, threads = (self.source(o, "u32") for o in operands)
            return ops, self._in_range(Barrier(number, threads, -1, self.site, arrives=True))
        reductions = {("popc", "u32"), ("and", "pred"), ("or", "pred")}
        if len(modifiers) != 2 or modifiers[0] != "red" or len(types) != 1:
            raise self.unknown()
        if (modifiers[1], types[0]) not in reductions or len(operands) not in (3, 4):
            raise self.unknown()
        count = self.source(operands[2], "u32") if len(operands) == 4 else None
        predicate = self.source(operands[-1], "pred", ops)
        if not isinstance(predicate, Register):
            held = self.declare("!bar.red", "pred")
            ops.append(Op("mov", (), (held,), ("pred",), (predicate,), ("pred",), self.site))
            predicate = held
        result = self.register_operand(operands[0], types[0])
        return ops, self._in_range(Barrier(
            self.source(operands[1], "u32"), count, -1, self.site, modifiers[1], predicate, result,
        ))  # fmt: skip

    def _in_range(self, barrier: Barrier) -> Barrier:
        """Reject literal barrier numbers and counts that no hardware supports."""
        number, count = barrier.number, barrier.count
        if isinstance(number, Constant) and number.bits >= BARRIERS:
            raise self.unknown(f"barrier {number.bits} of {BARRIERS}")
        if isinstance(count, Constant):
            of_nobody = barrier.arrives and count.bits == 0  # for a wait, 0 means the whole block
            if count.bits % WARP_SIZE or of_nobody:
                raise self.unknown(
                    f"{count.bits} threads at a barrier; it takes whole warps of {WARP_SIZE}"
                )
        for operand, type_ in ((number, "u32"), (count, "u32"), (barrier.predicate, "pred")):
            if isinstance(operand, Register):
                self.check_type(operand, type_)
        return barrier


def _between_proxies(modifiers: list[str]) -> bool:
    """Return whether a fence orders two kinds of access (proxies), which the emulator treats as
    one.
    """
    if modifiers[:1] != ["proxy"]:
        return False
    if modifiers[1:2] == ["tensormap::generic"]:
        return modifiers[2:3] in (["acquire"], ["release"])
    spaces: tuple[list[str], ...] = ([], ["global"], ["shared::cta"], ["shared::cluster"])
    return modifiers[1:] == ["alias"] or (modifiers[1:2] == ["async"] and modifiers[2:] in spaces)


def _sync_first(modifiers: list[str]) -> list[str]:
    """Move `sync` to the front: ptxas accepts `vote.ballot.sync` as well as `vote.sync.ballot`."""
    return sorted(modifiers, key=lambda modifier: modifier != "sync")
