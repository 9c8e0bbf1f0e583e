"""Imports point one way: the parts that each part of the harness may import, compared with its
actual imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = Path(__file__).parents[1] / "harness"

GROUND_FLOOR = "the ground floor"


def _rows(table: str) -> dict[str, set[str]]:
    """Map the names in the first column of a table to those in its third."""
    return {
        cells[1].strip(" `"): {name.strip(" `") for name in cells[3].split(",") if name.strip()}
        for cells in (row.split("|") for row in table.splitlines() if row.startswith("| `"))
    }


PAGE = (HARNESS.parent / "docs" / "architecture.md").read_text()


def _directions() -> dict[str, set[str]]:
    """Part → the parts that it may import, as docs/architecture.md says."""
    ground, upper = map(_rows, PAGE.partition("<!-- imports:begin -->")[2].split("\n\n")[1:3])
    resolved = {
        part: (uses - {GROUND_FLOOR}) | (set(ground) if GROUND_FLOOR in uses else set())
        for part, uses in upper.items()
    }
    return ground | resolved


MAY_USE = _directions()
"""Part → the parts it may import. `commands` and `__main__` may import all of them."""
ROOMS = _rows(PAGE.partition("<!-- rooms:begin -->")[2])
"""Folder within a part → the modules of the folder around it that it may import."""
UPPER_FLOOR = {"workers", "judge", "slots"}
"""The modules of processes/ that depend on a worker's job, listed as `processes/workers`."""
ROOMS_OF_THE_EMULATOR: dict[str, set[str]] = {
    "errors": set(),
    "remembering": set(),
    "results": set(),
    "ptx": {"errors"},
    "program": {"errors", "ptx", "remembering"},
    "memory": {"errors", "ptx", "program"},
    "engine": {"errors", "ptx", "program", "memory", "results"},
    "sass": {"errors", "ptx", "memory", "engine", "remembering", "results"},
    "launch": {"errors", "ptx", "program", "memory", "engine", "results"},
}
"""Folder → the folders that it may import."""
WITHOUT_GPU = (
    "tables",
    "analysis",
    "comparison",
    "report",
    "matrix",
    "compiler",
    "emulator",
    "silicon",
)


def _imports(path: Path) -> set[str]:
    """The parts of the harness that a file imports, at any level."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _files(part: str) -> list[Path]:
    if part == "processes/workers":
        return [HARNESS / "processes" / f"{name}.py" for name in sorted(UPPER_FLOOR)]
    single = HARNESS / f"{part}.py"
    found = [single] if single.exists() else sorted((HARNESS / part).rglob("*.py"))
    return [path for path in found if part != "processes" or path.stem not in UPPER_FLOOR]


def _part(name: str) -> str | None:
    """The part that an imported name belongs to; None if it is not one of the harness's."""
    places = name.split(".")
    if places[0] != "harness" or len(places) < 2 or not _is_part(places[1]):
        return None
    is_above = places[1] == "processes" and len(places) > 2 and places[2] in UPPER_FLOOR
    return "processes/workers" if is_above else places[1]


@pytest.mark.parametrize("part", MAY_USE)
def test_a_part_imports_only_what_lies_below_it(part: str) -> None:
    allowed = MAY_USE[part] | {part}
    if part == "processes/workers":
        allowed.add("processes")
    files = _files(part)
    assert files
    for path in files:
        for name in _imports(path):
            assert _part(name) in {None, *allowed}, f"{path.relative_to(HARNESS)} imports {name}"


def test_no_part_is_above_one_that_is_above_it() -> None:
    def below(part: str, on_the_way: tuple[str, ...] = ()) -> None:
        assert part not in on_the_way, " → ".join((*on_the_way, part))
        for each in MAY_USE[part]:
            below(each, (*on_the_way, part))

    below("report")
    below("cluster")


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


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_its_row_names(room: str) -> None:
    around = ["harness", *room.split("/")[:-1]]
    allowed = ROOMS[room] | {room.rpartition("/")[2]}
    files = _files(room)
    assert files
    for path in files:
        for name in _imports(path):
            items = name.split(".")
            if items[: len(around)] == around and len(items) > len(around):
                within = items[len(around)]
                if _is_part(f"{'/'.join(around[1:])}/{within}"):
                    assert within in allowed, f"{path.relative_to(HARNESS)} imports {name}"


def test_every_room_of_the_emulator_is_listed() -> None:
    rooms = {p.stem for p in (HARNESS / "emulator").iterdir() if not p.name.startswith("__")}
    assert rooms == set(ROOMS_OF_THE_EMULATOR)


def test_every_part_is_listed() -> None:
    parts = {p.stem for p in HARNESS.glob("*.py")} | {
        p.name for p in HARNESS.iterdir() if (p / "__init__.py").exists()
    }
    assert parts - {"__init__", "__main__", "commands"} == set(MAY_USE) - {"processes/workers"}


@pytest.mark.parametrize("part", WITHOUT_GPU)
def test_nothing_that_reads_or_draws_needs_a_gpu(part: str) -> None:
    for path in _files(part):
        for name in _imports(path):
            assert name.split(".")[0] not in {"pycuda", "torch", "pynvml"}, f"{path} imports {name}"


def test_pycuda_is_imported_by_the_cuda_backend_alone() -> None:
    for path in HARNESS.rglob("*.py"):
        if HARNESS / "backends" / "cuda" not in path.parents:
            assert not any(name.startswith("pycuda") for name in _imports(path)), path


def _imported_by(module: str) -> set[str]:
    """The packages and parts of the harness that a new process has loaded after importing a
    module."""
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
    """Every placement and every emulated variant is a new process, which has to wait for its
    imports."""
    assert not _imported_by(f"harness.worker.__main__, {module}") & without
