"""A worker's local files during a run: a journal per task, and files named by content.

All workers of a host share the folder, so another worker can read the journals of a lost one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.errors import UsageError
from harness.journal import storage

_ATTEMPT = re.compile(r"[0-9a-f]{16}")


def home() -> Path:
    """Return a folder that only this user can write to. Raises UsageError if it belongs to another
    user."""
    path = Path(tempfile.gettempdir()) / f"kernel-harness-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if path.stat().st_uid != os.getuid() or path.is_symlink():
        raise UsageError(f"{path} is another user's\n  set TMPDIR to a folder of your own")
    return path


def _of(attempt: str) -> Path:
    """Return an attempt's folder. Raises ValueError for a name that could escape the folder."""
    if not _ATTEMPT.fullmatch(attempt):
        raise ValueError(f"{attempt!r} names no attempt")
    return home() / attempt


def journal(attempt: str, key: str) -> Path:
    folder = _of(attempt) / "journals"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{Path(key).name}.jsonl"


def journals(attempt: str) -> list[Path]:
    """The journals of all tasks given to this host's workers in that attempt, oldest first."""
    found = (_of(attempt) / "journals").glob("*.jsonl")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def whole_lines(path: Path, offset: int) -> bytes:
    """Return the text after `offset`, up to the last newline."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            content = file.read()
    except FileNotFoundError:
        return b""
    return content[: content.rfind(b"\n") + 1]


def name_of(content: bytes, suffix: str) -> str:
    return hashlib.sha256(content).hexdigest() + suffix


def lacking(attempt: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if not path_of(attempt, name).exists()]


def take(attempt: str, files: Mapping[str, bytes]) -> None:
    """Store files under their names. Raises ValueError if a name does not match the content."""
    for name, content in files.items():
        path = path_of(attempt, name)
        if name_of(content, path.suffix) != name:
            raise ValueError(f"{name} did not arrive complete")
        path.parent.mkdir(parents=True, exist_ok=True)
        storage.replace(path, content)


def path_of(attempt: str, name: str) -> Path:
    return _of(attempt) / "files" / Path(name).name


def forget(attempt: str) -> None:
    """Delete an attempt's files; records in the run's own journal need no copy."""
    shutil.rmtree(_of(attempt), ignore_errors=True)
