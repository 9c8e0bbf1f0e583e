"""How many kernels of public repositories the emulator takes, and why it refuses the others.

    python scripts/others_kernels/translated.py CHECKOUTS NAME@COMMIT[=FOLDER]... [--page PAGE]

CHECKOUTS holds a folder for each repository, such as `NVIDIA+cuda-samples`; a NAME is one of them,
COMMIT what is there, and FOLDER what of it is tried. The table goes into docs/emulator.md. Every
`.cu` file is compiled to PTX for sm_90; what does not compile by itself, for want of a library or
of a definition that its build gives, is counted and left out. Of the rest every kernel is
translated, which is when an instruction that is not known is refused.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import sections
from sources import STAND_INS

from harness.compiler import toolchain
from harness.emulator import EmulatorError, parse
from harness.emulator.engine.lowering.encode import encode
from harness.emulator.engine.native import loaded
from harness.emulator.program.translate import translate
from harness.emulator.ptx.kernel_names import find_kernel
from harness.emulator.ptx.syntax import Module

ARCH = "sm_90"
SECONDS = 120
SHARED_HEADERS = ("Common", "common/inc", "include", "common", "dev", "llmc", "cuda/common")
"""Where repositories keep what their files include, from their own folder."""


@dataclass
class File:
    """kernels: each with why it was refused, or nothing; None where the file does not compile."""

    path: Path
    kernels: dict[str, str] | None


@dataclass
class Repository:
    name: str
    commit: str
    files: list[File] = field(default_factory=list)

    @property
    def compiled(self) -> list[File]:
        return [file for file in self.files if file.kernels is not None]

    @property
    def reasons(self) -> list[str]:
        """Of every kernel."""
        return [reason for file in self.compiled for reason in (file.kernels or {}).values()]

    def row(self) -> str:
        taken = sum(not reason for reason in self.reasons)
        share = f"{100 * taken / max(1, len(self.reasons)):.1f} %"
        link = f"https://github.com/{self.name}" + (f"/tree/{self.commit}" if self.commit else "")
        return (
            f"| [{self.name}]({link}) | {len(self.files):,} | {len(self.compiled):,} | "
            f"{len(self.reasons):,} | {taken:,} | {share} |"
        )


def translated(path: Path, root: Path, nvcc: str) -> File:
    """One file's kernels."""
    include = [path.parent, path.parent.parent, *(root / each for each in SHARED_HEADERS)]
    include.append(STAND_INS)
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "k.ptx"
        command = [
            nvcc, "-O3", "-std=c++17", f"-arch={ARCH}", "-ptx", "-w", "-lineinfo", "-o", str(ptx),
            "-include", "cstdint", *(f"-I{each}" for each in include if each.is_dir()), str(path),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, cwd=path.parent)
        except subprocess.TimeoutExpired:
            return File(path, None)
        if done.returncode:
            return File(path, None)
        text = ptx.read_text(errors="replace")
    names = re.findall(r"\.entry\s+([\w$]+)", text)
    try:
        module = parse(text)
    except EmulatorError as error:
        return File(path, dict.fromkeys(names, _first_line(error)))
    return File(path, {name: refusal(module, name) for name in dict.fromkeys(names)})


def refusal(module: Module, kernel: str) -> str:
    """Why a kernel is refused; empty where it is not."""
    try:
        encode(translate(module, find_kernel(module, kernel)), loaded())
    except EmulatorError as error:
        return _first_line(error)
    return ""


def _first_line(error: EmulatorError) -> str:
    return str(error).splitlines()[0]


def repository(checkouts: Path, name: str) -> Repository:
    name, _, below = name.partition("=")
    name, _, commit = name.partition("@")
    root = checkouts / name.replace("/", "+")
    files = sorted((root / below).rglob("*.cu"))
    nvcc = toolchain.find().nvcc
    found = Repository(name, commit)
    with ProcessPoolExecutor() as pool:
        found.files = list(pool.map(translated, files, [root] * len(files), [nvcc] * len(files)))
    return found


def section(found: Sequence[Repository]) -> Iterator[str]:
    yield "| repository | files | compile by themselves | kernels | taken | |"
    yield "|---|--:|--:|--:|--:|--:|"
    yield from (each.row() for each in found)
    reasons = Counter(kind(r) for each in found for r in each.reasons if r)
    if reasons:
        yield ""
        yield "Refused, because the emulator"
        yield ""
        yield from (f"- {reason}: {count}" for reason, count in reasons.most_common())


def kind(reason: str) -> str:
    """A reason without the place that it was found at."""
    return reason.partition(": the emulator ")[2].partition("; PTX line")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--page", type=Path, help="write the table between its markers")
    options = parser.parse_args(arguments)
    found = [repository(options.checkouts, name) for name in options.names]
    text = "\n".join(section(found))
    print(text)
    if options.page:
        return sections.keep(options.page, {"translated": text}, False, "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
