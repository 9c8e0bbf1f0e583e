"""Imports point one way: what each part of the harness may use, held to what it does use."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).parents[1] / "harness"

BASE = {
    "errors", "cases", "dtypes", "near", "records", "strict_yaml", "progress", "silicon", "problem",
    "current", "source_text", "budgets", "children", "storage", "inert", "journal",
    "run_files", "scratch",
}  # fmt: skip
MAY_USE: dict[str, set[str]] = {
    "errors": set(),
    "budgets": set(),
    "inert": set(),
    "progress": {"inert"},
    "children": set(),
    "deadline": set(),
    "run_files": set(),
    "scratch": set(),
    "utf8": set(),
    "storage": {"errors", "run_files"},
    "stopping": set(),
    "silicon": set(),
    "strict_yaml": {"errors"},
    "near": set(),
    "source_text": set(),
    "dtypes": {"errors", "near"},
    "cases": {"errors", "silicon"},
    "records": set(),
    "journal": {"errors", "records", "storage", "run_files"},
    "current": {"records"},
    "problem": {"errors", "dtypes", "deadline"},
    "emulator": {"silicon", "scratch"},
    "matrix": BASE,
    "build": BASE,
    "job": BASE | {"build", "backends"},
    "backends": BASE | {"build", "emulator"},
    "measure": BASE | {"build", "backends"},
    "ncu": BASE | {"build", "backends", "job"},
    "worker": BASE | {"build", "job", "backends", "measure", "ncu", "emulator"},
    "run": BASE
    | {"stopping", "matrix", "build", "job", "backends", "measure", "ncu", "worker", "tables"},
    "cluster": BASE | {"matrix", "build", "job", "measure", "run", "tables"},
    "tables": BASE | {"measure"},
    "analysis": BASE | {"tables", "measure", "ncu"},
    "comparison": BASE | {"tables", "measure", "analysis", "matrix"},
    "report": BASE | {"tables", "measure", "ncu", "analysis", "comparison"},
}
"""Part → the parts it may import. `commands` and `__main__` stand above all of them."""
ROOMS_OF_THE_EMULATOR: dict[str, set[str]] = {
    "errors": set(),
    "results": set(),
    "ptx": {"errors"},
    "program": {"errors", "ptx"},
    "memory": {"errors", "ptx", "program"},
    "engine": {"errors", "ptx", "program", "memory", "results"},
    "sass": {"errors", "ptx", "memory", "engine", "results"},
    "launch": {"errors", "ptx", "program", "memory", "engine", "results"},
}
"""Room → the rooms that it may use."""
WITHOUT_GPU = (
    "tables",
    "analysis",
    "comparison",
    "report",
    "matrix",
    "build",
    "emulator",
    "silicon",
)


def _imports(path: Path) -> set[str]:
    """The parts of the harness that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _files(part: str) -> list[Path]:
    single = HARNESS / f"{part}.py"
    return [single] if single.exists() else sorted((HARNESS / part).rglob("*.py"))


@pytest.mark.parametrize("part", MAY_USE)
def test_a_part_imports_only_what_lies_below_it(part: str) -> None:
    allowed = MAY_USE[part] | {part}
    for path in _files(part):
        for name in _imports(path):
            items = name.split(".")
            if items[0] == "harness" and len(items) > 1 and _is_part(items[1]):
                assert items[1] in allowed, f"{path.relative_to(HARNESS)} imports {name}"


def _is_part(name: str) -> bool:
    return (HARNESS / name).is_dir() or (HARNESS / f"{name}.py").exists()


@pytest.mark.parametrize("room", ROOMS_OF_THE_EMULATOR)
def test_a_room_of_the_emulator_imports_only_what_lies_below_it(room: str) -> None:
    allowed = ROOMS_OF_THE_EMULATOR[room] | {room}
    files = _files(f"emulator/{room}")
    assert files
    for path in files:
        for name in _imports(path):
            items = name.split(".")
            if items[:2] == ["harness", "emulator"] and len(items) > 2:
                assert items[2] in allowed, f"{path.relative_to(HARNESS)} imports {name}"


def test_every_room_of_the_emulator_is_listed() -> None:
    rooms = {p.stem for p in (HARNESS / "emulator").iterdir() if not p.name.startswith("__")}
    assert rooms == set(ROOMS_OF_THE_EMULATOR)


def test_every_part_is_listed() -> None:
    parts = {p.stem for p in HARNESS.glob("*.py")} | {
        p.name for p in HARNESS.iterdir() if (p / "__init__.py").exists()
    }
    assert parts - {"__init__", "__main__", "commands"} == set(MAY_USE)


@pytest.mark.parametrize("part", WITHOUT_GPU)
def test_nothing_that_reads_or_draws_needs_a_gpu(part: str) -> None:
    for path in _files(part):
        for name in _imports(path):
            assert name.split(".")[0] not in {"pycuda", "torch", "pynvml"}, f"{path} imports {name}"


def test_pycuda_is_imported_by_the_cuda_backend_alone() -> None:
    for path in HARNESS.rglob("*.py"):
        if path.parent != HARNESS / "backends" / "cuda":
            assert not any(name.startswith("pycuda") for name in _imports(path)), path


def _imported_by(module: str) -> set[str]:
    """The packages and parts of the harness that a fresh process has once it imported a module."""
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        capture_output=True, text=True, check=True, cwd=HARNESS.parent,
    )  # fmt: skip
    names = [name.split(".") for name in told.stdout.split()]
    return {items[0] for items in names} | {".".join(items[:2]) for items in names}


_DRAWING = ("pandas", "matplotlib", "scipy")


@pytest.mark.parametrize(
    ("module", "without"),
    [
        (
            "harness.worker.timing",
            {*_DRAWING, "elftools", "harness.emulator"},
        ),
        (
            "harness.worker.qualify",
            {*_DRAWING, "elftools", "harness.measure"},
        ),
        (
            "harness.__main__",
            {*_DRAWING, "plotly", "distributed", "dask", "elftools", "harness.emulator"},
        ),
    ],
)
def test_a_process_starts_without_what_only_others_need(module: str, without: set[str]) -> None:
    """Every placement and every emulated variant is a process of its own, and waits for these."""
    assert not _imported_by(f"harness.worker.__main__, {module}") & without
