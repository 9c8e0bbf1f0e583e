"""One compilation: its files in order, and the options for nvcc."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from harness.cases import Case
from harness.compiler import cache
from harness.compiler.toolchain import Toolchain
from harness.dtypes import BY_NAME
from harness.errors import CompileError, CompilerStopped
from harness.files import python_packages

FLAGS = ("-std=c++17", "-O3", "-lineinfo")
_ENVIRONMENT = (
    "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
)  # fmt: skip
"""The variables from which nvcc and the host compiler take options."""
_TARGET = re.compile(r"^[ \t]*\.target\s+sm_(\d+)([af]?)\b", re.MULTILINE)
_SYMBOL = "harness_kernel_"
_VARIABLE = re.compile(rf"^(?:\.visible )?\.global .* {_SYMBOL}(\d+) = (\S+);\n", re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """One compilation, which several cases of a variant may share."""

    source: Path
    include: tuple[Path, ...]
    defines: tuple[tuple[str, str], ...]
    arch: str
    flags: tuple[str, ...] = ()
    sources: tuple[Path, ...] = ()
    """Additional files, included before the source."""
    names: tuple[str, ...] = ()
    """Kernels given by C++ names, such as `ns::sums<256>`, which are to be instantiated."""
    clusters: tuple[tuple[str, tuple[int, int, int]], ...] = ()
    """Kernels launched in thread block clusters, each with a cluster shape that a launch uses."""

    def options(self) -> list[str]:
        """The options for both compiler steps, except those that choose the output."""
        given = tuple(flag.lstrip("-") for flag in self.flags)
        ours = [flag for flag in FLAGS if not _replaced(flag, given)]
        return [
            *ours, *self.flags, f"-arch={self.arch}",
            *(f"-I{folder}" for folder in self.include),
            *(f"-D{name}={value}" for name, value in self.defines),
        ]  # fmt: skip

    @property
    def is_ptx(self) -> bool:
        """Return whether the source is PTX from another compiler, such as Triton's."""
        return self.source.suffix == ".ptx"

    def assembled_for(self, ptx: str) -> str:
        """The architecture for which to assemble another compiler's PTX. Raises CompileError."""
        match = _TARGET.search(ptx)
        if not match:
            raise CompileError(f"{self.source} is no PTX: it names no .target")
        own, number, suffix = match[0].split()[-1], int(match[1]), match[2]
        ours = int(re.sub(r"\D", "", self.arch))
        if suffix and number == ours:  # its instructions may exist on this architecture only
            return own
        if suffix or number > ours:
            raise CompileError(
                f"{self.source} is PTX for {own}, and this run is for {self.arch}\n"
                f"  compile it for {self.arch}, or run for {own.rstrip('af')}"
            )
        return self.arch

    def key(self, compiler: Toolchain, what: str) -> str:
        """The cache key of the results. Headers are checked separately."""
        try:
            texts = [path.read_bytes().hex() for path in (*self.sources, self.source)]
        except OSError as error:
            raise CompileError(f"{error.filename}: {error.strerror}") from None
        paths = [str(path.resolve()) for path in (*self.sources, self.source)]
        return cache.digest(
            what, *paths, *texts, str(self.include), str(self.defines), self.arch, str(FLAGS),
            str(self.flags), str(self.names), str(self.clusters), compiler.version,
            str([os.environ.get(name) for name in _ENVIRONMENT]),
        )  # fmt: skip

    def file(self, work: Path, more: str = "") -> Path:
        """The file for nvcc to compile: the source, or a generated file that includes it.

        Lines and files in messages, PTX and machine code remain those of the user's own files.
        """
        if not (self.sources or self.names or more):
            return self.source
        lines = [f'#include "{path.resolve()}"' for path in (*self.sources, self.source)]
        # Taking a kernel's address makes the compiler emit the kernel. The variable that holds the
        # address shows which symbol the kernel became, and is then removed from the PTX.
        lines += [
            f'#line 1 "kernel: {name}"\n'
            f'extern "C" __device__ const void* const {_SYMBOL}{index} = '
            f"reinterpret_cast<const void*>(&{name});"
            for index, name in enumerate(self.names)
        ]
        path = work / "unit.cu"
        path.write_text("\n".join([*lines, more, ""]))
        return path

    def take_symbols(self, ptx: Path) -> dict[str, str]:
        """Find the symbols of the names, and remove from the PTX the variables that held them."""
        found: dict[str, str] = {}

        def taken(line: re.Match[str]) -> str:
            found[self.names[int(line[1])]] = line[2]
            return ""

        text = ptx.read_text()
        if self.names:
            ptx.write_text(_VARIABLE.sub(taken, text))
        missing = [name for name in self.names if name not in found]
        if missing:
            raise CompileError(f"nvcc emits no kernel for `{missing[0]}` of {self.source}")
        return found


def unit(case: Case, kernels: Path, arch: str) -> Unit:
    """The unit to compile for a case. `kernels` is the folder that holds all problems."""
    folder = kernels / case.problem
    defines = {"DTYPE": BY_NAME[case.dtype].cpp, **{k: str(v) for k, v in case.defines.items()}}
    names = dict.fromkeys(s.kernel for s in case.steps if "<" in s.kernel or "::" in s.kernel)
    in_clusters = {step.kernel for step in case.steps if step.cluster != (1, 1, 1)}
    clusters = {(s.kernel, s.cluster) for s in case.steps if s.kernel in in_clusters}
    source = _plain(folder / case.source)
    if source.suffix == ".ptx":
        return Unit(source, (), (), arch, clusters=tuple(sorted(clusters)))
    return Unit(
        source,
        (*(_include_folder(kernels, each) for each in case.include), kernels, folder),
        tuple(sorted(defines.items())),
        arch if arch[-1].isalpha() else arch + case.target,
        case.flags,
        tuple(_plain(folder / each) for each in case.sources),
        tuple(names),
        tuple(sorted(clusters)),
    )


def _include_folder(kernels: Path, folder: str) -> Path:
    if not python_packages.is_inside(folder):
        return kernels / folder
    # Cases whose package is missing are skipped, and nothing is compiled for them.
    return python_packages.folder_of(folder) or Path(folder)


def _plain(path: Path) -> Path:
    """Remove the `..` in the path of a source outside the problem's folder."""
    return Path(os.path.normpath(path))


def explained(one: Unit, error: CompileError) -> CompileError:
    """Add advice to nvcc's message for the mistakes that the harness recognises."""
    if isinstance(error, CompilerStopped):
        return error
    text, dtype = str(error), dict(one.defines).get("DTYPE")
    for known in BY_NAME.values():
        if known.cpp == dtype and known.header and f'"{dtype}" is undefined' in text:
            return CompileError(f"{text}\n  write #include <{known.header}> in {one.source.name}")
    return error


def _replaced(flag: str, given: tuple[str, ...]) -> bool:
    """Return whether the user's flags set the C++ standard or the optimisation level themselves."""
    return any(
        flag.lstrip("-").startswith(word) and any(each.startswith(word) for each in given)
        for word in ("std=", "O")
    )
