"""Helpers for tests in which a matrix is rejected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.matrix import model

Edited = Callable[[str, str], Path]
"""The tiny matrix with one passage replaced."""
V0 = "problems.double.variants.v0"


def line_of(path: Path, passage: str) -> int:
    """The line on which a passage of the matrix begins."""
    text = path.read_text()
    assert passage in text
    return text[: text.index(passage)].count("\n") + 1


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        model.load(path)
    return str(caught.value)
