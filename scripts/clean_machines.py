"""Run `make setup` on clean machines that differ in driver and CUDA toolkit; none needs a GPU.

Each machine runs Debian 12 with Python, make, g++ and git. Its root folder is an overlay over one
made by debootstrap, and is deleted after the trial. Stand-ins replace missing components:

- the driver: a libcuda.so.1 that has every name in cuda.h, reports the CUDA release of its machine
  and the names of errors, and returns CUDA_ERROR_NO_DEVICE from all other calls; and an nvidia-smi
  that prints one line
- a toolkit of CUDA 13.0: real, from PyPI's wheels
- a toolkit of CUDA 12.8: its headers are real; its nvcc is a script that prints a release and a
  folder and compiles nothing (PyPI has no nvcc of CUDA 12)
- with --stand-in-torch: an empty wheel of torch, so that its 3 GB are not downloaded. Without this
  option, torch is installed and imported, and gets its own row and log

Needs root, debootstrap, permission to mount, and access to Debian's mirror and to PyPI as
configured here for apt and pip. If mounting is not permitted or debootstrap is missing, the script
says so and exits with 3, without trying anything.

A row of the table has a hash of the files that determine what `make setup` does. While they are
unchanged, --unless-known does not try that machine again.

    python3 scripts/clean_machines.py [--only NAME]... [--stand-in-torch] [--keep] [--out FOLDER]
    python3 scripts/clean_machines.py --only driver-580 --stand-in-torch --setup-only --unless-known
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from stand_ins import (
    HEADERS_12,
    TOOLKIT_13,
    World,
    lay_toolkit,
    run,
    stand_in_torch,
    stub_driver,
)

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "reports/setup/machines.csv"
DECIDE = ("Makefile", "pyproject.toml", "constraints.txt", "scripts/setup.py",
          "scripts/gpu_packages.py", "harness/compiler/drivers.py")  # fmt: skip
PACKAGES = "python3,python3-venv,python3-dev,make,g++,git,ca-certificates"
SHARED = {"root/.cache/pip": "pip", "root/.cache/kernel-harness": "engines", "find": "find"}
"""Folders that all machines share. They hold downloads and the emulator's engines, which the first
machine compiles."""

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
NOT_TRIED = 3
FIRST = "make bench ARGS='--only copy --quick'"
"""The README's first command, shortened. There is a driver and no GPU, so it emulates."""
EMULATE = "make bench ARGS='--backend emulator --only copy --quick'"
TORCH = ".venv/bin/python -c 'import torch; print(torch.__version__)'"
INCLUDED = r"grep -sohE -- '-I\S*(nvidia|cuda)\S*/include' .venv/setup-gpu.log | sort -u | xargs"
TEST = "make test ARGS=tests/scripts/test_setup.py"
REPORT = "make report"
DOCTOR = "COLUMNS=100 .venv/bin/python -m harness doctor"

WORLDS = (
    World("driver-580", "580.95.05", 13000),
    World("driver-535", "535.288.01", 12020, has_pycuda=False),
    World("driver-575", "575.64.05", 12090, has_pycuda=False),
    World("driver-535-toolkit-12", "535.288.01", 12020, "12.8"),
    World("driver-580-toolkit-off-path", "580.95.05", 13000, "13.0"),
    World("driver-580-nvcc-wrapped", "580.95.05", 13000, "13.0", wrapped=True),
    World("no-driver", has_pycuda=False),
)
"""The machines to try. Driver 580 supports CUDA 13.0, 575 12.9, and 535 12.2 (CUDA Toolkit
Release Notes, table of drivers)."""

COLUMNS = ("machine", "driver", "toolkit", "torch", "seconds", "processor_s", "exit", "pycuda",
           "built_against", "first", "emulates", "reports", "tests", "as_expected",
           "files")  # fmt: skip
"""The columns of the table. first: how FIRST ended. torch: the stand-in, or the version that was
installed and imported."""


class CannotTry(Exception):
    """Raised if this machine cannot create the root folder of another machine."""


def main() -> int:
    ask = argparse.ArgumentParser(description="make setup in clean machines")
    ask.add_argument("--only", action="append", choices=[w.name for w in WORLDS], default=[])
    ask.add_argument("--stand-in-torch", action="store_true", help="an empty wheel for torch")
    ask.add_argument("--keep", action="store_true", help="keep the roots")
    ask.add_argument("--work", type=Path, help="where the roots are made (25 GB with torch)")
    ask.add_argument("--out", type=Path, help="where machines.csv and the logs are written")
    ask.add_argument("--setup-only", action="store_true",
                     help="emulate and test nothing there")  # fmt: skip
    ask.add_argument("--unless-known", action="store_true",
                     help="leave out what the committed table has for today's files")  # fmt: skip
    given = ask.parse_args()
    chosen = [world for world in WORLDS if not given.only or world.name in given.only]
    if given.unless_known:
        chosen = [world for world in chosen if not is_known(world)]
        if not chosen:
            return 0
    try:
        check(given.work or Path(tempfile.gettempdir()))
        debian = mirror()
    except CannotTry as error:
        print(f"NOT TRIED: {error}\n  nothing is known of `make setup` on a clean machine")
        return NOT_TRIED
    in_own_mounts()
    work = given.work or Path(tempfile.mkdtemp(prefix="clean-machines-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        rows = list(tried(chosen, work, debian, given))
    finally:
        if not given.keep:
            shutil.rmtree(work, ignore_errors=True)
    return 0 if all(row["as_expected"] == "yes" for row in rows) else 1


def in_own_mounts() -> None:
    """Continue in a private mount namespace that ends with this process."""
    if "IN_OWN_MOUNTS" not in os.environ:
        os.environ["IN_OWN_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])


def is_known(world: World) -> bool:
    """Return whether the machine already met expectations with the current versions of the files
    that determine the result; print a line if so."""
    tried = [row for row in rows_of(TABLE) if row["machine"] == world.name]
    if ("yes", digest_of_files()) not in [(row["as_expected"], row["files"]) for row in tried]:
        return False
    said(f"{world.name}: tried with these very files before ({TABLE.relative_to(ROOT)})")
    return True


def digest_of_files() -> str:
    return hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in DECIDE)).hexdigest()[:16]


def check(place: Path) -> None:
    """Check that root folders can be made in a given folder. Raises CannotTry."""
    if os.geteuid() != 0:
        raise CannotTry("only root can make the root folder of another machine")
    if not shutil.which("debootstrap"):
        raise CannotTry("debootstrap is not installed (Debian: apt install debootstrap)")
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as folder:
        mounts = "mkdir u w m && mount -t overlay none -o lowerdir=/etc,upperdir=u,workdir=w m"
        may = subprocess.run(
            ["unshare", "--mount", "sh", "-c", f"{mounts} && chroot / true"],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if may.returncode:
        raise CannotTry(f"overlays cannot be mounted in {place}: {may.stderr.strip()}")


def tried(
    worlds: Sequence[World], work: Path, debian: str, given: argparse.Namespace
) -> Iterator[dict[str, str]]:
    """Run every step on each machine, and yield its row of the table."""
    base = work / "base"
    if not (base / "usr/bin/g++").exists():
        said("a clean Debian …")
        run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", base, debian)
    said("the wheels that its toolkits and its driver are made of …")
    for wheel in (*TOOLKIT_13, *HEADERS_12):
        run(
            sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", work / "wheels", wheel
        )
    if given.stand_in_torch:
        stand_in_torch(work / "find")
    for world in worlds:
        said(f"{world.name} …")
        root = laid_out(world, work)
        row, log = set_up(world, root, given.stand_in_torch, given.setup_only)
        if given.out:
            write_log(
                given.out / f"{world.name}{'' if given.stand_in_torch else '-torch'}.log", log
            )
            write(given.out / "machines.csv", [row])
        print("\n".join(f"  {line}" for line in log.splitlines()))
        said(f"{world.name}: " + ", ".join(f"{k} {row[k]}" for k in COLUMNS[4:]))
        for folder in (*SHARED, "dev", "proc", ""):
            subprocess.run(["umount", "-l", root / folder], check=False, capture_output=True)
        shutil.rmtree(work / world.name, ignore_errors=True)
        yield row


def mirror() -> str:
    """Return the Debian mirror that apt uses on this machine. Raises CannotTry."""
    sites = run("apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN) $(CODENAME)")
    found = re.search(r"^(\S+) Debian bookworm$", sites, re.MULTILINE)
    if not found:
        raise CannotTry("apt names no mirror of Debian bookworm here (try apt-get update)")
    return found[1]


def laid_out(world: World, work: Path) -> Path:
    """Make the root folder of a machine, with everything mounted."""
    root = overlaid(work / "base", work / world.name)
    for inside, outside in SHARED.items():
        for folder in (root / inside, work / outside):
            folder.mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", work / outside, root / inside)
    for file in (Path("/etc/resolv.conf"), Path("/etc/hosts"), CERTIFICATES):
        if file.exists():  # this machine's network settings, with a proxy's certificate
            shutil.copy(file, root / str(file).lstrip("/"))
    run("git", "clone", "-q", ROOT, root / "repo")
    if world.driver:
        stub_driver(world, root, work / "wheels")
    if world.toolkit:
        lay_toolkit(world, root, work / "wheels")
    return root


def overlaid(base: Path, own: Path) -> Path:
    """Mount a root folder over an unchanged base, with /proc and /dev."""
    root = own / "root"
    for folder in (root, own / "upper", own / "work"):
        folder.mkdir(parents=True, exist_ok=True)
    over = f"lowerdir={base},upperdir={own / 'upper'},workdir={own / 'work'}"
    run("mount", "-t", "overlay", "none", "-o", over, root)
    run("mount", "-t", "proc", "proc", root / "proc")
    run("mount", "--rbind", "/dev", root / "dev")
    return root


def set_up(
    world: World, root: Path, stands_in: bool, setup_only: bool
) -> tuple[dict[str, str], str]:
    """Run a user's first commands; return the row of the table, and the output."""
    begun, spent = time.monotonic(), processor_seconds()
    code, log = inside(root, "make setup", stands_in)
    seconds, spent = time.monotonic() - begun, processor_seconds() - spent
    again = inside(root, "make setup", stands_in)[1]
    loads, how = inside(root, ".venv/bin/python -c 'import pycuda.driver'", stands_in)
    pycuda = "imports" if not loads else (how.strip().splitlines() or ["?"])[-1]
    against = inside(root, INCLUDED, stands_in)[1].strip()
    parts = {"make setup": log, "make setup, again": again, "import pycuda.driver": how}
    expected = code == 0 and world.has_pycuda is (loads == 0)
    torch = "stand-in" if stands_in else "none"
    if not stands_in and world.has_pycuda:
        failed, parts[TORCH] = inside(root, TORCH, stands_in)
        torch = (parts[TORCH].strip().splitlines() or ["?"])[-1]
        expected = expected and failed == 0
    ended = dict.fromkeys((FIRST, EMULATE, REPORT, TEST), "–")
    for command in () if setup_only else (DOCTOR, FIRST, EMULATE, REPORT, TEST):
        failed, text = inside(root, command, stands_in)
        parts[command] = text if command in (DOCTOR, FIRST) else "\n".join(text.splitlines()[-12:])
        ended[command] = yes(failed == 0)
        # The stand-in for nvcc 12.8 compiles nothing, so there is nothing to emulate.
        expected = expected and (failed == 0 or world.toolkit == "12.8")
    row = dict(zip(COLUMNS, (
        world.name, world.driver or "none", world.toolkit or "none", torch, f"{seconds:.0f}",
        f"{spent:.0f}", str(code), pycuda, against or "–", ended[FIRST], ended[EMULATE],
        ended[REPORT], ended[TEST], yes(expected), digest_of_files(),
    ), strict=True))  # fmt: skip
    return row, "".join(f"$ {command}\n{text.rstrip()}\n" for command, text in parts.items())


def inside(root: Path, command: str, stands_in: bool) -> tuple[int, str]:
    """Run a command in that machine's copy of the repository; return its exit code and output."""
    pip = {k: v for k, v in os.environ.items() if k in ("PIP_DEFAULT_TIMEOUT", "PIP_INDEX_URL")}
    there = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", **pip,
             "PIP_CERT": str(CERTIFICATES), "LANG": "C.UTF-8"}  # fmt: skip
    if stands_in:
        there["PIP_FIND_LINKS"] = "/find"
    ended = subprocess.run(
        ["chroot", root, "sh", "-c", f"cd /repo && {command}"],
        env=there, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        text=True, check=False,
    )  # fmt: skip
    return ended.returncode, ended.stdout


def write(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write the table; rows of machines that were not tried this time are kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {(row["machine"], row["torch"] == "stand-in"): row for row in [*rows_of(path), *rows]}
    kept = [(world.name, stands_in) for world in WORLDS for stands_in in (True, False)]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="–", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table[key] for key in kept if key in table)


def rows_of(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_log(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def processor_seconds() -> float:
    """The processor time of all finished child processes."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def said(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
