"""A timed run over different cards: one run per card, with a joint table and page above them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest
import workers
from ground import Ground, made_in
from tiny_problem import timed_matrix
from typer.testing import CliRunner

import harness
from harness.__main__ import app
from harness.errors import JournalError, UsageError
from harness.tables import cards

HERE = Path(__file__).parent
MATRIX = timed_matrix(
    "honest1: {source: v0.cu}", "honest2: {source: v0.cu}", test="33", limits="launch_s: 20"
)
CARDS = {"Old Card": 500, "New Card": 2000}
"""Card → the time of honest2 on it, in ns; honest1 takes 1,000 on both."""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, _quick: None) -> Ground:
    """A run on two cards, on which different variants are faster."""
    made = made_in(tmp_path_factory.mktemp("cards"))
    (made.folder / "bench.yaml").write_text(MATRIX)
    there = [f"CARD={card};BUS=gpu-{os.getpid()}-{index};FAKE_COSTS={json.dumps({'honest2': ns})}"
             for index, (card, ns) in enumerate(CARDS.items())]  # fmt: skip
    path = os.pathsep.join([str(workers.ROOT), str(HERE)])
    cluster = workers.started(2, there, PYTHONPATH=path)
    try:
        assert made.run("both", cluster.address, "fake_card:open_backend") == 0
    finally:
        cluster.close()
    return made


def test_each_card_has_a_whole_run_of_its_own(both: Ground) -> None:
    runs = cards.load_all(both.folder / "both")
    assert sorted(runs) == ["New Card", "Old Card"]
    for index, card in enumerate(CARDS):
        run = runs[card]
        assert run.folder.name == card.lower().replace(" ", "-")
        assert run.info["device"]["name"] == card
        gpus = {r.gpu for records in run.located.values() for r in records}
        assert gpus == {f"gpu-{os.getpid()}-{index}"}  # all compared cases share a GPU
        assert {o.status for o in run.outcomes.values()} == {"ok"}


def test_the_tables_above_name_the_card_in_every_row(both: Ground) -> None:
    table = pd.read_csv(both.folder / "both" / "results.csv")
    assert table.columns[0] == "card"
    medians = table.query("variant == 'honest2' and cache == 'cold'").set_index("card")
    for card, ns in CARDS.items():
        assert medians.median_ns[card] == pytest.approx(ns, rel=0.01)
    assert set(pd.read_csv(both.folder / "both" / "counters.csv").columns) >= {"card", "metric"}


def test_who_wins_where_is_told_and_that_it_changes(both: Ground) -> None:
    found = pd.read_csv(both.folder / "both" / cards.WINNERS).set_index("card")
    assert found.winner.to_dict() == {"Old Card": "honest2", "New Card": "honest1"}
    assert not found.same_everywhere.any()
    page = (both.folder / "both" / "report.html").read_text()
    assert "The winner depends on the card in 1 of 1 comparison: New Card and Old Card" in page
    assert 'href="old-card/report.html"' in page


def test_a_notebook_takes_one_card_at_a_time(both: Ground) -> None:
    folder = both.folder / "both"
    assert harness.load(folder, card="Old Card").info["device"]["name"] == "Old Card"
    with pytest.raises(JournalError, match=r"did you mean `?Old Card"):
        harness.load(folder, card="Old Cart")
    with pytest.raises(JournalError, match="holds a run per kind of card"):
        harness.load(folder)


def test_the_report_is_drawn_again_for_all_cards(both: Ground) -> None:
    page = both.folder / "both" / "report.html"
    before = page.read_text()
    page.unlink()
    ended = CliRunner().invoke(app, ["report", str(page.parent)])
    assert ended.exit_code == 0, ended.output
    assert page.read_text() == before
    refused = CliRunner().invoke(app, ["report", str(page.parent), "--single-file"])
    assert isinstance(refused.exception, UsageError)


@pytest.mark.parametrize("said", ["[]", '{"cards": {"a": "../elsewhere"}}', "x"])
def test_what_names_the_cards_is_not_believed_blindly(tmp_path: Path, said: str) -> None:
    (tmp_path / cards.FILE).write_text(said)
    with pytest.raises(JournalError, match=r"cards\.json"):
        cards.load_all(tmp_path)
