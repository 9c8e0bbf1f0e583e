"""`annotate` shows the mbarriers and phases that a pipeline's stages wait for, the bytes in flight,
and the lines that complete them.
"""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from own_repository import BENCH
from rich.console import Console

from harness.backends.base import Execution
from harness.backends.emulated_device import emulated_device
from harness.commands.printed import waits as printed
from harness.emulator import Completion, Wait
from harness.matrix import plan
from harness.run.emulated.emulate import by_front_end

SOURCE = BENCH.kernels / "gemm_bf16" / "v4_warp_specialised.cu"
TILE = 128 * 128
SIZES = {"m": 72, "n": 64, "k": 328}
"""One tile of the product, in six steps through a ring buffer with four slots."""


@pytest.fixture(scope="module")
def ring() -> Execution:
    cases = plan.cases_at(BENCH, emulated_device("sm_90"), "gemm_bf16", [SIZES])
    names = ("v4_warp_specialised", "bfloat16")
    case = next(each for each in cases if (each.variant, each.dtype) == names)
    found, _ = by_front_end(BENCH, case, "sm_90", waits=True)
    assert not found.faults, found.faults[0]
    return found


def _lines(words: str) -> list[int]:
    """The lines of the kernel that contain these words."""
    lines = SOURCE.read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if words in line]


def _called(wait: Wait | Completion, line: int) -> bool:
    return f"called in line {line}" in wait.place


def test_a_stage_waits_for_the_bytes_of_its_copies(ring: Execution) -> None:
    (waits,) = ring.waits
    (line,) = _lines("present[place.index].wait")
    copies = _lines("load_tile(")
    present = [each for each in waits if _called(each, line)]
    assert [each.phases for each in present] == [(0, 1), (0, 1), (0, 0), (0, 0)]
    for wait in present:
        expecting, *brought = wait.by
        assert (expecting.arrivals, expecting.announced) == ((1, 1), (2 * TILE, 2 * TILE))
        assert [each.bytes for each in brought] == [(TILE, TILE)] * 2
        assert all(_called(*each) for each in zip(brought, copies, strict=True))
        assert printed.in_flight(wait) == "32,768 bytes"


def test_whoever_fills_a_stage_waits_for_those_who_read_it(ring: Execution) -> None:
    (waits,) = ring.waits
    (line,) = _lines("free[place.index].wait")
    free = [each for each in waits if _called(each, line)]
    assert [each.phases for each in free] == [(-1, 0), (-1, 0), (-1, -1), (-1, -1)]
    (arrive,) = free[0].by
    assert (arrive.arrivals[0] > 0, arrive.bytes) == (True, (0, 0))
    assert not free[2].by


def test_mbarriers_that_have_all_in_common_share_a_row(ring: Execution) -> None:
    (waits,) = ring.waits
    console = Console(file=io.StringIO(), width=200)
    console.print(printed.table("gemm", waits))
    text = console.file.getvalue()
    assert text.count("0 to 1") == 1
    assert "2: offset " in text
    apart = replace(waits[0], mbarrier="offset 8 of `ring` in shared memory", by=())
    assert printed.mbarriers([apart]) == "offset 8 of `ring`"


def test_a_kernel_without_mbarriers_waits_for_none() -> None:
    case = plan.cases_at(BENCH, emulated_device("sm_90"), "relu", [{"n": 33}])[0]
    found, _ = by_front_end(BENCH, case, "sm_90", waits=True)
    assert found.waits == ((),)
