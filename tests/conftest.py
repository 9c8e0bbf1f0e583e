"""A tiny problem (a vector doubled), its matrix, and a simulated device."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import re
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

# An ignored signal is inherited by every process started, as under `nohup make test`,
# and a run that ignores Ctrl-C cannot be stopped by it.
for each in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(each) is signal.SIG_IGN:
        with suppress(ValueError):  # only the main thread can change handlers
            signal.signal(each, signal.SIG_DFL)

# A fifth of nvcc's time was spent on C++17's additions to <cmath> for the host; no kernel here
# needs them.
os.environ["NVCC_APPEND_FLAGS"] = "-D_GLIBCXX_BITS_SPECFUN_H"

# Hundreds of processes start, and each would look for pydantic plugins in all packages, and start
# threads for NumPy's matrix products, which wait by spinning.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# Thousands of launches allocate the same memory. If the C library returned it to the system after
# each launch, this would take much of the system time of the emulator's tests. Allocations above
# 32 MiB still come from the system, because such memory is zero without being written.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**30))

tool_cache.install(str(REPOSITORY / ".cache" / "tests"))

# Garbage collection or a busy machine may slow an example; the timeout ends one that hangs.
settings.register_profile("without a deadline", deadline=None)
settings.load_profile("without a deadline")


def pytest_configure(config: pytest.Config) -> None:
    """Hide the GPUs from tests that need none, because commands would choose a GPU and time kernels
    on it."""
    chosen = re.sub(r"\bnot\s+gpu\b", "", config.option.markexpr)
    if not re.search(r"\bgpu\b", chosen):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """The number of workers for `-n auto`: three for two cores, because tests wait for browsers and
    deadlines."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # pytest-xdist handles it itself
    cores = len(os.sched_getaffinity(0))
    return cores + -(-cores // 2)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark the quick tests before `-m` selects, and put the selected tests into their order."""
    for item in items:
        if quick.is_quick(item):
            item.add_marker("quick")
    yield
    items[:] = order.in_shares(items, lambda item: item.path, order.workers())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Ensure that a quick test starts no process."""
    quick.begin(item)
    try:
        return (yield)
    finally:
        quick.end()


def pytest_collection_finish() -> None:
    """Exempt the thousands of collected tests from garbage collection.

    Also collect less often than by default: a parsed module has 100,000 objects, none of which is
    garbage.
    """
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


@pytest.fixture(scope="session")
def shared_by_all_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this session that all workers of pytest-xdist share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def made_once(shared_by_all_workers: Path) -> Callable[[str, Callable[[], Any]], Any]:
    """A result that several workers need and only one of them computes: made_once(name, make) → the
    result."""

    def made(name: str, make: Callable[[], Any]) -> Any:
        kept = shared_by_all_workers / f"{name.replace('/', '-')}.pickle"
        with FileLock(kept.with_suffix(".lock")):
            if not kept.exists():
                kept.write_bytes(pickle.dumps(make()))
            return pickle.loads(kept.read_bytes())

    return made


@pytest.fixture(scope="module")
def script_of() -> Iterator[Callable[[str], ModuleType]]:
    """Import a module of scripts/ by its name, together with the neighbours that it imports.

    The modules belong to this test file: the tests of another file import them again.
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
            "sparse_products",
            "tensor_maps",
            "textures",
            "asynchronous_counters",
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
    """Write the matrix with one passage replaced: edited(old, new) → its path."""

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
    """A compile cache that belongs to this test."""
    monkeypatch.setattr(compile_cache, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def same_place(
    tmp_path_factory: pytest.TempPathFactory, shared_by_all_workers: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:  # fmt: skip
    """An empty folder at the same path for all tests, which share compiled files.

    The path is the same because a compiled kernel contains the path of its source, and is valid
    only for that path.
    """
    place, kept = tmp_path_factory.getbasetemp() / "same", shared_by_all_workers / "compiled"
    place.mkdir(exist_ok=True)  # emptied, not recreated: it is the fork servers' current folder
    for each in place.iterdir():
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    (kept / "compile").mkdir(parents=True, exist_ok=True)
    (place / ".cache").mkdir()  # for commands that are run here
    (place / ".cache" / "compile").symlink_to(kept / "compile")
    monkeypatch.setattr(compile_cache, "CACHE", kept / "compile")
    return place


@pytest.fixture
def double() -> Callable[..., Case]:
    """Make a case of the tiny problem: double(variant="v0", n=33, block=64)."""

    def make(variant: str = "v0", n: int = 33, block: int = 64, kernel: str = "twice") -> Case:
        step = Step(kernel, (-(-n // block), 1, 1), (block, 1, 1), 0, ("input", "output", n))
        return Case("double", variant, "float32", {"n": n}, {"block": block}, "v0.cu", {}, (step,))

    return make


@pytest.fixture
def processes() -> None:
    """Declare that a test starts processes, if the rule in quick.py cannot detect it."""


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let worker processes import the package, whatever the working directory of the tests."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs in this process write only their tables, because figures and pages take seconds."""
    from harness.report import site

    monkeypatch.setattr(site, "write_pages", lambda run: run.folder / "report.html")


@pytest.fixture(autouse=True)
def _commands_after_commands() -> Iterator[None]:
    """A failed command prevents any further process from starting; undo that for the next
    test."""
    yield
    children.begin_anew()
