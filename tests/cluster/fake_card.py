"""The simulated device as a card, whose name and PCI address come from the environment."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "timed"))

import fake_device


def open_backend(arch: str | None) -> fake_device.FakeBackend:
    backend = fake_device.open_backend(arch)
    backend.device = replace(backend.device, name=os.environ["CARD"], bus=os.environ["BUS"])
    return backend
