"""Folders inside installed Python packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.files import python_packages


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `vendor.headers` whose import fails, with a folder `include`."""
    package = tmp_path / "vendor" / "headers"
    (package / "include").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return package


def test_a_folder_is_found_without_importing_its_package(installed: Path) -> None:
    found = python_packages.folder_of("package:vendor.headers/include")
    assert found == installed / "include"
    assert python_packages.folder_of("package:vendor.headers") == installed


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "folder",
    ["package:vendor.headers/lib", "package:vendor.other/include", "package:nothing.at/all",
     "package:json.decoder/include"],
)  # fmt: skip
def test_a_package_or_folder_that_is_missing_is_not_found(folder: str) -> None:
    assert python_packages.folder_of(folder) is None


def test_a_package_is_known_by_its_name_and_version(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = "package:vendor.headers/include"
    assert python_packages.named(folder) == "package:vendor.headers"
    assert python_packages.version(folder) == "unknown"
    about = installed.parents[1] / "vendor_headers-3.6.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor-headers\nVersion: 3.6\n")
    assert python_packages.version(folder) == "3.6"


def test_the_message_names_the_package_and_how_to_install_it() -> None:
    said = python_packages.lacking("package:cuda.cccl/headers/include")
    assert said == "the Python package cuda.cccl is not installed: pip install cuda-cccl"
