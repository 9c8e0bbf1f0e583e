"""Results that commands compute from the harness's own files are computed once, and never used when
out of date."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.files import beside_bytecode


@pytest.fixture
def module(tmp_path: Path) -> str:
    (tmp_path / "__pycache__").mkdir()
    return str(tmp_path / "module.py")


def made(module: str, given: bytes) -> tuple[str, bool]:
    """The text, and whether this call computed it."""
    calls = []

    def make() -> str:
        calls.append(given)
        return f"of\n{given.decode()}"

    return beside_bytecode.kept(module, "text", given, make), bool(calls)


def test_a_text_is_made_once_for_what_it_is_made_of(module: str) -> None:
    assert made(module, b"a") == ("of\na", True)
    assert made(module, b"a") == ("of\na", False)
    assert made(module, b"b") == ("of\nb", True)
    assert made(module, b"a") == ("of\na", True)
    assert len([*Path(module).parent.joinpath("__pycache__").iterdir()]) == 1


@pytest.mark.parametrize("edit", [lambda text: text[:-1], lambda text: "", lambda text: f"{text}b"])
def test_a_text_that_was_cut_or_changed_is_made_anew(module: str, edit) -> None:  # type: ignore[no-untyped-def]
    made(module, b"a")
    [file] = Path(module).parent.joinpath("__pycache__").iterdir()
    file.write_text(edit(file.read_text()))
    assert made(module, b"a") == ("of\na", True)


def test_what_was_kept_is_read_where_nothing_may_be_written(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(module, b"a")
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    assert made(module, b"a") == ("of\na", False)
    assert [made(module, b"b"), made(module, b"b")] == [("of\nb", True)] * 2
    assert made(module, b"a") == ("of\na", False)


def test_where_python_keeps_no_bytecode_nothing_is_kept(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("sys.dont_write_bytecode", True)
        assert [made(module, b"a"), made(module, b"a")] == [("of\na", True)] * 2
    assert not [*Path(module).parent.joinpath("__pycache__").iterdir()]
    Path(module).parent.joinpath("__pycache__").rmdir()
    assert [made(module, b"a"), made(module, b"a")] == [("of\na", True)] * 2
    assert not [*Path(module).parent.iterdir()]
