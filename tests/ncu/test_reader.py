"""Reports are converted to figures: files by the real ncu_report, other cases by a fake of it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from report_files import Launch, write

from harness.journal.counter_records import Counted, Uncounted
from harness.ncu.failures import Failure
from harness.ncu.metrics import catalogue
from harness.ncu.reader import Counts, Report, read, read_apart, records
from harness.ncu.stage import from_file

CASE = "reduce_sum/v0/float32/n=16/block=256"
ROOT = Path(__file__).parent.parent.parent
REAL = ROOT / "tests/data/real_report/reduce_sum.ncu-rep"
RECORDED = REAL.with_name("counters.csv.gz")
"""The records of the run that produced the report, on an H200 at commit 4b7bd15d91."""


def counts_of(path: Path, step: int = 0, case: str = CASE) -> Counts:
    report = read(path)
    assert isinstance(report, Report), report
    return report.steps[case, step]


def test_a_launch_belongs_to_the_case_and_step_that_its_range_names(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    first = Launch("block_sums", (CASE, f"{CASE}#0"), {"dram__bytes_read.sum": 64.0})
    second = Launch("sum_partials", (CASE, f"{CASE}#1"), {"dram__bytes_read.sum": 32.0})
    write(path, [second, first])  # not in order of creation, so the position means nothing
    report = read(path)
    assert isinstance(report, Report)
    assert report.steps[CASE, 0].values == {"dram__bytes_read": 64.0}
    assert report.steps[CASE, 1].values == {"dram__bytes_read": 32.0}
    assert report.steps[CASE, 1].kernel == "sum_partials"
    assert report.version == "2025.3.1.0"


def test_a_launch_outside_our_ranges_belongs_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    ours = Launch("ours", (f"{CASE}#0",), {"dram__bytes_read.sum": 64.0})
    strangers = [
        Launch("flush_l2"),
        Launch("verified", (CASE,), {"dram__bytes_read.sum": 1.0}),
        Launch("torch", (f"{CASE}#0",), {"dram__bytes_read.sum": 1.0}, domain="torch"),
    ]
    write(path, [*strangers, ours])
    report = read(path)
    assert isinstance(report, Report)
    assert list(report.steps) == [(CASE, 0)]
    assert report.foreign == 3
    assert report.steps[CASE, 0].values["dram__bytes_read"] == 64.0


def test_a_report_with_no_launch_of_ours_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("other"), Launch("another")])
    failure = read(path)
    assert isinstance(failure, Failure)
    assert failure.kind == "foreign"
    assert "none of its 2 launches" in failure.text


def test_a_percentage_is_read_as_a_ratio(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    name = "sm__warps_active.avg.pct_of_peak_sustained_active"
    write(path, [Launch("k", (f"{CASE}#0",), {name: 87.5})])
    assert counts_of(path).values["sm__warps_active"] == 0.875


def test_a_metric_without_a_value_has_a_reason_and_is_never_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    metrics = {"dram__bytes_read.sum": None, "lts__t_bytes.sum": "n/a"}
    write(path, [Launch("k", (f"{CASE}#0",), metrics)])
    counts = counts_of(path)
    assert not counts.values
    assert counts.reasons["dram__bytes_read"] == (
        "not collected: ncu gives no number for dram__bytes_read.sum"
    )
    assert "no number for lts__t_bytes.sum" in counts.reasons["lts__t_bytes"]
    assert counts.reasons["dram__bytes_write"] == (
        "not collected: dram__bytes_write.sum is not in the report"
    )
    assert set(counts.reasons) == {*catalogue().metrics, *catalogue().derived}


def test_a_value_of_zero_stays_a_value(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k", (f"{CASE}#0",), {"memory_l1_wavefronts_shared": 0})])
    assert counts_of(path).values["memory_l1_wavefronts_shared"] == 0


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_no_value(tmp_path: Path, wrong: float) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k", (f"{CASE}#0",), {"dram__bytes_read.sum": wrong})])
    counts = counts_of(path)
    assert "dram__bytes_read" not in counts.values
    assert counts.reasons["dram__bytes_read"] == (
        f"not collected: ncu gives {wrong} for dram__bytes_read.sum"
    )


def test_a_metric_under_its_alternative_name_is_recorded_under_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k", (f"{CASE}#0",), {"dram__bytes_op_read.sum": 64.0})])
    found = from_file(path)
    assert found == [Counted(CASE, 0, "k", "dram__bytes_read.sum", 64.0, "byte", "ncu")]


def test_a_report_read_later_tells_its_own_reasons_instead_of_those_of_the_failed_try(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k", (f"{CASE}#0",), {"dram__bytes_read.sum": 64.0})])
    crashed = "not collected: what reads it ended with signal 11"
    without = "not applicable: GH100 has no counter lts__t_sectors_op_read"
    tried = [
        Uncounted(CASE, 0, "dram__bytes_read.sum", crashed),
        Uncounted(CASE, 0, "dram__bytes_write.sum", crashed),
        Uncounted(CASE, 0, "lts__t_sectors_op_read.sum", without),
        Uncounted("another case", 0, "dram__bytes_write.sum", crashed),
    ]
    why = "not collected: dram__bytes_write.sum is not in the report"
    assert from_file(path, tried) == [
        Counted(CASE, 0, "k", "dram__bytes_read.sum", 64.0, "byte", "ncu"),
        Uncounted(CASE, 0, "dram__bytes_write.sum", why),
    ]


def test_a_case_that_ncu_was_stopped_in_is_not_read_from_what_it_left(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    figure = {"dram__bytes_read.sum": 64.0}
    write(path, [Launch("k", (f"{each}#0",), figure) for each in (CASE, f"{CASE}6")])
    late = f"not collected: not done within 60 s, and stopped while profiling {CASE}\n  again"
    tried = [Uncounted(each, 0, "dram__bytes_read.sum", late) for each in (CASE, f"{CASE}6")]
    whole = Counted(f"{CASE}6", 0, "k", "dram__bytes_read.sum", 64.0, "byte", "ncu")
    assert from_file(path, tried) == [whole]


def test_several_launches_of_one_step_add_their_amounts_and_have_no_rate(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    load = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
    metrics = [
        {
            "l1tex__t_sector_hit_rate.pct": 50.0,
            load.format("sectors"): s,
            load.format("requests"): r,
        }
        for s, r in ((32.0, 8.0), (32.0, 1.0), (36.0, 1.0))
    ]
    names = ("fill", "reduce", "reduce")
    write(path, [Launch(n, (f"{CASE}#0",), m) for n, m in zip(names, metrics, strict=True)])
    counts = counts_of(path)
    assert counts.kernel == "fill + reduce"
    assert counts.values["l1tex__t_sectors_pipe_lsu_mem_global_op_ld"] == 100
    assert counts.values["sectors_per_load"] == 10  # the ratio of sums, not a mean of ratios
    assert counts.reasons["l1tex__t_sector_hit_rate"].startswith(
        "not applicable: the step made 3 launches"
    )


def test_a_derived_figure_has_the_reason_of_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k", (f"{CASE}#0",), {"memory_l1_wavefronts_shared": 5})])
    counts = counts_of(path)
    assert counts.reasons["shared_wavefronts_excess"] == (
        "not collected: memory_l1_wavefronts_shared_ideal is not in the report"
    )


def test_a_ratio_with_nothing_to_divide_by_is_not_applicable(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    metrics = {"memory_l1_wavefronts_shared": 0, "memory_l1_wavefronts_shared_ideal": 0}
    write(path, [Launch("k", (f"{CASE}#0",), metrics)])
    assert counts_of(path).reasons["shared_wavefronts_over_ideal"].startswith("not applicable")


def test_every_figure_asked_for_becomes_a_value_or_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k", (f"{CASE}#0",), {"dram__bytes_read.sum": 64.0})])
    names = ["dram__bytes_read.sum", "dram__bytes_write.sum", "dram_bytes"]
    found = list(records((CASE, 0), counts_of(path), names, kernel="block_sums"))
    why = "not collected: dram__bytes_write.sum is not in the report"
    assert found == [
        Counted(CASE, 0, "block_sums", "dram__bytes_read.sum", 64.0, "byte", "ncu"),
        Uncounted(CASE, 0, "dram__bytes_write.sum", why),
        Uncounted(CASE, 0, "dram_bytes", why),
    ]


class FakeMetric:
    """The parts of ncu_report.IMetric that are used."""

    ValueKind_FLOAT, ValueKind_DOUBLE, ValueKind_UINT32, ValueKind_UINT64 = 3, 4, 5, 6

    def __init__(self, value: float, unit: str) -> None:
        self._value, self._unit = value, unit

    def kind(self) -> int:
        return self.ValueKind_DOUBLE

    def as_double(self) -> float:
        return self._value

    def unit(self) -> str:
        return self._unit


class FakeRange:
    """INvtxRange: a registered string is in the message, and the name is empty."""

    def name(self) -> str:
        return ""

    def message(self) -> str:
        return f"{CASE}#0"


class FakeReport:
    """The module ncu_report with one launch: context, range, action, NVTX state and domain."""

    def __init__(self, metrics: Mapping[str, FakeMetric]) -> None:
        self._metrics = metrics

    def load_report(self, path: str) -> FakeReport:
        return self

    def num_ranges(self) -> int:
        return 1

    num_actions = num_ranges

    def range_by_idx(self, index: int) -> FakeReport:
        return self

    action_by_idx = domain_by_id = range_by_idx

    def nvtx_state(self) -> FakeReport:
        return self

    def domains(self) -> Sequence[int]:
        return (3,)

    def name(self) -> str:
        return "kernel-harness"

    def push_pop_range(self, index: int) -> FakeRange | None:
        return FakeRange() if index == 0 else None

    def metric_by_name(self, name: str) -> FakeMetric | None:
        return self._metrics.get(name)


@pytest.mark.parametrize(
    ("name", "value", "unit", "expected"),
    [
        ("dram__bytes_read.sum", 2.5, "Mbyte", 2.5e6),
        ("dram__bytes_read.sum", 7.0, "byte", 7.0),
        ("gpu__time_duration.sum", 3.0, "usecond", 3000.0),
        ("gpu__time_duration.sum", 3.0, "ns", 3.0),
        ("dram__throughput.avg.pct_of_peak_sustained_elapsed", 40.0, "%", 0.4),
        ("smsp__inst_executed.sum", 9.0, "inst", 9.0),
        ("memory_l1_wavefronts_shared", 9.0, "sectors", 9.0),  # as ncu 2026 calls them
    ],
)
def test_units_become_base_units(
    tmp_path: Path, name: str, value: float, unit: str, expected: float
) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k")])
    report = read(path, FakeReport({name: FakeMetric(value, unit)}))
    assert isinstance(report, Report)
    key = name.partition(".")[0]
    assert report.steps[CASE, 0].values[key] == pytest.approx(expected)


def test_a_unit_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k")])
    report = read(path, FakeReport({"gpu__time_duration.sum": FakeMetric(3.0, "cycle")}))
    assert isinstance(report, Report)
    assert report.steps[CASE, 0].reasons["gpu__time_duration"] == (
        "not collected: ncu gives gpu__time_duration.sum in cycle, not in ns"
    )


def test_a_module_that_raises_makes_a_failure_and_no_traceback(tmp_path: Path) -> None:
    class Raising(FakeReport):
        def load_report(self, path: str) -> FakeReport:
            raise RuntimeError("unknown report version")

    path = tmp_path / "a.ncu-rep"
    write(path, [Launch("k")])
    failure = read(path, Raising({}))
    assert isinstance(failure, Failure)
    assert failure.kind == "other version"
    assert "unknown report version" in failure.text


def test_a_real_report_gives_figures_that_a_gpu_can_have() -> None:
    report = read(REAL)
    assert isinstance(report, Report), report
    assert report.version == "2025.3.1.0"
    assert len({case for case, _ in report.steps}) == 24
    for (case, step), counts in report.steps.items():
        assert case.count("/") >= 3, "problem/variant/dtype/sizes"
        assert step >= 0
        assert counts.values["gpu__time_duration"] > 0
        assert all(math.isfinite(value) for value in counts.values.values())
        for key, metric in catalogue().metrics.items():
            if metric.unit == "ratio" and key in counts.values:
                assert 0 <= counts.values[key] <= 1.05, (case, key)
        threads = counts.values.get("smsp__thread_inst_executed_per_inst_executed", 32)
        assert 1 <= threads <= 32
        wavefronts = counts.values.get("memory_l1_wavefronts_shared", 0)
        assert wavefronts >= counts.values.get("memory_l1_wavefronts_shared_ideal", 0)
        assert 1 <= counts.values.get("sectors_per_load", 1) <= 32


def test_a_real_report_gives_the_counters_that_its_run_recorded() -> None:
    table = pd.read_csv(RECORDED)
    recorded = {
        (row.case, row.step, row.metric): row.value
        for row in table[table.provenance == "ncu"].itertuples()
    }
    found = [record for record in from_file(REAL) if isinstance(record, Counted)]
    assert len(found) > 1000
    for record in found:
        there = recorded[record.case, record.step, record.metric]
        assert record.value == pytest.approx(there, rel=1e-9), record


def test_a_reductions_bank_conflicts_are_in_the_real_report() -> None:
    report = read(REAL)
    assert isinstance(report, Report)
    counts = report.steps["reduce_sum/v2_no_divergence/float32/n=16777216/block=256", 0]
    blocks = 2**24 // 256
    assert counts.values["memory_l1_wavefronts_shared"] == 150 * blocks
    assert counts.values["memory_l1_wavefronts_shared_ideal"] == 45 * blocks


@pytest.mark.fault(
    "a crash of the library that reads Nsight Compute's reports",
    outcome="The file's counters are `not collected`, with the reason; the run goes on.",
)
def test_a_crash_of_what_reads_a_report_is_a_reason_and_no_end_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = "import os, signal\nload_report = lambda path: os.kill(os.getpid(), signal.SIGSEGV)\n"
    (tmp_path / "ncu_report.py").write_text(crash)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    failure = read_apart(REAL)
    assert isinstance(failure, Failure)
    assert failure.kind == "unreadable"
    assert "ended with signal 11" in failure.text
    assert "report --ncu" in failure.text


def test_a_report_that_another_process_reads_says_the_same() -> None:
    assert read_apart(REAL) == read(REAL)
