"""Run others' programs unmodified, with their kernels in the emulator.

A program is linked with a stand-in for the CUDA runtime (stand_ins/runtime.cpp), which shares
device memory with this process and passes each launch to it. The program's own host code thus makes
all arguments, and its own check verifies the results.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np

from harness.compiler import toolchain
from harness.emulator import EmulatorError, Module, TensorMap, launch, parse
from harness.emulator.sass import MachineCode, launch_machine_code, read
from harness.silicon.tensor_maps import ELEMENTS, FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLES

_STAND_INS: Final = Path(__file__).with_name("stand_ins")
_FIRST, _SPACE, _MARK = 0x510000000000, 1 << 34, 0x50414D524F534E54
_MAP: Final = struct.Struct("<QQ5I5I4Q5B6B")
_MAP_BYTES = 128
_FAILED = 719  # cudaErrorLaunchFailure


@dataclass
class Run:
    """The outcome of running a program."""

    said: str = ""
    status: int = 0
    launches: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    refused: str = ""
    seconds: float = 0
    memory: dict[int, np.ndarray] = field(default_factory=dict)
    last: list[bytes] = field(default_factory=list)


@dataclass(frozen=True)
class Program:
    """A program's file, PTX and machine code."""

    executable: Path
    module: Module
    code: MachineCode


def build(source: Path, folder: Path, include: Sequence[Path], options: Sequence[str]) -> Program:
    """Compile a program, or reuse what is in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = source.stem
    executable = folder / name
    found = toolchain.find()
    if not executable.exists():
        command = [
            str(found.nvcc), "-std=c++17", "-keep", "-c", "-lineinfo", "-arch=sm_90a", "-DNDEBUG",
            "--expt-relaxed-constexpr", *options, *(f"-I{each}" for each in (*include, _STAND_INS)),
            str(source), "-o", f"{name}.o",
        ]  # fmt: skip
        subprocess.run(command, check=True, cwd=folder)
        subprocess.run([str(found.nvcc), "-c", "-std=c++17", str(_STAND_INS / "runtime.cpp"), "-o",
                        "runtime.o"], check=True, cwd=folder)  # fmt: skip
        subprocess.run(["g++", f"{name}.o", "runtime.o", "-o", name], check=True, cwd=folder)
    ptx = (folder / f"{name}.ptx").read_text()
    return Program(executable, parse(ptx), read(next(folder.glob(f"{name}*.cubin"))))


class _Device:
    """The emulator's side of the program: its memory, and its launches."""

    def __init__(self, program: Program, machine_code: bool, checks: bool) -> None:
        self.program, self.machine_code, self.checks = program, machine_code, checks
        self.file = os.memfd_create("device memory")
        os.ftruncate(self.file, _SPACE)
        self.memory = np.frombuffer(mmap.mmap(self.file, _SPACE), np.uint8)
        self.starts: list[int] = []
        self.sizes: list[int] = []
        self.known: set[tuple[Any, ...]] = set()
        self.run = Run()

    def allocated(self, at: int, size: int) -> None:
        self.starts.append(at)
        self.sizes.append(size)
        self.run.memory[at] = self.memory[at : at + size]

    def launched(self, words: list[str], out: TextIO, given: TextIO) -> int:
        kernel, *numbers = words
        grid, block, shared = _three(numbers), _three(numbers[3:]), int(numbers[6])
        cluster = _three(numbers[7:])
        params = self.program.module.kernels[kernel].params
        out.write(" ".join(str(each) for each in (len(params), *(p.size for p in params))) + "\n")
        out.flush()
        raw = [bytes.fromhex(given.readline()) for _ in params]
        key = (kernel, *numbers, *raw)
        if key in self.known:  # a repetition for timing
            return 0
        self.known.add(key)
        self.run.launches.append((kernel, (*grid, *block, shared, *cluster)))
        self.run.last = raw
        before = [(a, s, self.memory[a : a + s].copy())
                  for a, s in zip(self.starts, self.sizes, strict=True)]  # fmt: skip
        extents = cluster if cluster[0] else None
        try:
            faults = self._faults(kernel, grid, block, shared, extents, raw, self.checks)
            if faults and self.checks:
                self.run.faults += faults
                for start, size, was in before:
                    self.memory[start : start + size] = was
                faults = self._faults(kernel, grid, block, shared, extents, raw, False)
                self.run.faults += [f"without checks: {each}" for each in faults]
            elif faults:
                self.run.faults += faults
        except EmulatorError as error:
            self.run.refused = self.run.refused or f"{kernel[:60]}: {error}"
            return _FAILED
        return _FAILED if faults else 0

    def _faults(self, kernel: str, grid: Any, block: Any, shared: int, cluster: Any,
                raw: Sequence[bytes], checks: bool) -> list[str]:  # fmt: skip
        module, code = self.program.module, self.program.code
        arguments = [self._argument(each) for each in raw]
        if self.machine_code:
            said = launch_machine_code(
                code, kernel, grid, block, arguments, shared, signature=module.kernels[kernel],
                ptx=module if checks else None, cluster=cluster,
            ).faults  # fmt: skip
        else:
            said = launch(module, kernel, grid, block, arguments, shared, checks=checks,
                          cluster=cluster).faults  # fmt: skip
        return [f"{Path(each.file).name}:{each.line}: {each.kind}: {each.message}" for each in said]

    def _argument(self, raw: bytes) -> Any:
        """Translate a parameter's bytes: pointers and tensor maps become the objects that they
        refer to."""
        parts: list[Any] = []
        plain, at = bytearray(), 0
        while at < len(raw):
            word = struct.unpack_from("<Q", raw, at)[0] if at + 8 <= len(raw) else 0
            member: Any = None
            if word == _MARK:
                member, size = self._map(raw[at : at + _MAP_BYTES]), _MAP_BYTES
            elif _FIRST <= word < _FIRST + _SPACE:
                member, size = self._array(word - _FIRST), 8
            if member is None:
                plain += raw[at : at + 8]
                at += 8
                continue
            parts += [np.void(bytes(plain)), member] if plain else [member]
            plain, at = bytearray(), at + size
        if not parts:
            return raw
        if len(parts) == 1 and not plain and len(raw) in (8, _MAP_BYTES):
            return parts[0]
        return (*parts, np.void(bytes(plain))) if plain else tuple(parts)

    def _array(self, at: int) -> np.ndarray | None:
        place = bisect_right(self.starts, at) - 1
        if place < 0 or at > self.starts[place] + self.sizes[place]:
            return None
        return self.memory[at : self.starts[place] + self.sizes[place]]

    def _map(self, raw: bytes) -> TensorMap:
        _, address, *numbers = _MAP.unpack_from(raw)
        shape, box, strides, steps = numbers[:5], numbers[5:10], numbers[10:14], numbers[14:19]
        element, rank, swizzle, interleave, fill, l2 = numbers[19:]
        place = bisect_right(self.starts, address - _FIRST) - 1
        start, name = self.starts[place], list(ELEMENTS)[element]
        size = ELEMENTS[name]
        whole = self.memory[start : start + self.sizes[place]]
        dtype = f"<f{size}" if name in ("f64", "f32", "f16") else f"<u{size}"
        return TensorMap(
            whole[: whole.size // size * size].view(dtype), box[:rank], shape[:rank],
            strides[: rank - 1], name, steps[:rank], list(SWIZZLES)[swizzle],
            INTERLEAVES[interleave], FILLS[fill], L2_PROMOTIONS[l2],
            offset=(address - _FIRST - start) // size,
        )  # fmt: skip


def run(program: Program, arguments: Sequence[str], machine_code: bool,
        checks: bool = True) -> Run:  # fmt: skip
    """Run a program to its end."""
    device = _Device(program, machine_code, checks)
    own_in, their_out = os.pipe()
    their_in, own_out = os.pipe()
    environment = os.environ | {
        "EMULATED_MEMORY": str(device.file), "EMULATED_IN": str(their_in),
        "EMULATED_OUT": str(their_out),
    }  # fmt: skip
    begun = sum(os.times()[:2])
    with subprocess.Popen(
        [program.executable, *arguments], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, pass_fds=[device.file, their_in, their_out], text=True,
    ) as process:  # fmt: skip
        os.close(their_in)
        os.close(their_out)
        with os.fdopen(own_in) as given, os.fdopen(own_out, "w") as out:
            for line in given:
                what, *words = line.split()
                if what == "memory":
                    device.allocated(int(words[0]), int(words[1]))
                else:
                    out.write(f"{device.launched(words, out, given)}\n")
                    out.flush()
        device.run.said = re.sub(r"\s+", " ", process.communicate()[0])
        device.run.status = process.returncode
    device.run.seconds = sum(os.times()[:2]) - begun
    os.close(device.file)
    return device.run


def _three(numbers: Sequence[str]) -> tuple[int, int, int]:
    x, y, z = (int(each) for each in numbers[:3])
    return x, y, z
