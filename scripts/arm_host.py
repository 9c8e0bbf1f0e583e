"""Emulate on an Arm machine, and compare its results and counts with those of this machine.

The Arm machine is an arm64 Debian 12 in a root folder. QEMU (qemu-user) executes its programs, so
no Arm hardware is needed. The following runs on it:

- Python, and every dependency from PyPI's own aarch64 wheels, which the host unpacks
- the emulator's engines, compiled for aarch64 by g++-aarch64-linux-gnu, which the host mounts
(--native-compiler uses the Arm machine's own g++, which takes an hour under QEMU)
- nvcc and nvdisasm for aarch64, which only print their versions; PTX, cubins and listings come from
this machine, through the compile cache, which is keyed by content
- scripts/emulated_digests.py, on both machines: for each operation and each case, a hash of the
outputs' bits and one of all counters
- with --tests, in place of that script, the tests that start no process (make test ARGS="-m quick")

QEMU does not reproduce how an Arm processor orders memory accesses between threads. Needs root,
debootstrap, qemu-user-static, g++-aarch64-linux-gnu, binfmt_misc, and Debian's mirror and PyPI.

    python3 scripts/arm_host.py [--only PROBLEM]... [--most N] [--no-operations] [--out FOLDER]
    python3 scripts/arm_host.py --tests [--out FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import clean_machines as machines
from clean_machines import ROOT, CannotTry, run, said

FORMATS = Path("/proc/sys/fs/binfmt_misc")
FORMAT = Path("/usr/lib/binfmt.d/qemu-aarch64.conf")
"""The description of the binary format that Debian's qemu-user-static would register."""

CROSS = ("/usr/aarch64-linux-gnu", "/usr/lib/gcc-cross", "/usr/lib/x86_64-linux-gnu", "/lib64")
"""The cross compiler's files, and the libraries it runs with; arm64 libraries are in other
folders."""

CROSS_COMPILER = "/usr/bin/cross-g++"
PLATFORMS = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in range(17, 37)))
"""Platform tags of wheels that run on Debian 12, which has glibc 2.36."""

TEST_TOOLS = (
    "distributed", "httpx2", "hypothesis", "jsonschema", "mcp>=2", "pytest", "pytest-timeout",
    "pytest-xdist", "starlette", "uvicorn",
)  # fmt: skip
"""What the tests need besides the package's own dependencies."""

COLUMNS = ("what", "rows", "same_inputs", "same_outputs", "same_counts")


def main() -> int:
    ask = argparse.ArgumentParser(description="the emulator on an Arm machine, beside this one")
    ask.add_argument("--only", action="append", default=[], help="of the matrix, as everywhere")
    ask.add_argument("--most", type=int, default=0, help="cases of a problem; all if not given")
    ask.add_argument("--bench", action="store_true", help="also at a quick run's size")
    ask.add_argument("--no-operations", action="store_true", help="cases of the matrix only")
    ask.add_argument("--tests", action="store_true", help="only the tests that start no process")
    ask.add_argument("--native-compiler", action="store_true", help="the root's own g++, by QEMU")
    ask.add_argument("--work", type=Path, help="where the root is made, and kept")
    ask.add_argument("--out", type=Path, help="where arm.csv and arm.log are written")
    given = ask.parse_args()
    try:
        check(given.work or Path(tempfile.gettempdir()))
        debian = machines.mirror()
    except CannotTry as error:
        print(f"NOT TRIED: {error}\n  nothing is known of the emulator on an Arm machine")
        return machines.NOT_TRIED
    machines.in_own_mounts()
    work = given.work or Path(tempfile.mkdtemp(prefix="arm-host-"))
    work.mkdir(parents=True, exist_ok=True)
    registered = register()
    try:
        return compared(work, debian, given)
    finally:
        if registered and (FORMATS / "qemu-aarch64").exists():
            (FORMATS / "qemu-aarch64").write_text("-1")
        if not given.work:
            shutil.rmtree(work, ignore_errors=True)


def check(place: Path) -> None:
    """Check that the Arm machine can be set up here. Raises CannotTry if not."""
    machines.check(place)
    for tool, package in (
        ("qemu-aarch64-static", "qemu-user-static"),
        ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"),
    ):
        if not shutil.which(tool):
            raise CannotTry(f"{tool} is not installed (Debian: apt install {package})")
    if not (FORMATS / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "none", FORMATS], check=False)
    if not (FORMATS / "register").exists():
        raise CannotTry("the kernel has no binfmt_misc, by which QEMU executes another's programs")


def register() -> bool:
    """Make Linux run arm64 programs through QEMU; return False if it was already set up."""
    if (FORMATS / "qemu-aarch64").exists():
        return False
    (FORMATS / "register").write_text(FORMAT.read_text().strip())
    return True


def compared(work: Path, debian: str, given: argparse.Namespace) -> int:
    base, repository = work / "arm-base", work / "repo"
    if not (base / "usr/bin/g++").exists():
        said("a clean Debian of arm64 …")
        unpacked(base, debian)
    if repository.exists():
        run("git", "-C", repository, "fetch", "-q", ROOT, "HEAD")
        run("git", "-C", repository, "checkout", "-q", "--detach", "FETCH_HEAD")
    else:
        run("git", "clone", "-q", ROOT, repository)
    said("the wheels of aarch64 …")
    wheels(work / "arm-wheels")
    root = laid_out(base, work)
    about = inside(root, work, "uname -m; python3 -V; $NVCC --version | tail -2; "
                   "$CXX --version | head -1; getconf PAGESIZE", given)  # fmt: skip
    said(about)
    if given.tests:
        return tested(root, work, given)
    asked = [*(word for name in given.only for word in ("--only", name)),
             *(["--most", str(given.most)] if given.most else []),
             *(["--bench"] if given.bench else []),
             *(["--no-operations"] if given.no_operations else [])]  # fmt: skip
    tables, seconds = {}, {}
    for host in ("x86", "arm"):
        said(f"what the emulator computes and counts on {host} …")
        tables[host], begun = work / f"{host}.csv", time.monotonic()
        command = ["scripts/emulated_digests.py", tables[host], *asked]
        if host == "x86":
            natively(repository, command)
        else:
            inside(root, work, " ".join(["python3", *map(str, command)]), given)
        seconds[host] = time.monotonic() - begun
    rows, unlike = beside(*map(read, tables.values()))
    took = ", ".join(f"{host} {spent:.0f} s" for host, spent in seconds.items())
    log = f"{about}{took}\n{table(rows)}" + "".join(f"UNLIKE {line}\n" for line in unlike)
    print(log)
    if given.out:
        machines.write_log(given.out / "arm.log", log)
        write(given.out / "arm.csv", rows)
    return 1 if unlike else 0


def tested(root: Path, work: Path, given: argparse.Namespace) -> int:
    """Run the quick tests on the Arm machine, and keep pytest's last line."""
    tools = work / "arm-test-wheels"
    install(tools, TEST_TOOLS)
    begun = time.monotonic()
    ended = inside(
        root, work,
        f"PYTHONPATH=$PYTHONPATH:{tools} python3 -m pytest -q -n {os.cpu_count()} "
        "-m 'quick and not gpu' -p harness.judge.pytest_plugin -o addopts= --timeout=1200 2>&1 "
        "| tail -60", given,
    )  # fmt: skip
    last = ended.strip().splitlines()[-1]
    log = f"make test ARGS='-m quick' on arm, {time.monotonic() - begun:.0f} s: {last}\n"
    print(ended + log)
    if given.out:
        machines.write_log(given.out / "arm_tests.log", log)
    return 0 if " passed" in last and "failed" not in last else 1


def unpacked(base: Path, debian: str) -> None:
    """Unpack Debian's arm64 packages without configuring them, which would take long under QEMU."""
    part = base.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    run("debootstrap", "--foreign", "--arch=arm64", "--variant=minbase",
        f"--include={machines.PACKAGES}", "bookworm", part, debian)  # fmt: skip
    for package in sorted(part.glob("var/cache/apt/archives/*.deb")):
        # In the root, /bin and /lib are links into /usr; tar must not replace them.
        run("sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar -x --keep-directory-symlink -C "$1"',
            package, part)  # fmt: skip
    part.rename(base)


def wheels(into: Path) -> None:
    """Install every dependency, and NVIDIA's compiler and disassembler, from PyPI's aarch64
    wheels."""
    import tomllib  # Python 3.11 and newer

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["compiler"], *extras["disassembler"]]
    install(into, needed)


def install(into: Path, packages: Sequence[str]) -> None:
    """Install packages from their aarch64 wheels into a folder, unless it is there already."""
    if into.exists():
        return
    run(
        sys.executable, "-m", "pip", "install", "-q", "--target", into.with_suffix(".part"),
        "-c", ROOT / "constraints.txt", "--only-binary=:all:", "--implementation", "cp",
        "--python-version", "3.11",
        *(word for name in PLATFORMS for word in ("--platform", f"{name}_aarch64")),
        *packages,
    )  # fmt: skip
    into.with_suffix(".part").rename(into)


def laid_out(base: Path, work: Path) -> Path:
    """Prepare the root folder; mount this repository, the wheels and, if present, the cross
    compiler in it."""
    root = machines.overlaid(base, work / "arm")
    (work / "arm-engines").mkdir(exist_ok=True)
    bound = {folder: Path(folder).resolve() for folder in (*CROSS, str(work))}
    bound["/root/.cache/kernel-harness"] = work / "arm-engines"
    for place, outside in bound.items():
        there = root / place.lstrip("/")
        there.mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", outside, there)
    # The copy gets another name, because the root has its own compiler.
    own = root / CROSS_COMPILER.lstrip("/")
    # The copy keeps its modification time, by which built engines recognise their compiler.
    shutil.copy2(Path("/usr/bin/aarch64-linux-gnu-g++").resolve(), own)
    return root


def inside(root: Path, work: Path, command: str, given: argparse.Namespace) -> str:
    """Run a command on the Arm machine and return its output; exit if the command fails."""
    site = work / "arm-wheels"
    there = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LANG": "C.UTF-8",
        "PYTHONPATH": f"{work / 'repo'}:{site}", "NVCC": str(only(site, "nvcc")),
        "NVDISASM": str(only(site, "nvdisasm")),
        "CXX": "g++" if given.native_compiler else CROSS_COMPILER,
        # A cross compiler cannot detect the native processor; the last -march option applies. The
        # linker is the machine's own, which cannot load the cross compiler's plugin.
        "CXXFLAGS": "" if given.native_compiler else "-march=armv8.2-a -fno-use-linker-plugin",
    }  # fmt: skip
    ended = subprocess.run(
        ["chroot", root, "sh", "-c", f"cd {work / 'repo'} && {command}"], env=there, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if ended.returncode:
        raise SystemExit(f"on the Arm machine {command} failed\n{ended.stdout[-3000:]}")
    return ended.stdout


def only(site: Path, tool: str) -> Path:
    [found] = sorted(site.glob(f"nvidia/*/bin/{tool}"))
    return found


def natively(repository: Path, command: Sequence[object]) -> None:
    python = ROOT / ".venv/bin/python"
    subprocess.run([python, *map(str, command)], cwd=repository, check=True,
                   env=os.environ | {"PYTHONPATH": str(repository)})  # fmt: skip


Rows = dict[tuple[str, str, int], dict[str, str]]


def read(path: Path) -> Rows:
    """Read a file's rows, keyed by subject, front end and a running number."""
    found: Rows = {}
    seen: Counter[tuple[str, str]] = Counter()
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            key = row["what"], row["front_end"]
            found[(*key, seen[key])] = row
            seen[key] += 1
    return found


def beside(x86: Rows, arm: Rows) -> tuple[list[dict[str, object]], list[str]]:
    """Count, for each problem, the rows that are equal on both machines, and list those that are
    not."""
    found: dict[str, dict[str, object]] = defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    unlike = [f"{' '.join(key[:2])}: only one machine has it" for key in x86.keys() ^ arm.keys()]
    for key in [key for key in x86 if key in arm]:
        name = key[0].partition("/")[0] if "/" in key[0] else "operations"
        row, same = found[name], {}
        row["what"], row["rows"] = name, int(str(row["rows"])) + 1
        for column in ("inputs", "outputs", "counts"):
            same[column] = x86[key][column] == arm[key][column]
            row[f"same_{column}"] = int(str(row[f"same_{column}"])) + same[column]
        if not all(same.values()):
            differ = ", ".join(column for column, is_same in same.items() if not is_same)
            unlike.append(f"{' '.join(key[:2])}: {differ}")
    return list(found.values()), unlike


def table(rows: Sequence[dict[str, object]]) -> str:
    lines = [COLUMNS, *([str(row[column]) for column in COLUMNS] for row in rows)]
    return "".join(f"{line[0]:24}{''.join(f'{cell:>14}' for cell in line[1:])}\n" for line in lines)


def write(path: Path, rows: Sequence[dict[str, object]]) -> None:
    """Write the table; rows that were not compared this time are kept."""
    known: dict[object, dict[str, object]] = {row["what"]: row for row in machines.rows_of(path)}
    rows = list((known | {row["what"]: row for row in rows}).values())
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
