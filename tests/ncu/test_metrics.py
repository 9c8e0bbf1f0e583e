"""metrics.yaml compared with the metrics that ncu lists for an H200, and the selection on a GPU
that lacks some metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import ConfigError, UsageError
from harness.ncu.command_line import Available, listed
from harness.ncu.derived import FORMULAS, occupancy_limiter
from harness.ncu.metrics import base, catalogue, choose

LIST = Path(__file__).parent.parent / "data" / "ncu_metrics_gh100.txt"

# Launch and source metrics, which --query-metrics does not list: Nsight Compute 2025.3, Kernel
# Profiling Guide, Metrics Reference. The metrics of memory_l1 were read on an H200.
UNLISTED = {
    "sm__maximum_warps_per_active_cycle_pct",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_warps",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_barriers",
    "launch__registers_per_thread",
    "launch__waves_per_multiprocessor",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
}
SUFFIXES = {
    "Counter": {"sum", "avg", "min", "max"},
    "Ratio": {"ratio", "pct", "max_rate"},
    "Throughput": {"avg", "min", "max", "sum"},
}


@pytest.fixture(scope="module")
def gh100() -> Available:
    found = listed(LIST.read_text())
    assert found is not None
    return found


def test_every_metric_that_ncu_lists_is_listed_by_an_h200_with_a_roll_up_of_its_type() -> None:
    kinds = dict(line.split() for line in LIST.read_text().splitlines()[1:])
    for metric in catalogue().metrics.values():
        if metric.listed:
            assert base(metric.ncu) in kinds, metric.ncu
            assert metric.ncu.split(".")[1] in SUFFIXES[kinds[base(metric.ncu)]], metric.ncu


def test_every_metric_that_ncu_does_not_list_is_a_documented_launch_or_source_metric() -> None:
    unlisted = {metric.ncu for metric in catalogue().metrics.values() if not metric.listed}
    assert unlisted == UNLISTED


def test_the_sets_are_those_that_people_may_ask_for() -> None:
    assert list(catalogue().sets) == [
        "dram", "occupancy", "bank_conflicts", "divergence", "coalescing", "cache", "roofline",
        "stalls", "instructions",
    ]  # fmt: skip


def test_a_key_is_the_base_name_of_its_metric() -> None:
    for key, metric in catalogue().metrics.items():
        assert key == base(metric.ncu)


def test_only_sums_add_up_over_launches() -> None:
    for metric in catalogue().metrics.values():
        summed = metric.ncu.endswith(".sum") or metric.ncu.startswith("memory_l1_wavefronts")
        assert metric.adds_up == summed, metric.ncu


def test_a_percentage_becomes_a_ratio() -> None:
    for metric in catalogue().metrics.values():
        assert ("pct" in metric.ncu) == (metric.unit == "ratio"), metric.ncu


def test_every_derived_figure_has_a_formula_and_every_formula_a_figure() -> None:
    assert set(catalogue().derived) == set(FORMULAS)


def test_a_formula_needs_no_more_than_it_says() -> None:
    for key, derived in catalogue().derived.items():
        values = {need: float(i) for i, need in enumerate(derived.needs, 2)}
        assert FORMULAS[key](values) is not None


def test_a_fused_multiply_add_is_two_flops_and_a_pair_of_halves_twice_as_many() -> None:
    name = "smsp__sass_thread_inst_executed_op_{}_pred_on"
    single = {name.format(f"f{op}"): n for op, n in (("add", 1.0), ("mul", 10.0), ("fma", 100.0))}
    half = {name.format(f"h{op}"): n for op, n in (("add", 1.0), ("mul", 10.0), ("fma", 100.0))}
    assert FORMULAS["flops_fp32"](single) == 211
    assert FORMULAS["flops_fp16"](half) == 422


def test_no_shared_memory_traffic_has_no_ratio_to_the_ideal() -> None:
    none = {"memory_l1_wavefronts_shared": 0.0, "memory_l1_wavefronts_shared_ideal": 0.0}
    assert FORMULAS["shared_wavefronts_over_ideal"](none) is None
    assert FORMULAS["shared_wavefronts_excess"](none) == 0


def test_the_smallest_limit_is_the_limiter_and_ties_are_named_together() -> None:
    limits = {"registers": 8.0, "shared_mem": 6.0, "warps": 8.0, "blocks": 32.0}
    values = {f"launch__occupancy_limit_{kind}": n for kind, n in limits.items()}
    assert occupancy_limiter(values) == "shared memory"
    values["launch__occupancy_limit_warps"] = 6.0
    assert occupancy_limiter(values) == "shared memory and warps"


def test_an_h200_has_every_metric_of_every_set(gh100: Available) -> None:
    selection = choose([], gh100.names, gh100.chip)
    assert not selection.absent
    assert gh100.chip == "gh100"
    assert selection.ask["dram__bytes_read"] == "dram__bytes_read.sum"


def test_only_the_metrics_of_the_set_asked_for_are_collected_and_the_duration() -> None:
    selection = choose(["dram"], None)
    assert set(selection.ask) == {
        "gpu__time_duration", "dram__throughput", "dram__bytes_read", "dram__bytes_write",
    }  # fmt: skip


def test_what_a_derived_figure_needs_is_collected_with_it() -> None:
    selection = choose(["coalescing"], None)
    assert "sectors_per_load" in selection.derived
    assert set(catalogue().derived["sectors_per_load"].needs) <= set(selection.ask)


def test_a_gpu_that_knows_a_metric_by_another_name_is_asked_by_that_name(
    gh100: Available,
) -> None:
    names = gh100.names - {"dram__bytes_read"} | {"dram__bytes_op_read"}
    selection = choose(["dram"], names, "a chip")
    assert selection.ask["dram__bytes_read"] == "dram__bytes_op_read.sum"
    assert "dram__bytes_read.sum" in selection.names()


def test_a_metric_that_the_gpu_lacks_is_left_out_with_a_reason_and_the_rest_is_asked_for(
    gh100: Available,
) -> None:
    selection = choose(["cache"], gh100.names - {"lts__t_sector_hit_rate"}, "a chip")
    assert selection.absent == {
        "lts__t_sector_hit_rate": "not applicable: a chip has no counter lts__t_sector_hit_rate"
    }
    assert "l1tex__t_sector_hit_rate" in selection.ask


def test_a_set_that_does_not_exist_is_refused_and_the_sets_are_named() -> None:
    with pytest.raises(UsageError, match="--metrics drum: there is no such set") as refusal:
        choose(["drum"], None)
    assert "bank_conflicts" in str(refusal.value)


def test_a_misspelt_key_in_the_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.yaml"
    path.write_text("sets: {}\nmetrics:\n  a__b:\n    titel: x\nderived: {}\n")
    with pytest.raises(ConfigError, match=r"metrics.yaml:\d: metrics.a__b"):
        catalogue(path)


def test_a_set_of_an_unknown_metric_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.yaml"
    path.write_text(
        "sets:\n  s:\n    title: t\n    metrics:\n      - nothing__here\nmetrics: {}\nderived: {}\n"
    )
    with pytest.raises(ConfigError, match=r":4: sets.s.metrics: `nothing__here` is not a metric"):
        catalogue(path)
