"""The line protocol from a worker to its parent."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from harness.backends.base import Right, Seen
from harness.cases import Device
from harness.job import DEVICE, RIGHT, SEEN
from harness.journal.records import Record, to_json


class Pipe:
    """Lines to the parent, each of which is a word followed by its data.

        pid NUMBER · now CASE [SECONDS] · record JSON · right CASE JSON · launched CASE JSON
        device JSON · drawn DRAW JSON · error TEXT · memory TEXT · outside TEXT · lost TEXT · stays

    error, memory, outside and lost give the reason why the worker cannot continue: its current step
    is at fault; there is too little memory for the data that its cases share; something in its
    environment is wrong, such as a full disk; the device is gone. stays means that the job is done
    and that the worker waits for another; the reply is the new job's file name.

    The lines go to a descriptor, or to a file if an intermediate program might not pass on
    descriptors.
    """

    def __init__(self, where: int | str) -> None:
        self._file = open(where, "w", encoding="utf-8")  # noqa: SIM115
        if isinstance(where, str):  # the reader of the file did not start this process
            self._line("pid", str(os.getpid()))

    def now(self, what: str, seconds: float | None = None) -> None:
        """Report the next step, and how long it may take, if not the default."""
        name = what.replace(" ", "_")
        self._line("now", name if seconds is None else f"{name} {seconds:.3f}")

    def record(self, record: Record) -> None:
        self._line("record", to_json(record))

    def right(self, case: str, right: Right) -> None:
        self._line("right", f"{case} {RIGHT.dump_json(right).decode()}")

    def launched(self, case: str, seen: Sequence[Seen]) -> None:
        self._line("launched", f"{case} {SEEN.dump_json(tuple(seen)).decode()}")

    def drawn(self, draw: int, files: Mapping[str, str]) -> None:
        self._line("drawn", f"{draw} {json.dumps(files)}")

    def device(self, device: Device) -> None:
        self._line("device", DEVICE.dump_json(device).decode())

    def error(self, text: str, word: str = "error") -> None:
        self._line(word, text.replace("\n", "\\n"))

    def next_job(self) -> str:
        """Wait for the next job and return its file name; empty if there are no more."""
        self._file.write("stays\n")
        self._file.flush()
        name = b""
        while not name.endswith(b"\n"):
            part = os.read(self._file.fileno(), 1 << 16)
            if not part:
                return ""
            name += part
        return name.decode().rstrip("\n")

    def _line(self, word: str, rest: str) -> None:
        self._file.write(f"{word} {rest}\n")
        self._file.flush()
