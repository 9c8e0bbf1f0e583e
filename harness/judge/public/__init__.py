"""Public problems in their own formats: `read(path)` turns a file into a Problem.

kernelbench   a torch module: a Python file with Model, get_inputs and get_init_inputs
definitions   JSON of FlashInfer-Bench and SOL-ExecBench: axes, arrays, and a reference in torch
Users fetch these files themselves. A file is code: reading one runs its module, and
judging runs the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.errors import UsageError
from harness.judge.public import definitions, kernelbench
from harness.judge.submissions import Problem


def read(path: str | Path, sizes: Mapping[str, int] | None = None, **scalars: float) -> Problem:
    """Read the problem in a file.

    `sizes`: replacements, by name, for the file's own sizes, most of which are too large to be
    emulated. `scalars`: values for scalars that the definition declares but does not set. Raises
    UsageError, which says what is too large or missing, for a file that is not in one of these
    formats.
    """
    file = Path(path)
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    if file.suffix == ".py":
        return kernelbench.read(text, str(file), sizes or {})
    if file.suffix == ".json":
        return definitions.read(text, str(file), sizes or {}, scalars)
    raise UsageError(f"{file} is no problem: .py of KernelBench, or .json of a definition")


__all__ = ["read"]
