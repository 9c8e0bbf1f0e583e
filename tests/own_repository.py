"""This repository's own matrix, which a process reads once for all test files that use it."""

from __future__ import annotations

from pathlib import Path

from harness.matrix import model

ROOT = Path(__file__).parents[1]
BENCH = model.load(ROOT / "bench.yaml")
