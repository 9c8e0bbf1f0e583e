"""A deadline for foreign code that runs in this process, such as a problem.py.

An alarm interrupts the code wherever it is, so its line can be reported. C code does not react to
the alarm; in that case a watchdog ends the process a little later and prints the line that was
running.
"""

from __future__ import annotations

import faulthandler
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_GRACE_S = 5.0


class Overrun(BaseException):
    """The deadline has passed. This class does not derive from Exception, which the interrupted
    code might catch."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise Overrun if the body takes longer.

    This works only in the main thread. While another alarm is set, that alarm's deadline applies
    instead. Workers need no such deadline: the process that started them ends them.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or any(signal.getitimer(signal.ITIMER_REAL)):
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    try:
        with suppress(OSError, ValueError):  # standard error may be closed
            faulthandler.dump_traceback_later(seconds + _GRACE_S, exit=True, file=2)
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, if the first was caught
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Overrun
