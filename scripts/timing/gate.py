"""Measure how often the gate opens for equal kernels and closes for slower ones, on this machine's
GPU.

    python scripts/timing/gate.py --out reports/h200/reliability

A commit's kernel is compared with itself, and with the same kernel plus a few instructions, using
`python -m harness beside git:HEAD --gate`. gate.csv has one row per comparison; existing rows count
towards the total. `kernels`: `equal` or `slower`. `commit`: of the harness. `code`: the exit code,
0 if the gate opens and 1 if it closes. `change`: the ratio of the time to the commit's, minus 1,
with its interval.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import runs

PROBLEM, VARIANT, SIZE = "tail_effect", "v0_equal_blocks", "n=1056*2**15"
EXTRA = 2
"""Rounds added to the kernel's 256 for each element."""
STORE = "            output[i] = y;\n"
MORE = f"""\
            float z = y;
            for (unsigned int round = 0; round < {EXTRA}; round++) z = fmaf(z, 0.5f, x);
            if (__float_as_uint(z) == 0x7fc0beefu) y = z;  // never, which nvcc cannot know
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    table = options.out / "gate.csv"
    rows = runs.earlier(table) if options.backend == "cuda" else []
    today = runs.commit_of_today()
    with tempfile.TemporaryDirectory() as scratch:
        repository = Path(scratch)
        commit(repository, PROBLEM)
        for number, kernels in product(range(options.times), ("equal", "slower")):
            if any(row["number"] == str(number) and row["kernels"] == kernels for row in rows):
                continue
            _write_kernel(repository, is_slower=kernels == "slower")
            found = _compared(repository, options.backend)
            rows.append({"kernels": kernels, "number": str(number), "commit": today, **found})
            if options.backend == "cuda":  # after each, in case the next one fails
                runs.write(table, rows)
            else:
                print(*rows[-1].values(), flush=True)
    opened = sum(row["code"] == "0" for row in rows if row["kernels"] == "equal")
    closed = sum(row["code"] == "1" for row in rows if row["kernels"] == "slower")
    print(f"open for equal kernels: {opened} of {options.times}; "
          f"closed for slower ones: {closed} of {options.times}")  # fmt: skip
    return 0


def commit(repository: Path, problem: str) -> None:
    """Create a separate repository that holds a copy of the problem, and commit it."""
    shutil.copy(runs.ROOT / "bench.yaml", repository)
    for folder in (problem, "common"):
        shutil.copytree(runs.ROOT / "kernels" / folder, repository / "kernels" / folder)
    git = ["git", "-c", "user.name=gate", "-c", "user.email=gate@localhost"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "the kernel as it stands"]):
        subprocess.run([*git, *words], cwd=repository, check=True)


def environment() -> dict[str, str]:
    """Environment variables with which `python -m harness` runs this checkout from any folder."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(runs.ROOT), *sys.path])}


def _write_kernel(repository: Path, is_slower: bool) -> None:
    name = f"{VARIANT}.cu"
    text = (runs.ROOT / "kernels" / PROBLEM / name).read_text()
    if is_slower:
        assert text.count(STORE) == 1
        text = text.replace(STORE, MORE + STORE)
    (repository / "kernels" / PROBLEM / name).write_text(text)


def _compared(repository: Path, backend: str) -> Mapping[str, str]:
    """Make one comparison; return its exit code, and the change of the kernel's cold time."""
    about = repository / "comparison.json"
    about.unlink(missing_ok=True)
    run = repository / "run"
    shutil.rmtree(run, ignore_errors=True)
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "beside", "git:HEAD", "--gate", "--uncommitted",
         "--backend", backend, "--only", f"{PROBLEM}/{VARIANT}", "--size", SIZE,
         "--out", str(run), "--json", str(about)],
        cwd=repository, capture_output=True, text=True,
        env=environment(),
    )  # fmt: skip
    if not about.exists():
        sys.exit(f"the comparison failed\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return {"code": str(ended.returncode), **_change(json.loads(about.read_text()))}


def _change(comparison: Mapping[str, Any]) -> Mapping[str, str]:
    """The change of the kernel's cold time, with its interval; empty cells if there are no
    times."""
    [case] = comparison["cases"]
    ratios = [each["ratio"] for each in case["times"] if each["cache"] == "cold"]
    if not any(ratios):
        return {"change": "", "low": "", "high": ""}
    [ratio] = ratios
    ends = (("change", "value"), ("low", "low"), ("high", "high"))
    return {name: f"{ratio[key] - 1:.5f}" for name, key in ends}


if __name__ == "__main__":
    sys.exit(main())
