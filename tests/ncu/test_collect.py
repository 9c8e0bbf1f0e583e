"""One outcome for every way in which ncu can end; a stub replaces ncu."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import stub_ncu

from harness.cases import Case, Step
from harness.job import Job
from harness.journal.counter_records import Counted, Uncounted
from harness.journal.records import Record
from harness.ncu.collect import Collector, file_name, portions, unfinished
from harness.ncu.command_line import Available, Ncu, Settings, command, find, query
from harness.ncu.failures import FORBIDDEN, NO_KERNEL, Failure
from harness.ncu.metrics import choose

SETS = ("dram", "bank_conflicts")


def case(variant: str, steps: int = 1, n: int = 1024) -> Case:
    launches = tuple(Step(f"kernel_{i}", (4, 1, 1), (256, 1, 1), 0, ()) for i in range(steps))
    return Case("reduce_sum", variant, "float32", {"n": n}, {"block": 256}, "v.cu", steps=launches)


THREE = (case("v0", steps=2), case("v1"), case("v2"))


class Bench:
    """A collector that runs the stub, and the records that it passed on."""

    def __init__(self, folder: Path, ncu: Ncu | Failure, deadline_s: float = 20.0) -> None:
        self.records: list[Record] = []
        self.started: list[str] = []
        self.collector = Collector(
            ncu, choose(SETS, None), Settings(), folder / "reports", deadline_s,
            self.records.append, self.started.append, grace_s=0.5,
        )  # fmt: skip

    def collect(self, *cases: Case) -> list[Failure]:
        job = Job("profile", "cuda", None, Path("kernels"), 1, cases=cases or THREE)
        return self.collector.collect(job)

    def counted(self, metric: str = "dram__bytes_read.sum") -> set[tuple[str, int]]:
        found = [r for r in self.records if isinstance(r, Counted) and r.metric == metric]
        assert len(found) == len({(r.case, r.step) for r in found}), "told twice"
        return {(r.case.split("/")[1], r.step) for r in found}

    def reasons(self, metric: str = "dram__bytes_read.sum") -> dict[str, str]:
        missing = [r for r in self.records if isinstance(r, Uncounted) and r.metric == metric]
        return {r.case.split("/")[1]: r.reason for r in missing}


@pytest.fixture
def stub(tmp_path: Path) -> Ncu:
    found = find(stub_ncu.install(tmp_path))
    assert isinstance(found, Ncu)
    return found


@pytest.fixture
def bench(tmp_path: Path, stub: Ncu) -> Bench:
    return Bench(tmp_path, stub)


def behave(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("STUB_NCU", how)


ALL = {("v0", 0), ("v0", 1), ("v1", 0), ("v2", 0)}


def test_a_good_run_gives_every_figure_of_every_step_in_one_process(bench: Bench) -> None:
    assert bench.collect() == []
    assert bench.counted() == ALL
    assert bench.counted("shared_wavefronts_excess") == ALL
    assert not bench.reasons()
    assert len(bench.collector.reports) == 1
    kernels = {r.kernel for r in bench.records if isinstance(r, Counted) and "/v0/" in r.case}
    assert kernels == {"kernel_0", "kernel_1"}
    assert [c.split("/")[1] for c in bench.started] == ["v0", "v1", "v2"]


def test_an_absent_ncu_leaves_every_figure_not_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("NCU", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("harness.ncu.command_line._INSTALLED", ())
    missing = find()
    assert isinstance(missing, Failure)
    bench = Bench(tmp_path, missing)
    assert [f.kind for f in bench.collect()] == ["absent"]
    assert bench.reasons()["v0"].startswith("not collected: Nsight Compute is not installed")
    assert "--ncu PATH" in bench.reasons()["v0"]
    assert bench.counted() == set()


def test_a_named_ncu_that_does_not_exist_is_not_replaced_by_another(tmp_path: Path) -> None:
    failure = find(str(tmp_path / "nowhere"))
    assert isinstance(failure, Failure)
    assert failure.text.startswith("--ncu names ")


def test_ncu_is_found_by_its_variable_and_in_the_cuda_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    path = stub_ncu.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.delenv("NCU", raising=False)
    assert find() == Ncu(path, "2025.3.1.0", "CUDA_HOME")
    monkeypatch.setenv("NCU", path)
    assert find() == Ncu(path, "2025.3.1.0", "NCU")


def test_an_ncu_that_does_not_run_is_told_from_one_that_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "broken")
    failure = find(stub_ncu.install(tmp_path))
    assert isinstance(failure, Failure)
    assert failure.kind == "broken"


def test_forbidden_counters_are_not_permitted_and_name_what_the_administrator_sets(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "forbidden")
    assert bench.collect() == [Failure("forbidden", FORBIDDEN)]
    assert bench.reasons()["v2"].startswith("not permitted: ")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in bench.reasons()["v2"]
    behave(monkeypatch, "good")
    assert [f.kind for f in bench.collect(case("v9"))] == ["forbidden"], "nothing more is tried"
    assert bench.counted() == set()


def test_a_hang_costs_the_case_that_hung_and_keeps_what_was_collected(
    tmp_path: Path, stub: Ncu, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "hanging /v1/")
    bench = Bench(tmp_path, stub, deadline_s=1.5)
    assert [f.kind for f in bench.collect()] == ["late"]
    assert bench.counted() == ALL - {("v1", 0)}
    assert list(bench.reasons()) == ["v1"]
    assert bench.reasons()["v1"].startswith(
        "not collected: not done within 1.5 s, and stopped while profiling reduce_sum/v1/"
    )


def test_a_function_that_ncu_was_stopped_in_has_no_figures_of_the_launches_that_it_had_made(
    tmp_path: Path, stub: Ncu, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "hanging /library/")
    bench = Bench(tmp_path, stub, deadline_s=1.5)
    assert [f.kind for f in bench.collect(*THREE, case("library", steps=0))] == ["late"]
    assert bench.counted() == ALL
    assert "stopped while profiling reduce_sum/library/" in bench.reasons()["library"]


def test_a_portion_may_take_long_if_none_of_its_cases_does(
    tmp_path: Path, stub: Ncu, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "slow 0.6")
    bench = Bench(tmp_path, stub, deadline_s=1.5)
    assert bench.collect() == []
    assert bench.counted() == ALL


def test_an_ncu_that_does_not_end_with_its_worker_is_ended_too(
    tmp_path: Path, stub: Ncu, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "deaf /v1/")
    bench = Bench(tmp_path, stub, deadline_s=1.5)
    assert [f.kind for f in bench.collect()] == ["late"]
    assert bench.counted() == ALL - {("v1", 0)}, "v0 is tried again without v1"


def test_a_crash_of_ncu_costs_the_case_that_ran_and_the_others_are_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "crashing /v1/")
    failures = bench.collect()
    assert [f.kind for f in failures] == ["crashed"]
    assert "signal 11" in failures[0].text
    assert bench.counted() == ALL - {("v1", 0)}
    assert list(bench.reasons()) == ["v1"]


def test_a_crash_in_every_case_ends_after_a_few_tries(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "crashing reduce_sum")
    cases = [case(f"v{i}") for i in range(6)]
    assert [f.kind for f in bench.collect(*cases)] == ["crashed"] * 3
    assert set(bench.reasons()) == {f"v{i}" for i in range(6)}


def test_a_worker_that_dies_tells_its_own_words_and_leaves_the_earlier_figures(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "dying-worker /v1/")
    failures = bench.collect()
    assert [f.kind for f in failures] == ["crashed"]
    assert "illegal memory access" in bench.reasons()["v1"]
    assert bench.counted() == ALL - {("v1", 0)}


def test_a_truncated_report_shows_no_figure_at_all(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "truncating")
    assert [f.kind for f in bench.collect()] == ["truncated"]
    assert bench.counted() == set()
    assert "is cut off after" in bench.reasons()["v0"]


def test_an_empty_report_is_a_truncated_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    behave(monkeypatch, "empty")
    assert [f.kind for f in bench.collect()] == ["truncated"]


def test_a_report_of_another_version_is_named_as_that(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "older")
    assert [f.kind for f in bench.collect()] == ["other version"]
    assert "was written by Nsight Compute 2025.3.1.0" in bench.reasons()["v1"]
    assert bench.counted() == set()


def test_an_ncu_that_profiles_nothing_is_repeated_in_its_own_words(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "silent")
    assert [f.kind for f in bench.collect()] == ["no report"]
    assert "No kernels were profiled." in bench.reasons()["v0"]


def test_a_function_that_launches_no_kernel_has_nothing_to_count_and_is_not_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_NCU", "copying torch")
    torch = replace(case("torch"), kind="python", function="with_torch.py:copy", steps=())
    assert bench.collect(*THREE, torch) == []
    assert bench.counted() == ALL
    assert bench.reasons() == {"torch": NO_KERNEL.reason}
    assert NO_KERNEL.reason.startswith("not applicable: the function launched no kernel")
    assert unfinished([*THREE, torch], bench.records, ["dram__bytes_read.sum"]) == []


def test_a_metric_that_ncu_refuses_is_left_out_and_the_rest_is_collected(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "refusing memory_l1_wavefronts_shared_ideal")
    assert bench.collect() == []
    assert bench.counted() == ALL
    why = "not applicable: ncu has no such metric here"
    assert bench.reasons("memory_l1_wavefronts_shared_ideal")["v0"] == why
    assert bench.reasons("shared_wavefronts_excess")["v0"] == why
    assert bench.counted("memory_l1_wavefronts_shared") == ALL


def test_the_metrics_of_the_gpu_are_asked_for_before_a_run(
    stub: Ncu, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "good op")
    available = query(stub, "gh100")
    assert isinstance(available, Available)
    assert available.chip == "gh100"
    assert "dram__bytes_op_read" in available.names
    assert "dram__bytes_read" not in available.names


def test_the_command_states_both_controls_the_ranges_and_the_metrics() -> None:
    ncu = Ncu("/opt/ncu", "2025.3.1.0", "--ncu")
    made = command(ncu, ["a.sum", "b.ratio"], Path("r.ncu-rep"), Settings(), ["python", "x"])
    pairs = list(pairwise(made))
    assert made[0] == "/opt/ncu"
    assert made[-2:] == ["python", "x"]
    for pair in (
        ("--clock-control", "none"), ("--cache-control", "all"), ("--metrics", "a.sum,b.ratio"),
        ("--nvtx-include", "regex:kernel-harness@.*/"), ("--export", "r.ncu-rep"),
    ):  # fmt: skip
        assert pair in pairs
    assert "--nvtx" in made


def test_cases_of_one_problem_share_a_process_and_many_are_divided() -> None:
    other = replace(case("v0"), problem="reduce_max")
    cases = [case(f"v{i}", n=n) for i in range(3) for n in (1024, 2)] + [other]
    parts = portions(cases, most=4)
    assert [len(part) for part in parts] == [1, 4, 2]
    assert all(len({c.problem for c in part}) == 1 for part in parts)
    sizes = [c.sizes["n"] for part in parts[1:] for c in part]
    assert sum(a != b for a, b in pairwise(sizes)) == 1, "inputs are made once"


def test_a_resumed_run_collects_only_what_another_try_could_give(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "crashing /v1/")
    bench.collect()
    names = bench.collector.selection.names()
    assert unfinished(THREE, bench.records, names) == [THREE[1]]
    behave(monkeypatch, "good")
    assert bench.collect(THREE[1]) == []
    assert unfinished(THREE, bench.records, names) == []


def test_a_metric_that_does_not_apply_is_not_collected_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    behave(monkeypatch, "refusing memory_l1_wavefronts_shared_ideal")
    bench.collect()
    assert unfinished(THREE, bench.records, bench.collector.selection.names()) == []


def test_an_earlier_report_is_never_overwritten(bench: Bench) -> None:
    bench.collect()
    bench.collect(case("v7"))
    names = [path.name for path in bench.collector.reports]
    assert names == [f"reduce_sum-{part}.ncu-rep" for part in (1, 2)]
    assert all(path.exists() for path in bench.collector.reports)


def test_a_file_name_holds_nothing_that_ncu_or_a_shell_expands() -> None:
    odd = Case("a%p b", "v0", "float32", {"n": 1})
    assert file_name([odd], 1) == "a-p-b-1.ncu-rep"
