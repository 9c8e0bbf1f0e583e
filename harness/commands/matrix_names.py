"""The names in a matrix, for shell completion: read from its files alone, even invalid ones.

A shell runs this each time Tab is pressed, so nothing is checked or merged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.files import strict_yaml
from harness.matrix import files
from harness.matrix.files import MATRIX


def problems() -> list[str]:
    """The problems of the matrix in the current folder."""
    said = _top().get("problems")
    return list(map(str, said)) if isinstance(said, dict | list) else files.found(_kernels())


def variants(problem: str) -> list[str]:
    """The variants of one problem, and its libraries."""
    said = _top().get("problems")
    body = said.get(problem) if isinstance(said, dict) else None
    if body is None and problem in problems():
        body = _read(_kernels() / problem / files.OWN_MATRIX)
    if not isinstance(body, dict):
        return []
    named = [body.get(key) for key in ("variants", "libraries")]
    own = body.get("library") or []
    return [str(name) for each in named if isinstance(each, dict) for name in each] + (
        list(map(str, own)) if isinstance(own, list) else [str(own)]
    )


def _top() -> dict[str, Any]:
    return _read(MATRIX) if MATRIX.exists() else {}


def _kernels() -> Path:
    return MATRIX.parent / "kernels"


def _read(path: Path) -> dict[str, Any]:
    data = strict_yaml.read(path).data
    return data if isinstance(data, dict) else {}
