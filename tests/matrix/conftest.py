"""The tiny problem with a matrix of its own, kernels/double/bench.yaml, that uses most features."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from own_matrix import OWN


@pytest.fixture
def own(folder: Path) -> Callable[..., Path]:
    """Write the problem's own file, with passages replaced: own(old, new, …) → its path."""

    def write(*passages: str) -> Path:
        text = OWN
        for old, new in zip(passages[::2], passages[1::2], strict=True):
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the matrix"
            text = text.replace(old, new)
        (folder / "bench.yaml").write_text("timing: {rounds: 7}\n")
        path = folder / "kernels" / "double" / "bench.yaml"
        path.write_text(text)
        return path

    return write
