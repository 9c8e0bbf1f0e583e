"""Results computed from the harness's own files, stored in the folder of Python's bytecode. Every
command needs the same results, such as the hash of all statements and the compiled templates. If
Python may not write bytecode, as in a sandbox, nothing is stored, but stored results are still
read. Anyone who can write to this folder can change the harness itself, so the files are as
trustworthy as the code.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def folder(module: str) -> Path | None:
    """The folder with the bytecode of a module's file; None if it cannot be written to."""
    found = _of_bytecode(module)
    return None if sys.dont_write_bytecode or not os.access(found, os.W_OK) else found


def _of_bytecode(module: str) -> Path:
    return Path(importlib.util.cache_from_source(module)).parent


def kept(module: str, name: str, given: bytes, make: Callable[[], str]) -> str:
    """Return the text that `make` computes from an input, computing it only once per input.

    `module`: the file of the module that computes the text. `given`: the input. `name`: only the
    newest text of this name is kept.
    """
    path = _of_bytecode(module) / f"{name}.{sys.implementation.cache_tag}.txt"
    key = hashlib.sha256(given).hexdigest()
    with suppress(OSError, ValueError):
        said, _, text = path.read_text(encoding="utf-8").partition("\n")
        if said == f"{key} {_check(text)}":
            return text
    text = make()
    if folder(module) is not None:
        with suppress(OSError):
            _replace(path, f"{key} {_check(text)}\n{text}")
    return text


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _replace(path: Path, text: str) -> None:
    handle, new = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, path)
    except OSError:
        os.unlink(new)
        raise
