"""Times and counters across runs, and the run at which a new level begins."""

from __future__ import annotations

import csv
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from two_runs import DEVICE, IDEAL, WAVEFRONTS, Kernel, emulated, name_of, run

from harness.comparison.history import Point, _partition, history, levels_of_times
from harness.report.comparison import trend
from harness.tables import Run


def dated(found: Run, day: int) -> Run:
    info = {**found.info, "started": f"2026-01-{day:02d}T00:00:00", "id": f"run-{day}",
            "commit": {"id": f"{day:040x}"}}  # fmt: skip
    return Run(found.folder, info, found.records)


def timed(day: int, longer: float = 1.0, **info: object) -> Run:
    kernels = {"v0": Kernel(), "v1": Kernel(longer * 9e4)}
    return dated(run(kernels, day, **info), day)  # type: ignore[arg-type]


def points(values: list[float]) -> list[Point]:
    return [Point(i, v, v / 1.002, v * 1.002) for i, v in enumerate(values)]


def test_a_slowdown_begins_a_level_at_its_run_and_the_other_variant_has_none() -> None:
    days = [*(timed(day) for day in range(1, 7)), *(timed(day, 1.05) for day in range(7, 13))]
    found = history(days[::-1])  # whatever order they are named in
    [(series, at)] = found.changed
    assert series.case.variant == "v1"
    assert found.runs[series.points[at].run].info["id"] == "run-7"
    before, after = series.step(at)
    assert after / before == pytest.approx(1.05, abs=0.01)


def test_scatter_alone_begins_no_level_but_rarely() -> None:
    rng = np.random.default_rng(1)
    false = sum(
        bool(levels_of_times(points(list(100 * np.exp(0.01 * rng.standard_normal(20))))))
        for _ in range(100)
    )
    assert false <= 10


def test_levels_are_those_of_the_best_of_all_partitions() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        values = np.cumsum(5 * (rng.random(9) < 0.3)) + rng.standard_normal(9) + 5000
        assert _partition(values, 10.8) == min(
            (at for k in range(9) for at in combinations(range(1, 9), k)),
            key=lambda at: sum(part.var() * part.size + 10.8 for part in np.split(values, at)),
        )


def test_two_times_say_nothing_of_their_scatter() -> None:
    assert levels_of_times(points([100.0, 120.0])) == ()


def test_any_change_of_an_exact_counter_is_a_level() -> None:
    found = history([dated(emulated({WAVEFRONTS: w, IDEAL: 100.0}), day)
                     for day, w in enumerate([100.0, 100.0, 330.0, 100.0], 1)])  # fmt: skip
    told = [(s.what, at) for s, at in found.changed]
    assert ("wavefronts-over-ideal", 2) in told
    assert ("wavefronts-over-ideal", 3) in told


def test_another_device_is_no_point_on_the_line() -> None:
    other = timed(1, device=DEVICE | {"name": "NVIDIA H100"})
    found = history([other, timed(2), timed(3)])
    assert [run.info["id"] for run in found.runs] == ["run-2", "run-3"]
    assert found.apart == [(other, "NVIDIA H100")]


def test_the_table_has_a_row_per_case_and_run_and_marks_the_level(tmp_path: Path) -> None:
    days = [*(timed(day) for day in range(1, 5)), *(timed(day, 1.2) for day in range(5, 9))]
    home = trend.write(history(days), tmp_path)
    with (tmp_path / trend.CSV).open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 8
    assert [(r["run"], r["case"]) for r in rows if r["new_level"] == "True"] == [
        ("run-5", name_of("v1"))
    ]
    assert len(list((tmp_path / "figures").glob("*.png"))) == 1
    text = home.read_text()
    assert "One new level in 8 runs" in text
    [line] = trend.told(history(days))
    assert line.startswith(f"{name_of('v1')}: time ")


@pytest.mark.parametrize("arguments", [["one"], ["one", "one"]])
def test_one_run_is_no_trend(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.__main__ import main

    monkeypatch.setattr(sys, "argv", ["harness", "trend", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "a trend needs two runs or more" in capsys.readouterr().out
