"""A cache of compiled files, keyed by content: the source, its options and all included headers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from harness.errors import CompileError, CompilerStopped
from harness.files import scratch, source_text
from harness.processes import children

CACHE = Path(".cache") / "compile"
DEADLINE_S = 300
_STOPPED = re.compile(
    "died due to signal|Killed signal|No space left on device|Disk quota exceeded|"
    "Input/output error|Cannot allocate memory|Failed to preprocess host compiler properties"
)
"""Messages that nvcc prints if one of its passes was killed, had no room for its file, or did not
start."""

_ASSEMBLER_REJECTS = "Ptx assembly aborted due to errors"
"""The last words that ptxas prints about invalid inline assembly; it then exits with 255."""
_SIGNALLED = 128
"""A shell reports a process that a signal killed as 128 plus the number of the signal."""

About = dict[str, Any]
"""The contents of an entry's about.json: `headers` and `files` with hashes, and what `make`
adds."""


def _folder(key: str) -> Path:
    return CACHE / key[:32]


def has(key: str) -> bool:
    """Return whether the cache has an entry for the key, even an outdated one."""
    return _folder(key).is_dir()


def entry_of(key: str, make: Callable[[Path], About]) -> tuple[Path, About, bool]:
    """Return a key's folder, what is recorded about it, and whether it was there before.

    make: compiles into an empty folder, and returns what is to be recorded. Its `headers` are the
    files on which the results depend.
    """
    entry = _folder(key)
    about = _current(entry)
    if about is not None:
        return entry, about, True
    CACHE.mkdir(parents=True, exist_ok=True)
    with scratch.folder(CACHE) as own:
        work = own / "entry"
        work.mkdir()
        made = make(work)
        made["headers"] = {str(Path(p).resolve()): sha256(Path(p)) for p in made["headers"]}
        made["files"] = {path.name: sha256(path) for path in work.iterdir()}
        (work / "about.json").write_text(json.dumps(made, indent=1))
        # Two processes may build the same unit. The first to finish wins, since both results are
        # equal; its files are left alone, because another process may already be reading them.
        with FileLock(CACHE / ".lock"):
            if _current(entry) is None:
                shutil.rmtree(entry, ignore_errors=True)
                work.rename(entry)
    about = _current(entry)
    if about is None:
        raise CompileError(f"{entry} cannot be read back; delete it and run again")
    return entry, about, False


def _current(entry: Path) -> About | None:
    """Return what is recorded about an entry, or None if one of its files has changed."""
    try:
        about: About = json.loads((entry / "about.json").read_text())
        files = {Path(path): was for path, was in about["headers"].items()}
        files |= {entry / name: was for name, was in about["files"].items()}
        return about if all(sha256(path) == was for path, was in files.items()) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def dependencies(listed: Path, folders: Sequence[Path]) -> list[Path]:
    """List the dependencies of a make rule that are below `folders`, but not beside the rule.

    Files beside the rule are the harness's own. The toolkit's headers change with its version,
    which is part of the key.
    """
    names = listed.read_text().partition(": ")[2].replace("\\\n", " ").strip()
    below = [f"{os.path.realpath(folder)}{os.sep}" for folder in folders]
    beside, folders_of = os.path.realpath(listed.parent), dict[str, str]()

    def is_ours(name: str) -> bool:
        # Most of the hundreds of headers are in a few folders, each of which is resolved once.
        folder, own = os.path.split(name)
        if folder not in folders_of:
            folders_of[folder] = os.path.realpath(folder)
        path = os.path.join(folders_of[folder], own)
        if own == ".." or os.path.islink(path):
            path = os.path.realpath(path)
        return os.path.dirname(path) != beside and any(map(path.startswith, below))

    listed_names = re.sub(r"(?<!\\)\s+", "\n", names).replace("\\ ", " ").split("\n")
    return [Path(name) for name in listed_names if is_ours(name)]


def run(source: Path, command: Sequence[str]) -> str:
    """Run nvcc and return its output. Raises CompileError if nvcc rejects the source."""
    try:
        ended = children.output(command, DEADLINE_S)
    except children.LateError:
        raise CompileError(f"{source}: nvcc did not end within {DEADLINE_S} s") from None
    except OSError as error:
        raise CompileError(f"{command[0]} does not run: {error}") from None
    if ended.code:
        said = (ended.err + ended.out).strip()
        # nvcc says what it rejects in a source; if it says nothing, the machine is to blame.
        rejects = 0 < ended.code < _SIGNALLED or said.endswith(_ASSEMBLER_REJECTS)
        if not said or not rejects or _STOPPED.search(said):
            what = said or f"exit code {ended.code}, and no message"
            raise CompilerStopped(
                f"nvcc was stopped at {source}: {what}\n"
                "  the source is not to blame: look at the room in TMPDIR "
                f"({tempfile.gettempdir()}) and in memory; the same command tries again"
            )
        raise CompileError(f"nvcc rejects {source}:\n{said}")
    return ended.err + ended.out


def sha256(path: Path) -> str:
    return source_text.sha256(path.read_bytes())


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
