"""torch.compile: its cache folders, its missing requirements, and its arguments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.compiler import cache
from harness.compiler.functions import torch_compile
from harness.errors import NotInstalled

OURS = (
    "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_COMPILE_THREADS",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OURS:
        monkeypatch.setenv(name, "")  # so that monkeypatch restores it
        monkeypatch.delenv(name)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with Triton and a C compiler."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")


class Torch:
    """A stand-in for the parts of torch that are used."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses, self.asked = refuses, dict[str, Any]()
        self._dynamo = SimpleNamespace(config=SimpleNamespace(recompile_limit=8))

    def compile(self, function: Callable[..., Any], **asked: Any) -> Callable[..., Any]:
        if self.refuses:
            raise RuntimeError(self.refuses)
        self.asked = asked
        return function


def test_what_is_compiled_lies_beside_what_nvcc_compiled_where_a_sandbox_has_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    torch_compile.settle()
    below = (tmp_path / cache.CACHE).resolve()
    for name in OURS[:2]:
        place = Path(os.environ[name])
        assert place.is_absolute()
        assert below in place.resolve().parents
    assert os.environ["TORCHINDUCTOR_COMPILE_THREADS"] == "1"  # no pool of processes
    assert os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] == "1"  # no driver is started before a fork


def test_a_place_that_the_user_or_the_sandbox_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", "/tmp/harness-home")
    torch_compile.settle()
    assert os.environ["TRITON_CACHE_DIR"] == "/tmp/harness-home"


@pytest.mark.usefixtures("there")
def test_a_function_is_compiled_as_one_graph_for_its_sizes_and_as_often_as_asked_for() -> None:
    torch = Torch()
    made = torch_compile.compiled(abs, torch)
    assert made(-3) == 3
    assert torch.asked == {"fullgraph": True, "dynamic": False}
    assert torch._dynamo.config.recompile_limit > 1000
    assert torch_compile.compiled(abs, torch) is made  # for copies of the buffers, too


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("triton", "torch.compile needs Triton, which is not installed"),
        ("compiler", "torch.compile needs a C compiler, and there is no gcc or clang on PATH"),
    ],
)
@pytest.mark.usefixtures("there")
def test_what_it_lacks_is_said_and_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, missing: str, words: str
) -> None:
    if missing == "triton":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    else:
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.setattr(shutil, "which", lambda name: None)
    torch = Torch()
    with pytest.raises(NotInstalled, match=words):
        torch_compile.compiled(abs, torch)
    assert torch.asked == {}


@pytest.mark.usefixtures("there")
def test_a_python_that_torch_does_not_know_yet_is_a_reason_and_no_traceback() -> None:
    torch = Torch(refuses="torch.compile is not supported on Python 3.15+")
    with pytest.raises(NotInstalled, match=r"does not work here: .* Python 3\.15"):
        torch_compile.compiled(abs, torch)
