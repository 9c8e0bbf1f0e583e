"""Roofline points compared with values worked out by hand, and the errors that they must report."""

from __future__ import annotations

import pytest
from small_runs import Variant, case_of, run_of

from harness.analysis.readings import Readings
from harness.analysis.roofline import Roofline, roofline, roofs
from harness.tables import Run

CEILINGS = {"read_bandwidth": 4e12, "copy_bandwidth": 3.8e12, "l2_bandwidth": 9e12,
            "fp32_rate": 60e12, "fp64_rate": 30e12}  # fmt: skip
BYTES = {
    "dram__bytes_read.sum": 7.9e6, "dram__bytes_write.sum": 0.1e6, "lts__t_bytes.sum": 10e6,
    "l1tex__t_bytes.sum": 16e6,
}  # fmt: skip


def chart_of(variant: Variant, ceilings: dict[str, float] | None = None) -> Roofline:
    run = run_of({"v0_base": variant}, ceilings=CEILINGS if ceilings is None else ceilings)
    case = case_of(run, "v0_base")
    return roofline(Readings(run), "a title", "key", [case], {case.case: "v0"})


def test_a_kernel_has_a_point_for_every_level_whose_bytes_were_counted() -> None:
    kernel = chart_of(Variant(times={256: 2e3}, counters=[BYTES])).kernels[0]
    # 1e6 flops over 4e6 compulsory, 8e6 DRAM, 10e6 L2 and 16e6 L1 bytes
    assert {s.level: s.intensity for s in kernel.spots} == {
        "compulsory": 0.25, "DRAM": 0.125, "L2": 0.1, "L1": 0.0625,
    }  # fmt: skip
    assert kernel.excess == pytest.approx(2.0)
    assert kernel.rate.value == pytest.approx(1e6 / 2e-6)
    assert kernel.flops_from == "the problem's own count"


def test_counted_flops_take_the_place_of_the_problems_and_say_so() -> None:
    kernel = chart_of(Variant(counters=[BYTES | {"flops_fp32": 1.5e6, "flops_fp64": 0.0}])).kernels[
        0
    ]
    assert kernel.flops == 1.5e6
    assert kernel.flops_from == "counted by Nsight Compute"
    assert kernel.at("compulsory") == pytest.approx(1.5 / 4)
    assert kernel.at("DRAM") == pytest.approx(1.5 / 8)


def test_flops_that_the_emulator_counted_say_so_and_have_those_of_tensor_cores() -> None:
    counters = BYTES | {"flops_fp32": 5.0, "flops_tensor": 1e6}
    kernel = chart_of(Variant(counters=[counters], provenance="ptx-level")).kernels[0]
    assert kernel.flops == 1_000_005
    assert kernel.flops_from == "counted in PTX by the emulator"


def test_flops_of_tensor_cores_are_not_counted_so_the_problems_count_stands() -> None:
    counters = BYTES | {"flops_fp32": 5.0, "sm__inst_executed_pipe_tensor.sum": 100.0}
    kernel = chart_of(Variant(counters=[counters])).kernels[0]
    assert kernel.flops == 1_000_000


def test_pairs_of_halves_that_went_through_the_tensor_pipe_are_counted_flops() -> None:
    hfma = "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"
    packed = {"sm__inst_executed_pipe_tensor.sum": 100.0, hfma: 3200.0}
    kernel = chart_of(Variant(counters=[BYTES | packed | {"flops_fp16": 12_800.0}])).kernels[0]
    assert (kernel.flops, kernel.flops_from) == (12_800, "counted by Nsight Compute")


def test_bytes_are_summed_over_the_launches_of_a_case() -> None:
    variant = Variant(counters=[BYTES, dict.fromkeys(BYTES, 1000000.0)], steps=(9e5, 1e5))
    assert chart_of(variant).kernels[0].at("L2") == pytest.approx(1 / 11)


def test_a_launch_without_bytes_leaves_the_level_out_with_its_reason() -> None:
    variant = Variant(
        counters=[BYTES, {"lts__t_bytes.sum": 1.0}],
        steps=(9e5, 1e5),
        missing={"dram__bytes_read.sum": "not permitted: ask the administrator"},
    )
    kernel = chart_of(variant).kernels[0]
    assert kernel.at("DRAM") is None
    assert kernel.missing["DRAM"] == "not permitted: ask the administrator"
    assert kernel.at("L2") is not None


def test_touched_sectors_stand_in_for_l1_bytes() -> None:
    sectors = {
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 2e5,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 0.0,
    }
    kernel = chart_of(Variant(counters=[sectors])).kernels[0]
    assert kernel.at("L1") == pytest.approx(1e6 / (32 * 2e5))


def test_a_point_above_its_roof_is_an_error_of_measurement() -> None:
    # 4e6 compulsory bytes in 0.9 µs are 4.4 TB/s, above a roof of 4 TB/s; 8e6 from DRAM are more.
    chart = chart_of(Variant(times={256: 900.0}, counters=[BYTES]))
    assert [line.split(" bytes")[0] for line in chart.errors] == [
        "v0 moves compulsory", "v0 moves DRAM", "v0 moves L2",
    ]  # fmt: skip


def test_a_point_within_its_roofs_interval_is_no_error() -> None:
    assert chart_of(Variant(times={256: 995.0})).errors == []


def test_a_rate_above_the_arithmetic_roof_is_an_error() -> None:
    chart = chart_of(Variant(times={256: 2e3}, flops=200_000_000))
    assert any("computes at" in line for line in chart.errors)


def test_without_flops_or_time_there_is_no_point_and_a_reason() -> None:
    none = chart_of(Variant(flops=0))
    assert none.kernels == []
    assert "nothing in floating point" in none.absent["v0"]
    assert chart_of(Variant(times={256: None})).absent == {"v0": "not timed"}


def test_only_the_roofs_of_the_types_that_occur_are_drawn() -> None:
    run = run_of({"v0": Variant()}, ceilings=CEILINGS)
    names = [roof.name for roof in roofs(run, [*run.planned.values()])]
    assert names == ["read_bandwidth", "copy_bandwidth", "l2_bandwidth", "fp32_rate"]


def test_the_roof_of_the_kernels_own_traffic_is_drawn_where_it_was_measured() -> None:
    mixed = {**CEILINGS, "mix_2_1_bandwidth": 3.9e12, "mix_1_4_bandwidth": 3.7e12}
    run = run_of({"v0": Variant(written_bytes=4_000_000 // 3)}, ceilings=mixed)
    found = [roof for roof in roofs(run, [*run.planned.values()]) if roof.level == "DRAM"]
    assert [roof.label for roof in found] == ["DRAM 2:1 traffic", "DRAM read", "DRAM copy"]


def test_floats_that_tensor_cores_multiply_are_held_to_the_rate_of_tensor_cores() -> None:
    rates = {**CEILINGS, "fp32_rate": 65e12, "tf32_rate": 490e12}
    run = run_of({"v0": Variant(times={256: 1e6}, flops=10**11)}, ceilings=rates)
    roof = run.roof(case_of(run, "v0"))
    assert roof is not None
    assert roof.name == "FP32"
    assert run.results.above_ceiling.eq(True).any(), "100 TFLOP/s are more than that"

    tf32 = Run(run.folder, {**run.info, "problems": {"reduce_sum": {"arithmetic": "tf32"}}},
               run.records)  # fmt: skip
    roof = tf32.roof(case_of(tf32, "v0"))
    assert roof is not None
    assert roof.name == "TF32 tensor cores"
    assert not tf32.results.above_ceiling.eq(True).any()
    assert roofs(tf32, [*tf32.planned.values()])[-1].label == "TF32 tensor"


def test_without_ceilings_nothing_is_above_a_roof() -> None:
    assert chart_of(Variant(times={256: 1.0}), {}).errors == []
