"""If ncu is missing or forbidden, the emulator counts the timed kernels, and causes are named."""

from __future__ import annotations

import html
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from station import MATRIX, Station

from harness import report, tables
from harness.analysis.causes.why import Explainer, LadderStep
from harness.analysis.readings import Reading, Readings
from harness.journal.counter_records import Counted, Emulated, MachineCode, SourceLine, Uncounted
from harness.journal.file import Journal, read_journal
from harness.matrix.filters import Choice
from harness.ncu import stage
from harness.ncu.failures import Failure
from harness.ncu.stage import ProfileOptions
from harness.processes.stopping import Stopped
from harness.run.emulated import sizes
from harness.run.task_runner import TaskRunner, WorkItem
from harness.tables import Run

sys.path.insert(0, str(Path(__file__).parents[1] / "ncu"))
import stub_ncu

SCATTERED = """\
extern "C" __global__ void twice(const DTYPE* input, DTYPE* output, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int at = n % 32 ? i : i % 32 * (n / 32) + i / 32;
    if (i < n) output[at] = 2 * input[at];
}
"""
ROWS = """\
      honest1: {source: scattered.cu}
      honest2: {source: v0.cu, builds_on: honest1}
"""
SMALL = "{launch_s: 20, emulate_bytes: 4096}"
"""n = 256 is emulated, n = 1024 is not."""
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"


@pytest.fixture
def forbidden(station: Station, monkeypatch: pytest.MonkeyPatch) -> ProfileOptions:
    """An ncu that answers ERR_NVGPUCTRPERM."""
    (station.folder / "kernels" / "double" / "scattered.cu").write_text(SCATTERED)
    monkeypatch.setenv("STUB_NCU", "forbidden")
    (station.folder / "bin").mkdir()
    path = stub_ncu.install(station.folder / "bin")
    monkeypatch.setenv("NCU", path)
    return ProfileOptions()


def why(run: Run) -> LadderStep:
    """The step from the variant with scattered accesses to the other, at the largest size."""
    group = max(run.groups(), key=lambda each: run.groups()[each][0].bytes)
    [step] = Explainer(Readings(run)).steps(group)
    return step


def test_forbidden_counters_are_counted_in_the_emulator_and_name_the_cause(
    station: Station, forbidden: ProfileOptions
) -> None:
    run = station.run(rows=ROWS, wanted=forbidden)
    assert {e.case: e.counted for e in run.of(Emulated)} == {case: case for case in run.planned}
    found = why(run)
    assert found.finding.verdict == "supported"
    assert found.finding.causes[0].text == "better coalesced accesses"
    assert not station.runner.failed
    assert station.runner.unread
    assert station.runner.unread.kind == "forbidden"


def test_without_an_ncu_it_is_the_same(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "find", lambda named: Failure("absent", "there is none"))
    run = station.run(rows=ROWS, wanted=forbidden)
    assert why(run).finding.verdict == "supported"
    assert not station.runner.failed


def test_an_ncu_that_was_named_and_is_none_is_a_mistake_of_the_command(
    station: Station, forbidden: ProfileOptions
) -> None:
    run = station.run(rows=ROWS, wanted=ProfileOptions(ncu="/nowhere/ncu"))
    assert why(run).finding.verdict == "supported"
    assert station.runner.failed


def test_what_was_timed_is_profiled_later_and_not_counted_twice(
    station: Station, forbidden: ProfileOptions
) -> None:
    assert why(station.run(rows=ROWS)).finding.verdict == "uncounted"
    station.run(rows=ROWS, wanted=forbidden)
    before = list(read_journal(station.journal))
    station.run(rows=ROWS, wanted=forbidden)
    added = list(read_journal(station.journal))[len(before) :]
    assert not [r for r in added if isinstance(r, Counted | Emulated | SourceLine | MachineCode)]


def test_a_changed_source_is_counted_anew(station: Station, forbidden: ProfileOptions) -> None:
    station.run(rows=ROWS, wanted=forbidden)
    (station.folder / "kernels" / "double" / "scattered.cu").write_text(
        (station.folder / "kernels" / "double" / "v0.cu").read_text() + "// as the other\n"
    )
    found = why(station.run(rows=ROWS, wanted=forbidden))
    change = found.change("sectors-per-request")
    assert change
    assert change.pair == (4, 4)


def test_a_size_that_would_take_too_long_is_counted_at_a_smaller_one_and_says_so(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "SECONDS", 0.0)
    run = station.run(rows=ROWS, sizes="[256, 1024]", limits=SMALL, wanted=forbidden)
    large = next(e for e in run.of(Emulated) if "honest2" in e.case and "n=1024" in e.case)
    assert large.sizes == {"n": 256}
    assert large.reason.startswith("at its own size honest")
    assert large.reason.endswith("to emulate")
    found = why(run)
    change = found.change("sectors")
    assert change
    assert change.pair == (2 * 1024, 2 * 1024 // 8)  # four times as many as at n = 256
    assert isinstance(change.after, Reading)
    assert change.after.counted_at == "n = 256"
    assert found.finding.causes[0].text == "better coalesced accesses"


def test_a_size_that_would_take_too_long_is_counted_as_near_as_is_quick(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "seconds", lambda executed, times: 20 * times)  # 80 s, and 40
    limits = "{launch_s: 20, emulate_bytes: 2048}"
    run = station.run(rows=ROWS, sizes="[256, 1024]", limits=limits, wanted=forbidden)
    large = [e for e in run.of(Emulated) if e.case in run.planned and "n=1024" in e.case]
    assert [e.sizes for e in large] == [{"n": 512}, {"n": 512}]
    assert large[0].reason.endswith("would take about 80 s to emulate")
    change = why(run).change("sectors")
    assert change
    assert change.pair == (2 * 1024, 2 * 1024 // 8)
    before = len(list(read_journal(station.journal)))
    station.run(rows=ROWS, sizes="[256, 1024]", limits=limits, wanted=forbidden)
    added = list(read_journal(station.journal))[before:]
    assert not [r for r in added if isinstance(r, Counted | Emulated)]


def test_a_variant_that_was_edited_is_counted_at_the_size_of_the_others(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = "{launch_s: 20, emulate_bytes: 2048}"
    monkeypatch.setattr(sizes, "seconds", lambda executed, times: 20 * times)
    station.run(rows=ROWS, sizes="[256, 1024]", limits=limits, wanted=forbidden)
    source = station.folder / "kernels" / "double" / "scattered.cu"
    source.write_text(f"{SCATTERED}// edited\n")
    monkeypatch.setattr(sizes, "seconds", lambda executed, times: 0.0)
    run = station.run(rows=ROWS, sizes="[256, 1024]", limits=limits, wanted=forbidden)
    assert {e.sizes["n"] for e in run.emulated.values() if "n=1024" in e.case} == {512}
    assert why(run).finding.causes[0].text == "better coalesced accesses"


def test_what_is_multiplied_many_times_is_shown_and_judges_nothing(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "SECONDS", 0.0)
    limits = "{launch_s: 20, emulate_bytes: 256}"
    run = station.run(rows=ROWS, sizes="[32, 1024]", limits=limits, wanted=forbidden)
    found = why(run)
    change = found.change("sectors")
    assert change
    assert isinstance(change.after, Reading)
    assert change.after.provenance == "emulator-model"
    assert found.finding.verdict == "uncounted"


def test_a_size_that_does_not_take_long_is_counted_as_it_was_timed(
    station: Station, forbidden: ProfileOptions
) -> None:
    run = station.run(rows=ROWS, sizes="[256, 1024]", limits=SMALL, wanted=forbidden)
    assert all(e.counted == e.case for e in run.of(Emulated))
    change = why(run).change("sectors")
    assert change
    assert isinstance(change.after, Reading)
    assert not change.after.counted_at


def test_a_stand_in_is_of_the_matrix_whichever_sizes_were_chosen(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "SECONDS", 0.0)
    chosen = Choice(size=("n=1024",))
    run = station.run(rows=ROWS, sizes="[256, 1024]", limits=SMALL, choice=chosen, wanted=forbidden)
    assert all("n=1024" in case for case in run.planned)
    assert why(run).finding.causes[0].text == "better coalesced accesses"


def test_a_matrix_without_a_small_size_says_what_to_add(
    station: Station, forbidden: ProfileOptions
) -> None:
    limits = "{launch_s: 20, emulate_bytes: 64}"
    run = station.run(rows=ROWS, sizes="[1024]", limits=limits, wanted=forbidden)
    reasons = Counter(e.reason for e in run.of(Emulated))
    assert reasons == {
        "no size of the matrix is small enough to be emulated: one within limits.emulate_bytes and "
        "emulate_flops, under sizes.bench, stands for the larger ones": 2
    }
    assert station.runner.failed


def test_readings_of_ncu_are_never_mixed_with_what_was_emulated(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    station.run(rows=ROWS, wanted=forbidden)
    monkeypatch.setenv("STUB_NCU", "good")
    run = station.run(rows=ROWS, wanted=forbidden)
    assert {r.provenance for r in run.of(Counted)} == {"ncu"}
    assert not run.of(Emulated)
    assert not run.of(SourceLine)
    assert set(run.counters.provenance.dropna()) == {"ncu"}


def test_a_run_with_readings_is_not_emulated(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUB_NCU", "good")
    station.run(rows=ROWS, wanted=ProfileOptions(("dram",)))
    monkeypatch.setenv("STUB_NCU", "forbidden")
    run = station.run(rows=ROWS, wanted=forbidden)
    assert {r.provenance for r in run.of(Counted)} == {"ncu"}
    assert station.runner.failed


def test_what_only_a_gpu_can_count_keeps_its_reason(
    station: Station, forbidden: ProfileOptions
) -> None:
    run = station.run(rows=ROWS, wanted=forbidden)
    reasons = {r.metric: r.reason for r in run.of(Uncounted)}
    assert reasons["dram__bytes_read.sum"].startswith("not permitted: ")
    assert SECTORS not in reasons
    assert SECTORS in {r.metric for r in run.of(Counted)}


def test_a_journal_that_was_cut_while_counting_goes_on(
    station: Station, forbidden: ProfileOptions
) -> None:
    run = station.run(rows=ROWS, wanted=forbidden)
    kept = list(read_journal(station.journal))
    last = max(i for i, r in enumerate(kept) if isinstance(r, Emulated))
    station.journal.unlink()
    with Journal(station.journal) as journal:
        for record in kept[: last - 3]:
            journal.append(record)
    again = station.run(rows=ROWS, wanted=forbidden)
    assert again.counters.equals(run.counters)


def test_what_was_counted_of_one_size_is_kept_when_the_run_is_stopped_at_another(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def carried_out(runner: TaskRunner, item: WorkItem, cores: int = 1) -> str:
        if item.kind == "count" and item.name.endswith("n = 2,048"):
            raise Stopped
        return whole(runner, item, cores)

    whole = TaskRunner.carry_out
    monkeypatch.setattr(TaskRunner, "carry_out", carried_out)
    with pytest.raises(Stopped):
        station.run(rows=ROWS, sizes="[256, 1024, 2048]", limits=SMALL, wanted=forbidden)
    kept = {e.case: e.counted for e in read_journal(station.journal) if isinstance(e, Emulated)}
    assert sorted(case.split("/")[3] for case in kept) == ["n=1024"] * 2 + ["n=256"] * 2
    assert all(case == counted for case, counted in kept.items())


def command(station: Station, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with the matrix of these tests."""
    here = Path(__file__).parent
    text = MATRIX.format(
        variants=ROWS, sizes="[1024]", limits="{launch_s: 20}", library="null", timing=""
    )
    (station.folder / "bench.yaml").write_text(text)
    return subprocess.run(
        [sys.executable, str(here / "whole_run.py"), *arguments, "--out", "run"],
        cwd=station.folder, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


@pytest.mark.fault(
    "a driver that forbids counters (ERR_NVGPUCTRPERM), or no ncu",
    outcome="The emulator counts the kernels that were timed, marked and apart from readings; exit "
    "code 0, with what to do for readings.",
)
@pytest.mark.usefixtures("forbidden")
def test_a_timed_run_names_the_next_step_which_ends_well_and_says_what_to_do_for_ncu(
    station: Station,
) -> None:
    timed = command(station, "run")
    assert timed.returncode == 0, timed.stdout + timed.stderr
    assert "why: python -m harness profile --out run" in timed.stdout
    profiled = command(station, "profile")
    assert profiled.returncode == 0, profiled.stdout + profiled.stderr
    said = " ".join(profiled.stdout.split())
    assert "COUNTERS emulated, as Nsight Compute does not read them: the driver lets only" in said
    assert "NVreg_RestrictProfilingToAdminUsers=0" in said
    assert "2 cases at their own size, 0 at a smaller one" in said
    counters = tables.load(station.folder / "run").counters
    assert set(counters.origin.dropna()) == {"emulated"}


def test_a_page_marks_counters_that_were_emulated_and_says_at_which_size(
    station: Station, forbidden: ProfileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "SECONDS", 0.0)
    run = station.run(rows=ROWS, sizes="[256, 1024]", limits=SMALL, wanted=forbidden)
    report.write(run)
    page = html.unescape((run.folder / "problems" / "double.html").read_text())
    assert "What the counters say, emulated" in page
    assert "Every counter, launch by launch, emulated" in page
    assert "Emulated at n = 256 (at its own size honest" in page
    assert "Emulated: Nsight Compute read nothing" in page  # the panel of n = 256
    assert "Timed on the GPU, counted in the emulator." in page
