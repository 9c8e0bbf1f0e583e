"""The commands in the README and in docs/commands.md work when they are typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
README, COMMANDS, ADDING = (
    (ROOT / name).read_text()
    for name in ("README.md", "docs/commands.md", "docs/adding-a-kernel.md")
)
ONE_SCREEN = 60
"""The maximum number of lines; a picture counts as one line, and so does a collapsed part."""


def test_the_readme_is_one_screen_with_pictures_that_are_there() -> None:
    shown = re.sub(
        r"<details><summary>(.*?)</summary>.*?</details>", r"\1", README, flags=re.DOTALL
    )
    assert len(shown.splitlines()) <= ONE_SCREEN
    pictures = re.findall(r'<img src="([^"]+)"', README)
    assert len(pictures) == 2
    for picture in pictures:
        assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")


def test_the_kernel_of_ones_own_runs_as_the_docs_say(tmp_path: Path) -> None:
    [script] = re.findall(r"<!-- own-kernel:begin -->\n```sh\n(.*?)```", ADDING, re.DOTALL)
    for name in ("bench.yaml", "kernels", "harness"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    shutil.rmtree(tmp_path / "kernels" / "scale", ignore_errors=True)  # if it was typed here
    make = 'make bench ARGS="--only scale"'
    assert make in script
    typed = script.replace(make, f"{sys.executable} -m harness run --backend emulator --only scale")
    ended = subprocess.run(
        ["bash", "-euc", typed], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "verify 1/1  scale/v0_plain  ok" in ended.stdout
    assert (tmp_path / "reports" / "latest" / "report.html").exists()


@pytest.mark.parametrize("target", ["bench", "profile"])
def test_the_two_commands_run_as_the_readme_says(tmp_path: Path, target: str) -> None:
    assert re.search(rf"^    make {target} ", README, re.MULTILINE)
    # As typed, except that only one variant is run, with this Python instead of a new environment,
    # for which setup would need the network.
    command = ["make", "--no-print-directory", "-o", "setup", target, f"RUN={sys.executable}",
               f"ARGS=--backend emulator --only reduce_sum/v1_shared_memory/*/*/block=128 "
               f"--out {tmp_path / 'run'}"]  # fmt: skip
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == str(tmp_path / "run" / "report.html")
    assert " ok, " in ended.stdout


def test_the_notebook_example_tells_each_variant_once() -> None:
    [example] = re.findall(r"```python\n(import harness\n.*?)```", COMMANDS, re.DOTALL)
    *lines, last = example.strip().splitlines()
    known: dict[str, Any] = {}
    here = os.getcwd()
    os.chdir(ROOT)
    try:
        exec("\n".join(lines), known)
        table = eval(last, known)
    finally:
        os.chdir(here)
    best = known["best"]
    assert set(table.index) == set(best.variant)
    for (variant, n), rows in best.groupby(["variant", "n"]):
        assert table.loc[variant, n] == rows.gbps.item()


def test_every_file_that_the_readme_and_the_docs_name_exists() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} names {target}"


def test_every_target_that_the_readme_and_the_docs_name_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^    |`)make ([a-z-]+)", README + COMMANDS, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_make_help_lists_every_target() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    (targets,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert re.findall(r"^make ([a-z-]+)  +\S", listed.stdout, re.MULTILINE) == targets.split()


def test_every_page_of_the_documentation_is_in_its_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert set(re.findall(r"\]\(([\w/-]+\.md)\)", index)) == pages - {"README.md"}
