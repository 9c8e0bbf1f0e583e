"""No folder holds too many files, and no file of code is too long."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("harness", "scripts", "tests", "docs")
CODE = {".py", ".cpp", ".h", ".js", ".css"}
OTHER_TEXT = {".md", ".yaml", ".json", ".j2", ".txt"}
"""Further suffixes that count towards a folder. Kernels (`.cu`) and readings do not: a folder with
one file per case is a catalogue, and it may be long."""
MOST_FILES, MOST_LINES = 15, 400


def _files(part: Path, suffixes: set[str]) -> list[Path]:
    return [path for path in part.rglob("*") if path.suffix in suffixes and path.is_file()]


def too_full(part: Path) -> dict[str, int]:
    """The folders of a part that hold more than MOST_FILES files, with their numbers of files."""
    held = Counter(path.parent for path in _files(part, CODE | OTHER_TEXT))
    return {
        str(folder.relative_to(part.parent)): count
        for folder, count in held.items()
        if count > MOST_FILES
    }


def too_long(part: Path) -> dict[str, int]:
    """The files of code in a part that have more than MOST_LINES lines, with their lengths."""
    lengths = {path: len(path.read_bytes().splitlines()) for path in _files(part, CODE)}
    return {
        str(path.relative_to(part.parent)): lines
        for path, lines in lengths.items()
        if lines > MOST_LINES
    }


@pytest.mark.parametrize("part", PARTS)
def test_no_folder_holds_more_than_fifteen_files(part: str) -> None:
    assert too_full(ROOT / part) == {}, "group files that belong together in a subfolder"


@pytest.mark.parametrize("part", PARTS)
def test_no_file_of_code_has_more_than_four_hundred_lines(part: str) -> None:
    assert too_long(ROOT / part) == {}, "split the file: it probably holds two ideas"


def test_a_file_too_many_and_a_line_too_many_are_found(tmp_path: Path) -> None:
    part = tmp_path / "part"
    (part / "full").mkdir(parents=True)
    for number in range(MOST_FILES):
        (part / "full" / f"m{number}.py").write_text("pass\n" * MOST_LINES)
    (part / "full" / "kernel.cu").write_text("\n" * 1000)
    assert not too_full(part)
    assert not too_long(part)
    (part / "full" / "m0.py").write_text("pass\n" * (MOST_LINES + 1))
    (part / "full" / "notes.md").write_text("\n" * 1000)
    assert too_full(part) == {"part/full": MOST_FILES + 1}
    assert too_long(part) == {"part/full/m0.py": MOST_LINES + 1}
