"""Check the files that a matrix names: their paths must be well formed, and the files must exist
inside the folder of their problem."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from harness.console.suggestions import command, did_you_mean
from harness.errors import ConfigError
from harness.files import python_packages
from harness.files.strict_yaml import YamlLocation

if TYPE_CHECKING:
    from harness.matrix.variants import Problem

MATRIX, OWN_MATRIX = Path("bench.yaml"), "bench.yaml"
"""The name of the matrix in the current folder, and of each problem's own file."""


PTX = ".ptx"
"""The suffix of a source produced by another compiler, such as Triton."""


def relative(value: Any, *suffixes: str) -> str:
    """A path under the problem's folder, or under the folder of all problems."""
    path = PurePosixPath(str(value))
    if path.is_absolute() or ".." in path.parts or "\\" in str(value):
        raise ValueError("a path lies in its problem's folder: no absolute path, no ..")
    if len(str(path)) > 200 or not all(c.isprintable() and c != '"' for c in str(path)):
        raise ValueError("a path has up to 200 printable characters, and no quotation mark")
    if suffixes and path.suffix not in suffixes:
        raise ValueError(f"a source is a {' or '.join(suffixes)} file")
    return str(path)


def include(value: Any) -> str:
    """A folder below the problem's folder, below the folder of all problems, or in a package."""
    if not python_packages.is_inside(str(value)):
        return relative(value)
    return python_packages.PREFIX + relative(str(value).removeprefix(python_packages.PREFIX))


def found(kernels: Path) -> list[str]:
    """The names of the problems in a folder, which are its subfolders with a bench.yaml."""
    return sorted(path.parent.name for path in kernels.glob(f"*/{OWN_MATRIX}"))


def include_folder(kernels: Path, problem: str, folder: str) -> Path | None:
    """Find a folder for `include:` in the problem's folder, or in the folder of all problems.
    Folders inside Python packages are not searched."""
    for path in (kernels / problem / folder, kernels / folder):
        if path.is_dir() and path.resolve().is_relative_to(kernels.resolve()):
            return path
    return None


def include_folders(kernels: Path, problem: str, folders: Iterable[str]) -> tuple[str, ...]:
    """The folders of `include:` as stored in a case: relative to the folder of all problems, or
    unchanged if inside a Python package."""
    found = []
    for each in folders:
        if python_packages.is_inside(each):
            found.append(each)
        elif path := include_folder(kernels, problem, each):
            found.append(path.relative_to(kernels).as_posix())
    return tuple(found)


def check(kernels: Path, problem: Problem) -> None:
    """Check every file. Raises ConfigError for the first file that is missing or lies elsewhere."""
    folder = kernels / problem.name
    inside(kernels, folder, problem.place)
    inside(folder, folder / "problem.py", problem.place)
    if not os.path.isfile(folder / "problem.py"):  # also False if the name is too long
        raise problem.place.error(
            f"{folder / 'problem.py'} does not exist",
            f"it states what is computed; {command('new my_problem')} writes one, to be changed",
        )
    for variant in problem.everything():
        if variant.kind == "library":
            continue
        if variant.kind == "python":
            file, _, name = variant.function.partition(":")
            _file(folder, file, variant.place("function"))
            _defines(folder / file, name, variant.place("function"))
        else:
            at = variant.place("source" if variant.kind == "kernel" else "function")
            _file(folder, variant.source, at)
        for index, source in enumerate(variant.sources):
            _file(folder, source, variant.place("sources", index))
        for index, each in enumerate(variant.include):
            if python_packages.is_inside(each):
                continue  # cases are skipped if the package is missing
            if include_folder(kernels, problem.name, each) is None:
                raise variant.place("include", index).error(
                    f"there is no folder {folder / each} and no {kernels / each}"
                )


def inside(folder: Path, path: Path, at: YamlLocation) -> None:
    """Reject a path that leads out of a folder, because the files there were not checked."""
    try:
        found = path.resolve()
    except (OSError, RuntimeError):  # circular links
        raise at.error(f"{path} is a broken link") from None
    if not found.is_relative_to(folder.resolve()):
        raise at.error(f"{path} leads out of {folder}", "put the file itself there, not a link")


def _file(folder: Path, name: str, at: YamlLocation) -> None:
    path = folder / name
    inside(folder, path, at)
    if not os.path.isfile(path):
        there = sorted(p.name for p in folder.glob(f"*{path.suffix}"))
        listed = ", ".join(there) or f"no {path.suffix} file"
        raise at.error(
            f"{path} does not exist", f"the folder holds {listed}{did_you_mean(name, there)}"
        )


def _defines(path: Path, name: str, at: YamlLocation) -> None:
    """Check that a Python file defines a name at its top level, without running it."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return  # errors in it are reported, with the line, when it is loaded
    names = list(_bound(body))
    if name not in names and "*" not in names:
        raise at.error(f"{path} defines no `{name}`{did_you_mean(name, names)}")


def _bound(body: Iterable[ast.stmt]) -> Iterable[str]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0]


def no_problems(kernels: Path, at: YamlLocation) -> ConfigError:
    """Create the error for a matrix with nothing to run; it names a remedy."""
    remedy = (
        "a folder with a problem.py and a bench.yaml is one: "
        f"{command('new my_problem')} writes one that works\n"
        "  name another folder with --kernels, or a matrix in one file, with `problems:`, "
        "with --config"
    )
    if not os.path.isdir(kernels):
        return at.error(f"there is no problem to run: {kernels} is no folder", remedy)
    return at.error(f"there is no problem to run: {kernels} holds no */{OWN_MATRIX}", remedy)
