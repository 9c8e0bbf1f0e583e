"""Turn a torch module in memory into the text of a reference, including its parameters.

This module only packs the values. A line of the generated problem.py unpacks them. Like any
problem.py, that file is code (SECURITY.md).
"""

from __future__ import annotations

import base64
import inspect
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST = 2 << 20
"""The most bytes of a packed module, whose text is part of a submission."""

_TEXT = """import base64
import io
import sys

import torch

sys.path += {folders!r}
PACKED = {packed!r}
# Unpickles, so it runs what is packed: this file is code, and whoever runs it trusts its author.
model = torch.load(io.BytesIO(base64.b64decode(PACKED)), weights_only=False).double()
TAKEN, STATE = {taken!r}, {state!r}


def reference(*arrays):
    given = [torch.from_numpy(each) for each in arrays]
    own = dict(zip(STATE, given[len(TAKEN):]))
    state = {{name: each.reshape(model.state_dict()[name].shape) for name, each in own.items()}}
    with torch.no_grad():
        return torch.func.functional_call(model, state, tuple(given[:len(TAKEN)]))
"""


def is_one(value: Any) -> bool:
    """Return whether a value is a torch module, without importing torch."""
    kind = getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", None)
    return isinstance(kind, type) and isinstance(value, kind)


def text(module: Any) -> tuple[str, tuple[str, ...]]:
    """The text that defines `reference`, and that function's parameters: those of `forward`,
    then the module's own, with `_` for each dot. Raises ValueError for a module that cannot be
    exported."""
    torch = sys.modules["torch"]
    state = [n for n, each in module.state_dict().items() if each.is_floating_point()]
    taken = [
        name
        for name, each in inspect.signature(type(module).forward).parameters.items()
        if name != "self" and each.default is each.empty
    ]
    folders = sorted(set(_folders(module)))
    packed = io.BytesIO()
    try:
        torch.save(module, packed)
    except Exception as error:
        raise ValueError(f"the module cannot be packed: {error}\n{_REMEDY}") from None
    if packed.tell() > MOST:
        raise ValueError(
            f"the module has {packed.tell() / 1e6:.1f} MB, and at most {MOST / 1e6:.1f} travel\n"
            f"{_REMEDY}"
        )
    written = _TEXT.format(
        folders=folders, packed=base64.b64encode(packed.getvalue()).decode(), taken=taken,
        state=state,
    )  # fmt: skip
    return written, (*taken, *(name.replace(".", "_") for name in state))


_REMEDY = (
    "  put it into a file with Model, get_inputs and get_init_inputs: "
    "harness.judge.public.read(file)"
)


def _folders(module: Any) -> Iterator[str]:
    """The folders from which the module's classes are imported, except installed ones."""
    for kind in {type(each) for each in module.modules()}:
        if kind.__module__ == "__main__" or "<" in kind.__qualname__:
            raise ValueError(
                f"`{kind.__qualname__}` is defined where no other process finds it\n{_REMEDY}"
            )
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        installed = {Path(place).resolve() for place in (sys.prefix, sys.base_prefix)}
        if file and not installed.intersection(Path(file).resolve().parents):
            yield str(Path(file).resolve().parents[kind.__module__.count(".")])
