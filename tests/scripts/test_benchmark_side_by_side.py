"""The emulator compared with that of another checkout; in this test, with itself."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("processes")
def test_a_small_launch_is_timed_in_both_in_every_round(
    script_of: Callable[[str], ModuleType],
) -> None:
    script = script_of("benchmark_side_by_side")
    small = next(w for w in (make() for make in script.WORKLOADS[4:6]) if w.block == 64)
    row = script.row(small, ROOT, 2, ["auto", "judge"])
    number = r"[\d,]+"
    assert re.fullmatch(
        rf"\| reduction in shared memory, n = 2\^8, 4 blocks of 64, µs \| {number}, {number} \| "
        rf"{number}, {number} \| \d+\.\d\d× \|",
        row,
    )


@pytest.mark.usefixtures("processes")
def test_launches_of_machine_code_and_the_reading_of_cubins_are_timed_too(
    script_of: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = script_of("benchmark_side_by_side")

    def told_in_this_process(code: str, *arguments: Path | str) -> list[float]:
        monkeypatch.setattr("sys.argv", ["", *map(str, arguments)])
        with monkeypatch.context() as paths:
            paths.setattr("sys.path", [*sys.path])
            exec(code, {})
        return [float(word) for word in capsys.readouterr().out.split()]

    small = next(make for make in script.WORKLOADS[4:6] if make().block == 64)
    monkeypatch.setattr(script, "SMALL_LAUNCHES", 3)
    monkeypatch.setattr(script, "_told", told_in_this_process)
    unit = script.Unit(small().source, (script.KERNELS, small().source.parent), (), "sm_90")
    cubins = script.compiler.build(unit).cubin.parent
    rows = [script.row(small(), ROOT, 1, ["auto"], True), script.reading(cubins, ROOT, 1)]
    assert [row.split(" | ")[0] for row in rows] == [
        "| reduction in shared memory, n = 2^8, 4 blocks of 64, µs", "| reading cubins (1), ms",
    ]  # fmt: skip
    assert all(re.search(r"\| [\d,]+ \| [\d,]+ \| \d+\.\d\d× \|$", row) for row in rows)
