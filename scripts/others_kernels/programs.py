"""Run other people's programs unmodified, with their kernels in the emulator.

A program is linked with a stand-in for the CUDA runtime (stand_ins/runtime/), which shares device
memory with this process and passes each launch to it. The program's own host code thus prepares all
arguments, and its own check verifies the results. A call that the stand-in does not provide ends
the program with a message that names the call.
"""

from __future__ import annotations

import atexit
import hashlib
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np

from harness import emulator
from harness.compiler import toolchain
from harness.emulator import EmulatorError, Module, TensorMap, launch, parse, sass
from harness.emulator.memory.address_space import SLOT_BITS
from harness.emulator.sass import MachineCode, launch_machine_code, read
from harness.silicon.tensor_maps import ELEMENTS, FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLES

_STAND_INS: Final = Path(__file__).with_name("stand_ins")
_RUNTIME: Final = _STAND_INS / "runtime"
_SPACE, _MARK = 1 << 36, 0x50414D524F534E54
_MAP: Final = struct.Struct("<QQQ5I5I4Q5B6B")
_MAP_BYTES, _PAGE = 128, 4096  # bytes
_FAILED = 719  # cudaErrorLaunchFailure
_ENOUGH = 1000  # a status that ends the program; its results so far are kept
_MISSING = "the stand-in of the runtime has no"


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


def build(source: Path, folder: Path, include: Sequence[Path], options: Sequence[str],
          beside: Sequence[Path] = ()) -> Program:  # fmt: skip
    """Compile a program of one file with kernels, or reuse the files in the folder; link it with
    the stand-in. `beside`: further files, which contain only host code."""
    folder.mkdir(parents=True, exist_ok=True)
    name = source.stem
    nvcc = str(toolchain.find().nvcc)
    if not (folder / f"{name}.o").exists():
        command = [
            nvcc, "-std=c++17", "-keep", "-c", "-lineinfo", "-arch=sm_90a",
            "--expt-relaxed-constexpr", *options, *(f"-I{each}" for each in (*include, _STAND_INS)),
            str(source), "-o", f"{name}.o",
        ]  # fmt: skip
        subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
    executable = folder / name
    newest = max(each.stat().st_mtime for each in _RUNTIME.iterdir())
    if not executable.exists() or executable.stat().st_mtime < newest:
        others = [f"{each.stem}.beside.o" for each in beside]
        for each, made in zip(beside, others, strict=True):
            command = [nvcc, "-std=c++17", "-O3", "-c", *(f"-I{where}" for where in include),
                       str(each), "-o", made]  # fmt: skip
            subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
        _link([f"{name}.o", *others], folder, nvcc)
    ptx = max(folder.glob(f"{name}*.ptx")).read_text()  # sm_90a sorts after sm_90
    return Program(executable, parse(ptx), read(next(folder.glob(f"{name}*.cubin"))))


def _link(objects: Sequence[str], folder: Path, nvcc: str) -> None:
    """Link a program with the stand-in, and with a message for each call that it does not
    provide.
    """
    runtime = [str(each) for each in _runtime(nvcc)]
    own, theirs = (
        subprocess.run(["nm", *each], check=True, cwd=folder, capture_output=True, text=True).stdout
        for each in (objects, runtime)
    )
    wanted = dict.fromkeys(re.findall(r"^ +U ((?:cu|npp|nv|__cuda)\w+)$", own, re.MULTILINE))
    there = set(re.findall(r"^[0-9a-f]+ T (\w+)$", theirs, re.MULTILINE))
    missing = [f'void {each}() {{ puts("{_MISSING} {each}"); fflush(stdout); _exit(4); }}'
               for each in wanted if each not in there]  # fmt: skip
    lines = ["#include <stdio.h>", "#include <unistd.h>", *missing]
    (folder / "missing.c").write_text("\n".join(lines))
    subprocess.run(["gcc", "-w", "-c", "missing.c"], check=True, cwd=folder)
    command = ["g++", *objects, *runtime, "missing.o", "-fopenmp", "-lpthread", "-o",
               Path(objects[0]).stem]  # fmt: skip
    subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)


@cache
def _runtime(nvcc: str) -> list[Path]:
    """Compile the stand-in, once for all programs of this process."""
    folder = Path(tempfile.mkdtemp(prefix="stand-in-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sources = sorted(_RUNTIME.glob("*.cpp"))
    subprocess.run([nvcc, "-c", "-std=c++17", *map(str, sources)], check=True, cwd=folder)
    return [folder / f"{each.stem}.o" for each in sources]


class _Device:
    """The emulator's side of the program: its memory, and its launches."""

    def __init__(
        self, program: Program, machine_code: bool, checks: bool, again: bool, most: int,
        to_first_fault: bool, pages: bool,
    ) -> None:  # fmt: skip
        self.program, self.machine_code, self.checks = program, machine_code, checks
        self.pages = pages
        self.again, self.most, self.to_first_fault = again, most, to_first_fault
        self.file = os.memfd_create("device memory")
        os.ftruncate(self.file, _SPACE)
        self.memory = np.frombuffer(mmap.mmap(self.file, _SPACE), np.uint8)
        self.buffers: list[np.ndarray] = []  # by slot; empty ones are free
        self.whole: list[np.ndarray] = []  # the same, to the end of their last page
        self.written: dict[int, np.ndarray] = {}  # by slot: whether each byte has been written
        self.variables: dict[str, np.ndarray] = {}  # with an address in the program
        self.known: set[tuple[Any, ...]] = set()  # launches that would change nothing
        self.run = Run()

    def answer(self, line: str, out: TextIO, given: TextIO) -> None:
        """Execute the request in a line from the program, and reply if the program is waiting."""
        what, *words = line.split()
        if what == "memory":
            slot, at, size = map(int, words)
            more = [np.empty(0, np.uint8)] * (slot + 1 - len(self.buffers))
            self.buffers, self.whole = self.buffers + more, self.whole + more
            self.run.memory[at] = self.buffers[slot] = self.memory[at : at + size]
            self.whole[slot] = self.memory[at : at + -(-size // _PAGE) * _PAGE]
            if self.to_first_fault:
                self.written[slot] = np.zeros(size, np.bool_)
        elif what == "written":
            self._written(*map(int, words))
        elif what == "free":
            self.buffers[int(words[0])] = self.whole[int(words[0])] = np.empty(0, np.uint8)
            self.written.pop(int(words[0]), None)
        else:
            said: int | str
            if what == "first":
                said = self._first()
            elif what == "sizes":
                params = self.program.module.kernels[words[0]].params
                said = " ".join(str(each) for each in (len(params), *(p.size for p in params)))
            elif what == "variable":
                said = self._variable(words[0], int(words[1]), int(words[2]))
            else:
                said = self._launched(words, given)
            out.write(f"{said}\n")
            out.flush()

    def _written(self, to: int, offset: int, size: int, source: int, start: int) -> None:
        """Record which bytes a write or copy by the program has initialised: all of its bytes,
        except those copied from uninitialised bytes of another allocation."""
        if to in self.written:
            known = self.written[source][start : start + size] if source in self.written else True
            self.written[to][offset : offset + size] = known

    def _first(self) -> int:
        """The address of the first allocation."""
        program = self.program
        if self.machine_code:
            return sass.buffer_address(program.code, 0)
        return emulator.buffer_address(program.module, 0)

    def _variable(self, name: str, at: int, size: int) -> int:
        """Share a variable with the program; return its device address, or 0 if it has none."""
        self.variables[name] = self.memory[at : at + size]
        contents = self._contents(name)
        self.variables[name][: len(contents)] = contents
        known = (sass.variable_addresses(self.program.code) if self.machine_code
                 else emulator.variable_addresses(self.program.module))  # fmt: skip
        return known.get(name, 0)

    def _contents(self, name: str) -> np.ndarray:
        """A variable's contents in the emulator; empty if no kernel uses it."""
        try:
            if self.machine_code:
                return sass.variable(self.program.code, name)
            return emulator.variable(self.program.module, name)
        except EmulatorError:
            return np.empty(0, np.uint8)

    def _all_variables(self) -> list[np.ndarray]:
        """The contents, in the emulator, of all variables that kernels may write."""
        if self.machine_code:
            code = self.program.code
            return [sass.variable(code, name) for name in sass.variable_addresses(code)]
        return list(emulator.variables(self.program.module).values())

    def _digest(self) -> bytes:
        """Return a digest of all memory that kernels can change."""
        digest = hashlib.blake2b()
        for each in (*self.buffers, *self.variables.values(), *self._all_variables()):
            digest.update(each.data)
        return digest.digest()

    def _launched(self, words: list[str], given: TextIO) -> int:
        kernel, *numbers = words
        grid, block, shared = _three(numbers), _three(numbers[3:]), int(numbers[6])
        cluster = _three(numbers[7:])
        raw = [bytes.fromhex(given.readline()) for _ in self.program.module.kernels[kernel].params]
        key = (kernel, *numbers, *raw)
        found = b"" if self.again else self._digest()
        if (*key, found) in self.known:  # repeated for timing, or by a test
            return 0
        if len(self.run.launches) == self.most:
            return _ENOUGH
        self.run.launches.append((kernel, (*grid, *block, shared, *cluster)))
        self.run.last = raw
        shares = [*self.buffers, *self.variables.values(), *self._all_variables()]
        before = [each.copy() for each in shares] if self.checks else []
        extents = cluster if cluster[0] else None
        try:
            faults = self._faults(kernel, grid, block, shared, extents, raw, self.checks)
            if faults and self.checks:
                self.run.faults += faults
                for each, was in zip(shares, before, strict=True):
                    each[:] = was
                faults = self._faults(kernel, grid, block, shared, extents, raw, False)
                self.run.faults += [f"without checks: {each}" for each in faults]
                if self.to_first_fault:
                    return _ENOUGH
            elif faults:
                self.run.faults += faults
            if not (self.again or faults) and self._digest() == found:
                self.known.add((*key, found))
        except EmulatorError as error:
            self.run.refused = self.run.refused or f"{kernel[:60]}: {error}"
            return _ENOUGH if self.to_first_fault else _FAILED
        return _FAILED if faults else 0

    def _faults(self, kernel: str, grid: Any, block: Any, shared: int, cluster: Any,
                raw: Sequence[bytes], checks: bool) -> list[str]:  # fmt: skip
        module, code = self.program.module, self.program.code
        buffers = self.whole if self.pages and not checks else self.buffers
        written = self.written if buffers is self.buffers else None
        arguments = [self._argument(each, buffers) for each in raw]
        for name, held in self.variables.items():
            contents = self._contents(name)
            contents[:] = held[: len(contents)]
        if self.machine_code:
            ran: Any = launch_machine_code(
                code, kernel, grid, block, arguments, shared, signature=module.kernels[kernel],
                ptx=module if checks else None, cluster=cluster, buffers=buffers,
                written_buffers=written,
            )  # fmt: skip
        else:
            ran = launch(
                module, kernel, grid, block, arguments, shared, checks=checks, cluster=cluster,
                buffers=buffers, written_buffers=written,
            )  # fmt: skip
        for name, held in self.variables.items():
            contents = self._contents(name)
            held[: len(contents)] = contents
        return [
            f"{Path(each.file).name}:{each.line}: {each.kind}: {each.message}"
            for each in ran.faults
        ]

    def _argument(self, raw: bytes, buffers: Sequence[np.ndarray]) -> Any:
        """Return a parameter's bytes, with a tensor map in place of the stand-in's placeholder."""
        parts: list[Any] = []
        plain, at = bytearray(), 0
        while at < len(raw):
            word = struct.unpack_from("<Q", raw, at)[0] if at + 8 <= len(raw) else 0
            if word != _MARK:
                plain += raw[at : at + 8]
                at += 8
                continue
            parts += [np.void(bytes(plain))] if plain else []
            parts.append(self._map(raw[at : at + _MAP_BYTES], buffers))
            plain, at = bytearray(), at + _MAP_BYTES
        if not parts:
            return raw
        if len(parts) == 1 and not plain and len(raw) == _MAP_BYTES:
            return parts[0]
        return (*parts, np.void(bytes(plain))) if plain else tuple(parts)

    def _map(self, raw: bytes, buffers: Sequence[np.ndarray]) -> TensorMap:
        _, _, address, *numbers = _MAP.unpack_from(raw)
        shape, box, strides, steps = numbers[:5], numbers[5:10], numbers[10:14], numbers[14:19]
        element, rank, swizzle, interleave, fill, l2 = numbers[19:]
        slot, offset = divmod(address - self._first(), 1 << SLOT_BITS)
        whole, name = buffers[slot], list(ELEMENTS)[element]
        size = ELEMENTS[name]
        dtype = f"<f{size}" if name in ("f64", "f32", "f16") else f"<u{size}"
        return TensorMap(
            whole[: whole.size // size * size].view(dtype), box[:rank], shape[:rank],
            strides[: rank - 1], name, steps[:rank], list(SWIZZLES)[swizzle],
            INTERLEAVES[interleave], FILLS[fill], L2_PROMOTIONS[l2],
            offset=offset // size,
        )  # fmt: skip


def run(program: Program, arguments: Sequence[str], machine_code: bool, checks: bool = True,
        again: bool = False, folder: Path | None = None, multiprocessors: int = 132,
        most: int = sys.maxsize, to_first_fault: bool = False,
        pages: bool = False) -> Run:  # fmt: skip
    """Run a program to its end. `again`: also run launches that repeat an earlier one, which
    changed nothing, with the same arguments and memory; by default, they are skipped.
    `folder`: where it runs, by default where it was built. `multiprocessors`: the number that is
    reported to the program. `most`: the number of launches after which the program ends.
    `to_first_fault`: it ends after the first launch with a fault, and uses of uninitialised device
    memory are also faults. `pages`: without checks, memory extends to the end of an allocation's
    last page, as on a GPU. A page is 2 MiB on a GPU, and 4 KiB here.
    """
    device = _Device(program, machine_code, checks, again, most, to_first_fault, pages)
    own_in, their_out = os.pipe()
    their_in, own_out = os.pipe()
    environment = os.environ | {
        "EMULATED_MEMORY": str(device.file), "EMULATED_IN": str(their_in),
        "EMULATED_OUT": str(their_out), "EMULATED_SMS": str(multiprocessors),
    }  # fmt: skip
    begun = sum(os.times()[:2])
    with subprocess.Popen(
        [program.executable.resolve(), *arguments], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, pass_fds=[device.file, their_in, their_out], text=True,
        cwd=folder or program.executable.parent, errors="replace",
    ) as process:  # fmt: skip
        os.close(their_in)
        os.close(their_out)
        reader = _Reader(process.stdout)
        with os.fdopen(own_in) as given, os.fdopen(own_out, "w") as out:
            for line in given:
                device.answer(line, out, given)
        device.run.said = re.sub(r"\s+", " ", reader.read())
        device.run.status = process.wait()
    missing = re.search(rf"{_MISSING} (\w+)", device.run.said)
    if missing:
        device.run.refused = device.run.refused or missing[0]
    device.run.seconds = sum(os.times()[:2]) - begun
    os.close(device.file)
    return device.run


class _Reader(threading.Thread):
    """A program's output, read while it runs, so that the program never blocks on a full pipe."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(daemon=True)
        self.pipe, self.said = pipe, ""
        self.start()

    def run(self) -> None:
        self.said = self.pipe.read()

    def read(self) -> str:
        self.join()
        return self.said


def _three(numbers: Sequence[str]) -> tuple[int, int, int]:
    x, y, z = (int(each) for each in numbers[:3])
    return x, y, z
