"""Write .ncu-rep files with just enough content for the real ncu_report to open them.

The framing and the field numbers are those of Nsight Compute's extras/FileFormat/*.proto; the
figures are invented.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FORMAT = 7
"""The file format's number, since Nsight Compute 2021 at least."""

DOMAIN_ID = 7


@dataclass(frozen=True)
class Launch:
    """One profiled launch. `ranges`: its push/pop ranges, outermost first; None means no value."""

    kernel: str
    ranges: tuple[str, ...] = ()
    metrics: Mapping[str, float | int | str | None] = field(default_factory=dict)
    domain: str = "kernel-harness"


def write(
    path: Path, launches: Sequence[Launch], version: str = "2025.3.1.0", file_format: int = FORMAT
) -> None:
    path.write_bytes(content(launches, version, file_format))


def content(
    launches: Sequence[Launch], version: str = "2025.3.1.0", file_format: int = FORMAT
) -> bytes:
    names = list(dict.fromkeys(name for launch in launches for name in launch.metrics))
    payload = b"".join(_sized(_result(launch, i, names)) for i, launch in enumerate(launches))
    session = _bytes(8, _bytes(1, b"Nsight Compute") + _bytes(2, version.encode()))
    strings = b"".join(_bytes(1, name.encode()) for name in names)
    block = _number(1, 0) + _number(2, len(launches)) + _bytes(3, session)
    block += _bytes(4, strings) + _number(5, len(payload))
    return b"NVR\0" + _sized(_number(1, file_format)) + _sized(block) + payload


def _result(launch: Launch, index: int, names: Sequence[str]) -> bytes:
    kernel, one = launch.kernel.encode(), b"".join(_number(i, 1) for i in (1, 2, 3))
    out = _number(1, 1) + _number(2, index) + _number(3, 1) + _number(4, index)
    out += _bytes(5, kernel) + _bytes(6, kernel) + _bytes(7, kernel + b"()") + _number(8, 3)
    out += _bytes(9, one) + _bytes(10, one) + _bytes(11, one)
    for name, value in launch.metrics.items():
        out += _bytes(13, _number(1, names.index(name)) + _value(value))
    out += _bytes(15, b"")
    if launch.ranges:
        stack = b"".join(_bytes(3, _bytes(1, name.encode())) for name in launch.ranges)
        domain = _number(1, DOMAIN_ID) + _bytes(2, launch.domain.encode())
        thread = _number(1, 1) + _bytes(2, _number(1, DOMAIN_ID) + stack)
        out += _bytes(21, _bytes(1, domain) + _bytes(2, thread))
    return out


def _value(value: float | int | str | None) -> bytes:
    if value is None:
        return b""
    if isinstance(value, str):
        return _bytes(2, _bytes(1, value.encode()))
    if isinstance(value, int):
        return _bytes(2, _number(5, value))
    return _bytes(2, _varint(3 << 3 | 1) + struct.pack("<d", value))


def _sized(message: bytes) -> bytes:
    return struct.pack("<I", len(message)) + message


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
