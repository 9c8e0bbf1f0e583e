"""A Python function is found in its file and called with what its parameters name."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.build import python_call
from harness.cases import Case
from harness.errors import LaunchError, ProblemError

CASE = Case(
    "double", "py", "float32", {"n": 4}, {"tile": 2}, kind="python", function="fast.py:twice",
    let={"rows": 8, "half": 0.5},
)  # fmt: skip

SOURCE = """\
import functools
from dataclasses import dataclass

SEEN = []

def twice(tensors, stream, n, *, tile, rows, half):
    SEEN.append((stream, n, tile, rows, half))
    tensors["output"][:] = 2 * tensors["input"]

def fails(tensors):
    return tensors["nothing"]

def misspelt(tensors, steam, blocks=3):
    pass

def catches_all(*tensors, **rest):
    pass

@functools.wraps(twice)
def wrapped(*args, **kwargs):
    return twice(*args, **kwargs)

@dataclass
class Compiled:
    factor: int
    def __call__(self, tensors):
        tensors["output"][:] = self.factor * tensors["input"]

compiled = Compiled(2)
number = 3
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "fast.py").write_text(SOURCE)
    return tmp_path


def tensors() -> dict[str, np.ndarray]:
    return {"input": np.arange(4.0), "output": np.zeros(4)}


def test_parameters_are_filled_by_name_with_sizes_launch_keys_and_let(here: Path) -> None:
    function = python_call.load(here, "fast.py:twice")
    given = tensors()
    call = python_call.bind(function, CASE, given, 77)
    call()
    assert given["output"].tolist() == [0, 2, 4, 6]
    assert function.__globals__["SEEN"] == [(77, 4, 2, 8, 0.5)]


@pytest.mark.parametrize("name", ["wrapped", "compiled"])
def test_a_wrapped_function_and_an_object_that_can_be_called_are_functions(
    here: Path, name: str
) -> None:
    given = tensors()
    python_call.bind(python_call.load(here, f"fast.py:{name}"), CASE, given, 0)()
    assert given["output"].tolist() == [0, 2, 4, 6]


def test_a_parameter_that_nothing_fills_is_named_with_what_there_is(here: Path) -> None:
    function = python_call.load(here, "fast.py:misspelt")
    case = replace(CASE, function="fast.py:misspelt")
    with pytest.raises(LaunchError) as caught:
        python_call.bind(function, case, tensors(), 0)
    assert str(caught.value) == (
        "fast.py:misspelt takes `steam`, `blocks`, which is none of n, tile, rows, half, tensors, "
        "stream; did you mean stream?"
    )


def test_a_function_that_takes_anything_is_refused_because_nothing_says_what(here: Path) -> None:
    function = python_call.load(here, "fast.py:catches_all")
    with pytest.raises(LaunchError, match=r"takes `\*tensors`, `\*\*rest`, which is none of"):
        python_call.bind(function, CASE, tensors(), 0)


def test_what_goes_wrong_inside_has_its_file_and_line(here: Path) -> None:
    call = python_call.bind(python_call.load(here, "fast.py:fails"), CASE, tensors(), 0)
    with pytest.raises(LaunchError, match=r"fast\.py:11: KeyError: 'nothing'"):
        call()


def test_an_error_of_ours_passes_as_it_is(here: Path) -> None:
    def ours(tensors: object) -> None:
        raise ProblemError("as it is")

    with pytest.raises(ProblemError, match="as it is"):
        python_call.bind(ours, CASE, tensors(), 0)()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\nx = = 2\n", "fast.py:2: SyntaxError"),
        ("import nothing_of_that_name\n", "fast.py:1: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "fast.py:1: SystemExit: 3"),
        ("", "fast.py defines no function `twice`"),
        ("twice = 3\n", "fast.py defines no function `twice`"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused_with_its_line(
    here: Path, text: str, words: str
) -> None:
    (here / "fast.py").write_text(text)
    with pytest.raises(LaunchError) as caught:
        python_call.load(here, "fast.py:twice")
    assert words in str(caught.value)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"gone\.py: FileNotFoundError"):
        python_call.load(tmp_path, "gone.py:twice")


def test_nothing_here_needs_torch(here: Path) -> None:
    python_call.bind(python_call.load(here, "fast.py:twice"), CASE, tensors(), 0)()
    assert "torch" not in sys.modules
