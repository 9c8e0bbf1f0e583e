"""The environment of a run, for run.json: the conditions of its measurements."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.compiler import toolchain
from harness.files import source_text
from harness.files.git import GIT
from harness.files.python_packages import version_of
from harness.matrix import model
from harness.matrix.files import include_folder
from harness.processes import children

_SUFFIXES = (*source_text.C_SUFFIXES, ".py")
_PACKAGES = ("numpy", "pandas", "pycuda", "torch", "nvidia-ml-py", "cuda-cccl", "torchvision")


def versions() -> dict[str, str]:
    """The versions of Python, the compiler and the packages that affect a result."""
    return {
        "python": platform.python_version(), "nvcc": toolchain.find().version,
        **installed(_PACKAGES),
    }  # fmt: skip


def installed(packages: Sequence[str]) -> dict[str, str]:
    """Map each installed package to its version."""
    return {name: version for name in packages if (version := version_of(name))}


def driver() -> str | None:
    """The NVIDIA driver's version, or None if there is no driver."""
    shown = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return shown.splitlines()[0] if shown else None


def commit() -> dict[str, Any] | None:
    """The checked-out commit's id, and whether files differ from it.

    The variable HARNESS_COMMIT gives the id if the files were copied without their history;
    run.json also has the hash of every source.
    """
    if named := os.environ.get("HARNESS_COMMIT"):
        return {"id": named, "dirty": None}
    head = _output(*GIT, "rev-parse", "HEAD")
    if not head:
        return None
    return {"id": head, "dirty": bool(_output(*GIT, "status", "--porcelain", "-uno"))}


def cores() -> int:
    """The number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def describe() -> dict[str, Any]:
    """The operating system and processor, without the machine's name."""
    return {"system": f"{platform.system()} {platform.release()}", "cpu": _cpu()}


def sources(bench: model.Bench, problems: Sequence[str]) -> dict[str, dict[str, str]]:
    """Hash every file of the problems' folders, common/ and their includes: in the result,
    `sources` maps each file to the SHA-256 of its text, and `code` to the SHA-256 of its code
    without comments."""
    files: dict[str, str] = {}
    code: dict[str, str] = {}
    folders = [bench.kernels / "common", *(bench.kernels / name for name in problems)]
    for name in problems:
        for variant in bench.problems[name].everything():
            found = (include_folder(bench.kernels, name, each) for each in variant.include)
            folders += [folder for folder in found if folder]
    for folder in dict.fromkeys(folders):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                name = str(path.relative_to(bench.kernels))
                content = path.read_bytes()
                files[name] = source_text.sha256(content)
                code[name] = source_text.code_sha256(content, path.suffix)
    return {"sources": files, "code": code}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{len(models)} × {models[0]}" if models else platform.processor()


def _output(*command: str) -> str:
    """A command's output; empty if it is missing or fails."""
    try:
        ended = children.output(command, 30)
    except (OSError, children.LateError):
        return ""
    return ended.out.strip() if ended.code == 0 else ""
