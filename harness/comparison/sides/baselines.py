"""Runs saved under a name, to compare others with: `--save-baseline NAME`.

A baseline is a packed run in reports/baselines, without pages. Saving under the same name again
replaces it.
"""

from __future__ import annotations

import re
import shutil
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
    home, new = BASELINES / name, BASELINES / f".{name}.new"
    try:
        shutil.rmtree(new, ignore_errors=True)
        packed.pack(folder, new)
        if home.exists():
            shutil.rmtree(home)
        new.rename(home)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise UsageError(f"--save-baseline {name}: {error.filename}: {error.strerror}") from None
    return home


def resolve(name_or_path: str | Path) -> Path:
    """The folder of a run or of the baseline with this name. Raises UsageError if it is neither.

    An existing folder takes precedence, so a baseline never hides a run.
    """
    path = Path(name_or_path)
    if (path / "run.json").exists():
        return path
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
