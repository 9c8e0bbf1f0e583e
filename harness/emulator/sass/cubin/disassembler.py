"""Find nvdisasm, and check its output before use.

nvdisasm comes with the CUDA toolkit, and separately from PyPI (`nvidia-cuda-nvdisasm`). It prints
the instructions as JSON; their source lines are in the cubin itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.emulator.sass.errors import CubinError, DisassemblerError
from harness.files import scratch

SECONDS = 120
"""Deadline in seconds for one cubin on a busy machine."""
OLDEST = (12, 6)
"""The first release that writes JSON in the form that this module reads."""
_INSTALL = (
    f"install it for this Python: {sys.executable} -m pip install 'nvidia-cuda-nvdisasm>=13.0'"
)


@dataclass(frozen=True)
class Disassembler:
    """An nvdisasm that has been found to run."""

    path: str
    version: tuple[int, int]


@dataclass(frozen=True)
class Line:
    """One instruction as nvdisasm prints it; `guard` and `operands` are text."""

    opcode: str
    operands: str
    guard: str


UNLIKE_THE_KNOWN = (
    ValueError, KeyError, IndexError, TypeError, StopIteration, AttributeError, RecursionError,
)  # fmt: skip
"""The errors that readers raise for JSON in an unknown form."""
Listing = dict[str, tuple[int, tuple[Line, ...]]]
"""Function → the address of its first instruction, and its lines."""


_USUAL_ROOT = "/usr/local/cuda"
"""The folder in which NVIDIA's installers put a toolkit, whether or not it is on PATH."""


def candidates() -> list[tuple[str, str]]:
    """(path or command, where it was configured). NVDISASM takes precedence if it is set."""
    if path := os.environ.get("NVDISASM"):
        return [(path, "NVDISASM")]
    named = [("nvdisasm", "PATH"), (f"{_USUAL_ROOT}/bin/nvdisasm", _USUAL_ROOT)]
    if home := os.environ.get("CUDA_HOME"):
        named.insert(0, (str(Path(home) / "bin" / "nvdisasm"), "CUDA_HOME"))
    wheels = Path(sysconfig.get_path("purelib")) / "nvidia"
    found = [*wheels.glob("cu*/bin/nvdisasm"), *wheels.glob("cuda_nvdisasm/bin/nvdisasm")]
    return named + [(str(path), "the installed wheels") for path in sorted(found)]


def find() -> Disassembler:
    """Find the newest nvdisasm, because it also reads the cubins of older releases.

    The nvdisasm of an older toolkit prints some operands (of `LDGSTS`, `UBLKCP`) without
    separators. Raises DisassemblerError if there is none, or none is new enough.
    """
    return _newest(tuple(candidates()))


@cache
def _newest(named: tuple[tuple[str, str], ...]) -> Disassembler:
    found: list[Disassembler] = []
    refused = ""
    for name, where in named:
        path = shutil.which(name)
        if path is None:
            continue
        try:
            tool = _asked(path, where)
        except DisassemblerError as error:
            refused = refused or str(error)
            continue
        if tool.version >= OLDEST:
            found.append(tool)
        else:
            release = ".".join(map(str, tool.version))
            wanted = ".".join(map(str, OLDEST))
            refused = refused or (
                f"no nvdisasm of {wanted} or newer: {path} from {where} is V{release}\n  {_INSTALL}"
            )
    if found:
        return max(found, key=lambda tool: tool.version)
    raise DisassemblerError(
        refused or
        f"no nvdisasm: NVDISASM and CUDA_HOME name none, and there is none on PATH\n  {_INSTALL}"
    )  # fmt: skip


def _asked(path: str, where: str) -> Disassembler:
    """Ask a program for its release. Raises DisassemblerError if the program does not report it."""
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=SECONDS, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DisassemblerError(f"nvdisasm from {where} does not run: {error}") from None
    version = re.search(r"\bV(\d{1,3})\.(\d{1,3})", said.stdout)
    if said.returncode or not version:
        raise DisassemblerError(
            f"nvdisasm from {where} does not tell its version: {path} --version\n  {_INSTALL}"
        )
    return Disassembler(path, (int(version[1]), int(version[2])))


def printed(tool: Disassembler, content: bytes, name: str) -> str:
    """Run nvdisasm on an ELF and return its JSON. Raises CubinError if it rejects the file."""
    with scratch.folder() as folder:
        path = folder / "kernel.cubin"
        path.write_bytes(content)
        try:
            said = subprocess.run(
                [tool.path, "-json", str(path)], stdin=subprocess.DEVNULL, capture_output=True,
                text=True, errors="replace", timeout=SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CubinError(name, f"nvdisasm is not done with it after {SECONDS} s") from None
    if said.returncode:
        reason = next((line.strip() for line in said.stderr.splitlines() if line.strip()), "")
        reason = reason[:300] or f"it ended with code {said.returncode}"
        raise CubinError(name, f"nvdisasm cannot read it: {reason}")
    return said.stdout


def functions_in(text: str) -> list[Any]:
    """Return the functions in nvdisasm's JSON. Raises one of UNLIKE_THE_KNOWN if its form is
    unknown."""
    found: list[Any] = next(part for part in json.loads(text) if isinstance(part, list))
    return found


def parsed(text: str, tool: Disassembler) -> Listing:
    """Parse nvdisasm's JSON. Raises DisassemblerError if the output is not in the known form."""
    try:
        found: Listing = {}
        for each in functions_in(text):
            name, start = each["function-name"], each["start"]
            lines = tuple(_line(item) for item in each["sass-instructions"])
            if not isinstance(name, str) or not isinstance(start, int):
                raise TypeError("function-name or start")
            found[name] = start, lines
    except UNLIKE_THE_KNOWN:
        raise unknown_form(tool) from None
    return found


def unknown_form(tool: Disassembler) -> DisassemblerError:
    version = ".".join(map(str, tool.version))
    return DisassemblerError(
        f"nvdisasm {version} ({tool.path}) prints JSON in a form that is not known here"
    )


def _line(item: Any) -> Line:
    texts = [item["opcode"], item.get("operands", ""), item.get("predicate", "")]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("an instruction")
    opcode, operands, guard = texts
    # The JSON of `P2R R0, PR, RZ, 0x1` has its second operand first.
    if guard.split()[-1:] == ["PR"]:
        guard = guard.removesuffix("PR").strip()
    return Line(opcode, operands, guard)
