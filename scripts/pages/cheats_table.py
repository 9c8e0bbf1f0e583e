"""Write the tables of cheats in docs/measurement.md from tests/cheats/*endings.yaml.

    python scripts/pages/cheats_table.py            rewrite the text between the markers
    python scripts/pages/cheats_table.py --check    exit 1 if it is out of date

The tests of tests/cheats check the same files against actual outcomes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "cheats"))

import sections
import yaml
from endings import LARGE, Ending, load

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "measurement.md"
FUNCTIONS = ROOT / "tests" / "cheats" / "function_endings.yaml"
HEAD = ("kernel", "what it tries", "the emulator, at test sizes", "on a GPU")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    options = parser.parse_args(arguments)
    contents = {"cheats": "\n".join(table(load())), "functions": "\n".join(of_functions())}
    return sections.keep(PAGE, contents, options.check, "python scripts/pages/cheats_table.py")


def table(endings: Mapping[str, Ending]) -> Iterator[str]:
    """One row per cheat, including the outcome on a GPU if it cheats only at the timed size."""
    yield _row(*HEAD)
    yield _row(*["---"] * len(HEAD))
    for name, ending in endings.items():
        if not ending.is_honest and not name.endswith(LARGE):
            timed = endings.get(name + LARGE, ending)
            gpu = "is not timed" if timed is ending and ending.refused else _on_gpu(timed)
            yield _row(f"`{name}`", ending.tries, _emulated(ending), gpu)


def of_functions() -> Iterator[str]:
    yield _row("function", "what it tries", "why it fails on a GPU", "its honest twin")
    yield _row(*["---"] * 4)
    for name, ending in yaml.safe_load(FUNCTIONS.read_text()).items():
        yield _row(f"`{name}`", ending["tries"], ending["by"], f"`{ending['twin']}`")


def _emulated(ending: Ending) -> str:
    if ending.refused:
        return f"refuses it: “{ending.refused}”"
    return (
        "remarks: " + "; ".join(f"“{w}”" for w in ending.told) if ending.told else "finds nothing"
    )


def _on_gpu(ending: Ending) -> str:
    if ending.gpu == "failed":
        return "fails its check"
    return f"gains nothing: {ending.words}" if ending.gpu == "ranked" else ending.words


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
