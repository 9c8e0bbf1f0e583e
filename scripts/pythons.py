"""Install the wheel for every Python version that it supports, in an empty environment, and use it
there.

The wheel is built from this checkout. For each Python there is a folder with only a virtual
environment, into which `kernel-harness[compiler]` is installed with its dependencies; then typical
first commands are run in that folder, without a clone: `--version`, `new`, `run`, `beside` and
`compare`, all emulated. The compiler comes from the extra, even if the machine has its own.

The script looks for each Python on PATH and in the folders of pyenv and uv. If neither has it,
Debian forky's is used, in a root folder made by debootstrap; this needs root and permission to
mount. Anything that cannot be tried is reported, has no row, and makes the script exit with 3.

    python3 scripts/pythons.py [--only 3.14]... [--out reports/setup]
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import clean_machines as machines
from clean_machines import NOT_TRIED, ROOT, CannotTry, run, said, yes

from harness.compiler import drivers

sys.path.insert(1, str(ROOT / "scripts" / "pages"))

import sections

PROJECT = ROOT / "pyproject.toml"
VERSIONS = tuple(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT.read_text()))
RELEASE = "forky"
PACKAGES = "git,ca-certificates,g++-15"  # nvcc 13.0 supports no newer GCC
NEW_HEADERS = {"NVCC_APPEND_FLAGS": "-U_GNU_SOURCE"}
"""Forky's C library declares rsqrt differently from the headers of CUDA 13.0; this option
avoids the conflict."""

COMMITTED = ROOT / "reports" / "setup"
TABLE = "pythons.csv"
LOG = "pythons.log"

COMMAND = "env/bin/kernel-harness"
STEPS: Mapping[str, str] = {
    "installs": "env/bin/python -m pip install -q --disable-pip-version-check "
                "'{wheel}[compiler]'",
    "version": f"{COMMAND} --version",
    "new": f"{COMMAND} new doubled",
    "runs": f"{COMMAND} run --backend emulator --quick --out before",
    "beside": "git init -q && git add kernels && "
              "git -c user.name=Somebody -c user.email=somebody@example.org commit -q -m first && "
              "sed -i '1i // An edit.' kernels/doubled/v1_grid_stride.cu && "
              f"{COMMAND} beside git:HEAD --uncommitted --changed-only --backend emulator --quick "
              "--gate --out beside",
    "compares": f"{COMMAND} run --backend emulator --quick --out after && "
                f"{COMMAND} compare before after --gate",
}  # fmt: skip
"""Column → the command that is typed for it. After a failed step, the others are skipped."""

COLUMNS = ("python", "from", *STEPS, "install_s", "seconds", "commit")
"""The columns of the table. commit: the checkout's, with a + if it had changes. seconds: the time
of all steps."""

PAGE = ROOT / "docs" / "commands.md"


@dataclass(frozen=True)
class Place:
    """A Python, and where it runs. `root`: the root folder of another system; empty for this
    one."""

    python: str
    version: str
    root: str = ""

    @property
    def origin(self) -> str:
        return f"Debian {RELEASE}" if self.root else "this machine"

    @property
    def told(self) -> str:
        """Name the Python's origin, and the environment variables that its users also have to
        set."""
        flags = " ".join(f"{name}={value}" for name, value in NEW_HEADERS.items())
        return f"{self.origin}, {flags}" if self.root else self.origin

    def typed(self, folder: Path, line: str) -> tuple[int, str]:
        """Run a command line in a folder of the Python's system; return exit code and output."""
        here = f"/{folder.relative_to(self.root or '/')}"
        into = ["chroot", self.root] if self.root else []
        ended = subprocess.run(
            [*into, "sh", "-c", f"cd '{here}' && {line}"], env=self._environment(folder),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
            check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout.replace(f"{here}/", "")

    def _environment(self, folder: Path) -> dict[str, str]:
        pip = {k: v for k, v in os.environ.items() if k in ("PIP_DEFAULT_TIMEOUT", "PIP_INDEX_URL")}
        there = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8",
                 "HOME": "/root" if self.root else str(Path.home()), "COLUMNS": "100",
                 "PIP_CONFIG_FILE": os.devnull, **pip}  # fmt: skip
        if machines.CERTIFICATES.exists():
            there["PIP_CERT"] = str(machines.CERTIFICATES)
        if self.root:
            there |= NEW_HEADERS
        elif drivers.own("nvcc"):
            there["NVCC"] = str(folder / f"env/lib/python{self.version}/site-packages/nvidia/cu13"
                                         "/bin/nvcc")  # fmt: skip
        return there


def main() -> int:
    ask = argparse.ArgumentParser(description="the wheel with every Python")
    ask.add_argument("--only", action="append", choices=VERSIONS, default=[], help="one Python")
    ask.add_argument("--work", type=Path, help="where folders are made (2 GB each), and kept")
    ask.add_argument("--out", type=Path, help=f"where {TABLE} and {LOG} are written")
    given = ask.parse_args()
    chosen = given.only or VERSIONS
    found = {version: on_this_machine(version) for version in chosen}
    if not all(found.values()) and os.geteuid() == 0:
        machines.in_own_mounts()
    work = given.work or Path(tempfile.mkdtemp(prefix="pythons-"))
    work.mkdir(parents=True, exist_ok=True)
    work = work.resolve()
    untried = failed = False
    try:
        wheel, made_from = built(work), commit()
        for version in chosen:
            try:
                with place_of(version, found[version], work) as place:
                    row, log = tried(place, work, wheel)
                row["commit"] = made_from
            except CannotTry as error:
                said(f"NOT TRIED: Python {version}: {error}")
                untried = True
                continue
            said(", ".join(f"{name} {value}" for name, value in row.items()))
            failed = failed or "no" in row.values()
            if given.out:
                write(given.out, row, log)
                if given.out.resolve() == COMMITTED:
                    sections.keep(PAGE, {"pythons": section(COMMITTED)}, False, "")
    finally:
        if not given.work:
            shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else NOT_TRIED if untried else 0


def on_this_machine(version: str) -> str | None:
    """Find a Python of that version that can make virtual environments; None if there is none."""
    home = Path.home()
    for path in (
        shutil.which(f"python{version}"),
        *sorted(home.glob(f".pyenv/versions/{version}.*/bin/python{version}")),
        *sorted(home.glob(f".local/share/uv/python/cpython-{version}.*/bin/python{version}")),
    ):
        asked = [str(path), "-c", "import ensurepip, sys; print(*sys.version_info[:2], sep='.')"]
        if path and subprocess.run(asked, capture_output=True, text=True).stdout == f"{version}\n":
            return str(path)
    return None


@contextmanager
def place_of(version: str, python: str | None, work: Path) -> Iterator[Place]:
    """The machine's own Python, else Debian's in a separate root folder. Raises CannotTry."""
    if python:
        yield Place(python, version)
        return
    place = in_debian(version, work)
    try:
        yield place
    finally:  # before anything below it is deleted: /dev is this machine's
        for folder in ("dev", "proc", ""):
            run("umount", "-l", Path(place.root, folder))


def in_debian(version: str, work: Path) -> Place:
    """Make the root folder of a Debian with that Python. Raises CannotTry."""
    machines.check(work)
    base = work / RELEASE
    if not (base / f"usr/bin/python{version}").exists():
        said(f"Debian {RELEASE}, for Python {version} …")
        script = next((f"/usr/share/debootstrap/scripts/{name}" for name in (RELEASE, "sid")
                       if Path(f"/usr/share/debootstrap/scripts/{name}").exists()), "")  # fmt: skip
        include = f"{PACKAGES},python{version},python{version}-venv"
        run("debootstrap", "--variant=minbase", f"--include={include}", RELEASE, base,
            machines.mirror(), script)  # fmt: skip
    root = machines.overlaid(base, work / f"{RELEASE}-{version}")
    for tool in ("gcc", "g++"):
        run("ln", "-sf", f"/usr/bin/{tool}-15", root / "usr/local/bin" / tool)
    for file in (Path("/etc/resolv.conf"), Path("/etc/hosts"), machines.CERTIFICATES):
        if file.exists():  # this machine's network settings, with a proxy's certificate
            shutil.copy(file, root / str(file).lstrip("/"))
    return Place(f"/usr/bin/python{version}", version, str(root))


def built(work: Path) -> Path:
    """Build the wheel of this checkout from the files that git tracks."""
    source = work / "source"
    shutil.rmtree(source, ignore_errors=True)
    listed = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard",
                 "harness", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE",
                 "CHANGELOG.md")  # fmt: skip
    for name in filter(None, listed.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", work, source)
    [wheel] = work.glob("*.whl")
    return wheel


def tried(place: Place, work: Path, wheel: Path) -> tuple[dict[str, str], str]:
    """Try one Python; return its row and the complete output."""
    folder = Path(place.root or "/") / str(work).lstrip("/") / f"python-{place.version}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(wheel, folder)
    begun = time.monotonic()
    version = place.typed(folder, f"{place.python} --version")[1].split()[-1]
    code, text = place.typed(folder, f"{place.python} -m venv env")
    ended, logs = {}, [f"# Python {version}, {place.told}\n{text}".rstrip()]
    install_s = 0.0
    for column, typed in STEPS.items() if code == 0 else ():
        line = typed.format(wheel=wheel.name)
        code, text = place.typed(folder, line)
        ended[column] = yes(code == 0)
        logs.append(f"$ {line}\n{text}".rstrip())
        if column == "installs":
            install_s = time.monotonic() - begun
        if code:
            break
    seconds = {"install_s": install_s, "seconds": time.monotonic() - begun}
    row = {"python": version, "from": place.origin, **dict.fromkeys(STEPS, "no"), **ended}
    row |= {name: f"{value:.0f}" for name, value in seconds.items()}
    shutil.rmtree(folder, ignore_errors=True)
    return row, "\n".join(logs)


def commit() -> str:
    changed = run("git", "-C", ROOT, "status", "--porcelain", "--", "harness", "pyproject.toml")
    return run("git", "-C", ROOT, "rev-parse", "--short=10", "HEAD").strip() + "+" * bool(changed)


def section(out: Path) -> str:
    """The table of docs/commands.md."""
    steps = [name for name in STEPS if name != "version"]
    heads = ["Python", "from", *steps, "seconds, of these to install"]
    lines = [heads, ["---", "---", *["---"] * len(steps), "--:"]]
    lines += [
        [row["python"], row["from"], *(row[step] for step in steps),
         f"{row['seconds']}, {row['install_s']}"]
        for row in rows_of(out / TABLE)
    ]  # fmt: skip
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(out: Path, row: dict[str, str], log: str) -> None:
    """Add a Python's row and log to those of the others, replacing its own earlier ones."""
    out.mkdir(parents=True, exist_ok=True)
    table = {minor(row["python"]): row for row in [*rows_of(out / TABLE), row]}
    with (out / TABLE).open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table[version] for version in VERSIONS if version in table)
    kept = (out / LOG).read_text() if (out / LOG).exists() else ""
    parts = {minor(part.split()[2].rstrip(",")): part.rstrip() for part in [*parted(kept), log]}
    ordered = [parts[version] for version in VERSIONS if version in parts]
    (out / LOG).write_text("\n\n".join(ordered) + "\n")


def parted(log: str) -> Iterator[str]:
    """Split a log into one part for each Python."""
    yield from filter(None, re.split(r"^(?=# Python )", log, flags=re.MULTILINE))


def rows_of(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


if __name__ == "__main__":
    sys.exit(main())
