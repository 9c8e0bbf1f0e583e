"""The table of results at the end of a run, on the terminal and in files."""

from __future__ import annotations

import io
import json
import resource
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console
from synthetic_runs import BLOCKS, GBPS, SIZES, WRONG, Bench, many

from harness.analysis.ladder import ladders
from harness.commands.printed import results
from harness.errors import UsageError
from harness.tables import Run

FEW = {name: GBPS[name] for name in ("v0_global_memory", "v7_fixed_blocks", "v9_vectorized")}
BOTH = {**FEW, "torch": GBPS["torch"]}
ROOT = Path(__file__).parents[3]


def timed(folder: Path, **changes: object) -> Run:
    settings = {"gbps": BOTH, "sizes": SIZES[1:], "launches": BLOCKS[:2], "rounds": 8, **changes}
    return Bench(**settings).timed(folder)  # type: ignore[arg-type]


def printed(run: Run, width: int = 120) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    for sheet in results.sheets(run, ladders(run)):
        console.print(results.rich(sheet, width))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_the_best_stands_first_and_a_library_in_its_place(tmp_path: Path) -> None:
    title, head, *rows = printed(timed(tmp_path))
    assert title.startswith("reduce_sum (float32) at n = 2²⁸; read ceiling 4,550 GB/s")
    assert head.split("  ")[0] == "variant"
    assert [row.split()[0] for row in rows] == [
        "v9_vectorized", "torch", "v7_fixed_blocks", "v0_global_memory",
    ]  # fmt: skip
    assert "torch (library)" in rows[1]


def test_each_has_its_speed_up_with_an_interval_its_ceiling_and_the_library(tmp_path: Path) -> None:
    run = timed(tmp_path)
    _, head, best, *_, base = printed(run)
    assert [word for word in ("of ceiling", "× v0", "× torch") if word in head] == [
        "of ceiling", "× v0", "× torch",
    ]  # fmt: skip
    assert best.count("×") == best.count("±") == 2
    assert "block 256" in best
    assert "baseline" in base
    [shown] = [r for r in ladders(run)[0].rungs if r.planned.variant == "v9_vectorized"]
    assert shown.versus_baseline is not None
    assert shown.versus_baseline.ratio is not None
    assert f"{shown.versus_baseline.ratio.value:.1f}×" in best


def test_what_failed_stands_last_and_says_so(tmp_path: Path) -> None:
    rows = printed(timed(tmp_path, failed={"v7_fixed_blocks": WRONG}))
    assert rows[-1] == "v7_fixed_blocks: failed"


def test_a_verdict_that_is_neither_faster_nor_slower_is_a_word(tmp_path: Path) -> None:
    alike = {"v0_global_memory": 4000.0, "v9_vectorized": 4001.0}
    rows = printed(timed(tmp_path, gbps=alike, noise=0.01))
    assert any(line.endswith(("same", "unclear")) for line in rows)


def test_80_columns_hold_it_with_no_line_broken(tmp_path: Path) -> None:
    rows = printed(timed(tmp_path, gbps=GBPS), 80)
    assert len(rows) == 2 + len(GBPS)
    assert max(map(len, rows)) <= 80
    assert any(row.startswith("v12 ") for row in rows)


def test_many_problems_have_a_row_each_and_those_with_failures_come_first(tmp_path: Path) -> None:
    head, *rows = printed(many(tmp_path, problems=10, rounds=6))
    assert head.split()[0] == "problem"
    assert len(rows) == 10
    assert rows[0].startswith("problem_04_histogram")
    assert rows[0].endswith(" 1")


def test_a_run_without_times_says_what_was_verified(tmp_path: Path) -> None:
    run = Bench(gbps=FEW, sizes=SIZES[:1], launches=BLOCKS[:1], failed={"v7_fixed_blocks": WRONG})
    title, head, *rows = printed(run.emulated(tmp_path))
    assert "counted, not timed" in title
    assert "time " not in head
    assert [row.split()[1] for row in rows] == ["verified", "failed", "verified"]


def test_markdown_is_the_same_table(tmp_path: Path) -> None:
    run = timed(tmp_path)
    path = tmp_path / "results.md"
    results.tell(run, results.OutputOptions(quiet=True, markdown=path))
    lines = path.read_text().splitlines()
    assert lines[0].startswith("**reduce\\_sum (float32) at n = 2²⁸")
    assert lines[2].startswith("| variant | launch | time |")
    assert lines[4].startswith("| v9\\_vectorized | block 256 |")
    assert {line.count("|") for line in lines[2:]} == {8}


def test_json_holds_every_size_in_base_units(tmp_path: Path) -> None:
    run = timed(tmp_path, failed={"v7_fixed_blocks": WRONG})
    path = tmp_path / "results.json"
    results.tell(run, results.OutputOptions(quiet=True, json=path))
    found = json.loads(path.read_text())
    assert [ladder["sizes"] for ladder in found["ladders"]] == [{"n": 2**28}, {"n": 2**24}]
    best = found["ladders"][0]["variants"][0]
    time = run.time(best["case"])
    assert time is not None
    assert best["time_ns"] == {"value": time.value, "low": time.low, "high": time.high}
    assert best["over_baseline"]["verdict"] == "faster"
    assert found["ladders"][0]["not_ranked"] == [
        {"variant": "v7_fixed_blocks", "failed": True, "reason": WRONG}
    ]


def test_json_is_as_its_schema_says_with_times_and_without(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "harness" / "schemas" / "results.schema.json").read_text())
    (tmp_path / "counted").mkdir()
    own = Bench(gbps=FEW, sizes=SIZES[:1], launches=BLOCKS[:1], failed={"v7_fixed_blocks": WRONG})
    for run, key in (
        (timed(tmp_path), "ladders"),
        (own.emulated(tmp_path / "counted"), "verified"),
    ):
        path = tmp_path / f"{key}.json"
        results.tell(run, results.OutputOptions(quiet=True, json=path))
        found = json.loads(path.read_text())
        assert found[key]
        jsonschema.validate(found, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**found, key: "nothing"}, schema)


def test_quiet_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = timed(tmp_path)
    results.tell(run, results.OutputOptions(quiet=True))
    assert capsys.readouterr().out == ""
    results.tell(run, results.OutputOptions())
    assert "v9_vectorized" in capsys.readouterr().out


def test_a_file_with_no_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--json .*there is no folder"):
        results.OutputOptions(json=tmp_path / "none" / "x.json").check()


@pytest.mark.parametrize("option", ["json", "markdown"])
def test_a_full_disk_leaves_the_results_that_were_there(tmp_path: Path, option: str) -> None:
    run, file = timed(tmp_path), tmp_path / "kept"
    file.write_text("as it was")
    had = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, had[1]))
        with pytest.raises(UsageError, match=rf"--{option} .*: File too large"):
            results.tell(run, results.OutputOptions(quiet=True, **{option: file}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, had)
    assert file.read_text() == "as it was"
