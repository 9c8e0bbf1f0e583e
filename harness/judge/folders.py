"""Write a submission as the folder of a matrix: bench.yaml, and kernels/<problem>/ with its files.

The judge runs this folder; `python -m harness run` in it gives the same result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from harness.errors import UsageError
from harness.judge import lent
from harness.judge.references import Imported, Reference, Written
from harness.judge.submissions import (
    HostFunction,
    Kernel,
    Launch,
    Problem,
    PythonFunction,
    Submission,
    Text,
)  # fmt: skip
from harness.matrix.expressions import FUNCTIONS, Expression
from harness.silicon.features import specific_in

_HEADERS = ("", ".cu", *lent.HEADERS)
"""The suffixes that a kernel's header files may have."""
_LOOKS = (4, 8, 16, 24)
"""The numbers of placements after which a run may stop, if the submission requests an
interval."""
_SHAPED = ("Array", "ShapedProblem", "ceil_div", "function_in", "next_power_of_2")


def to_folder(submission: Submission, path: Path, seed: int | None = None) -> Path:
    """Write the matrix of a submission into an empty or new folder; return it.

    `seed`: the seed for the inputs, or None for the default seed. Raises UsageError if the folder
    is not empty, or a file is missing.
    """
    if path.exists() and any(path.iterdir()):
        raise UsageError(f"{path} holds something already\n  name an empty folder, or a new one")
    _check_names(submission)
    problem = submission.problem
    name = problem_name(submission)
    own = path / "kernels" / name
    own.mkdir(parents=True, exist_ok=True)
    if isinstance(problem, Problem):
        (own / "problem.py").write_text(problem_text(problem))
        kernels = [each for each in submission.kernels if not isinstance(each, Text)]
        matrix = _matrix(problem, kernels)
        for kernel in kernels:
            if isinstance(kernel, PythonFunction):
                _put(own, kernel.file_name, _python_text(kernel, problem), ".py")
            else:
                texts = _write_source(
                    own, kernel.file_name, kernel.source, kernel.is_file, kernel.headers
                )
                if features := specific_in(texts):
                    matrix["variants"][kernel.title]["requires"] = {"features": features}
    else:
        taken = [each for each in submission.kernels if isinstance(each, Text)]
        matrix = lent.copied(problem, taken, path / "kernels", own)
        for text in taken:
            _write_source(own, f"{text.name}.cu", text.source, False, text.headers)
    _write_yaml(path / "bench.yaml", f"# The judge's matrix of {name}.", _top(submission, seed))
    _write_yaml(own / "bench.yaml", "# Written by harness.judge: the kernels, and sizes.", matrix)
    return path


def problem_name(submission: Submission) -> str:
    """The problem's name, which is also its folder's name."""
    problem = submission.problem
    if isinstance(problem, Problem):
        return problem.name
    return Path(problem.folder).resolve().name


def names(submission: Submission) -> list[str]:
    """The kernels' names, in order."""
    return [each.name if isinstance(each, Text) else each.title for each in submission.kernels]


def _check_names(submission: Submission) -> None:
    found = names(submission)
    if twice := sorted({name for name in found if found.count(name) > 1}):
        raise UsageError(f"two kernels are called {twice[0]}\n  give each a `name` of its own")
    for name in found:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            raise UsageError(f"{name!r} cannot be a kernel's name: letters, digits and _")


def _top(submission: Submission, seed: int | None) -> dict[str, Any]:
    """The settings that all problems share. A hanging kernel is stopped before the submission's
    deadline."""
    timing: dict[str, Any] = {} if seed is None else {"seed": seed}
    if submission.interval is not None:
        timing |= {"interval": submission.interval, "placements": list(_LOOKS)}
    limits = {"qualify_s": max(1, math.ceil(0.75 * submission.seconds))}
    return {**({"timing": timing} if timing else {}), "limits": limits}


def _write_yaml(path: Path, comment: str, data: Mapping[str, Any]) -> None:
    text = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=100)
    path.write_text(f"{comment}\n{text}")


# the bench.yaml of a problem in the submission


_Titled = Kernel | PythonFunction | HostFunction


def _matrix(problem: Problem, kernels: Sequence[_Titled]) -> dict[str, Any]:
    sizes = {"test": problem.test, "bench": problem.timed or _largest(problem.test)}
    if problem.counted:
        sizes["emulate"] = problem.counted
    found: dict[str, Any] = {
        "dtypes": list(problem.dtypes),
        "sizes": _plain(sizes),
        "baseline": kernels[0].title,
    }
    found["variants"] = {kernel.title: _variant(kernel, problem.scalars) for kernel in kernels}
    return found


def _variant(kernel: _Titled, scalars: Mapping[str, float]) -> dict[str, Any]:
    found: dict[str, Any]
    if isinstance(kernel, PythonFunction):
        found = {"python": f"{kernel.file_name}:{_WRITTEN}"}
    elif isinstance(kernel, HostFunction):
        found = {"host": f"{kernel.file_name}:{kernel.host}", "args": list(kernel.args)}
    else:
        steps = [_step(launch) for launch in kernel.all_launches]
        found = {"source": kernel.file_name, "steps": steps}
    if not isinstance(kernel, PythonFunction):
        used = _used(kernel)
        let = {name: value for name, value in scalars.items() if name in used} | kernel.let
        if let:
            found["let"] = let
    for key in ("launch", "defines", "flags", "overwrites", "expect", "when"):
        if value := getattr(kernel, key, None):
            found[key] = _plain(value)
    return found


def _used(kernel: Kernel | HostFunction) -> set[str]:
    """Every name used in a kernel's launch; a matrix must not have unused names."""
    called = kernel.args if isinstance(kernel, HostFunction) else kernel.all_launches
    said = [kernel.let, kernel.defines, kernel.when, called]
    return set(re.findall(r"[A-Za-z_]\w*", repr(said)))


def _step(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kernel": launch.entry,
        "grid": list(launch.grid),
        "block": list(launch.block),
    }
    if launch.shared:
        found["shared"] = launch.shared
    if launch.cluster:
        found["cluster"] = list(launch.cluster)
    found["args"] = list(launch.args)
    return found


def _largest(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The size that has the largest value of every key, if one exists, as in a grid of
    sizes."""
    return {key: [max(rows, key=_amount)] if isinstance(rows, list | tuple) else rows
            for key, rows in sizes.items()}  # fmt: skip


def _amount(row: Any) -> float:
    cells = row if isinstance(row, list | tuple) else [row]
    return math.prod(float(Expression(str(cell)).evaluate({})) for cell in cells)


def _plain(value: Any) -> Any:
    """Convert tuples to lists, as in YAML."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


# a Python function's file

_WRITTEN = "on_buffers"
"""The name given to a Python function in the file written for it."""


def _python_text(kernel: PythonFunction, problem: Problem) -> str:
    """A Python function, bound to the problem's arrays, as the text of a file."""
    keys = [part.strip() for key in kernel.launch for part in key.split(",")]
    names = [*problem.sizes, *keys]
    return "\n".join([
        f'"""{kernel.title}, called with the buffers of {problem.name}."""',
        "",
        "from pathlib import Path",
        "",
        "from harness.problem.shaped import function_in",
        "from harness.problem.shaped_call import ShapedCall",
        "",
        "",
        _definition(kernel.function, "_function"),
        "",
        '_path = str(Path(__file__).with_name("problem.py"))',
        f"_problem = function_in(_path, {_title(problem)!r})()",
        f"_call = ShapedCall(_problem, _function, {_taken(kernel, problem, keys)!r})",
        "",
        "",
        f"def {_WRITTEN}(tensors, stream, {', '.join(names)}):",
        f"    _call(tensors, stream, {{{', '.join(f'{name!r}: {name}' for name in names)}}})",
        "",
    ])  # fmt: skip


def _taken(kernel: PythonFunction, problem: Problem, keys: Sequence[str]) -> tuple[str, ...]:
    """The function's arguments: its parameters or, if their names are unknown, the inputs in
    order."""
    known = [*problem.arrays, *problem.sizes, *problem.scalars, *keys, "tensors", "stream"]
    named = kernel.function.parameters
    if named and set(named) <= set(known):
        return tuple(named)
    if named and len(named) != len(problem.inputs):
        strange = next(name for name in named if name not in known)
        raise UsageError(
            f"{kernel.title} takes `{strange}`, which is none of {', '.join(known)}\n"
            f"  name its parameters like that, or give it one for each input, in their order: "
            f"{', '.join(problem.inputs)}"
        )
    return tuple(problem.inputs)


# problem.py


def _title(problem: Problem) -> str:
    """The name of the problem's class."""
    return "".join(word.capitalize() for word in problem.name.split("_") if word)


def problem_text(problem: Problem) -> str:
    """The text of a problem.py that defines the problem."""
    lines = [
        f'"""What kernels of {problem.name} have to compute; written by harness.judge."""',
        "",
        f"from harness.problem.shaped import {', '.join(_SHAPED)}",
        "",
        "",
        _definition(problem.reference, "reference"),
    ]
    if problem.draw:
        lines += ["", _definition(problem.draw, "drawn")]
    lines += ["", "", f"class {_title(problem)}(ShapedProblem):", f"    title = {problem.name!r}"]
    lines += ["    arrays = {"]
    roles = (("input", problem.inputs), ("output", problem.outputs), ("scratch", problem.scratch),
             ("zeroed", problem.zeroed))  # fmt: skip
    for role, arrays in roles:
        lines += [f"        {_array(problem, name, role, shape)}" for name, shape in arrays.items()]
    lines += ["    }", "    compute = staticmethod(reference)", f"    takes = {problem.takes!r}"]
    if problem.scalars:
        lines.append(f"    scalars = {dict(problem.scalars)!r}")
    if _wants_tensors(problem):
        lines.append("    wants_tensors = True")
    if problem.tolerance is not None:
        both = problem.tolerance if isinstance(problem.tolerance, tuple) else (problem.tolerance, 0)
        lines.append(f"    relative_and_absolute = {tuple(map(float, both))!r}")
    if problem.draw:
        lines.append("    draw = staticmethod(drawn)")
    if problem.flops:
        lines.append(f"    flops = staticmethod({_function((str(problem.flops),))})")
    if problem.partly_read:
        lines.append(f"    partly_read = {list(problem.partly_read)!r}")
    return "\n".join(lines) + "\n"


def _definition(found: Reference, name: str) -> str:
    """Lines that bind a name to this function."""
    if isinstance(found, Written):
        return found.source.rstrip() + (f"\n{name} = {found.name}" if found.name != name else "")
    if found.file:
        return f"{name} = function_in({found.file!r}, {found.name!r})"
    first, _, rest = found.name.partition(".")
    imported = f"from {found.module} import {first} as {name}"
    return f"{imported}\n{name} = {name}.{rest}" if rest else imported


def _array(problem: Problem, name: str, role: str, shape: tuple[str, ...]) -> str:
    parts = [repr(role), _function(shape, as_tuple=True)]
    if name in problem.types:
        parts.append(repr(problem.types[name]))
    if name in problem.limits:
        limits = _function(tuple(map(str, problem.limits[name])), as_tuple=True)
        parts.append(f"limits={limits}")
    return f"{name!r}: Array({', '.join(parts)}),"


def _function(texts: tuple[str, ...], as_tuple: bool = False) -> str:
    """Turn expressions, which have Python's syntax, into a lambda of the sizes that they name."""
    names = sorted({name for text in texts for name in _sizes_in(text)})
    body = f"({', '.join(texts)}{',' if len(texts) == 1 else ''})" if as_tuple else texts[0]
    return f"lambda {', '.join(names)}: {body}" if names else f"lambda: {body}"


def _sizes_in(text: str) -> Iterator[str]:
    """The names in an expression, except function names; a number such as 0.5 has none."""
    if not re.fullmatch(r"-?[\d.]+(e-?\d+)?", text):
        yield from sorted(Expression(text).names - set(FUNCTIONS))


def _wants_tensors(problem: Problem) -> bool:
    found = problem.reference
    if problem.tensors is not None:
        return problem.tensors
    return isinstance(found, Imported) and found.module.partition(".")[0] == "torch"


# Sources


def _write_source(
    own: Path, name: str, source: str, is_file: bool, headers: Mapping[str, str]
) -> list[str]:
    """Write the kernel's file with its headers: those given, and those included from its
    folder.

    Returns the texts of all these files.
    """
    text, found = source, dict(headers)
    if is_file:
        path = Path(source)
        try:
            text = path.read_text()
        except OSError as error:
            raise UsageError(f"{source} cannot be read: {error.strerror}") from None
        beside = {
            name: (path.parent / name).read_text() for name in lent.included(path.parent, text)
        }
        found = beside | found
        for header, content in beside.items():
            _put(own, header, content)
    for header, content in headers.items():
        _put(own, header, content)
    if name.endswith(".ptx") and not text.endswith("\n"):
        text += "\n"  # ptxas crashes on some texts whose last line has no end
    _put(own, name, text, ".ptx")
    return [text, *found.values()]


def _put(own: Path, name: str, text: str, *also: str) -> None:
    """Write a kernel's file; it must not replace a problem's file or another kernel's.

    `also`: further suffixes allowed for the file, which a header must not have.
    """
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not parts.name:
        raise UsageError(f"{name!r} leads out of the kernel's folder")
    # Python would load a .pyc or .so beside the problem, and a problem may read files of its own.
    if parts.suffix not in (*_HEADERS, *also) or "__pycache__" in parts.parts:
        raise UsageError(f"{name!r} is no header: a kernel brings none of the problem's files")
    path = own / name
    if path.is_file() and path.read_text() != text:
        raise UsageError(
            f"{name!r} stands there already with another text, of the problem or another kernel\n"
            "  give it a name of its own"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
