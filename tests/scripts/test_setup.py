"""The decisions of `make setup` for a machine's driver and toolkit; nothing is downloaded."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness.compiler import drivers

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.delitem(sys.modules, "gpu_packages", raising=False)
    return importlib.import_module("gpu_packages")


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def toolkit_in(root: Path, release: str = "12.6") -> Path:
    """A toolkit in the layout of NVIDIA's installer; its nvcc prints the same version as the real
    one."""
    (root / "include").mkdir(parents=True)
    for name in ("cuda.h", "cudaProfiler.h"):
        (root / "include" / name).touch()
    return executable(
        root / "bin/nvcc",
        f'echo "Cuda compilation tools, release {release}, V{release}.85"\n'
        f'echo "#$ _HERE_={root}/bin" >&2; echo "#$ TOP=.." >&2',
    )


def only(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """A machine whose PATH has these folders and a shell, without the usual toolkit."""
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("NVCC", raising=False)
    monkeypatch.setattr(drivers, "USUAL_ROOT", "/nowhere")


def test_a_driver_of_cuda_13_needs_no_toolkit() -> None:
    assert drivers.obstacle((13, 0), None) is None


@pytest.mark.parametrize("driver", [(12, 2), (12, 9)])  # 535 and 575
def test_an_older_driver_without_a_toolkit_is_told_before_anything_is_downloaded(
    gpu: ModuleType, driver: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "driver", lambda: driver)
    monkeypatch.setattr(drivers, "toolkit", lambda: None)
    log = tmp_path / "setup-gpu.log"
    with pytest.raises(drivers.SetupError) as refused:
        gpu.install(Path("/no/python"), SCRIPTS.parent, log)
    assert not log.exists()
    what, why, remedy = str(refused.value).splitlines()
    assert what == f"the GPU cannot be used: its driver runs CUDA {driver[0]}.{driver[1]} and older"
    assert "the only compiler on PyPI is of CUDA 13.0" in why
    assert "update the driver to 580, or install the CUDA toolkit 12.4 to 12.9" in remedy
    assert "make bench ARGS='--backend emulator'" in remedy


def test_an_older_driver_with_a_toolkit_of_its_own_age_works(gpu: ModuleType) -> None:
    own = drivers.Toolkit("/usr/local/cuda/bin/nvcc", (12, 4), Path("/usr/local/cuda"))
    assert drivers.obstacle((12, 2), own) is None
    assert gpu.torch_for((12, 2), "torch==2.11.0") == "torch==2.10.*"
    assert gpu.torch_for((13, 0), "torch==2.11.0") == "torch==2.11.0"


def test_a_toolkit_newer_than_the_driver_or_too_old_is_named() -> None:
    newer = drivers.Toolkit("/opt/nvcc", (13, 0), Path("/opt"))
    assert "/opt/nvcc is of CUDA 13.0" in str(drivers.obstacle((12, 9), newer))
    older = drivers.Toolkit("/opt/nvcc", (12, 1), Path("/opt"))
    assert "12.4 is the oldest that works" in str(drivers.obstacle((12, 9), older))


def test_a_driver_that_does_not_load_is_named() -> None:
    assert "libcuda.so.1 is missing" in str(drivers.obstacle(None, None))


def test_the_toolkit_is_found_behind_a_wrapper_script(
    gpu: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = toolkit_in(tmp_path / "cuda-12.6")
    executable(tmp_path / "bin/nvcc", f'exec {real} "$@"')
    only(monkeypatch, tmp_path / "bin")
    found = drivers.toolkit()
    assert (found.release, found.root) == ((12, 6), tmp_path / "cuda-12.6")
    assert gpu.headers(found, tmp_path) == [tmp_path / "cuda-12.6/include"]


def test_a_toolkit_in_the_usual_place_is_found_though_it_is_not_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit_in(tmp_path / "cuda")
    only(monkeypatch)
    assert drivers.toolkit() is None
    monkeypatch.setattr(drivers, "USUAL_ROOT", str(tmp_path / "cuda"))
    assert drivers.toolkit().root == tmp_path / "cuda"


def test_without_a_toolkit_the_headers_are_those_of_the_wheels(
    gpu: ModuleType, tmp_path: Path
) -> None:
    include = tmp_path / "nvidia/cu13/include"
    include.mkdir(parents=True)
    (include / "cuda.h").touch()
    assert gpu.headers(None, tmp_path) == [include]
    made = gpu.configuration([include], tmp_path / "links")
    assert f"CUDA_INC_DIR = ['{include}']" in made
    assert "CUDA_ENABLE_CURAND = False" in made


def test_pins_that_belong_to_the_newer_torch_do_not_bind_the_older(gpu: ModuleType) -> None:
    pins = "numpy==2.0\nnvidia-cublas==13.1\nnvidia-ml-py==13.6\ntorch==2.11.0\ntriton==3.6.0\n"
    assert gpu.without_cuda_13(pins) == "numpy==2.0\nnvidia-ml-py==13.6\n"


def test_missing_headers_of_python_are_told_in_three_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    what, _, remedy = str(drivers.missing_for_building()).splitlines()
    assert what == "PyCUDA cannot be built: Python.h is missing"
    assert "apt install python3-dev" in remedy


@pytest.mark.usefixtures("processes")
def test_a_step_that_fails_names_the_error_and_the_log(gpu: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    with log.open("w") as output, pytest.raises(gpu.SetupError) as failed:
        gpu._step(
            ["sh", "-c", "echo reading; echo 'ERROR: no network'; exit 1"],
            "fetching a thing: a minute", output, log,
        )  # fmt: skip
    what, why, remedy = str(failed.value).splitlines()
    assert (what, why.strip()) == ("fetching a thing failed", "ERROR: no network")
    assert str(log) in remedy
    assert not failed.value.settled


@pytest.fixture
def setup(gpu: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`make setup` for a checkout in `tmp_path`."""
    monkeypatch.delitem(sys.modules, "setup", raising=False)
    module = importlib.import_module("setup")
    monkeypatch.setattr(module, "VENV", tmp_path / "checkout" / ".venv")
    module.VENV.parent.mkdir()
    return module


def test_an_environment_that_make_setup_did_not_make_is_refused_and_left_as_it_is(
    setup: ModuleType,
) -> None:
    own = setup.VENV / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.touch()
    with pytest.raises(SystemExit, match="is not from make setup"):
        setup._base("python", [])
    assert own.exists()


def test_a_link_in_place_of_the_environment_is_refused_and_its_target_left_as_it_is(
    setup: ModuleType, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "another" / ".venv"
    elsewhere.mkdir(parents=True)
    (elsewhere / "made-with").write_text("another checkout's Python")
    setup.VENV.symlink_to(elsewhere)
    with pytest.raises(SystemExit, match="remove it or move it away"):
        setup._base("python", [])
    assert (elsewhere / "made-with").exists()


def test_an_environment_left_half_made_is_made_again(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_with = setup.VENV / "made-with"

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(setup.venv, "create", interrupted)
    with pytest.raises(KeyboardInterrupt):
        setup._make_environment(made_with)
    (setup.VENV / "half").touch()
    monkeypatch.setattr(setup.venv, "create", lambda *_, **__: None)
    setup._make_environment(made_with)
    assert not (setup.VENV / "half").exists()


def test_what_make_setup_runs_first_needs_nothing_installed() -> None:
    """The script runs with the system's Python, before there is a `.venv`."""
    imports = f"import sys; sys.path.insert(0, {str(SCRIPTS)!r}); import setup"
    without_site_packages = [sys.executable, "-I", "-S", "-c", imports]
    subprocess.run(without_site_packages, check=True)
