"""The append-only file of a run's records.

One record is one line of JSON with a checksum, flushed before any figure is made from it, so a run
that dies loses at most the line being written.
"""

from __future__ import annotations

import gzip
import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from harness.errors import JournalError
from harness.journal import run_files
from harness.journal.records import Record, from_json, to_json
from harness.journal.storage import Appended

_LONGEST_LINE = 1 << 22
"""The longest accepted line in bytes. A journal may come from a stranger; genuine lines are far
shorter."""

DENSEST = 200
"""The highest accepted compression ratio of a journal; genuine ones have about 12."""


class Journal:
    """Appends records to a file, from any thread; a context manager.

    Raises JournalError if the file cannot be written; its existing content is not damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = Appended(path, _is_whole)

    def append(self, record: Record) -> None:
        body = to_json(record)
        try:
            from_json(body)
        except ValidationError as error:
            raise JournalError(
                f"{self.path}: a record that could not be read back was not written"
                f"{_first_of(error)}\n  the journal itself is intact"
            ) from None
        self._file.append(_line(body))

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_journal(path: Path) -> Iterator[Record]:
    """Read the records of a journal, oldest first; a name ending in .gz is compressed.

    A torn last line (the run died while writing it) is left out. Any other damaged line raises
    JournalError with its number.
    """
    for number, line in enumerate(_lines(path), 1):
        content = line.removesuffix(b"\n")
        if not content:
            continue
        try:
            yield parsed(content)
        except (ValueError, KeyError, TypeError) as error:
            if content == line and len(line) <= _LONGEST_LINE:
                return  # no newline after it: the run died here
            raise JournalError(
                f"{path}:{number}: this line is not what was written{_first_of(error)}\n"
                "  delete the line to go on without it, or run the benchmark again"
            ) from None


def _first_of(error: Exception) -> str:
    """Name the first wrong value of a record."""
    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part)[:40] for part in first["loc"][1:])
    return f": {key}: {first['msg']}"[:200] if key else ""


def _lines(path: Path) -> Iterator[bytes]:
    """Yield each line with its newline; a line longer than any genuine one is cut off at that
    length."""
    try:
        with run_files.opened(path.parent, path.name) as stored:
            is_packed = path.suffix == ".gz"
            most = DENSEST * os.fstat(stored.fileno()).st_size if is_packed else math.inf
            file = gzip.open(stored) if is_packed else stored  # noqa: SIM115 - as long as that is
            while line := file.readline(_LONGEST_LINE + 1):
                most -= len(line)
                if most < 0:
                    raise JournalError(
                        f"cannot read {path}: it unpacks to more than any journal would"
                    )
                yield line
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is not a whole gzip file"
        raise JournalError(f"cannot read {path}: {why}") from None


def as_line(record: Record) -> str:
    """Return a record as a line, without a newline."""
    return _line(to_json(record))


def parsed(line: bytes) -> Record:
    """Parse one line, without its newline. Raises ValueError, KeyError or TypeError."""
    if len(line) > _LONGEST_LINE:
        raise ValueError("longer than any line that is written")
    head = len(_head(b""))
    body = line[head:-1]
    if line[:head] != _head(body) or not line.endswith(b"}}"):
        raise ValueError("checksum")
    return from_json(body)


def _line(body: str) -> str:
    return f"{_head(body.encode()).decode()}{body}}}"


def _head(body: bytes) -> bytes:
    """The prefix of a line before the record: its checksum."""
    return b'{"crc32":"%08x","record":' % zlib.crc32(body)


def _is_whole(line: bytes) -> bool:
    try:
        parsed(line)
    except (ValueError, KeyError, TypeError):
        return False
    return True
