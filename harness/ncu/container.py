"""Check that a .ncu-rep file is complete, and read which Nsight Compute wrote it.

ncu_report opens a truncated file, or one of another kind, without an error and finds no launches in
it. Therefore the file's framing is checked first: the magic number, a file header, then blocks,
each with a header that gives the length of its payload. The messages are protocol buffers,
described in Nsight Compute's folder extras/FileFormat/ProfilerReport.proto and in its
Customization Guide, "Report File Format"; only the few fields below are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.journal import run_files
from harness.ncu.failures import Failure

LARGEST = 1 << 31
"""The largest report that is read, in bytes. One on hundreds of launches has tens of millions."""

_MAGIC = b"NVR\0"
# Field numbers in BlockHeader, ReportSessionDetails and VersionInfo.
_NUM_RESULTS, _SESSION, _PAYLOAD_SIZE = 2, 3, 5
_VERSIONS, _PROVIDER, _VERSION = 8, 1, 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class Container:
    """The information in the framing: the number of launches profiled, and ncu's version if
    recorded."""

    launches: int
    version: str


class _CutOffError(Exception):
    """The file ends before its announced length."""


def inspect(path: Path) -> Container | Failure:
    """Read the report's framing, or say why it is unreadable."""
    try:
        content = run_files.read_named(path, LARGEST)
    except OSError as error:
        return Failure("no report", f"{path} cannot be read: {error.strerror}")
    if not content:
        return Failure("truncated", f"{path} is empty: ncu ended before it wrote its report")
    if not content.startswith(_MAGIC[: len(content)]):
        return Failure("foreign", f"{path} is not a report of Nsight Compute")
    try:
        return _walk(content)
    except (_CutOffError, UnicodeDecodeError):
        return Failure(
            "truncated",
            f"{path} is cut off after {len(content):,} bytes\n"
            "  the same command again collects it anew",
        )


def _walk(content: bytes) -> Container:
    at = len(_MAGIC)
    size, at = _size(content, at)
    _slice(content, at, size)
    at += size
    launches, version = 0, ""
    while at < len(content):
        size, at = _size(content, at)
        payload = 0
        for number, value in _fields(_slice(content, at, size)):
            if number == _NUM_RESULTS and isinstance(value, int):
                launches += value
            elif number == _PAYLOAD_SIZE and isinstance(value, int):
                payload = value
            elif number == _SESSION and isinstance(value, bytes):
                version = version or _version(value)
        at += size
        _slice(content, at, payload)
        at += payload
    return Container(launches, version)


def _version(session: bytes) -> str:
    """Find ncu's version, such as 2025.3.1.0, in the session's list of providers and versions;
    empty if it is not there."""
    for number, value in _fields(session):
        if number == _VERSIONS and isinstance(value, bytes):
            pair = dict(_fields(value))
            provider, version = pair.get(_PROVIDER), pair.get(_VERSION)
            if not (isinstance(provider, bytes) and isinstance(version, bytes)):
                continue
            if provider.startswith(b"Nsight Compute"):  # others: the driver, the CUDA version
                return version.decode().partition(" ")[0]
    return ""


def _size(content: bytes, at: int) -> tuple[int, int]:
    """Read the four-byte little-endian length that precedes every message; return it with the
    position after it."""
    return int.from_bytes(_slice(content, at, 4), "little"), at + 4


def _slice(content: bytes, at: int, size: int) -> bytes:
    if at + size > len(content):
        raise _CutOffError
    return content[at : at + size]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (field number, value) of a protocol buffer; fixed-width numbers are left as bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(message, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise _CutOffError
        yield number, _slice(message, at, size)
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise _CutOffError
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
