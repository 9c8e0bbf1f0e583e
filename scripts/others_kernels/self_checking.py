"""Run other people's programs that check their own results, with their kernels in the emulator.

    python scripts/others_kernels/self_checking.py CHECKOUTS FOLDER [NAME ...]

program_lists/ names the programs. They are compiled unmodified and run from PTX and from machine
code, with a stand-in for the CUDA runtime (programs.py). CHECKOUTS holds the repositories at the
commits of the lists, as `owner+name`; FOLDER gets nvcc's output. The verdicts go to
reports/emulated/self_checking.csv, one row per program; a run of some programs keeps the other
rows. scripts/readings/programs_table.py makes a table of them.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import multiprocessing
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import programs

from harness.emulator import engine, sass

ROOT: Final = Path(__file__).resolve().parents[2]
LISTS: Final = Path(__file__).with_name("program_lists")
TABLE: Final = ROOT / "reports" / "emulated" / "self_checking.csv"
ENDS: Final = {"ptx": "PTX", "code": "machine code"}
HEAD: Final = ("repository", "program", "arguments", *(f"{end}{what}" for end in ENDS
               for what in ("", "_launches", "_seconds")))  # fmt: skip
MULTIPROCESSORS: Final = 4
"""The number of multiprocessors that is reported to a program, which may choose a grid that fits on
all of them at once."""

_UNFINISHED: Final = ("unfinished", "", "")
_PATIENCE: Final = 10
"""The wall-clock limit of a run, as a multiple of its processor-time limit."""

Row = Mapping[str, str]
_KEYS: Final = {"path", "file", "folder", "passed", "failed", "beside", "include", "own_options",
                "arguments", "judgement", "reason", "not_run"}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A program. `beside`: its files that contain only host code. `passed`, `failed`: regular
    expressions for its statements about its own results. `arguments`: {source} stands for the
    folder of its file. `judgement`: `program` if its own fault is why it is not correct with
    both front ends, `emulator` otherwise. `reason`: an explanation. `not_run`: why it is
    omitted."""

    name: str
    repository: str
    commit: str
    path: str
    passed: str
    failed: str = ""
    beside: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    judgement: str = ""
    reason: str = ""
    not_run: str = ""


def read() -> list[Program]:
    """Read the lists. Raises KeyError for an unknown key."""
    found = []
    for path in sorted(LISTS.glob("*.yaml")):
        group = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, given in group["programs"].items():
            if unknown := set(given or {}) - _KEYS:
                raise KeyError(f"{path.name}: {name}: {', '.join(sorted(unknown))}")
            every = group | (given or {})
            place = {"name": name, "file": every.get("file", f"{name}.cu"),
                     "folder": every.get("folder", name)}  # fmt: skip
            found.append(Program(
                name, group["repository"], group["commit"], every["path"].format(**place),
                every["passed"], every.get("failed", ""), tuple(every.get("beside", ())),
                tuple(each.format(**place) for each in every.get("include", ())),
                (*group.get("options", ()), *shlex.split(every.get("own_options", ""))),
                tuple(shlex.split(str(every.get("arguments", "")))),
                every.get("judgement", ""), every.get("reason", ""), every.get("not_run", ""),
            ))  # fmt: skip
    return found


def rows(path: Path = TABLE) -> dict[tuple[str, str], Row]:
    """Read the verdicts, by repository and program."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {(each["repository"], each["program"]): each for each in csv.DictReader(file)}


def keep(row: Row, path: Path = TABLE) -> None:
    """Replace or add a row. Rows are in the order of the lists, and have the lists' arguments; rows
    of programs that the lists no longer name are removed.
    """
    held = {**rows(path), (row["repository"], row["program"]): row}
    order = {(each.repository, each.name): " ".join(each.arguments) for each in read()}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**held[each], "arguments": given} for each, given in order.items()
                         if each in held)  # fmt: skip


def run(program: Program, checkouts: Path, folder: Path, seconds: int) -> Row:
    """Compile a program, and run it from PTX and from machine code."""
    row = {"repository": program.repository, "program": program.name}
    if program.not_run:
        return row | dict.fromkeys(ENDS, f"not run: {program.not_run}")
    checkout = checkouts / program.repository.replace("/", "+")
    source = (checkout / program.path).resolve()
    include = [source.parent, *(checkout / each for each in program.include)]
    try:
        beside = [source.parent / each for each in program.beside]
        built = programs.build(source, folder.resolve(), include, program.options, beside)
    except subprocess.CalledProcessError as error:
        said = [line for line in (error.stderr or "").splitlines()
                if "error" in line.lower() or "undefined" in line]  # fmt: skip
        return row | dict.fromkeys(ENDS, f"not compiled: {_plain(said[0]) if said else error}")
    link = folder / "data"
    if (source.parent / "data").is_dir() and not link.is_symlink():
        link.symlink_to(source.parent / "data")  # where cuda-samples' programs look for it
    for end in ENDS:
        verdict, launches, took = _within(seconds, built, program, end == "code", source.parent,
                                          folder)  # fmt: skip
        row |= {end: verdict, f"{end}_launches": launches, f"{end}_seconds": took}
    return row


def _within(seconds: int, built: programs.Program, program: Program, machine_code: bool,
            data: Path, folder: Path) -> tuple[str, str, str]:  # fmt: skip
    """Return the verdict of a run in a process of its own, which is ended after this many seconds
    of processor time; also return the number of launches and the seconds used.
    """
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    process = fork.Process(target=_run, args=(sender, seconds, built, program, machine_code, data,
                                              folder))  # fmt: skip
    process.start()
    sender.close()
    try:
        said = receiver.recv() if receiver.poll(_PATIENCE * seconds) else _UNFINISHED
    except EOFError:
        said = _UNFINISHED
    if said == _UNFINISHED:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.join()
    return said


def _run(sender: Any, seconds: int, built: programs.Program, program: Program,
         machine_code: bool, data: Path, folder: Path) -> None:  # fmt: skip
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    try:
        arguments = [each.format(source=data) for each in program.arguments]
        done = programs.run(built, arguments, machine_code, again=True, folder=folder,
                            multiprocessors=MULTIPROCESSORS)  # fmt: skip
        sender.send((verdict(program, done), f"{len(done.launches)}", f"{done.seconds:.1f}"))
    except Exception as error:  # a bug in the emulator, which belongs in the table
        sender.send((f"wrong: {type(error).__name__}: {_plain(str(error))}", "", ""))


def verdict(program: Program, run: programs.Run) -> str:
    """Say whether a run is correct according to the program's own check or, if not, what refused it
    or which fault was reported.
    """
    if run.refused:
        return f"refused: {_plain(run.refused)}"
    passed = re.search(program.passed, run.said) is not None
    failed = bool(program.failed) and re.search(program.failed, run.said) is not None
    right = passed and not failed and run.status == 0 and bool(run.launches)
    accused = [each for each in run.faults if not each.startswith("without checks")]
    if accused:
        return f"accused ({'passed' if right else 'failed'}): {_plain(accused[0])}"
    return "right" if right else f"wrong: exit {run.status}: {_plain(run.said[-160:])}"


def _plain(text: str) -> str:
    """Format a message as a cell of a table."""
    text = re.sub(r"_Z[0-9A-Za-z_]+", "...", text).replace("|", "/")
    text = re.sub(r"(/[\w.+-]+){2,}/", ".../", text)
    return re.sub(r"\s+", " ", text)[:240].strip()


def main(given: Sequence[str]) -> int:
    """Run the programs and keep their verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument(
        "--seconds", type=int, default=60, help="the most for one run, of processor time"
    )
    parser.add_argument("--table", type=Path, default=TABLE)
    asked = parser.parse_args(given)
    for library in (engine.library, sass.library):
        library.load()  # compiled here, so that it does not count towards a run's limit
    for program in read():
        if asked.names and program.name not in asked.names:
            continue
        own = asked.folder / program.repository.replace("/", "+") / program.name
        own.mkdir(parents=True, exist_ok=True)
        row = run(program, asked.checkouts, own, asked.seconds)
        keep(row, asked.table)
        print(program.name, row["ptx"], row["code"], sep="\n    ", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
