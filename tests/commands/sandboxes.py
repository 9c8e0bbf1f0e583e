"""Commands that run with a bwrap that records its arguments, or inside a real sandbox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

NOTES = """\
#!{python}
import json, os, resource, signal, sys, time
args = sys.argv[1:]
limits = {{n: resource.getrlimit(getattr(resource, "RLIMIT_" + n))
          for n in ("DATA", "NPROC", "CORE")}}
json.dump({{"args": args, "limits": limits}}, open({notes!r}, "w"))
if {works}:
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
    with os.fdopen(int(args[args.index("--info-fd") + 1]), "w") as about:
        json.dump({{"child-pid": os.getpid()}}, about)
    end = time.monotonic() + {waits}
    while time.monotonic() < end and not stopped:
        time.sleep(0.02)
    sys.exit(130 if stopped else 7)
print("bwrap: no namespaces here", file=sys.stderr)
sys.exit(1)
"""


def stub(programs: Path, folder: Path, works: bool, waits: float) -> None:
    text = NOTES.format(python=sys.executable, notes=str(folder / "notes.json"), works=works,
                        waits=waits)  # fmt: skip
    (programs / "bwrap").write_text(text)
    (programs / "bwrap").chmod(0o755)


def started(folder: Path, path: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def notes(folder: Path) -> tuple[list[str], dict[str, list[int]]]:
    said = json.loads((folder / "notes.json").read_text())
    return said["args"], said["limits"]


def pairs(arguments: list[str], option: str) -> list[tuple[str, str]]:
    return [(arguments[i + 1], arguments[i + 2]) for i, a in enumerate(arguments) if a == option]


def needs_a_sandbox() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("no bwrap on PATH: the sandbox is not tested; apt-get install bubblewrap")
    tried = subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"],
                           capture_output=True, text=True)  # fmt: skip
    if tried.returncode:
        pytest.skip(f"bubblewrap may not make a sandbox here: {tried.stderr.strip()}")


def says(folder: Path, body: str) -> None:
    """Write a problem whose title is the result of code that runs when the problem is imported."""
    problem = folder / "kernels" / "double" / "problem.py"
    text = problem.read_text().replace('title = "output[i] = 2 input[i]"', "title = str(probe())")
    assert "probe()" in text
    indented = "".join(f"    {line}\n" for line in body.strip().splitlines())
    problem.write_text(f"def probe():\n{indented}\n\n{text}")


def sandboxed(folder: Path, *more: str) -> tuple[int, str, str]:
    ended = started(folder, os.environ["PATH"], "run", "--sandbox", "--backend", "emulator",
                    "--quick", *more)  # fmt: skip
    out, err = ended.communicate(timeout=300)
    return ended.returncode, out, err


def title(run: Path) -> str:
    return str(json.loads((run / "run.json").read_text())["problems"]["double"]["title"])
