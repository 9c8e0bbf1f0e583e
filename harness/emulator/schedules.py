"""Judge a launch in other orders of its warps, where what it does may depend on who comes first.

A race is found by what orders two accesses, whoever came first. But which accesses there are may
depend on it: with another order somebody else gets the lock, finds the flag set or draws the last
ticket. So a launch whose kernel has such things is judged several times, on copies of its buffers.
"""

from __future__ import annotations

from dataclasses import replace

from harness.emulator.engine import judging
from harness.emulator.engine.configuration import LaunchConfiguration
from harness.emulator.engine.native import Outcome
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.program.ir import Program
from harness.emulator.program.steering import depends_on_order
from harness.emulator.program.waiting_loops import waiting_loops
from harness.emulator.results.faults import Fault

OTHERS = (1, 2, 3, 4)
MOST_INSTRUCTIONS = 2**22  # thread instructions of a launch that is judged again
_MOST_BYTES = 2**26  # of its buffers


def judge(
    program: Program, configuration: LaunchConfiguration, memory: AddressSpace, params: bytes
) -> Outcome:
    """The outcome in the usual order, with the fault of another order if the usual one has none."""
    if not configuration.checks or not program.once(_depends_on_order):
        return judging.run(program, configuration, memory, params)
    if sum(each.size for each in memory.allocations) > _MOST_BYTES:
        return judging.run(program, configuration, memory, params)
    before = memory.copied()
    found = judging.run(program, configuration, memory, params)
    if found.fault is not None or found.ticks > MOST_INSTRUCTIONS:
        return found
    for number in OTHERS:
        fault = judging.run(
            program, configuration, before.copied(), params, schedule=number
        ).fault  # fmt: skip
        if fault is not None:
            return replace(found, fault=in_order(fault, number))
    return found


def in_order(fault: Fault, number: int) -> Fault:
    """A fault with the order of warps that shows it, unless it is the usual one."""
    if not number:
        return fault
    order = f"found with the warps in another order, which launch(..., schedule={number}) repeats"
    return replace(fault, message=f"{fault.message}; {order}")


def _depends_on_order(program: Program) -> bool:
    """Not for programs that look at a clock, which goes another way in each order."""
    return depends_on_order(program) and not program.once(waiting_loops).clocks
