"""Comments and docstrings do not affect a result; statements do."""

from __future__ import annotations

import pytest

from harness.files.statements import statements

PYTHON = '''"""A module."""

from harness.here import thing
import numpy as np


def double(x):  # twice
    """Twice x."""
    return 2 * thing(x), "# not a comment", 'say "so"'
'''
OTHER_WORDS = '''"""The same module, in
other words: it has a \\" in them."""
from harness.there import (
    thing,
)

import numpy as np
# A comment of its own.
def double(x):
    return 2 * thing(x), "# not a comment", 'say "so"'
'''


def test_comments_docstrings_blank_lines_and_own_imports_are_no_statements() -> None:
    assert statements(PYTHON, ".py") == statements(OTHER_WORDS, ".py")
    assert "# not a comment" in statements(PYTHON, ".py")
    assert "import numpy as np" in statements(PYTHON, ".py")


@pytest.mark.parametrize(
    ("old", "new"),
    [("2 * thing", "3 * thing"), ("# not a comment", "# not a"), ("numpy as np", "cupy as np"),
     ("double(x)", "twice(x)"), ('say "so"', "say so")],
)  # fmt: skip
def test_a_changed_statement_is_seen(old: str, new: str) -> None:
    assert old in PYTHON
    assert statements(PYTHON, ".py") != statements(PYTHON.replace(old, new), ".py")


def test_text_after_a_quote_in_a_comment_is_still_seen() -> None:
    assert statements("x = 1  # it's\ny = 2\n", ".py") == "x = 1\ny = 2"
    assert statements("int x;  // it's\nint y;\n", ".h") == "int x;\nint y;"


def test_of_c_and_cuda_comments_are_left_out_and_strings_are_not() -> None:
    assert statements('a("// no"); /* b\n */ c; // d\n\n', ".cu") == 'a("// no");   c;'


def test_a_docstring_after_letters_of_several_bytes_is_found() -> None:
    assert statements("x = 'é'; 'ß'\n", ".py") == "x = 'é';"


def test_what_python_cannot_read_stays_as_it_is() -> None:
    assert statements("def (:  # no\n", ".py") == "def (:  # no\n"
