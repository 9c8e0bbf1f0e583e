"""A run into a folder that has results repeats what changed, and keeps the rest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from fake_device import device
from station import Station
from tiny_problem import KERNEL, PROBLEM, edit, timed_matrix

from harness import tables
from harness.errors import UsageError
from harness.journal.records import Outcome, Renewed, Round, Verified
from harness.machine import environment
from harness.matrix import model
from harness.matrix.filters import Choice
from harness.run import staleness
from harness.run.folder import Folder
from harness.run.runner import Runner
from harness.tables import Run

pytestmark = pytest.mark.usefixtures("importable")

FAKE = "fake_device:open_backend"
MATRIX = timed_matrix(
    "honest1: {}", "honest2: {builds_on: honest1}", "honest3:\n        when: n != 2048",
    bench="1024, 2048", rounds=1,
)  # fmt: skip

ONE_SIZE = Choice(size=("n=1024",))
"""The settings with which all three variants run in half as many processes."""

Again = Callable[..., Run]
Ended = Callable[..., tuple[str, str]]


def prepare(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Write the matrix and its three sources, one of which includes a header, into the tiny
    problem."""
    patch.setenv("PYTHONPATH", f"{Path(__file__).parents[2]}:{Path(__file__).parent}")
    patch.setenv("FAKE_COSTS", json.dumps({"honest2": 500.0}))
    double = folder / "kernels" / "double"
    double.mkdir(parents=True, exist_ok=True)
    (double / "problem.py").write_text(PROBLEM)
    (folder / "bench.yaml").write_text(MATRIX)
    (folder / "kernels" / "scale.cuh").write_text("#define SCALE 2\n")
    for name in ("honest1", "honest2", "honest3"):
        (double / f"{name}.cu").write_text(KERNEL)
    (double / "honest2.cu").write_text(
        '#include "scale.cuh"\n' + KERNEL.replace("2 * input", "SCALE * input")
    )


def run(folder: Path, choice: Choice, profiling: bool) -> Run:
    bench, out = model.load(folder / "bench.yaml"), folder / "run"
    now = datetime.now(timezone.utc)
    there = Folder(out, bench, choice, FAKE, device(), now, only_profiling=profiling)
    runner = Runner(
        there.bench, device(), FAKE, there.choice.only, out, chosen=there.chosen
    )  # fmt: skip
    there.open(runner)
    runner.run()
    there.close(int(runner.failed), tables.load(out))
    return tables.load(out)


@pytest.fixture
def again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Again:
    """Run into the same folder again: again(choice, profiling)."""
    prepare(folder, monkeypatch)

    def run_again(choice: Choice = Choice(), profiling: bool = False) -> Run:  # noqa: B008
        return run(folder, choice, profiling)

    return run_again


@pytest.fixture
def first(again: Again, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of the whole matrix in this test's folder; the first test makes it."""
    finished = tmp_path_factory.getbasetemp() / "finished"
    if not finished.exists():
        again()
        shutil.copytree(folder, finished, ignore=shutil.ignore_patterns(".cache"))
    shutil.copytree(finished, folder, dirs_exist_ok=True)
    return tables.load(folder / "run")


def rounds(run: Run, case: str) -> list[Round]:
    return [r for r in run.of(Round) if r.case == case]


def timed(run: Run) -> set[str]:
    """The cases that have rounds, except those of the ceilings."""
    return {r.case for r in run.of(Round)} & set(run.planned)


def kept(before: Run, after: Run) -> set[str]:
    """The cases whose rounds all existed before."""
    return {case for case in timed(before) if rounds(before, case) == rounds(after, case)}


def case(variant: str, n: int) -> str:
    return f"double/{variant}/float32/n={n}/block=64"


def at_test_sizes(run: Run, variant: str) -> list[Verified]:
    return [v for v in run.of(Verified) if v.variant == variant and v.phase == "test"]


def test_where_nothing_changed_nothing_is_done(again: Again, folder: Path) -> None:
    first = again()
    before = (folder / "run" / "journal.jsonl").read_bytes()
    assert {o.status for o in first.outcomes.values()} == {"ok", "skipped"}
    again()
    assert (folder / "run" / "journal.jsonl").read_bytes() == before


def test_a_changed_source_is_verified_and_its_sizes_are_timed_anew(
    again: Again, first: Run, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(folder / "kernels" / "double" / "honest3.cu", "2 * input", "input[i] + input")
    capsys.readouterr()
    second = again()
    # honest3 exists only at n = 1024, so the timings at 2048 are kept.
    assert kept(first, second) == {case("honest1", 2048), case("honest2", 2048)}
    assert timed(second) == timed(first)
    assert len(rounds(second, case("honest2", 1024))) == len(rounds(first, case("honest2", 1024)))
    assert at_test_sizes(second, "honest1") == at_test_sizes(first, "honest1")
    # Its own launches at the test sizes use the current code.
    assert len(at_test_sizes(second, "honest3")) == len(at_test_sizes(first, "honest3"))
    assert all(o.status in ("ok", "skipped") for o in second.outcomes.values())
    assert second.compare(case("honest2", 1024), case("honest1", 1024)).verdict == "faster"
    said = capsys.readouterr().out
    assert "anew: double/honest3 (double/honest3.cu changed)" in said
    assert "timed again beside them: 2 cases of the same sizes" in said
    assert "kept: 3 cases" in said  # two at n = 2048, and honest3 there, which is skipped


def test_a_changed_source_that_is_wrong_now_fails_and_the_others_are_timed_without_it(
    again: Again, first: Run, folder: Path
) -> None:
    assert first.outcomes[case("honest3", 1024)].status == "ok"
    edit(folder / "kernels" / "double" / "honest3.cu", "2 * input", "3 * input")
    second = again()
    assert second.outcomes[case("honest3", 1024)].status == "failed"
    assert second.outcomes[case("honest1", 1024)].status == "ok"
    assert not rounds(second, case("honest3", 1024))


@pytest.mark.fault(
    "a header that changed between two runs into one folder, whatever its suffix",
    outcome="Just the cases that include it are compiled, verified and timed anew.",
)
@pytest.mark.parametrize("name", ["scale.cuh", "scale.hpp", "scale.inl", "scale"])
def test_a_changed_header_renews_what_includes_it(again: Again, folder: Path, name: str) -> None:
    (folder / "kernels" / "scale.cuh").rename(folder / "kernels" / name)
    edit(folder / "kernels" / "double" / "honest2.cu", "scale.cuh", name)
    assert set(again(ONE_SIZE).planned) == {case(f"honest{i}", 1024) for i in (1, 2, 3)}
    edit(folder / "kernels" / name, "SCALE 2", "SCALE (1 + 1)")
    renewed = again(ONE_SIZE).of(Renewed)
    assert {r.variant for r in renewed if r.what == "case"} == {"honest2"}
    assert {r.reason for r in renewed if r.what == "case"} == {f"{name} changed"}


@pytest.mark.fault(
    "another nvcc, driver or harness than when the folder's results were made",
    outcome="What was measured with the other one is measured anew, and the reason is said.",
)
@pytest.mark.parametrize(
    ("what", "reason"),
    [("nvcc", "nvcc 13.0.1 → 13.9.9"), ("driver", "driver 580.1 → 590.2"),
     ("harness", "harness changed")],
)  # fmt: skip
def test_another_compiler_driver_or_harness_renews_every_case(
    again: Again, monkeypatch: pytest.MonkeyPatch, what: str, reason: str
) -> None:
    here = {"nvcc": "13.0.1", "driver": "580.1", "harness": "0" * 16}
    monkeypatch.setattr(staleness, "_nvcc", lambda: here["nvcc"])
    monkeypatch.setattr(environment, "driver", lambda: here["driver"])
    monkeypatch.setattr(staleness, "harness_hash", lambda is_timed: here["harness"])
    again(ONE_SIZE)
    assert not again(ONE_SIZE).of(Renewed)
    here |= {"nvcc": "13.9.9"} if what == "nvcc" else {}
    here |= {"driver": "590.2"} if what == "driver" else {}
    here |= {"harness": "1" * 16} if what == "harness" else {}
    second = again(ONE_SIZE)
    assert {r.reason for r in second.of(Renewed)} == {reason}
    assert {r.case for r in second.of(Renewed)} == set(second.planned)
    assert len(second.planned) == 3
    assert {o.status for o in second.outcomes.values()} == {"ok"}


def test_the_harness_that_makes_a_result_is_part_of_it_and_what_draws_it_is_not() -> None:
    timed, emulated = staleness.harness_hash(True), staleness.harness_hash(False)
    assert timed != emulated
    files = {str(f.relative_to(staleness.HARNESS)) for f in staleness.harness_files(True)}
    assert {"backends/cuda/workspace.py", "compiler/compile.py", "measure/rounds.py"} <= files
    assert not any(f.startswith(("report", "tables", "commands", "emulator")) for f in files)


@pytest.mark.fault(
    "a limit that is raised after a run",
    outcome="The folder is gone on with, and just what that limit had ended is tried again.",
)
def test_a_raised_limit_goes_on_with_what_it_had_ended(station: Station, outcome: Ended) -> None:
    station.flag("slow").write_text("3")
    first = station.run("honest1", "dawdle", limits="{launch_s: 2}")
    assert outcome(first, "dawdle") == ("failed", "not done within 2 s, and stopped")
    again = station.run("honest1", "dawdle", limits="{launch_s: 2, qualify_s: 100}")
    assert outcome(again, "dawdle")[0] == "failed"
    assert not again.of(Renewed)
    third = station.run("honest1", "dawdle", limits="{launch_s: 60}")
    assert outcome(third, "dawdle") == ("ok", "")
    assert {r.reason for r in third.of(Renewed) if r.what == "case"} == {"limits: launch_s 2 → 60"}


@pytest.mark.fault(
    "an outcome's line that somebody deleted from the journal",
    outcome="That case is verified and measured anew, and nothing asks to resume for ever.",
)
@pytest.mark.parametrize("variant", ["honest2", "wrong_small"])
def test_a_deleted_outcome_is_found_out_anew(
    station: Station, outcome: Ended, variant: str
) -> None:
    first = station.run("honest1", variant)
    lines = station.journal.read_text().splitlines(keepends=True)
    lost = [line for line in lines if f'"case": "double/{variant}/' in line and '"status"' in line]
    assert len(lost) == 1
    station.journal.write_text("".join(line for line in lines if line not in lost))
    again = station.run("honest1", variant)
    assert outcome(again, variant) == outcome(first, variant)
    assert not any("run again to resume" in o.reason for o in again.of(Outcome))


def test_a_changed_flag_renews_its_variant_and_its_place_and_idea_do_not(
    again: Again, first: Run, folder: Path
) -> None:
    assert first.planned[case("honest2", 1024)].builds_on == "honest1"
    edit(folder / "bench.yaml", "builds_on: honest1", "builds_on: honest3")
    second = again()
    assert not second.of(Renewed)
    assert second.planned[case("honest2", 1024)].builds_on == "honest3"
    edit(folder / "bench.yaml", "{builds_on: honest3}", "{builds_on: honest3, idea: traffic}")
    third = again()
    assert not third.of(Renewed)
    assert third.planned[case("honest2", 1024)].idea == "traffic"
    edit(folder / "bench.yaml", "idea: traffic}", "flags: [-O2]}")
    renewed = again().of(Renewed)
    assert {r.variant for r in renewed if r.what == "case"} == {"honest2"}


def test_a_new_variant_is_added_and_one_that_is_gone_is_left_out(
    again: Again, first: Run, folder: Path
) -> None:
    edit(folder / "bench.yaml", "      honest3:\n", "      honest4: {source: honest1.cu}\n"
         "      honest3:\n")  # fmt: skip
    second = again()
    assert second.outcomes[case("honest4", 2048)].status == "ok"
    assert list(second.planned)[4:6] == [case("honest4", 1024), case("honest4", 2048)]
    assert at_test_sizes(second, "honest2") == at_test_sizes(first, "honest2")
    edit(folder / "bench.yaml", "      honest4: {source: honest1.cu}\n", "")
    third = again()
    assert set(third.planned) == set(first.planned)
    assert timed(third) == timed(first)
    assert kept(second, third) == timed(third)


def test_a_new_size_leaves_what_was_timed_at_others(again: Again, first: Run, folder: Path) -> None:
    edit(folder / "bench.yaml", "[1024, 2048]", "[1024, 2048, 4096]")
    second = again()
    assert kept(first, second) == timed(first)
    assert second.outcomes[case("honest2", 4096)].status == "ok"


def test_another_timing_is_another_run_and_says_in_what(
    again: Again, first: Run, folder: Path
) -> None:
    assert {o.status for o in first.outcomes.values()} == {"ok", "skipped"}
    edit(folder / "bench.yaml", "batch: 4", "batch: 5")
    with pytest.raises(UsageError, match="timing: in the matrix differs: batch 4 there, 5 now"):
        again()


def test_a_finished_run_is_profiled_with_other_filters_and_measures_nothing(
    again: Again, folder: Path
) -> None:
    first = again(Choice(only=("double/honest2",)))
    assert {p.variant for p in first.planned.values()} == {"honest1", "honest2"}
    before = (folder / "run" / "journal.jsonl").read_bytes()
    again(Choice(size=("n=1024",)), profiling=True)
    assert (folder / "run" / "journal.jsonl").read_bytes() == before


def test_other_filters_that_choose_more_are_refused_with_what_is_missing(again: Again) -> None:
    again(Choice(only=("double/honest2",), size=("n=1024",)))
    with pytest.raises(UsageError) as caught:
        again(Choice(only=("double/honest3",)))
    assert "the filters differ: --only double/honest2 --size n=1024 there" in str(caught.value)
    assert "--only double/honest3 now; it has no " in str(caught.value)


def test_a_matrix_with_none_of_the_cases_is_another_run(
    again: Again, first: Run, folder: Path
) -> None:
    assert len(first.planned) == 6
    text = (folder / "bench.yaml").read_text()
    (folder / "bench.yaml").write_text(text.replace("[1024, 2048]", "[512]"))
    with pytest.raises(UsageError, match="the matrix differs: it has none of the 6 cases there"):
        again()
