"""A cards.json from a stranger names only folders directly beside it, or is refused in a
sentence."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from harness import __main__ as program
from harness.errors import JournalError
from harness.journal.file import as_line
from harness.journal.records import Outcome, Planned
from harness.tables import cards

INFO = {
    "backend": "emulator", "timing": {"confidence": 0.95, "same_within": 0.01},
    "device": {"name": "a device", "arch": "sm_90", "sm_count": 132},
}  # fmt: skip
CASE = "p/v0/float32/n=1"
PLANNED = Planned(CASE, "p", "v0", "float32", {"n": 1}, {"block": 64}, 8, 1, True, False)


def run_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(INFO))
    journal = [PLANNED, Outcome(CASE, "ok")]
    (folder / "journal.jsonl").write_text("".join(f"{as_line(each)}\n" for each in journal))
    return folder


def above(folder: Path, content: Any) -> Path:
    """A folder with this cards.json, given as its text or its value."""
    folder.mkdir(exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / cards.FILE).write_text(text)
    return folder


def report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["harness", "report", str(folder)])
    with pytest.raises(SystemExit) as ended:
        program.main()
    return int(ended.value.code or 0)


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[" * 100_000, "recursion limit"), ("", "EOF"), ("[]", "an object"), ("5", "an object"),
        ({}, "cards: "), ({"cards": {}}, "cards: "), ({"cards": ["a"]}, "cards: "),
        ({"cards": {"H100": 5}}, "cards.H100: "), ({"cards": {"H100": ""}}, "cards.H100: "),
        ({"cards": {"H100": "x" * 5000}}, "cards.H100: "),
        ('{"cards": {"H100": "\\ud800"}}', "hex escape"), (" " * (1 << 21), "it has over"),
        ({"cards": {"H100": "gone"}}, "there is no run in "),
        ({"cards": {"H100": ".."}}, "not a folder beside it"),
        ({"cards": {"H100": "."}}, "not a folder beside it"),
        ({"cards": {"H100": "/tmp"}}, "not a folder beside it"),
        ({"cards": {"H100": "card/../../mine"}}, "not a folder beside it"),
        ({"cards": {"H100": "a\0b"}}, "not a folder beside it"),
        ({"cards": {"H100": cards.FILE}}, "not a folder"),
        ({"cards": {"H100": "card", "H200": "card"}}, "one folder for two cards"),
    ],
)  # fmt: skip
def test_a_file_that_no_run_writes_is_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    content: Any, words: str,
) -> None:  # fmt: skip
    folder = above(tmp_path / "runs", content)
    assert report(folder, monkeypatch) == 2
    [said] = capsys.readouterr().out.splitlines()
    assert f"{folder / cards.FILE} cannot be used: " in said
    assert words in said


def test_a_card_whose_folder_is_a_link_leaves_the_run_behind_it_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = run_folder(tmp_path / "mine")
    (mine / "problems").mkdir()
    (mine / "problems" / "old.html").write_text("kept")
    before = content_of(mine)
    folder = above(tmp_path / "runs", {"cards": {"H100": "card"}})
    (folder / "card").symlink_to(mine)
    assert report(folder, monkeypatch) == 2
    assert "card, which it names, is a link or a file" in capsys.readouterr().out
    assert content_of(mine) == before


def test_a_run_does_not_begin_in_a_folder_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "h100").symlink_to(tmp_path)
    with pytest.raises(JournalError, match="is a link"):
        cards.begin(tmp_path, ["H100"])
    assert not (tmp_path / cards.FILE).exists()


def test_a_pipe_in_place_of_the_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / cards.FILE)
    assert report(tmp_path, monkeypatch) == 2


def test_a_card_whose_run_has_not_begun_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = above(tmp_path / "runs", {"cards": {"H100": "card", "H200": "not-begun"}})
    run_folder(folder / "card")
    assert report(folder, monkeypatch) == 0
    assert "not-begun" not in (folder / "report.html").read_text()


def test_a_cards_name_cannot_act_or_disguise_itself_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = above(tmp_path / "runs", {"cards": {"a\x1b[2J\u202eb\u2067": "card"}})
    run_folder(folder / "card")
    assert report(folder, monkeypatch) == 0
    for path in (*folder.glob("*.html"), *folder.glob("*.csv")):
        assert not {*"\x1b\u202e\u2067"} & {*path.read_text()}, path
    assert r"a\x1b[2J\u202eb\u2067" in (folder / "report.html").read_text()
