"""Nsight Compute's command line: where it is, which counters it offers on this machine, and how to
start it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.ncu import ranges
from harness.ncu.failures import Failure
from harness.processes import children

CacheControl = Literal["all", "none"]
ClockControl = Literal["none", "base"]

_ANSWER_S = 120
"""Deadline in seconds for ncu to answer a query that launches nothing."""

_INSTALLED = ("/usr/local/cuda*/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")


@dataclass(frozen=True)
class Ncu:
    """A working ncu: its path, its version such as "2025.3.1.0", and where it was configured."""

    path: str
    version: str
    found_in: str


@dataclass(frozen=True)
class Available:
    """The base names of a GPU's counters; `chip` is ncu's name for the GPU."""

    chip: str
    names: frozenset[str]


@dataclass(frozen=True)
class Settings:
    """ncu's measurement settings.

    `cache`: "all" flushes the caches before every pass, as for a cold launch; "none" leaves them.
    `clock`: "none" leaves the clocks as they are, as in timing; "base" locks them.
    """

    cache: CacheControl = "all"
    clock: ClockControl = "none"


def find(named: str | None = None) -> Ncu | Failure:
    """Find the ncu to use: the named one, or else one found in NCU, PATH, CUDA_HOME or the usual
    folders."""
    for name, where in _candidates(named):
        path = shutil.which(name)
        if path:
            return _asked(path, where)
        if where in ("--ncu", "NCU"):
            return Failure("absent", f"{where} names {name}, which is not a program")
    return Failure(
        "absent",
        "Nsight Compute is not installed: no ncu on PATH, in CUDA_HOME or in /opt/nvidia\n"
        "  install it (it comes with the CUDA toolkit), or name it with --ncu PATH",
    )


def _candidates(named: str | None) -> Iterator[tuple[str, str]]:
    if named:
        yield named, "--ncu"
    if variable := os.environ.get("NCU"):
        yield variable, "NCU"
    yield "ncu", "PATH"
    for home in filter(None, (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"))):
        yield str(Path(home) / "bin" / "ncu"), "CUDA_HOME"
        for folder in _newest_first(Path(home), "nsight-compute*/ncu"):
            yield folder, "CUDA_HOME"
    for pattern in _INSTALLED:
        for path in _newest_first(Path("/"), pattern.lstrip("/")):
            yield path, "the usual folders"


def _newest_first(root: Path, pattern: str) -> list[str]:
    """Matches of a pattern, highest version number first."""
    return sorted(
        map(str, root.glob(pattern)),
        key=lambda path: [int(number) for number in re.findall(r"\d+", path)],
        reverse=True,
    )


def _asked(path: str, where: str) -> Ncu | Failure:
    said = _output([path, "--version"])
    if isinstance(said, Failure):
        return said
    version = re.search(r"Version (\d+(?:\.\d+)+)", said)
    if not version:
        return Failure("broken", f"{path} --version does not tell a version: {said[:200].strip()}")
    return Ncu(path, version[1], where)


def query(ncu: Ncu, chip: str | None = None) -> Available | Failure:
    """The metrics that can be collected on the first GPU or, without a GPU, on a chip such as
    "gh100"."""
    which = ["--chips", chip] if chip else ["--devices", "0"]
    said = _output([ncu.path, "--query-metrics", *which])
    if isinstance(said, Failure):
        return said
    return listed(said) or Failure("broken", f"{ncu.path} --query-metrics lists no counter")


def listed(said: str) -> Available | None:
    """Parse the output of `ncu --query-metrics`: a table whose first column is a counter's base
    name."""
    names = re.findall(r"^([\w.]+__\w+) +(?:Counter|Ratio|Throughput)\b", said, re.MULTILINE)
    heading = re.search(r"^(?:Chip|Device) (.+)$", said, re.MULTILINE)
    return (
        Available(heading[1].strip() if heading else "this GPU", frozenset(names))
        if names
        else None
    )


def _output(command: Sequence[str]) -> str | Failure:
    """A command's output, or the reason why there is none."""
    try:
        ended = children.output(command, _ANSWER_S)
    except children.LateError:
        return Failure("broken", f"{' '.join(command)} did not answer within {_ANSWER_S} s")
    except OSError as error:
        return Failure("broken", f"{command[0]} does not run: {error.strerror}")
    if ended.code:
        said = (ended.err + ended.out).strip()[-400:]
        return Failure("broken", f"{' '.join(command)}: exit code {ended.code}: {said}")
    return ended.out


def command(
    ncu: Ncu, metrics: Sequence[str], report: Path, settings: Settings, program: Sequence[str]
) -> list[str]:
    """The command that profiles a program's launches inside the harness's NVTX ranges into a
    report.

    Both controls are given even if they are ncu's defaults, so that the command, which the report
    keeps, describes the measurement completely. Kernel replay repeats each launch for as many
    passes as the metrics need, with memory restored in between.
    """
    return [
        ncu.path,
        "--clock-control", settings.clock,
        "--cache-control", settings.cache,
        "--replay-mode", "kernel",
        "--target-processes", "all",
        "--nvtx",
        "--nvtx-include", ranges.INCLUDE,
        "--metrics", ",".join(metrics),
        "--export", str(report),
        "--force-overwrite",
        *program,
    ]  # fmt: skip
