"""Rows for libraries in a run on the simulated device."""

from __future__ import annotations

import json

import pytest
from station import Station

from harness.analysis.ladder import inverse, ladders


def test_a_library_that_is_not_installed_is_skipped_by_name_and_costs_the_others_nothing(
    station: Station,
) -> None:
    run = station.run("honest1", "honest2", library="[torch, torch_compile]")
    outcomes = {id.split("/")[1]: found for id, found in run.outcomes.items()}
    assert outcomes["torch_compile"].status == "skipped"
    assert "torch.compile needs Triton, which is not installed" in outcomes["torch_compile"].reason
    assert {outcomes[v].status for v in ("honest1", "honest2", "torch")} == {"ok"}
    assert run.info["exit_code"] == 0


def test_times_library_is_against_the_fastest_of_them(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = {"honest2": 500.0, "fast_library": 600.0, "torch": 800.0}
    monkeypatch.setenv("FAKE_COSTS", json.dumps(costs))
    here = station.folder / "kernels" / "double"
    (here / "fast.py").write_text("def twice(tensors): ...\n")
    row = "torch\n    libraries: {fast_library: {python: 'fast.py:twice'}}"
    [ladder] = ladders(station.run("honest1", "honest2", library=row))
    assert [rung.planned.variant for rung in ladder.libraries] == ["fast_library", "torch"]
    faster = inverse(ladder.libraries[0].versus_winner)
    assert faster is not None
    assert faster.ratio is not None
    assert faster.ratio.value == pytest.approx(1.2, rel=0.01)


def test_which_kernels_a_library_ran_at_a_size_is_in_the_journal(station: Station) -> None:
    run = station.run("honest1", library="torch")
    [remark] = run.remarks["double", "torch"]
    assert remark.text == "at n = 1024 runs torch_0, torch_1, torch_2, torch_3 and 1 more"
    assert remark.provenance == "measured"
    assert ("double", "honest1") not in run.remarks
