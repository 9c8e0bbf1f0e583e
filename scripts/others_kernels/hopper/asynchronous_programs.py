"""Run other people's programs that use Hopper's asynchronous instructions, as PTX and machine code.

    python scripts/others_kernels/hopper/asynchronous_programs.py CHECKOUTS FOLDER [NAME ...]

CUTLASS's tutorials, examples and unit tests are compiled unmodified and run to completion, with a
stand-in for the CUDA runtime that launches their kernels in the emulator (programs.py). Their own
host code thus creates the tensor maps and arguments. ThunderKittens' attention and DeepGEMM's fp8
product, which need PyTorch on the host, get a host program written here. CHECKOUTS holds the
repositories at the commits below, as `owner+name`; FOLDER gets nvcc's output. Each program is run
with PTX and with machine code, with all checks; a launch that the checks stop is repeated without
them, and with every allocation extended to the end of its last page, as on a GPU. Prints a CSV row
for each.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import cutlass_tests
import deep_gemm
import programs
from programs import Run

COMMITS: Final = {
    "NVIDIA/cutlass": "7107b05535f8977f5ecb9d01ee203205b1fd9bc4",
    "HazyResearch/ThunderKittens": "0b55588d2769dde0c7a9a606ffc015b0ca7a9551",
    "Dao-AILab/flash-attention": "0251105a2fb19d2957484b7f023cd8c115286ced",
    "deepseek-ai/DeepGEMM": "54e22612409371d6364144b69086735beb54e98b",
}
_STAND_INS: Final = Path(__file__).parents[1] / "stand_ins"
_CUTLASS, _KITTENS = "NVIDIA/cutlass", "HazyResearch/ThunderKittens"
_FLASH = "Dao-AILab/flash-attention"
_INCLUDE: Final = {
    _CUTLASS: ("include", "tools/util/include", "examples/common", "test/unit", "test/unit/common"),
    _KITTENS: ("include", "prototype"),
    _FLASH: ("hopper", "../NVIDIA+cutlass/include"),
}


@dataclass(frozen=True)
class Program:
    """`path`: the program's file in its repository. `arguments`: for its command line. `host`: a
    program written here that launches the file's kernels. `until`: the beginning of the file's
    own host code, which is omitted. `check`: a function that checks the arrays, for a program
    without a check of its own. `most`: the number of launches after which the program is ended."""

    name: str
    path: str
    repository: str = _CUTLASS
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    host: str = ""
    until: str = ""
    check: Callable[[Run], bool] | None = None
    most: int = sys.maxsize


def _is_product(run: Run) -> bool:
    """Check the tutorials' result: C = A B^T, where all three matrices hold integers and are
    column-major."""
    m, n, k = _SIZES
    a, b, c = (each.view(np.float16).astype(np.float64) for each in list(run.memory.values())[:3])
    return np.array_equal(c.reshape(n, m), b.reshape(k, n).T @ a.reshape(k, m))


_SIZES = (256, 256, 128)
_TUTORIAL = {"arguments": tuple(str(n) for n in _SIZES), "check": _is_product}
_LAUNCHES = 16  # per matrix-product test, whose first problems are the smallest
_TESTS = "test/unit/cute/hopper"
PROGRAMS: Final = (
    Program("wgmma_sm90", "examples/cute/tutorial/hopper/wgmma_sm90.cu", **_TUTORIAL),
    Program("wgmma_tma_sm90", "examples/cute/tutorial/hopper/wgmma_tma_sm90.cu", **_TUTORIAL),
    Program("48_hopper_warp_specialized_gemm",
            "examples/48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu",
            arguments=("--m=256", "--n=256", "--k=128", "--iterations=0")),
    *(Program(name, f"{_TESTS}/{name}.cu")
      for name in ("bulk_load", "bulk_store", "stsm")),
    Program("mha_h100", "kernels/attention/mha_h100/mha_h100.cu", _KITTENS,
            options=("-std=c++20", "-O3", "--use_fast_math", "--expt-extended-lambda",
                     "-DKITTENS_HOPPER", '-DKERNEL="kernel.cuh"'),
            host="thunderkittens.cu", until="#ifdef TORCH_COMPILE"),
    Program("flash_attention", "hopper/flash_fwd_launch_template.h", _FLASH,
            options=("--expt-extended-lambda", "-O3", "--use_fast_math",
                     "-DCUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED",
                     *(f"-DFLASHATTENTION_DISABLE_{each}" for each in (
                         "LOCAL", "APPENDKV", "VARLEN", "SOFTCAP", "PAGEDKV", "SPLIT", "PACKGQA",
                         "CLUSTER"))),
            host="flash_attention.cu"),
)  # fmt: skip


def _unit_tests(checkouts: Path) -> list[Program]:
    """The CUTLASS unit-test files; one test of each is run."""
    checkout = checkouts / _CUTLASS.replace("/", "+")
    options = ("-DONE_TEST", "-Xcompiler=-O3")
    return [Program(Path(path).stem, path, options=(*options, f"-DWANTED_{test}=1"),
                    most=_LAUNCHES if path.startswith(cutlass_tests.GEMMS) else sys.maxsize)
            for path, test in cutlass_tests.chosen(checkout)]  # fmt: skip


def _built(program: Program, checkouts: Path, folder: Path) -> programs.Program:
    checkout = checkouts / program.repository.replace("/", "+")
    source = checkout / program.path
    own = (folder / program.name).resolve()
    own.mkdir(parents=True, exist_ok=True)
    if program.until:
        (own / "kernel.cuh").write_text(source.read_text().partition(program.until)[0])
    if program.host:
        source = _STAND_INS / program.host
    include = [own, *(checkout / each for each in _INCLUDE[program.repository])]
    return programs.build(source.resolve(), own, include, (*program.options, "-DNDEBUG"))


def _verdict(program: Program, run: Run) -> str:
    if run.refused:
        return f"refused: {re.sub(r'_Z[0-9A-Za-z_]+', '...', run.refused)}"
    failed = run.status or re.search(r"\bline \d+: ", run.said)  # the format of stand_ins/gtest
    right = not failed and (program.check is None or program.check(run))
    if not right and run.faults:
        return f"accused, also without checks: {run.faults[0]}"
    if not right:
        return f"wrong: {run.said[-200:]}"
    accused = [each for each in run.faults if not each.startswith("without checks")]
    return f"accused; right without checks: {accused[0]}" if accused else "right"


def _row(program: Program, checkouts: Path, folder: Path) -> list[object]:
    built = _built(program, checkouts, folder)
    runs = [
        programs.run(built, program.arguments, of_code, most=program.most, pages=True)
        for of_code in (False, True)
    ]
    kernels = {name for name, _ in runs[0].launches if "uninitialized_fill" not in name}
    out: list[object] = [program.repository, program.name, len(kernels)]
    for run in runs:
        out += [_verdict(program, run), len(run.faults), f"{run.seconds:.1f}"]
    first, second = (list(each.memory.values()) for each in runs)
    equal = (
        not any(each.refused for each in runs)
        and len(first) == len(second)
        and all(map(np.array_equal, first, second))
    )
    return [*out, "yes" if equal else "no"]


def main(given: Sequence[str]) -> int:
    """Print the rows."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("checkouts", type=Path)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("names", nargs="*")
    asked = arguments.parse_args(given)
    of_each = ("verdict", "faults", "seconds")
    print("repository,commit,program,kernels,"
          + ",".join(f"{end}_{each}" for end in ("ptx", "code") for each in of_each)
          + ",equal_bits")  # fmt: skip
    for program in (*PROGRAMS, *_unit_tests(asked.checkouts)):
        if not asked.names or program.name in asked.names:
            _print(_row(program, asked.checkouts, asked.folder))
    if not asked.names or deep_gemm.NAME in asked.names:
        checkout = asked.checkouts / deep_gemm.REPOSITORY.replace("/", "+")
        cutlass = asked.checkouts / _CUTLASS.replace("/", "+")
        for row in deep_gemm.rows(checkout, cutlass, asked.folder / deep_gemm.NAME):
            _print(row)
    return 0


def _print(row: Sequence[object]) -> None:
    repository, *others = (str(each).replace(",", ";").replace("\n", " ") for each in row)
    print(repository, COMMITS[repository], *others, sep=",", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
