"""The compiler is searched for in an order that the user controls."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.compiler import toolchain
from harness.errors import CompileError


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No compiler is installed, and no earlier search is remembered."""
    monkeypatch.delenv("NVCC", raising=False)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv(
        "PATH", str(tmp_path / "path") + os.pathsep + "/usr/bin" + os.pathsep + "/bin"
    )
    monkeypatch.setattr(toolchain.sysconfig, "get_path", lambda name: str(tmp_path / "site"))
    monkeypatch.setattr(toolchain, "USUAL_ROOT", str(tmp_path / "usual"))
    toolchain.find.cache_clear()
    yield
    toolchain.find.cache_clear()


def fake(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def nvcc(path: Path, version: str) -> Path:
    return fake(path, f'echo "Cuda compilation tools, release 1.2, V{version}"')


def test_each_place_goes_before_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = nvcc(tmp_path / "site" / "nvidia" / "cu13" / "bin" / "nvcc", "1.0.4")
    assert toolchain.find() == toolchain.Toolchain(str(wheel), "1.0.4", "the installed wheels")
    usual = nvcc(tmp_path / "usual" / "bin" / "nvcc", "1.0.35")
    toolchain.find.cache_clear()
    assert toolchain.find() == toolchain.Toolchain(str(usual), "1.0.35", str(tmp_path / "usual"))
    on_path = nvcc(tmp_path / "path" / "nvcc", "1.0.3")
    toolchain.find.cache_clear()
    assert toolchain.find() == toolchain.Toolchain(str(on_path), "1.0.3", "PATH")
    home = nvcc(tmp_path / "home" / "bin" / "nvcc", "1.0.2")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    toolchain.find.cache_clear()
    assert toolchain.find() == toolchain.Toolchain(str(home), "1.0.2", "CUDA_HOME")
    named = nvcc(tmp_path / "named", "1.0.1")
    monkeypatch.setenv("NVCC", str(named))
    toolchain.find.cache_clear()
    assert toolchain.find() == toolchain.Toolchain(str(named), "1.0.1", "NVCC")


def test_a_place_that_names_nothing_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "gone"))
    nvcc(tmp_path / "path" / "nvcc", "13.0.88")
    assert toolchain.find().found_in == "PATH"


@pytest.mark.fault(
    "NVCC names a program that is not there",
    outcome="Refused with its name; no other nvcc takes its place.",
)
def test_a_compiler_that_is_named_is_not_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvcc(tmp_path / "path" / "nvcc", "13.0.88")
    monkeypatch.setenv("NVCC", str(tmp_path / "nonexistent"))
    with pytest.raises(CompileError, match=r"NVCC names .*nonexistent, which is no program"):
        toolchain.find()


@pytest.mark.parametrize("body", ["exit 1", "echo nothing", "echo V1.2.3; exit 3"])
def test_a_compiler_that_does_not_run_is_named_with_where_it_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setenv("NVCC", str(fake(tmp_path / "broken", body)))
    with pytest.raises(CompileError, match=r"nvcc from NVCC does not run: .*broken"):
        toolchain.find()


def test_no_compiler_at_all_says_how_to_install_one() -> None:
    with pytest.raises(CompileError, match=r"no CUDA compiler.*\n.*pip install .*\[compiler\]"):
        toolchain.find()
