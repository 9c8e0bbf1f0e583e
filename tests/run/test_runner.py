"""A whole run on the emulator: faults are named, and do not affect other cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import tables
from harness.backends.emulated_device import emulated_device
from harness.journal.file import Journal, read_journal
from harness.journal.records import Finished, Outcome, Verified
from harness.matrix import model
from harness.run.runner import Runner

FAULTY = Path(__file__).parents[1] / "faulty" / "bench.yaml"

REASONS = {
    "out_of_bounds": "kernels/double/out_of_bounds.cu:4: out of bounds",
    "does_not_compile": 'does_not_compile.cu(5): error: expected a ";"',
    "unwritten_tail": "`y[7]` was never written",
    "endless": "kernels/double/endless.cu:5: budget",
    "not_a_number": "`y[7]` is NaN",
    "changes_input": "the input `x` was changed at element 0",
    "leaves_flag_set": "`flag` must be zero after the launch",
    "slightly_wrong": "`y[0]` is wrong",
    "wild_pointer": "kernels/double/wild_pointer.cu:4: out of bounds",
    "traps": "kernels/double/traps.cu:4: trap",
    "no_such_kernel": "right.cu has no kernel `walk`; it has run",
    "too_few_arguments": "run takes 3 arguments",
    "too_many_threads": "exceeds NVIDIA H200 (emulated)'s (1024, 1024, 64)",
    "number_too_large": "1099511627776 does not fit a u32",
}
"""Faulty variant → what its failure must say."""


def run_matrix(path: Path, folder: Path, *only: str) -> tables.Run:
    folder.mkdir(exist_ok=True)
    bench = model.load(path)
    runner = Runner(bench, emulated_device("sm_90"), "emulator", only, folder)
    info = {"backend": "emulator", "timing": bench.timing.model_dump()}
    (folder / "run.json").write_text(json.dumps(info))
    runner.run()
    return tables.load(folder)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tables.Run:
    return run_matrix(FAULTY, tmp_path_factory.mktemp("faulty"))


@pytest.mark.fault(
    "a variant that does not compile, accesses out of bounds, traps, never ends, or is wrong",
    outcome="It fails with the reason and its line, and costs the others nothing.",
)
@pytest.mark.parametrize("variant", REASONS)
def test_each_faulty_variant_fails_at_every_launch_shape_with_its_own_reason(
    faulty: tables.Run, variant: str
) -> None:
    ended = [o for case, o in faulty.outcomes.items() if f"/{variant}/" in case]
    assert [o.status for o in ended] == ["failed", "failed"]
    assert all(REASONS[variant] in o.reason for o in ended), ended[0].reason


def test_the_right_variant_is_untouched_by_the_faulty_ones(faulty: tables.Run) -> None:
    ended = [o for case, o in faulty.outcomes.items() if "/right/" in case]
    assert [o.status for o in ended] == ["ok", "ok"]


def test_waves_are_the_grids_blocks_over_those_that_fit_the_machine(faulty: tables.Run) -> None:
    # Each of the 132 multiprocessors has room for 64 warps and at most 32 blocks. Blocks have 2 or
    # 4 warps; grids have 64 or 32 blocks.
    for block, blocks, resident in ((64, 64, 32), (128, 32, 16)):
        (made,) = faulty.compiled[f"double/right/float32/n=4096/block={block}"]
        assert made.waves == blocks / (132 * resident)


def test_every_variant_of_the_matrix_is_accounted_for(faulty: tables.Run) -> None:
    variants = set(model.load(FAULTY).problems["double"].variants)
    assert variants == {p.variant for p in faulty.planned.values()}
    assert variants == {*REASONS, "right", "only_large_blocks"}


def test_a_launch_shape_outside_a_variants_limit_is_skipped_with_the_limit(
    faulty: tables.Run,
) -> None:
    small = faulty.outcomes["double/only_large_blocks/float32/n=4096/block=64"]
    large = faulty.outcomes["double/only_large_blocks/float32/n=4096/block=128"]
    assert (small.status, large.status) == ("skipped", "ok")
    assert "block >= 128" in small.reason


def test_an_emulated_run_has_counters_and_no_time(faulty: tables.Run) -> None:
    assert not faulty.is_timed
    assert faulty.results["median_ns"].isna().all()
    counted = faulty.counters.query("case.str.contains('/right/') and case.str.contains('=64')")
    loads = counted[counted.metric == "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
    assert loads["value"].tolist() == [4096 * 4 / 32]


def test_two_runs_count_the_same_to_the_digit(tmp_path: Path, faulty: tables.Run) -> None:
    again = run_matrix(FAULTY, tmp_path, "double/right")
    ours = faulty.counters.query("case.str.contains('/right/')").reset_index(drop=True)
    assert len(ours) > 0
    assert again.counters.equals(ours)


def test_a_run_that_was_cut_short_is_resumed_without_repeating_what_it_had(tmp_path: Path) -> None:
    first = run_matrix(FAULTY, tmp_path, "double/right", "double/only_large_blocks")
    lines = (tmp_path / "journal.jsonl").read_text().splitlines(keepends=True)
    finished = [
        i for i, record in enumerate(first.records)
        if isinstance(record, Finished) and record.stage.startswith("qualify")
    ]  # fmt: skip
    cut = "".join(lines[: finished[0] + 1]) + lines[finished[0] + 1][:40]  # and a torn line
    (tmp_path / "journal.jsonl").write_text(cut)
    resumed = run_matrix(FAULTY, tmp_path, "double/right", "double/only_large_blocks")
    assert {c: o.status for c, o in resumed.outcomes.items()} == {
        c: o.status for c, o in first.outcomes.items()
    }
    stages = [r.stage for r in resumed.records if isinstance(r, Finished)]
    assert len(stages) == len(set(stages))


@pytest.mark.parametrize("limit", ["emulate_bytes", "emulate_flops"])
def test_cases_over_the_emulators_budget_are_verified_but_not_counted(
    tmp_path: Path, limit: str
) -> None:
    matrix = FAULTY.read_text().replace("qualify_s: 60", f"qualify_s: 60, {limit}: 1024")
    path = FAULTY.parent / "small_budget.yaml"
    path.write_text(matrix)
    try:
        run = run_matrix(path, tmp_path, "double/right", "double/not_a_number")
    finally:
        path.unlink()
    right = run.outcomes["double/right/float32/n=4096/block=64"]
    wrong = run.outcomes["double/not_a_number/float32/n=4096/block=64"]
    assert right.status == "skipped"
    assert f"limits.{limit}" in right.reason
    assert wrong.status == "failed"
    assert run.counters.empty


def test_a_case_without_an_outcome_is_never_reported_as_ok(tmp_path: Path) -> None:
    run = run_matrix(FAULTY, tmp_path, "double/right")
    kept = [r for r in read_journal(tmp_path / "journal.jsonl") if not isinstance(r, Outcome)]
    (tmp_path / "journal.jsonl").unlink()
    with Journal(tmp_path / "journal.jsonl") as journal:
        for record in kept:
            journal.append(record)
    lost = tables.load(tmp_path)
    assert set(lost.planned) == set(run.planned)
    assert {o.status for o in lost.outcomes.values()} == {"skipped"}


def test_an_interrupted_run_blames_no_variant_and_is_resumed_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = model.load(FAULTY)
    only = ("double/right", "double/only_large_blocks")
    (tmp_path / "run.json").write_text(
        json.dumps({"backend": "emulator", "timing": bench.timing.model_dump()})
    )
    runner = Runner(bench, emulated_device("sm_90"), "emulator", only, tmp_path)
    keep = Runner.keep

    def interrupt(self: Runner, record: object) -> None:
        keep(self, record)  # type: ignore[arg-type]
        if isinstance(record, Verified):
            self.workers.stop()

    monkeypatch.setattr(Runner, "keep", interrupt)
    runner._conclude = lambda: None  # type: ignore[method-assign]
    runner.run()
    assert runner.workers.stopped
    cut = tables.load(tmp_path)
    assert not any(isinstance(r, Outcome) and r.status == "failed" for r in cut.records)
    monkeypatch.setattr(Runner, "keep", keep)
    resumed = run_matrix(FAULTY, tmp_path, *only)
    assert {o.status for o in resumed.outcomes.values()} == {"ok", "skipped"}
    assert resumed.outcomes["double/right/float32/n=4096/block=64"].status == "ok"
