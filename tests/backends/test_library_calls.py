"""A library's result is copied into the outputs after the last event, and the copy is not timed.

Stand-ins for PyCUDA, NVTX and torch record all calls in order.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.cases import Case

CASE = Case("double", "torch", "float32", {"n": 4}, kind="library")


class Anything(ModuleType):
    """A module in which every name is a distinct class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Exception,), {})
        setattr(self, name, made)
        return made


class Result:
    """A tensor with memory of its own, which records every operation on it."""

    def __init__(self, log: list[str], start: int) -> None:
        self._log, self._start = log, start
        self.dtype, self.shape = "float32", (4,)

    def data_ptr(self) -> int:
        return self._start

    def numel(self) -> int:
        return 4

    def element_size(self) -> int:
        return 4

    def is_floating_point(self) -> bool:
        return True

    def untyped_storage(self) -> Any:
        return SimpleNamespace(
            data_ptr=self.data_ptr, nbytes=lambda: 16,
            fill_=lambda byte: self._log.append(f"spoil with {byte}"),
        )  # fmt: skip

    def view(self, shape: Any) -> Result:
        return self

    def copy_(self, other: Result) -> None:
        self._log.append("copy")


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def cuda(log: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules of the backend, imported with the stand-ins and removed afterwards."""

    class Event:
        def record(self, stream: Any) -> None:
            log.append("event")

        def time_since(self, earlier: Any) -> float:
            return 0.001

    driver, torch = Anything("pycuda.driver"), Anything("torch")
    driver.Event = Event  # type: ignore[attr-defined]
    package = ModuleType("pycuda")
    package.driver = driver  # type: ignore[attr-defined]
    torch.Tensor = Result  # type: ignore[attr-defined]
    torch.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        ExternalStream=lambda handle: handle, stream=lambda shared: contextlib.nullcontext()
    )
    stood_in = {"pycuda": package, "pycuda.driver": driver, "torch": torch}
    for name, module in stood_in.items():
        monkeypatch.setitem(sys.modules, name, module)
    ours = [name for name in sys.modules if name.startswith("harness.backends.cuda")]
    for name in ours:
        monkeypatch.delitem(sys.modules, name)
    yield SimpleNamespace(
        calls=importlib.import_module("harness.backends.cuda.calls"),
        workspace=importlib.import_module("harness.backends.cuda.workspace"),
    )
    for name in [name for name in sys.modules if name.startswith("harness.backends.cuda")]:
        del sys.modules[name]


@pytest.fixture
def call(cuda: Any, log: list[str]) -> Any:
    def function() -> Result:
        log.append("library")
        return Result(log, 9000)

    memory = {
        name: SimpleNamespace(buffer=SimpleNamespace(role=name)) for name in ("input", "output")
    }
    views = {"input": Result(log, 1000), "output": Result(log, 2000)}
    stream = SimpleNamespace(handle=7)
    return cuda.calls.LibraryCall(function, CASE, memory, views, stream)


def timed(cuda: Any, log: list[str], step: Any, warm_up: list[Any]) -> list[float]:
    @contextlib.contextmanager
    def held() -> Iterator[None]:
        log.append("hold")
        yield
        log.append("let go")

    workspace = object.__new__(cuda.workspace.CudaWorkspace)
    workspace._control = SimpleNamespace(held=held, flush_l2=lambda how: log.append("flush"))
    workspace._unheld, workspace._stream = set(), SimpleNamespace(synchronize=lambda: None)
    workspace._states = SimpleNamespace(
        enter=lambda is_other: log.append("state"), draw=lambda: False
    )
    workspace._samples = SimpleNamespace(keep=lambda: log.append("sample"))
    workspace._watch = SimpleNamespace(note=lambda outputs: log.append("hash"))
    workspace._outputs = None
    workspace._fresh = lambda case, module: log.append("poison")
    workspace._restore = lambda case, module: None
    found: list[float] = workspace._timed(CASE, [step], warm_up, None, False, "clean")
    return found


def test_a_returned_result_is_copied_after_the_second_event_and_its_memory_spoilt(
    cuda: Any, log: list[str], call: Any
) -> None:
    assert timed(cuda, log, call, []) == [1000.0]
    assert log == [
        "hold", "poison", "flush", "state", "event", "library", "event", "copy", "spoil with 255",
        "sample", "hash", "let go",
    ]  # fmt: skip


def test_the_result_of_a_warm_up_is_let_go_before_the_timed_call_and_not_copied(
    cuda: Any, log: list[str], call: Any
) -> None:
    before = cuda.calls.LibraryCall(
        lambda: log.append("twin"), CASE, {}, {}, SimpleNamespace(handle=7)
    )
    timed(cuda, log, call, [before])
    assert log[:7] == ["hold", "poison", "state", "twin", "state", "event", "library"]
    assert log.count("copy") == 1


def test_a_call_of_ours_has_nothing_to_deliver(cuda: Any, log: list[str]) -> None:
    timed(cuda, log, lambda: log.append("kernel"), [])
    assert log == [
        "hold", "poison", "flush", "state", "event", "kernel", "event", "sample", "hash", "let go",
    ]  # fmt: skip
