"""A tiny problem (a vector doubled), its matrix, and a device that exists nowhere."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import order
import pytest
import quick
import tool_cache
from filelock import FileLock
from hypothesis import settings
from tiny_problem import KERNEL, MATRIX, PROBLEM
from tiny_problem import edit as in_file

from harness.cases import Case, Device, Step
from harness.compiler import cache as compile_cache
from harness.processes import children

REPOSITORY = Path(__file__).parents[1]

# Who ignores a signal hands that on to every process that it starts, as `nohup make test` does,
# and a run that ignores Ctrl-C cannot be stopped by it.
for each in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(each) is signal.SIG_IGN:
        with suppress(ValueError):  # outside the main thread nothing can be changed
            signal.signal(each, signal.SIG_DFL)

# A fifth of nvcc's time went to what C++17 adds to <cmath> for the host; no kernel here needs it.
os.environ["NVCC_APPEND_FLAGS"] = "-D_GLIBCXX_BITS_SPECFUN_H"

# Hundreds of processes start, and each would look for plugins of pydantic among all packages.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"

tool_cache.install(str(REPOSITORY / ".cache" / "tests"))

# An example may meet the garbage collector, or a busy machine; one that hangs ends by the timeout.
settings.register_profile("without a deadline", deadline=None)
settings.load_profile("without a deadline")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Workers of `-n auto`: three for two cores, as tests wait for browsers and for deadlines."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # pytest-xdist heeds it itself
    cores = len(os.sched_getaffinity(0))
    return cores + -(-cores // 2)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark what is quick before `-m` chooses, and put what is chosen into its order."""
    for item in items:
        if quick.is_quick(item):
            item.add_marker("quick")
    yield
    items[:] = order.in_shares(items, lambda item: item.path, order.workers())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """A quick test starts no process."""
    quick.begin(item)
    try:
        return (yield)
    finally:
        quick.end()


def pytest_collection_finish() -> None:
    """Thousands of tests are there to stay: the garbage collector need not look at them again.

    Nor as often as it does by itself: a parsed module is 100,000 objects, none of them garbage.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def shared_by_all_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this session, which all workers of pytest-xdist have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def made_once(shared_by_all_workers: Path) -> Callable[[str, Callable[[], Any]], Any]:
    """What several workers need and one of them makes: made_once(name, make) → what it made."""

    def made(name: str, make: Callable[[], Any]) -> Any:
        kept = shared_by_all_workers / f"{name.replace('/', '-')}.pickle"
        with FileLock(kept.with_suffix(".lock")):
            if not kept.exists():
                kept.write_bytes(pickle.dumps(make()))
            return pickle.loads(kept.read_bytes())

    return made


@pytest.fixture(scope="module")
def script_of() -> Iterator[Callable[[str], ModuleType]]:
    """Import one of scripts/ by its name, and what it imports of its neighbours.

    They are this file's own: the tests of another file import them anew.
    """
    scripts, before = REPOSITORY / "scripts", {*sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        for folder in (
            "",
            "architectures",
            "readings",
            "pages",
            "divergence",
            "gate",
            "judge",
            "fuzzing",
            "committed_runs",
            "tensor_maps",
            "textures",
        ):
            patch.syspath_prepend(str(scripts / folder))
        yield importlib.import_module
    for name in {*sys.modules} - before:
        if scripts in Path(getattr(sys.modules[name], "__file__", None) or "/").parents:
            del sys.modules[name]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with bench.yaml and kernels/double/{problem.py, v0.cu}."""
    double = tmp_path / "kernels" / "double"
    double.mkdir(parents=True)
    (tmp_path / "bench.yaml").write_text(MATRIX)
    (double / "problem.py").write_text(PROBLEM)
    (double / "v0.cu").write_text(KERNEL)
    return tmp_path


@pytest.fixture
def edited(folder: Path) -> Callable[[str, str], Path]:
    """The matrix with one passage replaced: edited(old, new) → its path."""

    def edit(old: str, new: str) -> Path:
        path = folder / "bench.yaml"
        in_file(path, old, new)
        return path

    return edit


@pytest.fixture
def device() -> Device:
    return Device(
        name="a device",
        arch="sm_90",
        sm_count=132,
        warp_size=32,
        l2_bytes=50 * 2**20,
        memory_bytes=80 * 2**30,
        max_threads_per_block=1024,
        max_block=(1024, 1024, 64),
        max_grid=(2**31 - 1, 65535, 65535),
        max_shared_bytes=227 * 1024,
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compile cache of this test's own."""
    monkeypatch.setattr(compile_cache, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def same_place(
    tmp_path_factory: pytest.TempPathFactory, shared_by_all_workers: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:  # fmt: skip
    """An empty folder, the same for each test that asks, in which they share what was compiled.

    A compiled kernel names the path of its source, and serves that one alone.
    """
    place, kept = tmp_path_factory.getbasetemp() / "same", shared_by_all_workers / "compiled"
    place.mkdir(exist_ok=True)  # emptied and not made anew: processes that fork workers stand in it
    for each in place.iterdir():
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    (kept / "compile").mkdir(parents=True, exist_ok=True)
    (place / ".cache").mkdir()  # for commands that are run here
    (place / ".cache" / "compile").symlink_to(kept / "compile")
    monkeypatch.setattr(compile_cache, "CACHE", kept / "compile")
    return place


@pytest.fixture
def double() -> Callable[..., Case]:
    """A case of the tiny problem: double(variant="v0", n=33, block=64)."""

    def make(variant: str = "v0", n: int = 33, block: int = 64, kernel: str = "twice") -> Case:
        step = Step(kernel, (-(-n // block), 1, 1), (block, 1, 1), 0, ("input", "output", n))
        return Case("double", variant, "float32", {"n": n}, {"block": block}, "v0.cu", {}, (step,))

    return make


@pytest.fixture
def processes() -> None:
    """Says that a test starts processes, where that cannot be seen: see quick.py."""


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a worker process import the package, whatever folder the tests are run from."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process write their tables alone: figures and pages take seconds."""
    from harness.report import site

    monkeypatch.setattr(site, "write_pages", lambda run: run.folder / "report.html")


@pytest.fixture(autouse=True)
def _commands_after_commands() -> Iterator[None]:
    """A command that ends badly lets no process be started any more; the next test may."""
    yield
    children.begin_anew()
