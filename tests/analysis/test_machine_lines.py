"""Machine instructions are listed under the source line that they belong to."""

from __future__ import annotations

from harness.analysis.lines import machine_lines
from harness.journal.counter_records import MachineCode, MachineInstruction

LOAD = MachineInstruction(0x50, "LDG.E R2,desc[UR4][R2.64]", 0, 7, 8, 256, 64, 8, 32, 0, 0)
ADD = MachineInstruction(0x70, "FADD R2,R2,R2", 1, 7, 8, 256, 256, 0, 0, 0, 0)
STORE = MachineInstruction(0x90, "STS [R4],R2", 0, 7, 10, 320, 320, 0, 0, 80, 10)
CODE = MachineCode("case", 1, ("a.cu", "b.cuh"), (LOAD, ADD, STORE))


def test_a_line_has_its_own_files_instructions_of_the_step_in_order() -> None:
    assert machine_lines.by_line([CODE], 1, "a.cu") == {7: [LOAD, STORE]}
    assert machine_lines.by_line([CODE], 1, "b.cuh") == {7: [ADD]}
    assert machine_lines.by_line([CODE], 0, "a.cu") == {}
    assert machine_lines.by_line([CODE], 1, "c.cu") == {}


def test_columns_stand_under_their_heading() -> None:
    figures = {"address": "50", "executed": "8", "lanes": "32.0", "acting": "8.0"}
    for name, figure in figures.items():
        end = machine_lines.HEADING.index(name) + len(name)
        assert machine_lines.text(LOAD)[:end].endswith(f" {figure}")
    at = machine_lines.HEADING.index("memory")
    assert machine_lines.text(LOAD)[at:] == "4.0 sectors a request"
    assert machine_lines.text(STORE)[at:] == "8.00× ideal wavefronts"
    assert machine_lines.text(ADD).endswith("FADD R2,R2,R2")
