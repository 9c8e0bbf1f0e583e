"""The marker `quick`: tests for the edit loop, selected and enforced by a rule.

A test is quick if

- neither it, nor a fixture or a helper in tests/ that it uses, names anything that starts processes
  (`STARTING`), and
- its file or folder is not listed in `LONG`, as one that starts no process but takes long.

A quick test that starts a process fails, in every run: either it need not start one, or the name
with which it starts one belongs in `STARTING`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import pytest

TESTS = Path(__file__).parent

STARTING = (
    "subprocess", "multiprocessing", "chromium", "harness.__main__", "harness.cluster",
    "harness.commands", "harness.comparison.sides.commits", "harness.compiler.cache",
    "harness.compiler.compile", "harness.compiler.drivers", "harness.compiler.functions.host",
    "harness.compiler.targets.known", "harness.compiler.toolchain", "harness.judge.api",
    "harness.judge.judge", "harness.judge.slots", "harness.judge.triton_kernels",
    "harness.ncu.reader.read_apart",
    "harness.ncu.stage.from_file", "harness.processes", "harness.run.compilation",
    "harness.run.emulated.emulate", "harness.run.runner", "harness.worker.__main__",
)  # fmt: skip
"""Names that start compilers, workers, browsers or commands: modules with all their contents, and
functions."""

STARTING_FIXTURES = {"importable", "same_place", "processes"}
"""Fixtures for tests that start processes. `processes` is for tests that start one in another
way."""

OF_EVERY_TEST = "_commands_after_commands"
"""A fixture that undoes an earlier test's stop, and starts no process."""

LONG = (
    "cheats", "comparison/test_simulated.py", "emulator/engine/native",
    "emulator/engine/test_properties.py", "emulator/ptx/test_bad_input.py",
    "emulator/ptx/test_extreme_sizes.py", "emulator/sass", "kernels", "report/test_drawing.py",
    "report/pages/test_emulated_pages.py", "report/pages/test_overview.py", "report/test_packed.py",
    "report/pages/test_pages.py", "report/test_single_file.py", "analysis/test_causes.py",
    "scripts/pages/test_claims_page.py", "analysis/test_emulated_causes.py", "test_fidelity.py",
    "scripts/test_fuzz.py", "comparison/test_gate_edits.py", "scripts/pages/test_kernels_page.py",
    "scripts/test_ladder_targets.py",
)  # fmt: skip
"""Tests that emulate whole kernels, or use thousands of random inputs, whole reports or every
committed run."""

EVENTS = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.exec")

_running: list[str] = []
"""The quick test that runs now, if one does."""


def is_quick(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or item.get_closest_marker("gpu"):
        return False
    if _is_long(item.path) or STARTING_FIXTURES & {*item.fixturenames}:
        return False
    fixtures = [each for name in item.fixturenames for each in _fixture(item, name)]
    return not any(map(_names_a_start, (item.function, *fixtures)))


@cache
def _is_long(path: Path) -> bool:
    place = path.relative_to(TESTS)
    return any(place.is_relative_to(long) for long in LONG)


def _fixture(item: pytest.Function, name: str) -> Iterator[Callable[..., Any]]:
    """The repository's own functions that make the fixture."""
    if name == OF_EVERY_TEST:
        return
    for found in item._fixtureinfo.name2fixturedefs.get(name, ()):
        if _is_ours(found.func):
            yield found.func


@cache
def _names_a_start(function: Callable[..., Any]) -> bool:
    """Return whether the function's code, or that of a function or class in tests/ that it names,
    starts processes."""
    seen: set[int] = set()
    left: list[Any] = [function]
    while left:
        found = left.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if _starts(found):
            return True
        if isinstance(found, type) and _is_ours(found):
            left += vars(found).values()
        if isinstance(found, FunctionType) and _is_ours(found):
            left += [found.__globals__.get(name) for name in _names(found.__code__)]
            left += [cell.cell_contents for cell in found.__closure__ or () if _is_full(cell)]
        if isinstance(found, ModuleType) and _is_ours(found):
            left += [each for each in vars(found).values() if isinstance(each, FunctionType)]
        left.append(getattr(found, "__wrapped__", None))
    return False


def _names(code: CodeType) -> Iterator[str]:
    """All names in the code, and in the functions defined in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_full(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _module(value: Any) -> str:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return name if isinstance(name, str) else ""


def _starts(value: Any) -> bool:
    """Return whether STARTING names the value, or the module or class that contains it."""
    name = _module(value)
    if name and not isinstance(value, ModuleType):
        name += f".{getattr(value, '__qualname__', '')}"
    return any(name == each or name.startswith(f"{each}.") for each in STARTING)


def _is_ours(value: Any) -> bool:
    file = getattr(sys.modules.get(_module(value)), "__file__", None)
    return file is not None and _is_in_tests(file)


@cache
def _is_in_tests(file: str) -> bool:
    return TESTS in Path(file).parents


def begin(item: pytest.Item) -> None:
    """After this call, the test may start no process if it is quick."""
    end()
    if item.get_closest_marker("quick"):
        _running.append(item.nodeid)


def end() -> None:
    _running.clear()


def _refuse_processes(event: str, arguments: tuple[Any, ...]) -> None:
    if not _running or event not in EVENTS:
        return
    started = str(arguments[0]) if arguments else ""
    if os.path.basename(started) == os.path.basename(os.environ.get("CXX", "g++")):
        return  # the C++ compiler, which rebuilds the engine if one of its sources has changed
    pytest.fail(
        f"a quick test starts a process ({event} {started}): see tests/quick.py for what makes "
        "a test quick; @pytest.mark.usefixtures('processes') says that it starts one"
    )


sys.addaudithook(_refuse_processes)
