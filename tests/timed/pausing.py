"""A point at which a process waits until a test has found it there."""

from __future__ import annotations

import os
import time
from pathlib import Path


def pause(place: str) -> None:
    """If PAUSE_AT names this point, wait for as long as the file that PAUSE names exists.

    A file of the same name with the suffix `.reached` shows that a process is waiting.
    """
    file = os.environ.get("PAUSE", "")
    if os.environ.get("PAUSE_AT") == place and os.path.exists(file):
        Path(f"{file}.reached").touch()
        while os.path.exists(file):
            time.sleep(0.02)
