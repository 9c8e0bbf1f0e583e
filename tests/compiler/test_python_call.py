"""A Python function is found in its file and called with the arguments that its parameters name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from harness.cases import Case
from harness.compiler.functions import python_call
from harness.errors import LaunchError, NotInstalled, ProblemError

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


# --- what a library returns ----------------------------------------------------------------------


@dataclass
class Memory:
    start: int
    size: int

    def data_ptr(self) -> int:
        return self.start

    def nbytes(self) -> int:
        return self.size


@dataclass
class Tensor:
    """A stand-in for a torch tensor: elements of 4 bytes that begin at `start`, in its own
    memory."""

    start: int
    count: int
    dtype: str = "float32"
    memory: Memory | None = None

    def data_ptr(self) -> int:
        return self.start

    def numel(self) -> int:
        return self.count

    def element_size(self) -> int:
        return 4

    def is_floating_point(self) -> bool:
        return self.dtype.startswith("float")

    def untyped_storage(self) -> Memory:
        return self.memory or Memory(self.start, 4 * self.count)


INPUT, OUTPUT = Tensor(1000, 8), Tensor(2000, 8)


def copied(returned: object, outputs: Sequence[str] = ("output",)) -> list[tuple[object, object]]:
    buffers = {"input": INPUT, "output": OUTPUT, "other": Tensor(3000, 8, "int32")}
    return python_call.results(returned, CASE, buffers, outputs)


def test_a_result_in_memory_of_its_own_is_to_be_copied_into_the_only_output() -> None:
    result = Tensor(9000, 8)
    assert copied(result) == [(OUTPUT, result)]
    assert copied({"output": result}) == [(OUTPUT, result)]


def test_what_was_written_where_it_belongs_is_not_copied() -> None:
    assert copied(None) == []
    assert copied(Tensor(2000, 8)) == []


def test_whole_numbers_may_be_counted_in_wider_ones() -> None:
    counts = Tensor(9000, 8, "int64")
    assert [result for _, result in copied({"other": counts}, ("output", "other"))] == [counts]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (Tensor(1000, 8), "returns a view of `input` for `output`"),
        (Tensor(1016, 8, memory=Memory(1000, 64)), "returns a view of `input` for `output`"),
        (Tensor(9000, 8, memory=Memory(9000, 4)), "a view that repeats elements"),
        (Tensor(9000, 7), "returns 7 × float32 for `output`, which is 8 × float32"),
        (Tensor(9000, 8, "float16"), "returns 8 × float16"),
        (Tensor(9000, 8, "int32"), "returns 8 × int32"),
        (3.5, "returns a float for `output`; it needs a tensor"),
        ({"input": Tensor(9000, 8)}, "returns `input`, which is no output"),
    ],
)
def test_what_can_be_no_result_is_refused_above_all_views_which_compute_nothing(
    returned: object, words: str
) -> None:
    with pytest.raises(LaunchError, match=words.replace("(", r"\(")):
        copied(returned)


def test_a_tensor_that_may_compute_when_it_is_copied_is_refused() -> None:
    class Lazy(Tensor): ...

    given = CASE, {"output": OUTPUT}, ["output"], Tensor
    assert len(python_call.results(Tensor(9000, 8), *given)) == 1
    with pytest.raises(LaunchError, match=r"returns a Lazy for `output`.* a plain torch\.Tensor"):
        python_call.results(Lazy(9000, 8), *given)


def test_one_result_for_several_outputs_is_refused() -> None:
    with pytest.raises(LaunchError, match="one result for several outputs: output, other"):
        copied(Tensor(9000, 8), ("output", "other"))


def test_a_package_that_is_missing_is_told_apart_from_other_faults(here: Path) -> None:
    (here / "fast.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(NotInstalled, match=r"fast\.py:1: .*No module named 'nothing_of_that_name'"):
        python_call.load(here, "fast.py:twice")

    def asks_later(tensors: object) -> None:
        import nothing_of_that_name  # noqa: F401

    with pytest.raises(NotInstalled):
        python_call.bind(asks_later, CASE, tensors(), 0)()


def test_what_a_compiler_made_of_a_function_is_called_in_its_place(here: Path) -> None:
    seen = []
    function = python_call.load(here, "fast.py:twice")
    python_call.bind(function, CASE, tensors(), 7, by=lambda **given: seen.append(given))()
    assert set(seen[0]) == {"tensors", "stream", "n", "tile", "rows", "half"}
