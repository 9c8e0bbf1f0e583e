"""Write harness/schemas/ from the models that read and write these files, or check the schemas.

    python scripts/pages/schemas.py            rewrite the files
    python scripts/pages/schemas.py --check    exit 1 if one is out of date

The files are part of the package: editors use them to complete and check a bench.yaml, and programs
use them to check the output of --json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from harness.commands.printed.as_json import Results
from harness.judge.serve import protocol
from harness.matrix import schema
from harness.report.comparison.as_json import Comparison

FOLDER = Path(__file__).resolve().parents[2] / "harness" / "schemas"


def _written(kind: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {
        "$schema": schema.DIALECT,
        **TypeAdapter(kind).json_schema(mode="serialization"),
    }


def _judge() -> dict[str, Any]:
    found = protocol.EXCHANGE.json_schema()
    return {
        "$schema": schema.DIALECT,
        "title": f"What goes over a line of `serve`, version {protocol.VERSION}",
        **found,
    }


SCHEMAS = {
    "problem": schema.problem,
    "matrix": schema.matrix,
    "results": _written(Results),
    "comparison": _written(Comparison),
    "judge": _judge,
}
"""The schemas by file name: for bench.yaml, for the output of --json, and for `serve`'s
messages."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if outdated")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    code = 0
    for name, make in SCHEMAS.items():
        path, text = options.folder / f"{name}.schema.json", json.dumps(make(), indent=1) + "\n"
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path} is out of date: make schemas", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
