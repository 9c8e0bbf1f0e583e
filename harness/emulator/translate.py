"""From PTX statements to a `Program`: one linear list of operations, then blocks in order.

Calls are inlined, guards on anything but a branch become a branch around the instruction, labels
become block numbers. Everything unknown is refused here, before anything runs.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from harness.emulator.controlflow import execution_order
from harness.emulator.decode import Decoder
from harness.emulator.errors import UnknownInstruction
from harness.emulator.liveness import annotate
from harness.emulator.program import (
    Barrier,
    Block,
    Branch,
    Exit,
    Jump,
    Op,
    Program,
    Site,
    Switch,
    Terminator,
    Trap,
    successors,
)
from harness.emulator.ptx import (
    Function,
    Group,
    Instruction,
    Kernel,
    Label,
    Module,
    Name,
    Variable,
)
from harness.emulator.source_lines import user_line

MAX_CALL_DEPTH = 32
DYNAMIC_SHARED_ALIGNMENT = 16


def translate(module: Module, kernel: Kernel) -> Program:
    """Make the typed program of a kernel. Raises UnknownInstruction for what it cannot express."""
    return _Translator(module, kernel).program()


@dataclass(frozen=True)
class _Mark:
    """A place that control may go to."""

    label: str


@dataclass(frozen=True)
class _To:
    """A terminator whose targets are labels still; block numbers are put in later."""

    terminator: Any
    labels: tuple[str, ...] = ()
    guarded: int | None = None


class _Translator:
    def __init__(self, module: Module, kernel: Kernel) -> None:
        self.module = module
        self.kernel = kernel
        self.code: list[_Mark | _To | tuple[Op, int | None]] = []
        self.sites: list[Site] = []
        self.variables: dict[str, Variable] = {}
        self.labels = 0
        self.decoder = Decoder(module, kernel, self.variables)

    def program(self) -> Program:
        self._function(self.kernel, "", {}, None, 0)
        blocks = self._blocks()
        shared, static = self._shared_layout()
        local, local_bytes = _layout([v for v in self.variables.values() if v.space == "local"])
        registers = tuple(self.decoder.registers.values())
        annotate(blocks)
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
        """Static variables first, then dynamic shared memory, where every extern array starts."""
        used = [v for v in self.decoder.symbols.values() if v.space == "shared"]
        used += [v for v in self.variables.values() if v.space == "shared"]
        layout, static = _layout([v for v in used if not v.extern and v.size])
        dynamic = [v for v in used if v.extern or not v.size]
        align = max([DYNAMIC_SHARED_ALIGNMENT, *(v.align for v in dynamic)])
        start = -(-static // align) * align if dynamic else static
        layout.update({v.name: start for v in dynamic})
        return layout, start

    # --- statements -----------------------------------------------------------------------

    def _new_label(self) -> str:
        self.labels += 1
        return f"#{self.labels}"

    def _function(
        self, function: Function, prefix: str, renamed: dict[str, str], after: str | None,
        depth: int,
    ) -> None:  # fmt: skip
        """Append a function's body; `after` is where `ret` goes, None in the kernel itself."""
        for name, kind in function.registers.items():
            self.decoder.declare(prefix + name, kind)
        for name, variable in function.variables.items():
            self.variables[prefix + name] = dataclasses.replace(variable, name=prefix + name)
        own = {n: prefix + n for n in (*function.registers, *function.variables)}
        names = {**own, **renamed}
        for statement in function.body or ():
            if isinstance(statement, Label):
                self.code.append(_Mark(prefix + statement.name))
            else:
                self._statement(function, statement, prefix, names, after, depth)
        # Falling off the end returns, too.
        site = len(self.sites) - 1
        if after is None and site >= 0:
            self.code.append(_To(Exit(site), guarded=site))

    def _statement(
        self, function: Function, instruction: Instruction, prefix: str, names: dict[str, str],
        after: str | None, depth: int,
    ) -> None:  # fmt: skip
        site = len(self.sites)
        where = user_line(instruction.location)
        self.sites.append(Site(instruction.opcode, instruction.ptx_line, where))
        decoder = self.decoder
        decoder.begin(instruction, names, site)
        opcode = instruction.opcode.split(".")[0]
        guard = instruction.guard
        guarded, skip = None, ""
        if guard is not None:
            predicate = decoder.register(guard.text)
            if opcode == "bra":
                label = prefix + decoder.label(instruction.operands[0])
                branch = Branch(predicate, not guard.negated, -1, -1, site)
                self.code.append(_To(branch, (label,)))
                return
            skip, guarded = self._new_label(), site
            branch = Branch(predicate, guard.negated, -1, -1, site, guards=True)
            self.code.append(_To(branch, (skip,)))
        self._unguarded(function, instruction, prefix, names, after, depth, site, guarded)
        if skip:
            self.code.append(_Mark(skip))

    def _unguarded(
        self, function: Function, instruction: Instruction, prefix: str, names: dict[str, str],
        after: str | None, depth: int, site: int, guarded: int | None,
    ) -> None:  # fmt: skip
        opcode = instruction.opcode.split(".")[0]
        if opcode == "bra":
            label = prefix + self.decoder.label(instruction.operands[0])
            self.code.append(_To(Jump(-1, site), (label,), guarded))
        elif opcode in ("ret", "exit"):
            if after is None or opcode == "exit":
                self.code.append(_To(Exit(site), guarded=guarded))
            else:
                self.code.append(_To(Jump(-1, site), (after,), guarded))
        elif opcode == "trap":
            self.code.append(_To(Trap(site), guarded=guarded))
        elif opcode == "brx":
            index, table = instruction.operands[:2]
            targets = function.branch_targets.get(self.decoder.label(table), ())
            if not targets:
                raise self.decoder.unknown("its table of targets is missing")
            switch = Switch(self.decoder.register_operand(index), (), site)
            self.code.append(_To(switch, tuple(prefix + t for t in targets), guarded))
        elif opcode == "call":
            self._call(instruction, prefix, names, depth, site, guarded)
        elif opcode in ("bar", "barrier") and ".warp." not in instruction.opcode:
            ops, barrier = self.decoder.barrier(instruction)
            self.code += [(op, guarded) for op in ops]
            after_barrier = self._new_label()
            self.code += [_To(barrier, (after_barrier,), guarded), _Mark(after_barrier)]
        else:
            self.code += [(op, guarded) for op in self.decoder.ops(instruction)]

    def _call(
        self, instruction: Instruction, prefix: str, names: dict[str, str], depth: int, site: int,
        guarded: int | None,
    ) -> None:  # fmt: skip
        groups = [o for o in instruction.operands if isinstance(o, Group)]
        callees = [o for o in instruction.operands if isinstance(o, Name)]
        callee = self.module.functions.get(callees[0].text) if callees else None
        if callee is None or callee.body is None:
            name = callees[0].text if callees else "?"
            raise self.decoder.unknown(f"a call of `{name}`, which this module does not define")
        if depth >= MAX_CALL_DEPTH:
            raise self.decoder.unknown(f"calls of `{callee.name}` nest deeper than 32: recursion")
        formals = [p.name for p in (*callee.returns, *callee.params)]
        actuals = [item.text for g in groups for item in g.items if isinstance(item, Name)]
        if len(formals) != len(actuals):
            raise self.decoder.unknown(f"a call of `{callee.name}` with other operands than its")
        renamed = dict(zip(formals, (names.get(a, a) for a in actuals), strict=True))
        for param, actual in zip((*callee.returns, *callee.params), renamed.values(), strict=True):
            if actual not in self.variables and actual not in self.decoder.registers:
                raise self.decoder.unknown(f"cannot pass `{actual}` for `{param.name}`")
        entry, after = self._new_label(), self._new_label()
        self.code += [_To(Jump(-1, site), (entry,), guarded), _Mark(entry)]
        self._function(callee, f"{after}:", renamed, after, depth + 1)
        self.code.append(_Mark(after))

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
            if isinstance(entry, _Mark):
                if started:
                    close(Jump(-1), (), True)
                    started = False
                pending.append(entry.label)
                continue
            if not started:
                at.update(dict.fromkeys(pending, len(drafts)))
                pending, started = [], True
            if isinstance(entry, _To):
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
        if pending or started:  # a label at the very end: nothing follows it but the return
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


def _set_sites(block: Block) -> None:
    """The instructions that each execution of the block counts in full."""
    sites = dict.fromkeys(op.site for op in block.ops)
    terminator = block.terminator
    if not isinstance(terminator, Branch) and terminator.site is not None:
        sites[terminator.site] = None
    if block.guarded_site is not None:
        sites.pop(block.guarded_site, None)
    block.sites = list(sites)


def _layout(variables: list[Variable]) -> tuple[dict[str, int], int]:
    """Offsets of variables laid out one after another, each aligned, and their total size."""
    offsets, total = {}, 0
    for variable in variables:
        total = -(-total // variable.align) * variable.align
        offsets[variable.name] = total
        total += variable.size
    return offsets, total
