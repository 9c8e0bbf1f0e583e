"""The outcome of each variant of bench.yaml according to endings.yaml, for the tests and for the
docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
MATRIX = HERE / "bench.yaml"
TABLE = HERE / "endings.yaml"
LARGE = "_large"
"""The suffix of variants that cheat only at the timed size."""
HOW = ("failed", "ranked", "either")


@dataclass(frozen=True)
class Ending:
    """The expected outcome of a variant. `refused`: words from the emulator's reason for rejecting
    it. `told`: words from the emulator's remarks.

    `gpu`: one of HOW. `words`: a regular expression for the reason of the failure, or the reason
    why the variant does not fail.
    """

    tries: str
    gpu: str
    words: str
    refused: str = ""
    told: tuple[str, ...] = ()

    @property
    def is_honest(self) -> bool:
        return self.tries.startswith("nothing")


def load() -> dict[str, Ending]:
    """Load the file as a map from `problem/variant` to its outcome."""
    return {name: _ending(row) for name, row in yaml.safe_load(TABLE.read_text()).items()}


def _ending(row: Mapping[str, Any]) -> Ending:
    [(gpu, words)] = row["gpu"].items()
    emulator = {"refused": "", "told": [], **row["emulator"]}
    if gpu not in HOW or set(emulator) != {"refused", "told"}:
        raise ValueError(f"{TABLE}: {row}: its head says what an entry may have")
    return Ending(row["tries"], gpu, words, emulator["refused"], tuple(emulator["told"]))
