"""DeepGEMM's matrix product of fp8 with scales, launched as in its own host code.

A has one scale per row for each 128 elements of depth, and B has one per 128 × 128 elements; the
product is in bfloat16. One kernel works on blocks of 64 rows, the other on blocks of 128 with pairs
of thread blocks that share B.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ml_dtypes
import numpy as np

from harness.compiler import toolchain
from harness.emulator import EmulatorError, Fault, Module, TensorMap, launch, parse
from harness.emulator.sass import MachineCode, launch_machine_code, read

REPOSITORY: Final = "deepseek-ai/DeepGEMM"
NAME: Final = "sm90_fp8_gemm_1d2d"
_BLOCK, _SMS, _STAGES, _PRODUCERS = 128, 4, 4, 128
_FURTHEST = 0.004  # relative to the largest value: half a step of bfloat16
_N, _K = 256, 512


@dataclass(frozen=True)
class _Kind:
    """A launch that DeepGEMM's heuristics choose. `rows`: the rows of a block. `shared_by`: the
    number of blocks that share a tile."""

    rows: int
    shared_by: int
    m: int

    @property
    def threads(self) -> int:
        return 2 * self.rows

    def instance(self) -> str:
        return (
            f"sm90_fp8_gemm_1d2d_impl<cute::UMMA::Major::MN, 0, {_N}, {_K}, 1, {self.rows}, "
            f"{_BLOCK}, {_BLOCK}, 128, 128, 128, {_STAGES}, {_PRODUCERS}, {self.threads}, "
            f"{self.shared_by}, false, {_SMS}, GemmType::Normal, cutlass::bfloat16_t, "
            "epilogue::transform::EpilogueIdentity>"
        )

    def shared_bytes(self) -> int:
        def up(size: int, unit: int) -> int:
            return -(-size // unit) * unit

        stage = (self.rows + _BLOCK) * _BLOCK + up(4 * self.rows, 128)
        barriers = 32 * 2 * 8
        return up(2 * self.rows * _BLOCK, 1024) + _STAGES * stage + 4 * _K // _BLOCK + barriers


_KINDS: Final = (_Kind(64, 1, 192), _Kind(128, 2, 512))


def rows(checkout: Path, cutlass: Path, folder: Path) -> Iterator[list[object]]:
    """Yield a row for each kernel."""
    module, code = _compiled(checkout, cutlass, folder)
    for kind in _KINDS:
        # Template arguments of the mangled name: rows, columns and depth of a block.
        part = f"ELj{kind.rows}ELj{_BLOCK}ELj{_BLOCK}ELj128ELj128ELj128ELj{_STAGES}E"
        kernel = next(name for name in code.functions if part in name)
        out: list[object] = [REPOSITORY, f"{NAME} of {kind.rows} rows a block", 1]
        found = []
        for of_code in (False, True):
            begun = time.process_time()
            try:
                faults, got, wanted = _launched(module, code if of_code else None, kernel, kind)
            except EmulatorError as error:
                out += [f"refused: {error}", 0, ""]
                continue
            seconds = time.process_time() - begun
            furthest = np.abs(got.astype(np.float64) - wanted).max() / np.abs(wanted).max()
            verdict = "right" if furthest <= _FURTHEST else f"wrong: {furthest:.2g} of the largest"
            said = f"accused: {faults[0]}" if faults else verdict
            out += [said, len(faults), f"{seconds:.1f}"]
            found.append(got.tobytes())
        yield [*out, "yes" if len(found) == 2 and found[0] == found[1] else "no"]


def _launched(
    module: Module, code: MachineCode | None, kernel: str, kind: _Kind
) -> tuple[list[Fault], np.ndarray, np.ndarray]:
    """Return the faults, the computed product and the expected product."""
    random, groups = np.random.default_rng(1), _K // _BLOCK
    fp8 = ml_dtypes.float8_e4m3fn
    a, b = (random.normal(size=(size, _K)).astype(fp8) for size in (kind.m, _N))
    scales_of_a = random.uniform(0.5, 2, (groups, kind.m)).astype(np.float32)
    scales_of_b = random.uniform(0.5, 2, (groups, _N // _BLOCK)).astype(np.float32)
    scaled_a = a.astype(np.float64) * np.repeat(scales_of_a.T, _BLOCK, 1)
    of_b = np.repeat(np.repeat(scales_of_b.T, _BLOCK, 0), _BLOCK, 1)
    wanted = scaled_a @ (b.astype(np.float64) * of_b).T
    product = np.zeros(wanted.shape, np.uint16)
    tiles = [TensorMap(each.view(np.uint8), [_BLOCK, size], swizzle="128B")
             for each, size in ((a, kind.rows), (b, _BLOCK))]  # fmt: skip
    of_product = TensorMap(product, [64, kind.rows], element="bf16", swizzle="128B")
    arguments: list[Any] = [scales_of_b, 0, kind.m, _N, _K, *tiles, of_product,
                            TensorMap(scales_of_a, [kind.rows, 1])]  # fmt: skip
    shape = (_SMS, _PRODUCERS + kind.threads)
    if code is None:
        faults = launch(module, kernel, *shape, arguments, kind.shared_bytes(),
                        cluster=kind.shared_by).faults  # fmt: skip
    else:
        faults = launch_machine_code(
            code, kernel, *shape, arguments, kind.shared_bytes(), ptx=module,
            signature=module.kernels[kernel], cluster=kind.shared_by,
        ).faults  # fmt: skip
    return list(faults), product.view(ml_dtypes.bfloat16), wanted


def _compiled(checkout: Path, cutlass: Path, folder: Path) -> tuple[Module, MachineCode]:
    folder.mkdir(parents=True, exist_ok=True)
    source, ptx, cubin = (folder / f"instance.{end}" for end in ("cu", "ptx", "cubin"))
    if not cubin.exists():
        taken = "".join(f"    (void)reinterpret_cast<void*>(&{k.instance()});\n" for k in _KINDS)
        source.write_text(
            "#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>\nusing namespace deep_gemm;\n"
            f"static void instances() {{\n{taken}}}\n"
        )
        options = [
            "-std=c++20", "-O3", "-lineinfo", "-arch=sm_90a", "--expt-relaxed-constexpr",
            "--expt-extended-lambda", "--diag-suppress=39,161,174,177,186,940",
            f"-I{checkout / 'deep_gemm/include'}", f"-I{cutlass / 'include'}",
        ]  # fmt: skip
        nvcc = str(toolchain.find().nvcc)
        subprocess.run([nvcc, "-ptx", *options, str(source), "-o", str(ptx)], check=True)
        subprocess.run([nvcc, "-cubin", "-lineinfo", "-arch=sm_90a", str(ptx), "-o", str(cubin)],
                       check=True)  # fmt: skip
    return parse(ptx.read_text()), read(cubin)
