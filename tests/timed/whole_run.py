"""The command line with the simulated device as its GPU: python whole_run.py run …

Only the report's tables are written, because pictures take seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_device
from pausing import pause

from harness import __main__ as command_line
from harness import report, tables
from harness.machine import devices
from harness.tables import Run


def choose(*asked: Any) -> Any:
    pause("planning")
    return "fake_device:open_backend", fake_device.device(), ""


def write(run: Run) -> Path:
    pause("report")
    tables.write(run)
    return run.folder / "results.csv"


if __name__ == "__main__":
    devices.choose = choose
    report.write = write
    command_line.main()
