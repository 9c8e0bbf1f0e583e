"""The process from which workers are forked has done their imports, except those that do not
survive a fork."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.compiler.functions import torch_compile
from harness.worker import __main__ as worker


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """A module with the given text."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(name: str, text: str) -> str:
        path = tmp_path / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    return written


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regard the CUDA driver as started once a module of that name has been imported."""
    monkeypatch.setattr(worker, "_has_begun_cuda", lambda: "begins_the_driver" in sys.modules)


def test_a_late_import_that_begins_nothing_is_made_once_for_all_workers(
    module: Callable[[str, str], str], begun: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = module("leaves_the_driver_alone", "")
    monkeypatch.setattr(worker, "LATE", {"cpu": (late,)})
    worker._import_ahead("cpu")
    assert late in sys.modules


def test_one_that_begins_the_driver_or_fails_is_left_to_each_worker(
    module: Callable[[str, str], str], begun: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = (module("begins_the_driver", ""), module("fails", "1 / 0"), module("sound", ""))
    monkeypatch.setattr(worker, "LATE", {"cpu": late})
    worker._import_ahead("cpu")
    assert [name for name in late if name in sys.modules] == ["sound"]


def test_the_keys_of_torchs_caches_are_worked_out_before_a_fork(
    module: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "from pathlib import Path\ndef {0}(): (Path(__file__).parent / '{0}').touch()\n"
    names = [("codecache", "torch_key"), ("compat", "triton_key"), ("absent", "no_key")]
    for name, function in names[:2]:
        module(name, asked.format(function))
    monkeypatch.setattr(torch_compile, "KEYS", tuple(names))
    torch_compile.work_out_keys()
    folder = Path(sys.modules["codecache"].__file__ or "").parent
    assert (folder / "torch_key").exists()
    assert (folder / "triton_key").exists()
