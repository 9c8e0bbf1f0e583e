"""The rules by which the kernel refuses sockets inside the sandbox, for bwrap's --seccomp.

A read-only file system does not keep a program from connecting to a Unix socket that lies in it,
and a service behind one would act outside. So no such socket can be made; pairs that are connected
from the beginning can, but for datagrams, which may be sent to any address. IP goes nowhere, as
there is no network. io_uring could do the same by another way, and is refused.
"""

from __future__ import annotations

import errno
import platform
import socket
import struct
from dataclasses import dataclass

from harness.errors import UsageError


@dataclass(frozen=True)
class _Machine:
    """The audit architecture, and numbers of system calls."""

    arch: int
    socket: int
    socketpair: int
    io_uring_setup: int


# linux/audit.h, asm/unistd_64.h and asm-generic/unistd.h
_MACHINES = {
    "x86_64": _Machine(0xC000003E, 41, 53, 425),
    "aarch64": _Machine(0xC00000B7, 198, 199, 425),
}
_X32 = 0x40000000
"""Added to numbers of calls by 32-bit pointers on x86-64; no such number exists elsewhere."""

_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
_PAIRS = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
_KIND = 0xF
"""Of a socket's type; the other bits are flags."""

# linux/bpf_common.h, linux/seccomp.h
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST = 0x15, 0x35
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in struct seccomp_data; of arguments the lower half, on little-endian machines."""
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000

_Line = tuple[int, int, str, str]
"""Code, operand, and where it goes on if it holds and if not; "" is the next line."""


def rules() -> bytes:
    """The program for this machine. Raises UsageError where its system calls are not known here."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise UsageError(
            f"--sandbox knows no system calls of {platform.machine()}, only of "
            f"{' and '.join(_MACHINES)}\n  run without --sandbox what you trust"
        )
    return _assembled(_lines(machine))


def _lines(machine: _Machine) -> list[tuple[str, _Line]]:
    """The program: each line with its label."""
    found: list[tuple[str, _Line]] = [
        ("", (_LOAD, _ARCH, "", "")),
        ("", (_EQUAL, machine.arch, "", "unknown")),
        ("", (_LOAD, _NUMBER, "", "")),
        ("", (_AT_LEAST, _X32, "unknown", "")),
        ("", (_EQUAL, machine.io_uring_setup, "unknown", "")),
        ("", (_EQUAL, machine.socketpair, "pair", "")),
        ("", (_EQUAL, machine.socket, "", "allow")),
        ("", (_LOAD, _FIRST, "", "")),
    ]
    found += [("", (_EQUAL, family, "allow", "")) for family in _FAMILIES]
    found += [
        ("refuse", (_RETURN, _ERROR | errno.EACCES, "", "")),
        ("pair", (_LOAD, _SECOND, "", "")),
        ("", (_AND, _KIND, "", "")),
    ]
    found += [("", (_EQUAL, kind, "allow", "")) for kind in _PAIRS]
    return [
        *found,
        ("", (_RETURN, _ERROR | errno.EACCES, "", "")),
        ("unknown", (_RETURN, _ERROR | errno.ENOSYS, "", "")),
        ("allow", (_RETURN, _ALLOW, "", "")),
    ]


def _assembled(lines: list[tuple[str, _Line]]) -> bytes:
    """struct sock_filter: code, how many lines to skip if it holds and if not, operand."""
    at = {label: number for number, (label, _) in enumerate(lines) if label}
    return b"".join(
        struct.pack(
            "=HBBI", code, *(at[goal] - number - 1 if goal else 0 for goal in goals), operand
        )
        for number, (_, (code, operand, *goals)) in enumerate(lines)
    )
