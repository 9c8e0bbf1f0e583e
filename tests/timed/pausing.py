"""A place at which a process waits for as long as a test wants to find it there."""

from __future__ import annotations

import os
import time
from pathlib import Path


def pause(place: str) -> None:
    """Wait, if PAUSE_AT names the place, for as long as the file that PAUSE names exists.

    A file of the same name with `.reached` behind it tells that somebody waits.
    """
    file = os.environ.get("PAUSE", "")
    if os.environ.get("PAUSE_AT") == place and os.path.exists(file):
        Path(f"{file}.reached").touch()
        while os.path.exists(file):
            time.sleep(0.02)
