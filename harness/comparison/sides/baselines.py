"""Runs saved under a name, to compare others with: `--save-baseline NAME`.

A baseline is a packed run in reports/baselines, without pages. Saving under the same name again
replaces it.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.console.suggestions import did_you_mean
from harness.errors import UsageError
from harness.journal.run_files import BASELINES, baselines
from harness.tables import packed

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


def check(name: str) -> None:
    """Check a baseline's name. Raises UsageError if it is invalid."""
    if not _NAME.match(name):
        raise UsageError(
            f"--save-baseline {name!r}: a name has up to 100 letters, digits, ., _ and -, and "
            "begins with a letter or digit"
        )


def save(folder: Path, name: str) -> Path:
    """Save the run in a folder as a baseline; return its new folder. Raises UsageError."""
    check(name)
    home, new, old = _places(name)
    try:
        with _alone():
            _restore(name)
            try:
                _discard(new, old)
                packed.pack(folder, new)
                if os.path.lexists(home):
                    home.rename(old)
                new.rename(home)
            finally:
                _restore(name)
                _discard(new, old)
    except OSError as error:
        raise UsageError(f"--save-baseline {name}: {error.filename}: {error.strerror}") from None
    return home


def _places(name: str) -> tuple[Path, Path, Path]:
    """A baseline's folder, the one that is written first, and the one that it replaces."""
    return BASELINES / name, BASELINES / f".{name}.new", BASELINES / f".{name}.old"


def _restore(name: str) -> None:
    """Bring back a baseline whose saving was killed: the old one, or the new one if that is
    whole."""
    home, new, old = _places(name)
    if os.path.lexists(home):
        return
    if os.path.lexists(old):
        old.rename(home)
    elif packed.is_packed(new):  # the journal is written last
        new.rename(home)


def _discard(*folders: Path) -> None:
    for folder in folders:
        if folder.is_symlink():
            folder.unlink()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _alone() -> Iterator[None]:
    """Let no other process save or restore a baseline meanwhile."""
    BASELINES.mkdir(parents=True, exist_ok=True)
    handle = os.open(BASELINES, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _restore_if_missing(name: str) -> None:
    if not _NAME.match(name):
        return
    home, *left = _places(name)
    if not os.path.lexists(home) and any(map(os.path.lexists, left)):
        with suppress(OSError), _alone():  # the folder may not be writable
            _restore(name)


def resolve(name_or_path: str | Path) -> Path:
    """The folder of a run or of the baseline with this name. Raises UsageError if it is neither.

    An existing folder takes precedence, so a baseline never hides a run.
    """
    path = Path(name_or_path)
    if (path / "run.json").exists():
        return path
    _restore_if_missing(str(name_or_path))
    if str(name_or_path) in baselines():
        return BASELINES / str(name_or_path)
    runs = [str(found.parent) for found in path.parent.glob("*/run.json")]
    near = did_you_mean(str(name_or_path), [*baselines(), *runs])
    kept = ", ".join(baselines())
    raise UsageError(
        f"{name_or_path} is neither a run's folder nor a baseline{near}\n"
        + (f"  kept with --save-baseline: {kept}" if kept else
           "  --save-baseline NAME of `run` keeps a run by a name")
    )  # fmt: skip
