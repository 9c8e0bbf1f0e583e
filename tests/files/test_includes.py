"""The files that a source may include are found however the directive is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.files.includes import included, names_hash

ALL = {"k.h", "k.txt"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in sorted(ALL):
        (tmp_path / name).touch()
    (tmp_path / ".hidden").touch()
    return tmp_path


@pytest.mark.fault(
    "an `#include` that is spelled in an unusual way",
    outcome="The header counts: results from before its last change are not used again.",
)
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('#include "k.h"', {"k.h"}),
        ("  #  include <k.h>", {"k.h"}),
        ('#include /* c */ "k.h"', {"k.h"}),
        ('/* a\n b */ # /* c\n d */ include "k.h"', {"k.h"}),
        ('#import "k.h"', {"k.h"}),
        ('#include_next "k.h"', {"k.h"}),
        ('%:include "k.h"', {"k.h"}),
        ('??=include "k.h"', {"k.h"}),
        ('#inc\\\nlude "k.h"', {"k.h"}),
        ('#inc\\ \r\nlude "k.h"', {"k.h"}),
        ('#inc??/\nlude "k.h"', {"k.h"}),
        ('#define H "k.txt"\n#include H', ALL),
        ("#define S(x) #x\n#include S(k.h)", ALL),
        ('#if __has_include("k.h")\n#endif', ALL),
        ('#if __has_\\\ninclude("k.h")\n#endif', ALL),
        ("#include <cmath>", set()),
        ('int include = 1;  // "k.h"', set()),
    ],
)
def test_a_directive_names_its_file_or_any(folder: Path, text: str, found: set[str]) -> None:
    source = folder / "sources" / "v0.cu"
    source.parent.mkdir()
    source.write_text(text)
    assert {path.name for path in included(source, [folder])} - {"v0.cu"} == found


def test_a_header_of_a_header_counts_and_a_circle_ends(folder: Path) -> None:
    source = folder / "v0.cu"
    source.write_text('#include "k.h"')
    (folder / "k.h").write_text('#include "k.txt"')
    (folder / "k.txt").write_text('#include "v0.cu"')
    assert {path.name for path in included(source, [])} == {"v0.cu", "k.h", "k.txt"}


def test_the_hash_of_names_changes_with_a_new_file(folder: Path) -> None:
    before = names_hash(folder)
    (folder / "k.h").write_text("changed")
    assert names_hash(folder) == before
    (folder / "l.h").touch()
    assert names_hash(folder) != before
