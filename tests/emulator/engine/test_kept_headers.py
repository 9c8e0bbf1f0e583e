"""A machine's header is parsed once; later starts use the stored result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cffi
import pytest

from harness.emulator.engine import layout
from harness.emulator.engine.c_header import CHeader
from harness.emulator.sass import layout as machine_code

HEADERS = (layout.MACHINE / "interface.h", machine_code.SOURCES / "interface.h")


@pytest.fixture(autouse=True)
def engine() -> None:
    """Run each test once, because nothing is launched."""


@pytest.fixture
def parsings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The headers that are parsed, starting with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found: list[str] = []
    parse = cffi.FFI.cdef

    def noted(self: Any, text: str, **options: Any) -> None:
        found.append(text)
        parse(self, text, **options)

    monkeypatch.setattr(cffi.FFI, "cdef", noted)
    return found


def structs(header: CHeader) -> dict[str, Any]:
    names, *_ = header.ffi.list_types()
    found = {name: header.ffi.typeof(name) for name in names}
    return {
        name: (
            header.ffi.sizeof(it),
            [(f, d.offset, d.type.cname.removeprefix("struct ")) for f, d in it.fields],
        )
        for name, it in found.items()
        if it.kind == "struct"
    }


@pytest.mark.parametrize("path", HEADERS, ids=["engine", "machine code"])
def test_the_second_reading_parses_nothing_and_says_the_same(
    path: Path, parsings: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    parsed, kept = CHeader(path), CHeader(path)
    assert len(parsings) == 1
    assert structs(kept) == structs(parsed)
    assert len(structs(kept)) > 3
    names = [name for name in dir(kept.constants) if name.isupper()]
    assert len(names) > 20
    for name in names:
        assert getattr(kept.constants, name) == getattr(parsed.constants, name)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["", "ffi = 1 +", "import nothing_of_this_name"])
def test_what_is_damaged_is_parsed_anew(tmp_path: Path, parsings: list[str], text: str) -> None:
    CHeader(HEADERS[1])
    [kept] = tmp_path.glob("kernel-harness/header-*.py")
    kept.write_text(text)
    assert structs(CHeader(HEADERS[1]))
    assert len(parsings) == 2


def test_where_nothing_can_be_kept_it_is_parsed(
    parsings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    for _ in range(2):
        assert structs(CHeader(HEADERS[1]))
    assert len(parsings) == 2
