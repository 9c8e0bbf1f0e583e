"""`serve`: a judge that speaks JSON lines, for programs that write kernels.

The judge reads one request per line and writes one reply per line, in order of completion. A
conversation ends when the input has ended and all requests have been answered.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from harness.errors import UsageError
from harness.judge.judge import Judge
from harness.judge.serve import answers
from harness.judge.serve.protocol import ANSWER, LONGEST, READY, Answer, Ready

WAITING = 256
"""The most unanswered requests of one conversation; while there are that many, no more are
read."""

MOST_CONVERSATIONS = 64


class Conversation:
    """One client's requests and their replies. `say`: a function that writes a line, and raises
    OSError if the client is gone."""

    def __init__(self, judge: Judge, say: Callable[[bytes], None], most_s: float) -> None:
        self._judge, self._say, self._most_s = judge, say, most_s
        self._lock = threading.Lock()
        self._free = threading.Semaphore(WAITING)
        self._is_heard = True

    def hold(self, lines: IO[bytes], ready: Ready) -> None:
        """Answer every request; return when all are answered."""
        self._tell(READY.dump_json(ready))
        while self._is_heard and (line := lines.readline(LONGEST + 2)):
            if not line.endswith(b"\n") and len(line) > LONGEST:
                _skip(lines)
            elif not line.strip():
                continue
            self._free.acquire()
            self._begin(line)
        for _ in range(WAITING):
            self._free.acquire()

    def _begin(self, line: bytes) -> None:
        answers.begin(self._judge, line, self._most_s).add_done_callback(
            lambda done: self._end(done.result())
        )

    def _end(self, answer: Answer) -> None:
        try:
            self._tell(ANSWER.dump_json(answer))
        finally:
            self._free.release()

    def _tell(self, line: bytes) -> None:
        with self._lock:
            if self._is_heard:
                try:
                    self._say(line + b"\n")
                except (OSError, ValueError):  # the client has gone
                    self._is_heard = False


def _skip(lines: IO[bytes]) -> None:
    """Skip the rest of a line that is too long."""
    while (rest := lines.readline(1 << 16)) and not rest.endswith(b"\n"):
        pass


def over_lines(judge: Judge, ready: Ready, most_s: float) -> None:
    """Serve standard input until it ends."""
    # Output from other code must not mix with the replies.
    with os.fdopen(os.dup(1), "wb", buffering=0) as out:
        os.dup2(2, 1)

        def say(line: bytes) -> None:
            rest = memoryview(line)
            while rest:
                rest = rest[out.write(rest) or 0 :]

        Conversation(judge, say, most_s).hold(sys.stdin.buffer, ready)


def over_socket(judge: Judge, ready: Ready, most_s: float, path: Path) -> None:
    """Serve a Unix socket that only this user can open, until the process is told to stop."""
    room = threading.Semaphore(MOST_CONVERSATIONS)
    with _listening(path) as listener:
        print(f"listening at {path}", file=sys.stderr, flush=True)
        while True:
            connection, _ = listener.accept()
            room.acquire()
            threading.Thread(
                target=_converse, args=(judge, ready, most_s, connection, room), daemon=True
            ).start()


def _converse(
    judge: Judge, ready: Ready, most_s: float, connection: socket.socket,
    room: threading.Semaphore,
) -> None:  # fmt: skip
    with connection, suppress(OSError):
        try:
            lines = connection.makefile("rb")
            Conversation(judge, connection.sendall, most_s).hold(lines, ready)
        finally:
            room.release()


@contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """Create a socket at a path, with mode 0600 from the start. Raises UsageError if the path is in
    use."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_if_dead(path)
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError as error:
            raise UsageError(f"--socket {path}: {error.strerror or error}") from None
        finally:
            os.umask(before)
        listener.listen(MOST_CONVERSATIONS)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)
    finally:
        listener.close()


def _remove_if_dead(path: Path) -> None:
    """Remove a socket that has no listener; raise an error for any other file at that path."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise UsageError(f"--socket {path}: something else stands there\n  name another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as tried:
        try:
            tried.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:
            raise UsageError(f"--socket {path}: {error.strerror}") from None
    raise UsageError(f"--socket {path}: a judge listens there already\n  name another path")
