"""A run packed for storage, for example in a repository: run.json and the compressed journal.

A packed run is read, redrawn and compared like any other. Packed runs in one folder share a copy of
the chart library. A packed run lacks only the Nsight Compute reports, whose figures are in the
journal. To continue the run, unpack it.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.journal import run_files
from harness.journal.file import DENSEST, parsed
from harness.journal.storage import replace, unwritten
from harness.tables import about

JOURNAL, COUNTERS = "journal.jsonl", "counters.csv"
ENDING = ".gz"
_FOLDERS = re.compile(r"""(?<![^\s='"])/(?:\S*/)?(?=\S)""")
"""Matches all parts but the last of an absolute path in a command line."""

ASSETS = "../assets/"
"""The folder that the pages of packed runs share, relative to a run's folder."""


def is_packed(folder: Path) -> bool:
    return not (folder / JOURNAL).exists() and (folder / (JOURNAL + ENDING)).exists()


def named(folder: Path, name: str) -> Path:
    """The path of a run's journal or counters, which are compressed in a packed run."""
    return folder / (name + ENDING if is_packed(folder) else name)


def pack(run: Path, target: Path, problem: str = "") -> None:
    """Write a run's essential files into another folder, or the same one. Raises OSError, and
    JournalError if a run is writing into either.

    `problem`: pack only this problem of several, as if --only had chosen it.
    """
    with unwritten(run / JOURNAL), unwritten(target / JOURNAL):
        _pack(run, target, problem)


def _pack(run: Path, target: Path, problem: str) -> None:
    info = about.read(run / "run.json")
    content = run_files.read(run, named(run, JOURNAL).name)
    if is_packed(run):
        content = _unpacked(content, run)
    if problem:
        others = _narrow(info, problem, run / "run.json")
        content = b"".join(_without(others, io.BytesIO(content)))
    if info.get("command"):
        info["command"] = _without_folders(info["command"])
    replace(target / "run.json", (json.dumps(info, indent=1) + "\n").encode())
    # The header holds no time, so the same journal always makes the same file.
    replace(target / (JOURNAL + ENDING), gzip.compress(content, compresslevel=9, mtime=0))
    for name in (JOURNAL, COUNTERS):
        run_files.remove(target, name)


def _narrow(info: dict[str, Any], problem: str, path: Path) -> Collection[str]:
    """Cut run.json down to one problem; return the other ones. Raises UsageError if it does not say
    enough."""
    problems: dict[str, Any] = info.get("problems") or {}
    if problem not in problems:
        raise UsageError(f"--only {problem}: `problems` in {path} does not list it; omit --only")
    if info.get("choice") is None:
        raise UsageError(f"--only {problem}: {path} has no `choice`; omit --only")
    others = problems.keys() - {problem}
    info["choice"]["only"] = [problem]
    info["problems"] = {problem: problems[problem]}
    for key in ("sources", "code"):
        if info.get(key):
            info[key] = {
                name: sha256
                for name, sha256 in info[key].items()
                if name.partition("/")[0] not in others
            }
    return others


def unpack(folder: Path) -> None:
    """Unpack a run so that records can be added; a run that is not packed is unchanged. Raises
    OSError."""
    if is_packed(folder):
        packed = run_files.read(folder, JOURNAL + ENDING)
        replace(folder / JOURNAL, _unpacked(packed, folder))
        for name in (JOURNAL, COUNTERS):
            run_files.remove(folder, name + ENDING)


def _unpacked(content: bytes, folder: Path) -> bytes:
    """Unpack a gzip file. Raises OSError if it is incomplete, or larger unpacked than any journal
    would be."""
    path, most = str(folder / (JOURNAL + ENDING)), DENSEST * len(content)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            found = file.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise OSError(errno.EINVAL, "it is not a whole gzip file", path) from None
    if len(found) > most:
        raise OSError(errno.EFBIG, "it unpacks to more than any journal would", path)
    return found


def _without_folders(command: str) -> str:
    """A command line whose absolute paths are cut to their last component, because the rest is
    specific to one machine."""
    return _FOLDERS.sub("", command)


def _without(problems: Collection[str], lines: Iterable[bytes]) -> Iterator[bytes]:
    """The journal's lines that do not concern these problems, exactly as they were written.

    The lines that a reader leaves out are left out: empty ones, and a torn last one.
    """
    for line in lines:
        if line == b"\n":
            continue
        try:
            record = parsed(line.removesuffix(b"\n"))
        except (ValueError, KeyError, TypeError):
            if not line.endswith(b"\n"):
                return
            raise OSError(errno.EINVAL, "a line is not what was written", JOURNAL) from None
        names = (getattr(record, key, "") for key in ("problem", "case", "group"))
        if next(filter(None, names), "").partition("/")[0] not in problems:
            yield line
