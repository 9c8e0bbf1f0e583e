"""The package as sdist and wheel: the files in each, and their metadata."""

from __future__ import annotations

import email
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path, PurePath

import checkout
import pytest

import harness

BUILD = "import sys, setuptools.build_meta as made; print(getattr(made, sys.argv[1])(sys.argv[2]))"
"""The calls that pip makes to the build backend; nothing is downloaded."""


def built(what: str, source: Path, into: Path) -> Path:
    ended = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(into)], cwd=source, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return into / ended.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel built from it, as an installer without a wheel does."""
    here = tmp_path_factory.mktemp("built")
    sdist = built("build_sdist", checkout.copy(here / "checkout"), here)
    with tarfile.open(sdist) as packed:
        packed.extractall(here / "unpacked", filter="data")
    [source] = (here / "unpacked").iterdir()
    return sdist, built("build_wheel", source, here)


@pytest.fixture(scope="module")
def in_wheel(archives: tuple[Path, Path]) -> set[str]:
    with zipfile.ZipFile(archives[1]) as packed:
        return set(packed.namelist())


@pytest.fixture(scope="module")
def metadata(archives: tuple[Path, Path]) -> Message:
    with zipfile.ZipFile(archives[1]) as packed:
        [name] = [each for each in packed.namelist() if each.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(packed.read(name))


def test_the_wheel_has_every_file_of_the_package_and_no_other(in_wheel: set[str]) -> None:
    of_package = {name for name in checkout.files() if name.startswith("harness/")}
    assert {name for name in in_wheel if ".dist-info/" not in name} == of_package


def test_what_runs_read_beside_python_is_in_the_wheel(in_wheel: set[str]) -> None:
    """The list is written by hand, in case git and the package omit the same file."""
    kinds = {PurePath(name).suffix for name in in_wheel if name.startswith("harness/")}
    assert kinds == {".py", ".typed", ".cu", ".cpp", ".h", ".j2", ".css", ".js", ".yaml", ".json"}
    assert in_wheel >= {
        "harness/emulator/engine/machine/interface.h",
        "harness/report/templates/base.html.j2",
        "harness/report/assets/page.js",
        "harness/commands/skeleton/problem.py.j2",
        "harness/schemas/problem.schema.json",
        "harness/ncu/metrics.yaml",
        "harness/measure/ceilings.cu",
    }


def test_the_sdist_has_what_builds_the_wheel_and_no_tests(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[0]) as packed:
        names = {PurePath(name).relative_to(PurePath(name).parts[0]).as_posix()
                 for name in packed.getnames()}  # fmt: skip
    tops = {name.split("/")[0] for name in names}
    assert tops >= {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "harness"}
    assert not tops & {"tests", "reports", "kernels", "scripts", "docs", ".ci"}


def test_the_metadata_says_what_an_index_shows(metadata: Message, in_wheel: set[str]) -> None:
    assert metadata["Name"] == "kernel-harness"
    assert metadata["Version"] == harness.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["License-File"] == "LICENSE"
    assert f"kernel_harness-{harness.__version__}.dist-info/licenses/LICENSE" in in_wheel
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Summary"]
    assert metadata["Keywords"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).startswith("# Which CUDA kernel is faster")


def test_the_metadata_names_each_python_that_is_tried(metadata: Message) -> None:
    classifiers = metadata.get_all("Classifier") or []
    named = [each.removeprefix("Programming Language :: Python :: ") for each in classifiers
             if each.startswith("Programming Language :: Python :: 3.")]  # fmt: skip
    assert named == ["3.10", "3.11", "3.12", "3.13", "3.14"]


def test_the_metadata_has_the_extras_that_the_docs_describe(metadata: Message) -> None:
    page = (checkout.ROOT / "docs" / "commands.md").read_text()
    extras = set(metadata.get_all("Provides-Extra") or [])
    assert extras == {"compiler", "disassembler", "gpu", "cluster", "http", "mcp", "dev"}
    for extra in extras - {"disassembler"}:  # kept only for older commands
        assert f"| `{extra}` |" in page, extra
