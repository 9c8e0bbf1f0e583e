"""Count the kernels of public repositories that the emulator accepts; say why it refuses others.

    python scripts/others_kernels/translated.py CHECKOUTS NAME@COMMIT[=FOLDER]... [--page PAGE]

CHECKOUTS holds a folder for each repository, such as `NVIDIA+cuda-samples`; a NAME is one of them,
COMMIT its checked-out commit, and FOLDER the part of the repository to try. The table is written to
docs/emulator.md. Every `.cu` file is compiled to PTX for sm_90; files that do not compile on their
own, because a library or a definition from their build is missing, are counted and left out. For
every other kernel, the PTX and the machine code assembled from it are translated, which is when
unknown instructions are refused.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import sections
from sources import STAND_INS

from harness.compiler import toolchain
from harness.emulator import EmulatorError, parse, sass
from harness.emulator.engine.lowering.encode import encode
from harness.emulator.engine.native import loaded
from harness.emulator.program.translate import translate
from harness.emulator.ptx.kernel_names import find_kernel

ARCH = "sm_90"
SECONDS = 120
SHARED_HEADERS = ("Common", "common/inc", "include", "common", "dev", "llmc", "cuda/common")
"""The folders in which repositories keep headers, relative to their root."""


@dataclass(frozen=True)
class Refused:
    """The reasons why the emulator refuses a kernel's PTX and its machine code; empty if it accepts
    them."""

    ptx: str
    code: str


@dataclass
class File:
    """The kernels of one file; None if the file does not compile."""

    path: Path
    kernels: dict[str, Refused] | None


@dataclass
class Repository:
    name: str
    commit: str
    files: list[File] = field(default_factory=list)

    @property
    def compiled(self) -> list[File]:
        return [file for file in self.files if file.kernels is not None]

    @property
    def kernels(self) -> list[Refused]:
        return [each for file in self.compiled for each in (file.kernels or {}).values()]

    def row(self) -> str:
        found = self.kernels
        taken = [sum(not each.ptx for each in found), sum(not each.code for each in found)]
        cells = [f"{count:,} | {100 * count / max(1, len(found)):.1f} %" for count in taken]
        link = f"https://github.com/{self.name}" + (f"/tree/{self.commit}" if self.commit else "")
        return (
            f"| [{self.name}]({link}) | {len(self.files):,} | {len(self.compiled):,} | "
            f"{len(found):,} | {' | '.join(cells)} |"
        )


def translated(path: Path, root: Path, nvcc: str) -> File:
    """Translate one file's kernels."""
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
        names = dict.fromkeys(re.findall(r"\.entry\s+([\w$]+)", ptx.read_text(errors="replace")))
        from_ptx, from_code = of_ptx(ptx, names), of_code(ptx, names, nvcc)
    return File(path, {name: Refused(from_ptx[name], from_code[name]) for name in names})


def of_ptx(ptx: Path, names: Iterable[str]) -> dict[str, str]:
    """Map each kernel to the reason why its PTX is refused; empty if it is accepted."""
    try:
        module = parse(ptx.read_text(errors="replace"))
    except EmulatorError as error:
        return dict.fromkeys(names, _first_line(error))
    return {
        name: _refusal(lambda name=name: encode(translate(module, find_kernel(module, name)),
                                                loaded()))
        for name in names
    }  # fmt: skip


def of_code(ptx: Path, names: Iterable[str], nvcc: str) -> dict[str, str]:
    """Map each kernel to the reason why its machine code is refused; empty if it is accepted."""
    cubin = ptx.with_suffix(".cubin")
    command = [nvcc, "-cubin", "-w", "-lineinfo", f"-arch={ARCH}", str(ptx), "-o", str(cubin)]
    if subprocess.run(command, capture_output=True).returncode:
        return dict.fromkeys(names, ": the emulator is given PTX that ptxas does not assemble")
    try:
        code = sass.read(cubin)
    except EmulatorError as error:
        return dict.fromkeys(names, _first_line(error))
    return {name: _refusal(lambda name=name: sass.prepare(code, name)) for name in names}


def _refusal(prepare: Callable[[], object]) -> str:
    try:
        prepare()
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
    yield "| repository | files | compile by themselves | kernels | from PTX | | machine code | |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    yield from (each.row() for each in found)
    kernels = [kernel for each in found for kernel in each.kernels]
    if len(found) > 1:
        whole = Repository("", "", [file for each in found for file in each.files])
        yield f"| all |{whole.row().split('|', 2)[2]}"
    for form, reasons in (
        ("from PTX", [each.ptx for each in kernels]),
        ("from machine code", [each.code for each in kernels]),
    ):
        if counted := Counter(kind(reason) for reason in reasons if reason):
            yield ""
            yield f"Refused {form}, because the emulator"
            yield ""
            yield from (f"- {reason}: {count}" for reason, count in counted.most_common())


def kind(reason: str) -> str:
    """Strip a reason of its location and of an instruction's operands."""
    found = reason.partition(": the emulator ")[2] or reason
    found = re.sub(r"(machine instruction `)(@!?U?P\d )?([\w.]+)[^`]*`", r"\1\3`", found)
    found = re.sub(r"^kernel `[^`]*`", "is given a kernel that", found)
    return found.partition("; PTX line")[0].partition(" at 0x")[0]


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
