"""Functions in place of kernels, in Python and in host code, are written as a matrix and bound to
arrays. Without a GPU they are not executed, but the kernels in the same submission are."""

from __future__ import annotations

import _json  # a compiled module of the standard library
import contextlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import affine
import numpy as np
import pytest
from pydantic import ValidationError

import harness
from harness.compiler.functions import python_call
from harness.errors import LaunchError, UsageError
from harness.judge import (
    HostFunction,
    Imported,
    Kernel,
    Problem,
    PythonFunction,
    api,
    extensions,
    folders,
)
from harness.judge.references import reference
from harness.judge.serve.protocol import BadRequest, read
from harness.judge.submissions import Submission
from harness.machine import devices
from harness.matrix import model
from harness.problem.shaped import Array, ShapedProblem
from harness.problem.shaped_call import ShapedCall

HOST = """\
#include <cuda_runtime.h>
__global__ void each(const float* x, float* y, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = 3 * x[i] + n;
}
int affine_on(const float* x, float* y, int n, cudaStream_t stream) {
    each<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
"""


class Tensor:
    """The parts of a torch tensor that a function and its caller use."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)

    def view(self, shape: tuple[int, ...]) -> Tensor:
        return Tensor(self.values.reshape(shape))

    def copy_(self, other: Tensor) -> None:
        self.values[...] = other.values

    def is_floating_point(self) -> bool:
        return self.values.dtype.kind == "f"


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A stand-in for torch, which records the current streams."""
    used: list[int] = []
    torch = ModuleType("torch")
    torch.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        ExternalStream=lambda handle: handle,
        stream=lambda one: contextlib.nullcontext(used.append(one)),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    return used


@pytest.fixture
def problem() -> Problem:
    return Problem(
        lambda x, gain: gain * x.T, inputs={"x": "rows, cols"}, outputs={"y": "cols, rows"},
        test={"rows, cols": [[2, 3]]}, scalars={"gain": 2.0}, name="turned",
    )  # fmt: skip


def called(problem: Problem, kernel: PythonFunction, place: Path) -> np.ndarray:
    """The values that a function leaves in y, when called from the folder that is written for
    it."""
    folder = folders.to_folder(Submission((kernel,), problem), place) / "kernels" / problem.name
    bench = model.load(place / "bench.yaml")
    variant = bench.problems[problem.name].variants[kernel.title]
    assert variant.kind == "python"
    x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    case: Any = SimpleNamespace(
        sizes={"rows": 2, "cols": 3}, launch={}, let={}, function=variant.function
    )
    function = python_call.load(folder, variant.function)
    python_call.bind(function, case, {"x": Tensor(x), "y": Tensor(y)}, 7)()
    return y.reshape(3, 2)


def returns(x: Any, gain: float) -> Any:
    return Tensor(np.float32(gain) * x.values.T)


def writes(y: Any, x: Any, rows: int, gain: float) -> None:
    assert rows == 2
    y.values[...] = gain * x.values.T


def as_in_a_matrix(tensors: Any, stream: int, rows: int, cols: int, gain: float) -> None:
    assert stream == 7
    turned = tensors["x"].values.reshape(rows, cols).T
    tensors["y"].values[...] = gain * turned.ravel()


@pytest.mark.parametrize("function", [returns, writes, as_in_a_matrix])
def test_a_function_gets_arrays_by_name_and_returns_or_writes_its_outputs(
    problem: Problem, function: Any, streams: list[int], tmp_path: Path
) -> None:
    found = called(problem, PythonFunction(function), tmp_path)
    assert found.tolist() == [[0, 6], [2, 8], [4, 10]]
    assert streams == [7]


def nothing(x: Any) -> None:
    del x


def unturned(x: Any) -> Any:
    return x


def in_double(x: Any) -> Any:
    return Tensor(x.values.T.astype(np.float64))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (nothing, r"returns no `y`"),
        (unturned, r"returns \(2, 3\) × float32 for `y`, which is \(3, 2\) × float32"),
        (in_double, r"returns \(3, 2\) × float64 for `y`"),
        (lambda x: 2, r"returns a int for `y`, and no tensor"),
    ],
)
def test_a_result_that_does_not_fit_is_a_fault(function: Any, why: str, streams: list[int]) -> None:
    class Turned(ShapedProblem):
        arrays: ClassVar = {
            "x": Array("input", lambda rows, cols: (rows, cols)),
            "y": Array("output", lambda rows, cols: (cols, rows)),
        }

    buffers = {name: Tensor(np.zeros(6, np.float32)) for name in "xy"}
    with pytest.raises(LaunchError, match=why):
        ShapedCall(Turned(), function, ("x",))(buffers, 7, {"rows": 2, "cols": 3})


def test_parameters_that_are_nothing_of_the_problem_are_named(
    problem: Problem, tmp_path: Path
) -> None:
    def scaled(x: Any, factor: Any) -> Any:
        return x * factor

    with pytest.raises(UsageError, match=r"scaled takes `factor`, which is none of x, y, rows"):
        folders.to_folder(Submission((PythonFunction(scaled),), problem), tmp_path)


def test_a_torch_module_is_no_function(monkeypatch: pytest.MonkeyPatch) -> None:
    class Module: ...

    torch = SimpleNamespace(nn=SimpleNamespace(Module=Module))
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="Module is a torch module, and no function"):
        PythonFunction(Module())  # type: ignore[arg-type]


def test_a_function_of_a_compiled_extension_is_found_by_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """torch does not put such a module into sys.modules; its functions are built in."""
    monkeypatch.setattr(extensions, "is_installed", lambda file: False)
    found = reference(_json.encode_basestring)
    assert (found.file, found.name) == (_json.__file__, "encode_basestring")
    problem = Problem(
        _json.encode_basestring, inputs={"x": "n"}, outputs={"y": "n"}, test={"n": [1]}
    )
    lines: dict[str, Any] = {}
    exec(folders.problem_text(problem).partition("class ")[0], lines)
    assert lines["reference"]("a\n") == '"a\\n"'


def calls_an_extension(x: str) -> str:
    return _json.encode_basestring(x)


def test_a_function_that_calls_an_extension_loads_it_from_its_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extensions, "is_installed", lambda file: False)
    monkeypatch.setattr(calls_an_extension, "__module__", "__main__")
    written = reference(calls_an_extension)
    assert f"_json = module_of({_json.__file__!r})" in written.source
    own: dict[str, Any] = {}
    exec(written.source, own)
    assert own["calls_an_extension"]("a") == '"a"'


def test_a_builtin_method_of_a_hidden_class_is_found_under_its_plain_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """torch.relu's qualified name is `_VariableFunctionsClass.relu`."""
    torch = ModuleType("torch")
    torch.find = bytearray().find  # type: ignore[attr-defined]
    assert torch.find.__qualname__ == "bytearray.find"
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert reference(torch.find) == Imported("find", module="torch")


@pytest.mark.usefixtures("own_place")
def test_without_a_gpu_functions_are_refused_by_name_and_their_neighbour_is_judged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(devices, "has_driver", lambda: False)
    kernel = Kernel(
        affine.text(affine.BODIES["right"]), "affine", "ceil_div(n, 256)", 256, ("x", "y", "n")
    )
    host = HostFunction(HOST, "affine_on", ("x", "y", "n"))
    in_python = PythonFunction(lambda x, n: 3 * x + n, name="in_python")
    found = harness.compare([in_python, host, kernel], affine.problem())
    assert [each.verdict for each in found] == ["cannot-tell", "cannot-tell", "right"]
    assert "a Python function needs a GPU" in found["in_python"].text
    assert "a host function needs a GPU" in found["affine_on"].text
    assert found["affine"].counters["sectors_per_store"] > 0
    assert found["in_python"].excerpt == ""
    place = found.to_folder(tmp_path / "matrix")
    variants = model.load(place / "bench.yaml").problems["affine"].variants
    assert [each.kind for each in variants.values()] == ["python", "host", "kernel"]
    assert (place / "kernels/affine/affine_on.cu").read_text() == HOST


@pytest.mark.gpu  # run by `make test-gpu`, where torch is installed
@pytest.mark.usefixtures("own_place")
def test_on_a_gpu_functions_are_timed_beside_a_kernel_and_a_wrong_one_is_found(
    tmp_path: Path,
) -> None:
    kernel = Kernel(
        affine.text(affine.BODIES["right"]), "affine", "ceil_div(n, 256)", 256, ("x", "y", "n")
    )
    host = HostFunction(HOST, "affine_on", ("x", "y", "n"))
    in_python = PythonFunction(lambda x, n: 3 * x + n, name="in_python")
    off_by_one = PythonFunction(lambda x, n: 3 * x + n + 1, name="off_by_one")
    found = harness.compare(
        [kernel, host, in_python, off_by_one], affine.problem(timed={"n": [2**20]})
    )
    assert found["off_by_one"].verdict == "wrong", found["off_by_one"].text
    assert found["off_by_one"].counterexample
    for name in ("affine", "affine_on", "in_python"):
        assert found[name].is_right, found[name].text
        assert found[name].time_ns, found[name].text
    # torch launches two kernels, each of which moves as many bytes as the single one.
    assert found["in_python"].speedup.high < 0.9  # type: ignore[union-attr]
    place = found.to_folder(tmp_path / "matrix")
    assert (place / "kernels/affine/affine_on.cu").read_text() == HOST

    import torch

    timed = harness.time(torch.negative, Problem(
        lambda x: -x, inputs={"x": "n"}, outputs={"y": "n"}, test={"n": [1, 33, 2**20]},
        name="negated",
    ))  # fmt: skip
    assert timed.time_ns, timed.text


def test_a_host_function_is_named_beside_its_source(tmp_path: Path) -> None:
    made = api._kernel(HOST, {"host": "affine_on", "args": ["x", "y", "n"]})
    assert made == HostFunction(HOST, "affine_on", ("x", "y", "n"))
    assert api._kernel(np.negative, {"name": "negated"}).title == "negated"
    with pytest.raises(UsageError, match="a path or a text, or a function, and no int"):
        api._kernel(3, {})


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        ({"python": "file.py:f"}, "a Python function"),
        ({"function": {"source": "def f(x): return x", "name": "f"}}, "a Python function"),
        ({"source": HOST, "host": "affine_on", "args": ["x", "y", "n"]}, "a host function"),
    ],
)
def test_a_request_has_no_function(kernel: dict[str, Any], what: str) -> None:
    problem = {
        "reference": {"source": "def f(x): return x", "name": "f"}, "inputs": {"x": "n"},
        "outputs": {"y": "n"}, "test": {"n": [1]},
    }  # fmt: skip
    with pytest.raises(BadRequest) as found:
        read(json.dumps({"problem": problem, "kernels": [kernel]}).encode())
    error = found.value.answer.error
    assert error is not None
    assert error.at == "kernels.0"
    assert f"{what} runs natively, on a GPU, with the rights of" in error.message
