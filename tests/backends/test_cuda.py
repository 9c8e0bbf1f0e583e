"""The cuda backend on a real GPU: `make test-gpu`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import tables
from harness.machine.devices import cuda_device
from harness.matrix import model
from harness.run.runner import Runner
from harness.statistics.net_times import group_of

pytestmark = pytest.mark.gpu

FAULTY = Path(__file__).parent.parent / "faulty" / "bench.yaml"

ROUNDS = (2 + 3) * 3
"""The placements for choosing a launch shape, plus those for measuring, times the rounds in each; 6
rounds are requested."""

REASONS = {
    "out_of_bounds": "a kernel wrote after the buffer `y`",
    "does_not_compile": 'does_not_compile.cu(5): error: expected a ";"',
    "unwritten_tail": "`y[7]` was never written",
    "endless": "not done within",
    "not_a_number": "`y[7]` is NaN",
    "changes_input": "the input `x` was changed at element 0",
    "leaves_flag_set": "`flag` must be zero after the launch",
    "slightly_wrong": "`y[0]` is wrong",
    "wild_pointer": "illegal",
    "traps": "launch failure",
    "no_such_kernel": "right.cu has no kernel `walk`; it has run",
    "too_few_arguments": "run takes 3 arguments",
    "too_many_threads": "exceeds",
    "number_too_large": "1099511627776 does not fit a u32",
}


def run_matrix(matrix: Path, folder: Path, *only: str) -> tables.Run:
    bench = model.load(matrix)
    runner = Runner(bench, cuda_device(None), "cuda", only, folder)
    info = {"backend": "cuda", "timing": bench.timing.model_dump()}
    (folder / "run.json").write_text(json.dumps(info))
    runner.run()
    return tables.load(folder)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tables.Run]:
    short = FAULTY.parent / "short_deadline.yaml"
    short.write_text(FAULTY.read_text().replace("qualify_s: 60", "qualify_s: 20"))
    yield run_matrix(short, tmp_path_factory.mktemp("faulty"))
    short.unlink()


@pytest.mark.parametrize("variant", REASONS)
def test_each_faulty_variant_fails_with_its_own_reason(faulty: tables.Run, variant: str) -> None:
    ended = [o for case, o in faulty.outcomes.items() if f"/{variant}/" in case]
    assert [o.status for o in ended] == ["failed", "failed"]
    assert all(REASONS[variant] in o.reason for o in ended), ended[0].reason


def test_the_right_variant_is_measured_though_others_crash_and_hang(faulty: tables.Run) -> None:
    for block in (64, 128):
        case = f"double/right/float32/n=4096/block={block}"
        assert faulty.outcomes[case].status == "ok"
        for cache in ("cold", "warm"):
            rounds = faulty.timings.rounds(case, cache)
            assert len(rounds) == ROUNDS
            assert all(math.isfinite(ns) and ns > 500 for r in rounds for ns in r.samples_ns)


def test_no_faulty_variant_has_a_time(faulty: tables.Run) -> None:
    rounds = faulty.timings.rounds
    timed = {p.variant for p in faulty.planned.values() if rounds(p.case, "cold")}
    assert timed == {"right", "only_large_blocks"}


def test_the_ceilings_are_measured_and_the_empty_kernel_is_short(faulty: tables.Run) -> None:
    ceilings = faulty.ceilings
    assert set(ceilings) >= {"read_bandwidth", "copy_bandwidth", "fp32_rate", "empty_kernel"}
    assert all(c.low <= c.value <= c.high for c in ceilings.values())
    # If the stream were not held, the host's microseconds per launch would show here.
    assert 200 < ceilings["empty_kernel"].value < 6000
    assert ceilings["read_bandwidth"].value > 50e9


def test_the_baseline_is_measured_twice_a_round(faulty: tables.Run) -> None:
    case = "double/right/float32/n=4096/block=64"
    once, again = (
        {(r.placement, r.round) for r in faulty.timings.rounds(case, "cold", repeat)}
        for repeat in (False, True)
    )
    assert once == again
    assert math.isfinite(faulty.timings.floor(group_of(faulty.planned[case]), "cold"))


def test_conditions_are_stored_with_every_round(faulty: tables.Run) -> None:
    assert len(faulty.conditions) == ROUNDS
    assert (faulty.conditions["sm_clock_hz"].dropna() > 100e6).all()
