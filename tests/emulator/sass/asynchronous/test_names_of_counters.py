"""A budget can limit, by name, the counters to which only asynchronous instructions add."""

from __future__ import annotations

from dataclasses import fields

from harness.budgets import ASYNCHRONOUS
from harness.emulator.sass.counters.asynchronous import of_asynchronous
from harness.emulator.sass.report import MachineCount

TEXTS = ("file", "opcode", "text")


def executed(opcode: str, **counts: int) -> MachineCount:
    zeros = {each.name: 0 for each in fields(MachineCount) if each.name not in TEXTS}
    return MachineCount(opcode=opcode, file="", text=opcode, **zeros | {"warps": 1} | counts)


COPY = executed("UTMALDG.2D", bulk_copies=1, bulk_sectors=32)
REMOTE = executed("LD.E", remote_requests=1, remote_sectors=4)


def test_a_budget_may_name_every_counter_of_asynchronous_instructions_and_no_other() -> None:
    found = [each.name for each in of_asynchronous([COPY, REMOTE])]
    assert sorted(found) == sorted(ASYNCHRONOUS)


def test_a_launch_has_the_counters_of_the_instructions_that_it_executed() -> None:
    copies, remote = ({each.name for each in of_asynchronous([only])} for only in (COPY, REMOTE))
    assert copies | remote == set(ASYNCHRONOUS)
    assert copies & remote == {"smsp__sass_inst_executed_op_dshared.sum"}
    assert not list(of_asynchronous([executed("IADD3")]))
