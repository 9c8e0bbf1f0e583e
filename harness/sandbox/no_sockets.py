"""The seccomp rules that block sockets inside the sandbox, for bwrap's --seccomp.

A read-only file system does not keep a program from connecting to a Unix socket in it, and a
service that listens on the socket acts outside the sandbox. Therefore no Unix socket can be
created. Connected pairs can be created, except datagram pairs, which may send to any address. IP
sockets are harmless, since there is no network. io_uring could bypass these rules, so it is
blocked, too.
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
    """An audit architecture and its system call numbers."""

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
"""The bit that marks the numbers of x32 system calls on x86-64; no other system's numbers have
it."""

_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
_PAIRS = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
_KIND = 0xF
"""The bits of a socket's type; the others are flags."""

# linux/bpf_common.h, linux/seccomp.h
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST = 0x15, 0x35
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in struct seccomp_data; for arguments, that of the lower half on little-endian
machines."""
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000

_Line = tuple[int, int, str, str]
"""Code, operand, and the labels to jump to if the test is true or false; "" is the next line."""


def rules() -> bytes:
    """Return the BPF program. Raises UsageError if this machine's system calls are unknown."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise UsageError(
            f"--sandbox knows no system calls of {platform.machine()}, only of "
            f"{' and '.join(_MACHINES)}\n  run only code that you trust without --sandbox"
        )
    return _assembled(_lines(machine))


def _lines(machine: _Machine) -> list[tuple[str, _Line]]:
    """The program's lines, each with its label."""
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
    """Encode struct sock_filter: code, lines to skip if true and if false, operand."""
    at = {label: number for number, (label, _) in enumerate(lines) if label}
    return b"".join(
        struct.pack(
            "=HBBI", code, *(at[goal] - number - 1 if goal else 0 for goal in goals), operand
        )
        for number, (_, (code, operand, *goals)) in enumerate(lines)
    )
