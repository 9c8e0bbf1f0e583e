"""Give the emulator broken cubins and nvdisasm listings: each has to run or be refused with an
error of the emulator's own.

    python scripts/fuzzing/fuzz_machine_code.py --inputs 100000           # every target
    python scripts/fuzzing/fuzz_machine_code.py --inputs 1000 listing sm_120-listing

The script uses scripts/fuzz.py and has the same options. In the target `cubin`, bytes of a cubin
are changed, and the cubin is read with the listing of the original, without running nvdisasm. In
the target `listing`, instructions are changed; if the result can still be read, it is executed, on
arrays of known size and with a small budget of instructions. Both targets have code for sm_90, or
for the architecture in their name; the code for sm_90a uses TMA copies, bulk copies, mbarriers and
a cluster.
"""

from __future__ import annotations

import functools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import fuzz
from asynchronous_kernels import EXCHANGE
from mutations import mutated, word_elsewhere

from harness.compiler import toolchain
from harness.emulator import TensorMap
from harness.emulator.errors import EmulatorError
from harness.emulator.sass.code import MachineCode
from harness.emulator.sass.cubin import disassembler, elf
from harness.emulator.sass.cubin.disassembler import Disassembler
from harness.emulator.sass.cubin.read import joined
from harness.emulator.sass.errors import CubinError
from harness.emulator.sass.launch import launch_machine_code
from harness.emulator.sass.library import load

_ASYNCHRONOUS = "sm_90a"
_ARCHES = ("sm_90", "sm_75", "sm_120", _ASYNCHRONOUS)
_BUDGET = 300_000
_SOURCE = r"""
__device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
extern "C" __global__ void k(const float* in, float* out, unsigned int n) {
    __shared__ float tile[128];
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own[4], sum = 0.0f;
    for (unsigned int k = 0; k < 4; k++) own[k] = i < n ? in[i] / (k + sum + 1.5f) : 0.0f;
    tile[threadIdx.x] = own[n % 4] + table[i % 8];
    __syncthreads();
    for (unsigned int k = threadIdx.x; k < 128; k += 1 + threadIdx.x % 3) sum += tile[k];
    for (int delta = 16; delta; delta /= 2) sum += __shfl_down_sync(~0u, sum, delta);
    if (threadIdx.x % 32 == 0) atomicAdd(&out[0], sum);
    if (i < n) out[1 + i] = static_cast<float>(static_cast<double>(sum) * 3.0 + rsqrtf(sum));
}
"""


@functools.cache
def _good(arch: str) -> tuple[bytes, str]:
    """A cubin, and its nvdisasm listing."""
    load()  # built once, before any input's deadline starts
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / ("k.ptx" if arch == _ASYNCHRONOUS else "k.cu")
        cubin = Path(folder) / "k.cubin"
        source.write_text(EXCHANGE if arch == _ASYNCHRONOUS else _SOURCE)
        command = [toolchain.find().nvcc, f"-arch={arch}", "-lineinfo", "-cubin", "-o", str(cubin)]
        subprocess.run([*command, str(source)], check=True, capture_output=True)
        tool = disassembler.find().path
        said = subprocess.run(
            [tool, "-json", str(cubin)], check=True, capture_output=True, text=True
        )
        return cubin.read_bytes(), said.stdout


def _listing(text: str) -> disassembler.Listing:
    return disassembler.parsed(text, Disassembler("nvdisasm", disassembler.OLDEST))


def _cubin(arch: str, content: bytes, folder: Path) -> None:
    _, text = _good(arch)
    try:
        code = joined(elf.contents(content, "k.cubin"), _listing(text), "k.cubin")
        _launch(arch, code)
    except EmulatorError as error:
        fuzz.told_shortly(str(error))


def _changed_listing(arch: str, content: bytes, folder: Path) -> None:
    cubin, _ = _good(arch)
    try:
        listing = _listing(content.decode(errors="replace"))
        _launch(arch, joined(elf.contents(cubin, "k.cubin"), listing, "k.cubin"))
    except EmulatorError as error:
        fuzz.told_shortly(str(error))


def _launch(arch: str, code: MachineCode) -> None:
    if "k" not in code.functions:
        raise CubinError(code.name, "it has no kernel k")
    arrays = np.ones(100, np.float32), np.zeros(101, np.float32)
    arguments, grid, block = [*arrays, 100], 1, 128
    if arch == _ASYNCHRONOUS:
        tensor = TensorMap(np.arange(256, dtype=np.float32), [32, 4], [32, 8])
        arguments, grid, block = [tensor, *arrays], 2, 32
    report = launch_machine_code(
        code, "k", grid, block, arguments, max_thread_instructions=_BUDGET
    )  # fmt: skip
    for fault in report.faults:
        fuzz.told_shortly(str(fault))


def _in_listing(random: random.Random, seeds: list[bytes]) -> bytes:
    """Replace a few of the listing's instructions, or parts of them, with those of other
    instructions."""
    if random.random() < 0.2:
        return mutated(random, seeds)
    parts = json.loads(seeds[0])
    instructions = next(p for p in parts if isinstance(p, list))[0]["sass-instructions"]
    for _ in range(random.choice((1, 1, 2, 5))):
        own, other = random.choice(instructions), random.choice(instructions)
        key = random.choice(("opcode", "operands", "operands", "operands", "predicate"))
        if random.random() < 0.5 and key in own:
            words = [str(own[key]).encode(), *(str(i.get(key, "")).encode() for i in instructions)]
            own[key] = word_elsewhere(random, words[0], words).decode(errors="replace")
            if random.random() < 0.5:
                own[key] = str(own[key]).replace(*random.choice(_SWAPS))
        else:
            own[key] = other.get(key, "")
    return json.dumps(parts).encode()


_SWAPS = (
    ("R", "R25"), ("0x", "0x7ffffff"), ("R", "UR"), ("UR", "R"), ("R2", "RZ"), ("c[0x0]", "c[0x3]"),
    ("P0", "PT"), ("E", "E.128"), ("32", "64"), ("[", "[UR4+"), (",", ",-"), ("B0", "B31"),
    ("2D", "3D"), (".MULTICAST", ""), ("A1T0", "ART0"), ("UR4", "UR6"), ("[UR", "[UR6"),
    ("0x", "0x1"),
)  # fmt: skip


def _target(arch: str, kind: str) -> fuzz.Target:
    if kind == "cubin":
        return fuzz.Target(lambda: [_good(arch)[0]], functools.partial(_cubin, arch))
    changed = functools.partial(_changed_listing, arch)
    return fuzz.Target(lambda: [_good(arch)[1].encode()], changed, _in_listing)


_TARGETS = {
    kind if arch == _ARCHES[0] else f"{arch}-{kind}": _target(arch, kind)
    for arch in _ARCHES for kind in ("cubin", "listing")
}  # fmt: skip
fuzz.TARGETS |= _TARGETS

if __name__ == "__main__":
    given = sys.argv[1:]
    named = [name for name in _TARGETS if name in given]
    sys.exit(fuzz.main(given if named else [*given, *_TARGETS]))
