"""What a worker that times allows for."""

from __future__ import annotations

from harness.measure.rounds import DEADLINE_S
from harness.problem import Buffer
from harness.worker.timing import verifying_s


def test_a_large_result_may_take_the_host_its_time_to_verify() -> None:
    given = Buffer("x", "input", "float32", 2**30)
    assert verifying_s([given, Buffer("y", "output", "float32", 1)]) < DEADLINE_S + 1
    assert verifying_s([given, Buffer("y", "output", "float32", 2**30)]) > DEADLINE_S + 60
