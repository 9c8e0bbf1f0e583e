"""The roof of a case is the limit with the longest minimum time, and its name states what it leaves
out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from small_runs import Variant, case_of, run_of

from harness.analysis.ladder import ladders
from harness.journal.records import Ceiling
from harness.report.tables.ladder import remarks_on
from harness.statistics import mixes
from harness.statistics.mixes import MIXES, name_of
from harness.tables import Run
from harness.tables.roofs import arithmetic_limit, on_chip_bytes

N = 1_200_000_000
BYTES = 4 * N
"""The bytes that a case moves according to small_runs."""
OLD = {"read_bandwidth": 4.6e12, "copy_bandwidth": 4.3e12}
ALL = {
    **OLD, "mix_4_1_bandwidth": 4.5e12, "mix_2_1_bandwidth": 4.4e12, "mix_1_4_bandwidth": 4.1e12,
    "write_bandwidth": 4.0e12,
}  # fmt: skip
H200 = {"name": "H200", "arch": "sm_90", "sm_count": 132, "l2_bytes": 60 << 20}


def made(ceilings: dict[str, float], about: dict[str, Any] | None = None, **work: Any) -> Run:
    ms = BYTES / 4.2e12 * 1e9
    run = run_of({"v0": Variant(times={256: ms}, flops=0, **work)}, ceilings=ceilings, n=N)
    info = {**run.info, "device": H200, "problems": {"reduce_sum": about or {}}}
    return Run(run.folder, info, run.records)


def roof_of(ceilings: dict[str, float], **work: Any) -> Any:
    run = made(ceilings, **work)
    return run.roof(case_of(run, "v0"))


@pytest.mark.parametrize(
    ("written", "name", "rate"),
    [
        (0, "reading", 4.6e12),
        (4, "reading", 4.6e12),
        (BYTES // 5, "4:1 traffic", 4.5e12),
        (BYTES // 3, "2:1 traffic", 4.4e12),
        (BYTES // 2, "copying", 4.3e12),
        (4 * BYTES // 5, "1:4 traffic", 4.1e12),
        (BYTES, "writing", 4.0e12),
    ],
)
def test_traffic_is_held_to_what_reads_and_writes_in_the_same_proportion(
    written: int, name: str, rate: float
) -> None:
    roof = roof_of(ALL, written_bytes=written)
    assert roof.named == name
    assert roof.least.value == pytest.approx(1e9 * BYTES / rate, rel=1e-6)
    assert roof.least.low < roof.least.value < roof.least.high


def test_between_two_mixes_it_is_one_after_the_other_and_says_so() -> None:
    """4,800 MB of 2:1 traffic are treated as two parts: 3,200 MB are copied, and 1,600 MB are
    read."""
    roof = roof_of(OLD, written_bytes=BYTES // 3)
    assert roof.named == "2:1 traffic (between reading and copying)"
    hand = BYTES / 3 / 4.6e12 + 2 * BYTES / 3 / 4.3e12
    assert roof.least.value == pytest.approx(1e9 * hand)


def test_the_rule_between_mixes_never_asks_for_less_time_than_both_and_meets_every_mix() -> None:
    """The time is continuous at every proportion, and the rate lies between those of the
    neighbouring mixes."""
    found = {name: Ceiling(name, rate, rate, rate, "byte/s", "", ()) for name, rate in ALL.items()}
    total, before = 10**12, None
    for written in range(0, total + 1, total // 1000):
        least = mixes.least(found, total - written, written)
        assert least is not None
        rate = total / least.ns.value * 1e9
        assert 4.0e12 <= round(rate) <= 4.6e12
        assert before is None or abs(rate - before) < 5e9
        before = rate
    for mix in MIXES:
        least = mixes.least(found, total * mix.reads, total * mix.writes)
        assert least is not None
        rate = total * (mix.reads + mix.writes) / least.ns.value * 1e9
        assert rate == pytest.approx(ALL[mix.ceiling])
        assert least.note == ""


def test_what_was_not_measured_is_not_made_up() -> None:
    roof = roof_of(OLD, written_bytes=4 * BYTES // 5)
    assert roof.named == "reading (1:4 traffic was not measured)"
    assert roof.least.value == pytest.approx(1e9 * BYTES / 4.6e12)
    unknown = roof_of(ALL, written_bytes=None)
    assert unknown.named == "reading (the bytes written were not recorded)"
    assert roof_of({}, written_bytes=0) is None
    assert roof_of({"copy_bandwidth": 4e12}, written_bytes=0) is None


def test_what_an_older_record_lacks_comes_from_run_json_where_its_bytes_agree() -> None:
    group = f"reduce_sum/float32/n={N}"
    work = {"bytes": BYTES, "written_bytes": BYTES // 2, "reread_bytes": 0, "exponentials": 7}
    run = made(OLD, {"work": {group: work}})
    assert run.planned[case_of(run, "v0").case].exponentials == 7
    roof = run.roof(case_of(run, "v0"))
    assert roof is not None
    assert roof.name == "copying"
    for wrong in ({**work, "bytes": BYTES - 4}, {**work, "written_bytes": None}, 3, None):
        other = made(OLD, {"work": {group: wrong}})
        assert case_of(other, "v0").written_bytes is None


@pytest.mark.parametrize("work", [7, "x", {"reduce_sum/float32/n=1": []}, {}])
def test_run_json_of_a_stranger_is_no_error(work: Any) -> None:
    run = made(OLD, {"work": work, "no_roof": ""})
    assert run.roof(case_of(run, "v0")) is not None


def test_what_is_read_twice_counts_less_what_the_chip_holds() -> None:
    chip = on_chip_bytes({"device": H200})
    assert chip == (60 << 20) + 132 * (4 * 65_536 + 228 * 1024)
    half = BYTES // 2
    roof = roof_of(ALL, written_bytes=half, reread_bytes=half)
    assert roof.name.endswith(":1 traffic")
    assert "read twice" in roof.note
    twice = mixes.least(made(ALL).ceilings, 2 * half - chip, half)
    assert twice is not None
    assert roof.least.value == pytest.approx(twice.ns.value)
    small = roof_of(ALL, written_bytes=half, reread_bytes=chip)
    assert small.named == "copying", "all of it stays on the chip"


def test_the_driver_s_own_limits_count_before_the_architecture_s() -> None:
    own = {"registers_per_sm": 1000, "shared_bytes_per_sm": 500}
    assert on_chip_bytes({"device": {**H200, "own_limits": own}}) == (60 << 20) + 132 * 4500
    assert on_chip_bytes({"device": {"arch": "sm_1"}}) == 0
    assert on_chip_bytes({}) == 0


def test_exponentials_bind_where_they_take_longest() -> None:
    work = {"written_bytes": 0, "exponentials": 10**12}
    roof = roof_of({**ALL, "exponential_rate": 4e12}, **work)
    assert roof.named == "exponentials"
    assert roof.bound == "exponential ceiling"
    assert roof.least.value == pytest.approx(0.25e9)
    assert roof_of(ALL, **work).name == "reading", "their unit was not measured"


def test_a_problem_without_a_roof_says_why() -> None:
    run = made(ALL, {"no_roof": "it is a probe"}, written_bytes=0)
    [ladder] = ladders(run)
    assert ladder.measure.limit is None
    assert ladder.measure.no_roof == "it is a probe"
    assert [rung.percent for rung in ladder.rungs] == [None]
    assert run.results.pct_of_ceiling.isna().all()


def test_more_than_the_best_of_ours_is_shown_and_no_error_of_measurement() -> None:
    """4.2 TB/s of traffic, one fifth of it reads, is 102.4 % of the rate that the harness's own
    kernel reaches at this proportion."""
    run = made(ALL, written_bytes=4 * BYTES // 5)
    [ladder] = ladders(run)
    assert ladder.winner is not None
    assert ladder.winner.percent == pytest.approx(100 * 4.2 / 4.1, rel=1e-3)
    assert not run.results.above_ceiling.eq(True).any()
    fast = made({name: rate / 2 for name, rate in ALL.items()}, written_bytes=BYTES // 2)
    assert fast.results.above_ceiling.eq(True).any(), "nothing moves more than reading alone"


def test_narrower_factors_are_not_held_to_the_rate_for_the_type_of_their_result() -> None:
    """A problem that multiplies 8-bit floats and returns 16 bits declares that it has no roof."""
    for said, arithmetic, held in (
        ({"arithmetic": "bfloat16", "no_roof": "8-bit factors"}, "bf16_tensor_rate", False),
        ({"arithmetic": "bfloat16"}, "bf16_tensor_rate", True),
        ({"arithmetic": "float32", "no_roof": "a chain"}, "fp32_rate", True),
    ):
        run = made({arithmetic: 1e15}, said)
        limit = arithmetic_limit(run, case_of(run, "v0"))
        assert (limit is not None) == held
        assert limit is None or limit.value == 1e15


def test_bfloat16_is_held_to_its_own_tensor_cores_or_in_older_runs_to_those_of_float16() -> None:
    run = made({"tensor_rate": 1e15, "bf16_tensor_rate": 0.9e15}, {"arithmetic": "bfloat16"})
    case = replace(case_of(run, "v0"), flops=9 * 10**14)
    roof = run.roof(case)
    assert roof is not None
    assert (roof.name, round(roof.least.value)) == ("BF16 tensor cores", 10**9)
    old = made({"tensor_rate": 1e15}, {"arithmetic": "bfloat16"}).roof(case)
    assert old is not None
    assert old.name == "FP16 tensor cores"


@pytest.mark.parametrize(
    ("read", "written", "name"),
    [(3, 1, "3:1 traffic"), (1, 2, "1:2 traffic"), (100, 99, "copying"), (64, 4, "16:1 traffic")],
)
def test_a_proportion_has_a_name(read: int, written: int, name: str) -> None:
    assert name_of(read, written) == name


def test_a_library_of_three_tf32_products_each_is_held_to_a_third_of_their_roof() -> None:
    rates = {"fp32_rate": 60e12, "tf32_rate": 480e12}
    least = {"v0": 1e9 * 10**12 / 60e12, "torch": 1e9 * 10**12 / 160e12}
    run = run_of(
        {
            "v0": Variant(times={256: 2 * least["v0"]}, flops=10**12),
            "torch": Variant(times={256: 2 * least["torch"]}, flops=10**12, is_library=True),
        },
        ceilings=rates,
        n=1000,
    )
    about = {"library_arithmetic": {"float32": "3 tf32"}}
    run = Run(run.folder, {**run.info, "problems": {"reduce_sum": about}}, run.records)
    names = {name: run.roof(case_of(run, name)).named for name in least}  # type: ignore[union-attr]
    assert names == {"v0": "FP32", "torch": "TF32 tensor cores, three products each"}
    [ladder] = ladders(run)
    [ours], [library] = ladder.rungs, ladder.libraries
    assert (ours.percent, library.percent) == (pytest.approx(50), pytest.approx(50))
    assert not run.results["above_ceiling"].any()  # as it would be with the FP32 roof
    assert "of ceiling is of TF32 tensor cores, three products each" in remarks_on(run, library)
