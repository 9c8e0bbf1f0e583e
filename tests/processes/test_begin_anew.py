from __future__ import annotations

import sys

from harness.processes import children


def test_a_process_that_stopped_its_children_can_begin_anew() -> None:
    command = [sys.executable, "-c", "print('ran')"]
    children.stop_all()
    assert children.output(command, 20).code < 0
    children.begin_anew()
    assert children.output(command, 20).out == "ran\n"
