"""Fork processes from a server that has done the imports, so that each starts immediately.

The server is a child like any other. It imports the modules that all processes will need, then
waits for requests on a socket. Each request becomes a process in a session of its own, with its own
mark, environment, working directory and files. A forked process dies with the server, and the
server ends when the harness ends.

(The forkserver of `multiprocessing` is similar, but imports the caller's main module into each
process, and gives all processes the environment of the first.)
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from harness.processes import reaper
from harness.processes.children import Child, Group, begin_family

_LENGTH = struct.Struct("!I")
_MOST_FILES = 2
_PR_SET_PDEATHSIG = 1
_ENV_START = 50
"""The field of /proc/self/stat with the address of the environment; see proc(5)."""


class ServerEnded(Exception):
    """The server is gone, or does not reply; the message includes the server's last output."""


class ForkServer:
    """The harness's end of the connection to a server. Safe to use from any thread.

    `command`: starts the server; the number of a socket is appended (see `serve`). `seconds`: the
    deadline for its first reply, imports included. `variables`: added to its environment unless the
    user has set them.
    """

    def __init__(
        self, command: Sequence[str], seconds: float, variables: Mapping[str, str] | None = None
    ) -> None:
        self._lock = threading.Lock()
        self._failed = False
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - ends with this object
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(seconds)
        with theirs:
            self._child = Child(
                [*command, str(theirs.fileno())], room_for_marks=True, stdin=subprocess.DEVNULL,
                env={**(variables or {}), **os.environ}, stdout=self._output,
                stderr=self._output, pass_fds=(theirs.fileno(),),
            )  # fmt: skip
        self.close = weakref.finalize(self, _closed, self._socket, self._child)
        """End the server and its forks; the end of the harness does the same."""

    @property
    def is_alive(self) -> bool:
        return not self._failed and not self._child.ends_within(0)

    def fork(self, arguments: Sequence[str], output: int, pipe: int) -> Forked:
        """Fork a process that continues where `serve` returns. Raises ServerEnded, OSError.

        `output`: the file for its output. `pipe`: a descriptor whose number in the process is
        appended to the arguments.
        """
        return Forked(self, arguments, (output, pipe))

    def ask(self, request: Mapping[str, Any], files: Sequence[int] = ()) -> int:
        with self._lock:
            try:
                _send(self._socket, request, files)
                answer, _ = _received(self._socket)
                if answer is None:
                    raise ConnectionResetError
            except OSError as error:  # such as a timeout, after which answers would mismatch
                self._failed = True
                self._child.kill()
                raise ServerEnded(self._last_words() or str(error)) from None
        if answer["errno"]:
            raise OSError(answer["errno"], os.strerror(answer["errno"]))
        return int(answer["number"])

    def _last_words(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace").strip()


class Forked(Group):
    """A process forked by a server. Its parent, the server, collects its exit."""

    def __init__(self, server: ForkServer, arguments: Sequence[str], files: Sequence[int]) -> None:
        self._server = server
        environment = {**os.environ, reaper.VARIABLE: self._begin()}
        request = {
            "arguments": list(arguments), "environment": environment, "folder": os.getcwd()
        }  # fmt: skip
        self._enter(server.ask(request, files))

    def _collect(self) -> int:
        self.ends_within(None)
        try:
            return self._server.ask({"collect": self.pid})
        except (ServerEnded, OSError):
            return -signal.SIGKILL  # it died with the server


def _closed(connection: socket.socket, child: Child) -> None:
    connection.close()
    child.end(thoroughly=False)


# The server's end


def serve(number: int) -> list[str] | None:
    """Fork on request. Each forked process returns with its arguments; at the end, the server
    returns None.

    `number`: the socket's descriptor. Whatever does not survive a fork, such as a thread that holds
    a lock or a context on a GPU, must not be started before the call.
    """
    # Threads started by imports, such as a BLAS's, handle forks themselves.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    gc.freeze()
    with socket.socket(fileno=number) as requests:
        while True:
            request, files = _received(requests)
            if request is None:
                return None
            if "collect" in request:
                _, status = os.waitpid(request["collect"], 0)
                _send(requests, {"number": os.waitstatus_to_exitcode(status), "errno": 0})
                continue
            begun, telling = os.pipe()
            try:
                pid = os.fork()
            except OSError as error:
                os.close(telling)
                _send(requests, {"number": 0, "errno": error.errno})
            else:
                if not pid:
                    os.close(begun)
                    requests.close()
                    return _begin(request, files, telling)
                os.close(telling)
                os.read(begun, 1)  # until it has its own group, by which it can be ended
                _send(requests, {"number": pid, "errno": 0})
            for each in (begun, *files):
                os.close(each)


def _begin(request: Mapping[str, Any], files: Sequence[int], telling: int) -> list[str]:
    """Give a new process its own session, mark, environment, working directory and files."""
    server = os.getppid()
    die_with_the_parent()
    os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    _carry(os.environ[reaper.VARIABLE])
    begin_family()
    output, pipe = files
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.close(telling)
    if sys.path[:1] == [os.getcwd()]:  # as `python -m` sets it
        sys.path[0] = request["folder"]
    os.chdir(request["folder"])
    if os.getppid() != server:  # the server died before this process could die with it
        os._exit(1)
    return [*request["arguments"], str(pipe)]


def die_with_the_parent() -> None:
    """Ask Linux to kill this process if its parent dies, even if this process hangs."""
    with suppress(OSError, AttributeError):  # not available on this system
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _carry(mark: str) -> None:
    """Replace the server's mark in /proc with this one, by which the reaper finds the processes to
    end.

    /proc shows the memory in which the original, unforked process received its environment.
    """
    with open("/proc/self/environ", "rb") as file:
        block = file.read()
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()  # from the third field on
    name = reaper.VARIABLE.encode() + b"="
    at = (b"\0" + block).index(b"\0" + name) + len(name)
    room = block.index(b"\0", at) - at
    ctypes.memmove(int(fields[_ENV_START - 3]) + at, mark.encode().ljust(room, b"_")[:room], room)


# Messages on the socket: a length, sent with the files, then JSON of that length


def _send(connection: socket.socket, what: Mapping[str, Any], files: Sequence[int] = ()) -> None:
    body = json.dumps(what).encode()
    socket.send_fds(connection, [_LENGTH.pack(len(body))], files)
    connection.sendall(body)


def _received(connection: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Receive a message; None if the other end is closed."""
    try:
        head, files, _, _ = socket.recv_fds(connection, _LENGTH.size, _MOST_FILES)
        if len(head) < _LENGTH.size:
            return None, []
        (length,) = _LENGTH.unpack(head)
        body = b""
        while len(body) < length:
            part = connection.recv(length - len(body))
            if not part:
                return None, []
            body += part
    except ConnectionResetError:
        return None, []
    for each in files:
        os.set_inheritable(each, False)
    return json.loads(body), list(files)
