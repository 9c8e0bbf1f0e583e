"""The judge's run of a launch: it executes thread blocks together, one basic block after another,
with exact checks.

The judge runs the launches that the fast run suspects or cannot execute, and reports the fault, if
any.

A race is detected from the ordering of two accesses, regardless of which came first. However,
timing may determine which accesses happen: if the warps run in another order, a different thread
gets the lock, finds the flag set or takes the last ticket. A kernel with such operations is
therefore judged in several orders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, reduce
from operator import and_, or_
from typing import Any

import numpy as np

from harness.emulator.engine import layout
from harness.emulator.engine.configuration import LaunchConfiguration
from harness.emulator.engine.fault_messages.by_verdict import told
from harness.emulator.engine.fault_messages.places import Place, fault_at, index_of
from harness.emulator.engine.fault_messages.races import remarks_on
from harness.emulator.engine.fault_messages.waits import lines_of, waits_at_mbarriers
from harness.emulator.engine.native import Laid, Outcome, over_budget_fault
from harness.emulator.engine.printing import Printer, assertion
from harness.emulator.errors import LaunchError
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.memory.grid_workspace import synchronises_grid
from harness.emulator.program.allocation import STACK, STACK_BYTES
from harness.emulator.program.analysis.access_kinds import (
    PLAIN,
    access_kind,
    fences,
    fills_cluster,
    is_of_single_halves,
    of_mbarriers,
)
from harness.emulator.program.analysis.liveness import unwritten_registers
from harness.emulator.program.analysis.speculative_loads import speculative_loads
from harness.emulator.program.analysis.steering import depends_on_order, steering_sites
from harness.emulator.program.analysis.uniformity import varying_registers
from harness.emulator.program.analysis.waiting_loops import waiting_loops
from harness.emulator.program.decode.operands import RESERVED
from harness.emulator.program.ir import Op, Program, Register
from harness.emulator.program.signatures import split_opcode
from harness.emulator.program.translate import translate
from harness.emulator.ptx.kernel_names import find_kernel
from harness.emulator.ptx.source_lines import user_line
from harness.emulator.ptx.syntax import Location, Module
from harness.emulator.results.faults import Fault
from harness.emulator.results.observed import Observed

Run = Callable[[Program, LaunchConfiguration, AddressSpace, bytes], Outcome]

_ATOMICS = ("atom.", "red.")
_REGISTER_BYTES = 1 << 27  # for all blocks that execute together
_SLICE_SECONDS = 0.2  # so that an interrupt is noticed
_OTHER_ORDERS = (1, 2, 3, 4)
_MOST_INSTRUCTIONS = 2**22  # most thread instructions of a launch judged in other orders
_MOST_BYTES = 2**26  # most bytes of such a launch's buffers, which are copied for each order
_LONGER = 4  # another order's limit, waits included, as a multiple of the usual order's count


def run_in_orders(
    program: Program, configuration: LaunchConfiguration, memory: AddressSpace, params: bytes,
    usual: Run | None = None, *, waits: bool = False,
) -> Outcome:  # fmt: skip
    """Run in the usual order of warps; if that finds no fault, try other orders and report any
    fault found there. `usual`: the function that runs the launch in the usual order; by default the
    judge's. `waits`: as for `run`."""
    usual = usual or partial(run, waits=waits)
    size = sum(each.size for each in memory.allocations)
    at_least = configuration.blocks * configuration.threads  # thread instructions
    has_orders = program.once(_has_orders) and at_least <= _MOST_INSTRUCTIONS
    if not (configuration.checks and has_orders and size <= _MOST_BYTES):
        return usual(program, configuration, memory, params)
    before = memory.copied()
    found = usual(program, configuration, memory, params)
    if found.fault is not None or found.ticks > _MOST_INSTRUCTIONS:
        return found
    longest = min(configuration.budget, found.ticks * _LONGER + _MOST_INSTRUCTIONS)
    bounded = replace(configuration, budget=longest)
    for order in _OTHER_ORDERS:
        other = _run_once(program, bounded, before.copied(), params, schedule=order)
        # In some orders, blocks wait longer, possibly for blocks that are not executing yet.
        if other.fault is not None and other.fault.kind not in ("budget", "deadlock"):
            return replace(found, fault=other.fault)
    return found


def _has_orders(program: Program) -> bool:
    """Return whether to judge the program in several orders of warps. A kernel that reads a clock
    is excluded, because the clock's values depend on the order.
    """
    return depends_on_order(program) and not program.once(waiting_loops).clocks


def run(
    program: Program, configuration: LaunchConfiguration, memory: AddressSpace, params: bytes,
    variables: int | None = None, schedule: int = 0, *, waits: bool = False,
) -> Outcome:  # fmt: skip
    """Execute blocks until all have ended or a fault occurs.

    `variables`: the number of module variables, which are the first buffers; if it is given, the
    accesses to every byte are recorded. `waits`: record what threads wait for at mbarriers.
    `schedule`: the number of the warps' order; with 0, all warps advance together (`schedule.h`).
    Blocks whose wait never ends may be waiting for other blocks that a device would hold at the
    same time. Therefore, before a deadlock is reported, the launch is restarted with as many blocks
    at a time as a device holds. Raises LaunchError if their memory does not allow that.
    """
    c = configuration
    before = memory.copied() if c.chunk_blocks < c.held_blocks else None
    found = _run_once(program, c, memory, params, variables, schedule, waits=waits)
    if before is None or not found.waits:
        return found
    memory.restore(before)
    if c.chunk_blocks < min(c.held_blocks, c.fitting_blocks):
        more = replace(c, chunk_blocks=min(c.held_blocks, c.fitting_blocks))
        return run(program, more, memory, params, variables, schedule, waits=waits)
    at = f"{found.fault.file}:{found.fault.line}" if found.fault else ""
    raise LaunchError(
        f"{at}: the blocks wait for something that none of them does, perhaps for other blocks: "
        f"a device holds {c.held_blocks} at the same time, and here their memory allows "
        f"{c.chunk_blocks}. Launch at most that many"
        + (", or with checks=False, which takes less memory" if c.checks else "")
    )


def _run_once(
    program: Program, configuration: LaunchConfiguration, memory: AddressSpace, params: bytes,
    variables: int | None = None, schedule: int = 0, *, waits: bool = False,
) -> Outcome:  # fmt: skip
    laid = Laid(program, configuration, memory, params, jobs=1)
    observed = () if variables is None else tuple(_unobserved(memory, variables))
    return _Run(program, configuration, memory, laid, observed, schedule, waits=waits).to_end()


class _Run:
    """One run, and the objects that must stay alive until it ends."""

    def __init__(
        self, program: Program, configuration: LaunchConfiguration, memory: AddressSpace,
        laid: Laid, observed: tuple[Observed, ...], schedule: int, *, waits: bool,
    ) -> None:  # fmt: skip
        self.program, self.configuration, self.laid = program, configuration, laid
        self.seen = observed
        self.place = Place(configuration.grid, configuration.block, memory, program)
        self.printer = Printer(self._peek)
        self.handle: Any = None
        self.raised: BaseException | None = None  # an exception during printing
        rows = laid.encoded.rows
        unset = [(r.slot, rows[r.slot]) for r in program.once(unwritten_registers)]
        self.arrays: dict[str, np.ndarray] = {
            "unset": np.array(unset, np.int32), "traits": np.array(program.once(traits), np.uint16),
        }  # fmt: skip
        self.observed = layout.ffi.new("Observed[]", [
            {name: layout.at(getattr(o, name)) for name in layout.OBSERVED} for o in observed
        ])  # fmt: skip
        self.print = layout.ffi.callback("Print", self._print)
        lines = self.lines = np.array(lines_of(self.place) if waits else [], np.int32)
        self.judged = layout.new(
            "Judged", **{name: layout.at(each) for name, each in self.arrays.items()},
            schedule=schedule, print=self.print,
            observed=self.observed if observed else layout.ffi.NULL,
            lines_of_waits=layout.at(lines) if waits else layout.ffi.NULL,
            unset_count=len(unset),
            chunk_blocks=_together(program, configuration, laid.launch.register_bytes),
            stack_end=program.local.get(STACK, 0) + STACK_BYTES,
            zeroed_at=program.shared.get(RESERVED.name, 0),
            zeroed_bytes=RESERVED.size if RESERVED.name in program.shared else 0,
        )  # fmt: skip

    def to_end(self) -> Outcome:
        library = self.laid.machine.library
        verdict = layout.new("Verdict", outcome=layout.PAUSED)
        self.handle = library.judge_begin(self.laid.launch, self.judged, self.laid.found.address)
        try:
            while verdict.outcome == layout.PAUSED:
                library.judge_run(self.handle, _SLICE_SECONDS, verdict)
            fault = self._fault(verdict)
            remarks = remarks_on(self._numbers(library.judge_let_pass), self.place)
            waited = waits_at_mbarriers(self._numbers(library.judge_waits), self.place)
        finally:
            library.judge_end(self.handle)
        waits = verdict.outcome == layout.SUSPECT and verdict.reason == layout.LOOP_STUCK
        return Outcome(
            fault, self.laid.found, tuple(self.printer.printed), tuple(remarks), self.seen,
            verdict.ticks, waits, tuple(waited),
        )  # fmt: skip

    def _fault(self, verdict: Any) -> Fault | None:
        if self.raised is not None:
            raise self.raised
        if verdict.outcome == layout.OVER_BUDGET:
            return over_budget_fault(self.program, self.configuration, verdict)
        if verdict.outcome == layout.DONE:
            return None
        details = self._numbers(self.laid.machine.library.judge_details)
        if verdict.reason == layout.ASSERTED:
            kind, message = "assert", assertion(self._peek, *details)
        elif verdict.reason == layout.PRINTED_TOO_MUCH:
            kind, message = "budget", self.printer.too_much
        else:
            kind, message = told(verdict.reason, verdict.site, details, self.place)
        if self.judged.schedule:
            repeated = f"launch(..., schedule={self.judged.schedule})"
            message += f"; found with the warps in another order, which {repeated} repeats"
        where = (
            index_of(verdict.block, self.configuration.grid),
            index_of(verdict.thread, self.configuration.block),
        )
        return fault_at(self.program.sites[verdict.site].location, kind, message, *where)

    def _print(self, block: int, lane: int, format_: int, arguments: int) -> int:
        try:
            return self.printer.print(block, lane, format_, arguments)
        except BaseException as error:  # an interrupt, which C++ would lose
            self.raised = error
            return -1

    def _numbers(self, ask: Callable[[Any, Any, int], int]) -> list[int]:
        count = ask(self.handle, layout.ffi.NULL, 0)
        numbers = layout.ffi.new("i64[]", count)
        ask(self.handle, numbers, count)
        return list(numbers)

    def _peek(self, lane: int, address: int, count: int) -> bytes:
        out = layout.ffi.new("char[]", count)
        signed = layout.ffi.cast("i64", address)
        there = self.laid.machine.library.judge_peek(self.handle, lane, signed, out, count)
        return bytes(layout.ffi.buffer(out, max(there, 0)))


def _together(program: Program, configuration: LaunchConfiguration, register_bytes: int) -> int:
    """The number of blocks that execute together: fewer than allowed if their registers would take
    too much memory."""
    if program.once(waiting_loops).heads or synchronises_grid(program):
        return configuration.chunk_blocks
    warps, cluster = -(-configuration.threads // layout.LANES), configuration.cluster_blocks
    fitting = min(configuration.chunk_blocks, _REGISTER_BYTES // (register_bytes * warps))
    return max(cluster, fitting // cluster * cluster)


def traits(program: Program) -> list[int]:
    """The properties of each instruction that the judge needs."""
    are_fences, speculative = program.once(fences), program.once(speculative_loads)
    varying = program.once(varying_registers)
    found = [
        layout.IS_FENCE * fence
        | layout.REACHES_ALL * (".cta" not in site.opcode)
        | layout.OF_MBARRIER * of_mbarriers(site.opcode)
        | layout.IS_CAS * _swaps(site.opcode)
        | layout.FILLS_CLUSTER * fills_cluster(site.opcode)
        for site, fence in zip(program.sites, are_fences, strict=True)
    ]
    for block in program.blocks:
        for op in block.ops:
            found[op.site] |= (
                layout.IS_LOAD * (op.name == "ld")
                | layout.IS_STORE * (op.name == "st")
                | layout.VARIES * _stores_what_varies(op, varying)
            )
    for site in speculative:
        found[site] |= layout.SPECULATIVE
    for site in program.once(steering_sites):
        found[site] |= layout.STEERS
    return found


class OfLines:
    """Properties of the accesses on each source line, read from the PTX for use with machine code.

    The parameter `verb` is IS_LOAD, IS_STORE or, for atomics, 0.
    """

    def __init__(self, module: Module, kernel: str) -> None:
        self.program = program = translate(module, find_kernel(module, kernel))
        self._kinds: dict[Any, set[int]] = defaultdict(set)
        self._traits: dict[Any, list[int]] = defaultdict(list)
        self._of_many_places: set[Any] = set()
        self._of_single_halves: set[Any] = set()
        for site, of_site in zip(program.sites, program.once(traits), strict=True):
            if site.location is not None:
                if site.opcode.startswith("barrier.") and ".aligned" not in site.opcode:
                    self._of_many_places.add(user_line(site.location))
                if site.opcode.startswith(_ATOMICS) and is_of_single_halves(site.opcode):
                    self._of_single_halves.add(user_line(site.location))
                key = user_line(site.location), of_site & (layout.IS_LOAD | layout.IS_STORE)
                self._kinds[key].add(access_kind(site.opcode))
                self._traits[key].append(of_site)

    def kind(self, location: Location | None, verb: int) -> int:
        """The kind of a line's accesses; PLAIN if any of them is plain."""
        return min(self._kinds.get((user_line(location), verb), {PLAIN}))

    def traits(self, location: Location | None, verb: int) -> int:
        """The traits of a line's accesses. Traits that cause or permit a race apply only if all
        accesses have them; the accessed word counts as a flag if the result of any access affects a
        thread's control flow or addresses.
        """
        found = self._traits.get((user_line(location), verb), [0])
        every = layout.SPECULATIVE | layout.VARIES
        return (reduce(and_, found) & every) | (reduce(or_, found) & layout.STEERS)

    def meets_others(self, location: Location | None) -> bool:
        """Return whether a line's barrier may pair with a barrier on another line, as
        `barrier.sync` without `.aligned` may."""
        return user_line(location) in self._of_many_places

    def retries(self, location: Location | None) -> bool:
        """Return whether a line has an atomic that machine code implements as a loop, which begins
        with a load."""
        return user_line(location) in self._of_single_halves

    def orders(self, location: Location | None) -> bool:
        """Return whether a line's mbarrier operation orders accesses; true if unknown."""
        of_line = (each for verb in (0, layout.IS_LOAD) for each in
                   self._traits.get((user_line(location), verb), ()))  # fmt: skip
        known = [each & layout.IS_FENCE for each in of_line if each & layout.OF_MBARRIER]
        return not known or any(known)


def _stores_what_varies(op: Op, varying: frozenset[int]) -> bool:
    """Return whether a store may write a different value for each thread, as a copy does."""
    if op.name == "copy_async":
        return True
    values = op.sources[2:] if op.name == "st" else ()
    return any(isinstance(value, Register) and value.slot in varying for value in values)


def _swaps(opcode: str) -> bool:
    """Return whether an opcode is a compare-and-swap of at most 64 bits."""
    name, modifiers, _ = split_opcode(opcode)
    return name == "atom" and "cas" in modifiers and not opcode.endswith(".b128")


def _unobserved(memory: AddressSpace, variables: int) -> Iterator[Observed]:
    for number, allocation in enumerate(memory.allocations):
        never = (np.zeros(allocation.size, np.int32) for _ in range(3))
        yield Observed(allocation.name.strip("`"), number < variables, *never)
