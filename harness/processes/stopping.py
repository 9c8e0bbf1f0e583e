"""Stop requests: Ctrl-C, SIGTERM and SIGHUP end a run in the same way.

Each signal becomes an exception in the main thread, so workers are ended, the journal is closed and
the report shows the results so far; the exit code is the shell's code for the signal.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Signal → the exit code of a run that it ended; such a run can be resumed from its journal."""
STOPPED = frozenset(CODES.values())


class Stopped(BaseException):
    """A stop request, raised for a signal. It is neither an Exception nor a KeyboardInterrupt,
    because libraries may swallow those."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = CODES[signal.Signals(number)]


TOLD = (Stopped, KeyboardInterrupt)
"""The exceptions to catch for a stop request. Without the harness's own command line, Python turns
Ctrl-C into KeyboardInterrupt."""


def code_of(told: BaseException) -> int:
    return told.code if isinstance(told, Stopped) else CODES[signal.SIGINT]


def listen() -> None:
    """Let the signals stop the harness from now on. An ignored signal (`nohup`) stays ignored."""
    for number in CODES:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise)


def _raise(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGHUP and sys.stdout.isatty():
        silence()  # the terminal is gone
    raise Stopped(number)


def silence() -> None:
    """Discard all further output, because nothing reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
