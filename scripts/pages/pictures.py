"""Draw docs/pictures/: the output of a run on the terminal, and the top of its report page.

    python scripts/pages/pictures.py            from the committed run of reports/h200/reduce_sum

The run is redrawn from its journal in a folder of its own, so the pictures show the output of the
current code. Needs Chromium.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 98
PAGE = (1400, 900)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_FONT_FROM_ELSEWHERE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--run", type=Path, default=ROOT / "reports" / "h200" / "reduce_sum")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    options = parser.parse_args(arguments)
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        print("pictures are taken by a Chromium, and there is none on PATH", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / options.run.name
        shutil.copytree(options.run, copy)
        svg, size = terminal(printed(copy), f"reports/{options.run.name}")
        (Path(scratch) / "terminal.svg").write_text(svg, encoding="utf-8")
        shoot(browser, Path(scratch) / "terminal.svg", options.out / "terminal.png", size)
        shoot(browser, copy / "report.html", options.out / "page.png", PAGE)
    return 0


def printed(folder: Path) -> str:
    """Return the output of `report` for a run, on a terminal with COLUMNS columns."""
    told = subprocess.run(
        [sys.executable, "-m", "harness", "report", folder.name], cwd=folder.parent, check=True,
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS),
             "TERM": "xterm-256color"},
    )  # fmt: skip
    return told.stdout


def terminal(said: str, folder: str) -> tuple[str, tuple[int, int]]:
    """Draw the text as a picture of a terminal; return it with its size."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    console.print(Text.from_ansi(said.rstrip()), soft_wrap=False)
    svg = _FONT_FROM_ELSEWHERE.sub("", console.export_svg(title=f"kernel-harness report {folder}"))
    found = _SIZE.search(svg)
    assert found is not None
    return svg, (round(float(found[1])), round(float(found[2])))


def shoot(browser: str, page: Path, picture: Path, size: tuple[int, int]) -> None:
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}", page.resolve().as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
