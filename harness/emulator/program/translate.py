"""Translate PTX statements to a `Program`: one linear list of operations, then ordered blocks.

Calls are replaced (`calls`), guards on anything but a branch become a branch around the
instruction, and labels become block numbers. Anything unknown is rejected here, before anything
runs.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from harness.emulator.errors import UnknownInstruction
from harness.emulator.program.analysis.liveness import annotate
from harness.emulator.program.analysis.waiting_loops import keep_loop_conditions, loops_by_head
from harness.emulator.program.analysis.warp_syncs import need_splitting, split_at_warp_syncs
from harness.emulator.program.block_order import execution_order
from harness.emulator.program.calls import CallTranslator, as_memory
from harness.emulator.program.ir import (
    Barrier,
    Block,
    Branch,
    Exit,
    Jump,
    Mark,
    Op,
    Program,
    Site,
    Switch,
    Terminator,
    To,
    Trap,
    successors,
)
from harness.emulator.ptx.source_lines import user_line
from harness.emulator.ptx.syntax import Function, Instruction, Kernel, Label, Module, Variable

DYNAMIC_SHARED_ALIGNMENT = 16
MOST_INSTRUCTIONS = 1 << 17  # limit for a kernel with all its calls inlined
MOST_NESTED_CALLS = 64
_MODIFIERS: dict[str, tuple[list[str], ...]] = {
    "bra": ([], ["uni"]), "ret": ([], ["uni"]), "call": ([], ["uni"]), "exit": ([],), "trap": ([],),
    "brx": (["idx"], ["idx", "uni"]),
}  # fmt: skip


def translate(module: Module, kernel: Kernel) -> Program:
    """Make the typed program of a kernel. Raises UnknownInstruction for an instruction that it
    cannot express.
    """
    return _Translator(module, kernel).program()


class _Translator(CallTranslator):
    def __init__(self, module: Module, kernel: Kernel) -> None:
        super().__init__(module, kernel)
        self.sites: list[Site] = self.decoder.sites
        self.nested = 0

    def program(self) -> Program:
        self.inline(self.kernel, "", {}, None)
        self.out_of_line()
        self.begin_stack(beside_recursion=bool(self.frames))
        blocks = self._blocks()
        if loops_by_head(blocks, self.sites) or need_splitting(blocks, self.sites):
            self.code = split_at_warp_syncs(self.code, self.sites, self.new_label)
            blocks = self._blocks()
        shared, static = self._shared_layout()
        local, local_bytes = _layout([v for v in self.variables.values() if v.space == "local"])
        registers = tuple(self.decoder.registers.values())
        annotate(blocks)
        keep_loop_conditions(blocks, self.sites)
        return Program(
            kernel=self.kernel.name,
            params=self.kernel.params,
            registers=registers,
            blocks=blocks,
            sites=tuple(self.sites),
            shared=shared,
            shared_static=static,
            local=local,
            local_bytes=local_bytes,
            symbols=tuple(self.decoder.symbols.values()),
        )

    def _shared_layout(self) -> tuple[dict[str, int], int]:
        """Lay out static variables first, then dynamic shared memory, where every extern array
        starts."""
        used = [v for v in self.decoder.symbols.values() if v.space == "shared"]
        used += [v for v in self.variables.values() if v.space == "shared"]
        layout, static = _layout([v for v in used if not v.extern and v.size])
        dynamic = [v for v in used if v.extern or not v.size]
        align = max([DYNAMIC_SHARED_ALIGNMENT, *(v.align for v in dynamic)])
        start = -(-static // align) * align if dynamic else static
        layout.update({v.name: start for v in dynamic})
        return layout, start

    # --- statements -----------------------------------------------------------------------

    def inline(
        self, function: Function, prefix: str, renamed: dict[str, str], after: str | None
    ) -> None:
        """Append a function's body; `after` is the target of `ret`, None in the kernel itself."""
        self.nested += 1
        if self.nested > MOST_NESTED_CALLS:
            raise self.decoder.unknown(f"more than {MOST_NESTED_CALLS} calls within one another")
        self.declare_registers(function, prefix)
        for name, variable in function.variables.items():
            if prefix + name not in self.decoder.frame:
                own_variable = dataclasses.replace(as_memory(variable), name=prefix + name)
                self.variables[prefix + name] = own_variable
        own = {n: prefix + n for n in (*function.registers, *function.variables)}
        names = {**own, **renamed}
        for statement in function.body or ():
            if isinstance(statement, Label):
                self.code.append(Mark(prefix + statement.name))
            else:
                self._statement(function, statement, prefix, names, after)
        # Falling off the end also returns.
        site = len(self.sites) - 1
        if after is None and site >= 0:
            self.code.append(To(Exit(site), guarded=site))
        elif after is not None:
            self.release(after, site, None)
        self.nested -= 1

    def _statement(
        self, function: Function, instruction: Instruction, prefix: str, names: dict[str, str],
        after: str | None,
    ) -> None:  # fmt: skip
        site = len(self.sites)
        where = user_line(instruction.location, self.caller)
        self.sites.append(Site(instruction.opcode, instruction.ptx_line, where))
        decoder = self.decoder
        decoder.begin(instruction, names, site)
        if site >= MOST_INSTRUCTIONS:
            raise decoder.unknown(
                f"the kernel has more than {MOST_INSTRUCTIONS} instructions, counting those of a "
                "function once for each call of it"
            )
        opcode, *modifiers = instruction.opcode.split(".")
        if modifiers not in _MODIFIERS.get(opcode, (modifiers,)):
            raise decoder.unknown()
        guard = instruction.guard
        guarded, skip = None, ""
        if guard is not None:
            predicate = decoder.register(guard.text)
            decoder.check_type(predicate, "pred")
            if opcode == "bra":
                label = prefix + decoder.label(instruction)
                branch = Branch(predicate, not guard.negated, -1, -1, site)
                self.code.append(To(branch, (label,)))
                return
            skip, guarded = self.new_label(), site
            branch = Branch(predicate, guard.negated, -1, -1, site, guards=True)
            self.code.append(To(branch, (skip,)))
        self._unguarded(function, instruction, prefix, names, after, site, guarded)
        if skip:
            self.code.append(Mark(skip))

    def _unguarded(
        self, function: Function, instruction: Instruction, prefix: str, names: dict[str, str],
        after: str | None, site: int, guarded: int | None,
    ) -> None:  # fmt: skip
        opcode = instruction.opcode.split(".")[0]
        if opcode == "bra":
            label = prefix + self.decoder.label(instruction)
            self.code.append(To(Jump(-1, site), (label,), guarded))
        elif opcode in ("ret", "exit"):
            if after is None or opcode == "exit":
                self.code.append(To(Exit(site), guarded=guarded))
            else:
                self.release(after, site, guarded)
                self.code.append(To(Jump(-1, site), (after,), guarded))
        elif opcode == "trap":
            self.code.append(To(Trap(site), guarded=guarded))
        elif opcode == "brx":
            targets = function.branch_targets.get(self.decoder.label(instruction, 1), ())
            if not targets:
                raise self.decoder.unknown("its table of targets is missing")
            index = self.decoder.register_operand(instruction.operands[0], "u32")
            switch = Switch(index, (), site)
            self.code.append(To(switch, tuple(prefix + t for t in targets), guarded))
        elif opcode == "call":
            self.call(instruction, names, site, guarded)
        elif instruction.opcode.startswith("barrier.cluster.arrive"):
            words = instruction.opcode.split(".")[3:]
            self.code += [(op, guarded) for op in self.decoder.cluster_arrive(words)]
        elif _is_barrier(instruction):
            ops, barrier = self._barrier(instruction)
            self.code += [(op, guarded) for op in ops]
            after_barrier = self.new_label()
            self.code += [To(barrier, (after_barrier,), guarded), Mark(after_barrier)]
        else:
            self.code += [(op, guarded) for op in self.decoder.ops(instruction)]

    def _barrier(self, instruction: Instruction) -> tuple[list[Op], Barrier]:
        words = instruction.opcode.split(".")
        if words[:3] == ["barrier", "cluster", "wait"]:
            return [], self.decoder.cluster_wait(words[3:])
        if words[0] == "wgmma":
            return self.decoder.warpgroup_wait(instruction)
        return self.decoder.barrier(instruction)

    # --- blocks ---------------------------------------------------------------------------

    def _blocks(self) -> list[Block]:
        """Cut the linear code into blocks and number them in execution order."""
        drafts: list[tuple[Block, tuple[str, ...], bool]] = []
        at: dict[str, int] = {}
        block = Block([], Trap(-1))
        pending: list[str] = []

        def close(terminator: Any, labels: tuple[str, ...], falls: bool) -> None:
            nonlocal block
            block.terminator = terminator
            drafts.append((block, labels, falls))
            block = Block([], Trap(-1))

        started = False
        for entry in self.code:
            if isinstance(entry, Mark):
                if started:
                    close(Jump(-1), (), True)
                    started = False
                pending.append(entry.label)
                continue
            if not started:
                at.update(dict.fromkeys(pending, len(drafts)))
                pending, started = [], True
            if isinstance(entry, To):
                block.guarded_site = (
                    entry.guarded if block.guarded_site is None else block.guarded_site
                )
                close(entry.terminator, entry.labels, isinstance(entry.terminator, Branch))
                started = False
            else:
                op, guarded = entry
                if guarded is not None:
                    block.guarded_site = guarded
                block.ops.append(op)
        if pending or started:  # a label at the very end: only the return follows
            at.update(dict.fromkeys(pending, len(drafts)))
            close(Exit(max(len(self.sites) - 1, 0)), (), False)
            drafts[-1][0].guarded_site = max(len(self.sites) - 1, 0)
        return self._number(drafts, at)

    def _number(
        self, drafts: list[tuple[Block, tuple[str, ...], bool]], at: dict[str, int]
    ) -> list[Block]:
        for i, (block, labels, falls) in enumerate(drafts):
            missing = [label for label in labels if label not in at]
            if missing:
                site = self.sites[getattr(block.terminator, "site", 0) or 0]
                raise UnknownInstruction(
                    site.opcode, str(site.location or self.kernel.name), site.ptx_line,
                    f"no label `{missing[0]}`",
                )  # fmt: skip
            targets = [at[label] for label in labels]
            block.terminator = _with_targets(block.terminator, targets, i + 1 if falls else None)
        order = execution_order([successors(block.terminator) for block, _, _ in drafts])
        number = {old: new for new, old in enumerate(order)}
        out = []
        for old in order:
            block = drafts[old][0]
            block.terminator = _renumbered(block.terminator, number)
            _set_sites(block)
            out.append(block)
        return out


def _with_targets(terminator: Any, targets: list[int], following: int | None) -> Terminator:
    if isinstance(terminator, Branch):
        assert following is not None
        return dataclasses.replace(terminator, target=targets[0], otherwise=following)
    if isinstance(terminator, (Jump, Barrier)):
        target = targets[0] if targets else following
        assert target is not None
        return dataclasses.replace(terminator, target=target)
    if isinstance(terminator, Switch):
        return dataclasses.replace(terminator, targets=tuple(targets))
    assert isinstance(terminator, (Exit, Trap))
    return terminator


def _renumbered(terminator: Terminator, number: dict[int, int]) -> Terminator:
    if isinstance(terminator, Branch):
        return dataclasses.replace(
            terminator, target=number[terminator.target], otherwise=number[terminator.otherwise]
        )
    if isinstance(terminator, (Jump, Barrier)):
        return dataclasses.replace(terminator, target=number[terminator.target])
    if isinstance(terminator, Switch):
        return dataclasses.replace(terminator, targets=tuple(number[t] for t in terminator.targets))
    return terminator


def _is_barrier(instruction: Instruction) -> bool:
    """Return whether threads can pass the instruction only together."""
    words = instruction.opcode.split(".")
    of_threads = words[0] in ("bar", "barrier") and "warp" not in words
    return of_threads or words[:2] == ["wgmma", "wait_group"]


def _set_sites(block: Block) -> None:
    """Record the instructions that are counted with each execution of the block."""
    sites = dict.fromkeys(op.site for op in block.ops)
    terminator = block.terminator
    if not isinstance(terminator, Branch) and terminator.site is not None:
        sites[terminator.site] = None
    if block.guarded_site is not None:
        sites.pop(block.guarded_site, None)
    block.sites = list(sites)


def _layout(variables: list[Variable]) -> tuple[dict[str, int], int]:
    """Lay out variables one after another, each aligned; return their offsets and their total
    size."""
    offsets, total = {}, 0
    for variable in variables:
        total = -(-total // variable.align) * variable.align
        offsets[variable.name] = total
        total += variable.size
    return offsets, total
