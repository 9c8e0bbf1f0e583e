"""Broken cubins and broken listings of nvdisasm: each is run, or refused by name.

    python scripts/fuzz_machine_code.py --inputs 100000           # every target
    python scripts/fuzz_machine_code.py --inputs 1000 listing sm_120-listing

As scripts/fuzz.py, which does the work. A `cubin` is broken as bytes and read without nvdisasm,
whose listing of the good one stands for its own. A `listing` has instructions changed; what can
still be read is executed, on arrays of known size and with little time. Both contain code for
sm_90, or for the architecture in their name; that of sm_90a has copies by a tensor map, bulk
copies, mbarriers and a cluster.
"""

from __future__ import annotations

import functools
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import fuzz
import numpy as np
from mutations import mutated, word_elsewhere

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
_MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
_COPIES = f"""
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out)
.reqnctapercluster 2
{{
    .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %l<20>; .reg .b16 %h<9>;
    .shared .align 1024 .b8 tile[2048]; .shared .align 8 .b64 bar;
    mov.b64 %l0, map; cvta.param.u64 %l1, %l0; ld.param.u64 %l2, [in]; ld.param.u64 %l3, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, bar; setp.ne.u32 %p1, %r1, 0;
    mov.u32 %r4, %cluster_ctarank; xor.b32 %r5, %r4, 1; mov.b16 %h1, 3;
    @!%p1 mbarrier.init.shared::cta.b64 [%r3], 2; fence.mbarrier_init.release.cluster; {_MEET}
    @%p1 bra ASKED;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1536;
    mad.lo.u32 %r6, %r4, 512, %r2; mul.lo.u32 %r7, %r4, 4;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
.multicast::cluster [%r6], [%l1, {{0, %r7}}], [%r3], %h1;
    add.u32 %r8, %r2, 1024;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%l2], 384, [%r3];
    mapa.shared::cluster.u32 %r9, %r3, %r5;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
ASKED:
    mapa.shared::cluster.u32 %r9, %r3, %r5; mad.lo.u32 %r10, %r1, 4, %r2; add.u32 %r11, %r10, 1408;
    mapa.shared::cluster.u32 %r12, %r11, %r5;
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r12], %r1, [%r9];
WAITS:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra WAITS;
    ld.shared.u32 %r13, [%r10]; ld.shared.u32 %r14, [%r10+1024]; ld.shared.u32 %r15, [%r11];
    add.u32 %r13, %r13, %r14; add.u32 %r13, %r13, %r15; st.shared.u32 [%r10], %r13;
    fence.proxy.async.shared::cta; bar.sync 0; @%p1 bra LEAVES;
    mad.wide.u32 %l3, %r4, 128, %l3;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%l3], [%r2], 128;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
LEAVES: {_MEET}
    ret;
}}
"""


@functools.cache
def _good(arch: str) -> tuple[bytes, str]:
    """A cubin, and its nvdisasm listing."""
    load()  # built once, before any input has its deadline
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / ("k.ptx" if arch == _ASYNCHRONOUS else "k.cu")
        cubin = Path(folder) / "k.cubin"
        source.write_text(_COPIES if arch == _ASYNCHRONOUS else _SOURCE)
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
    """The JSON with a few instructions replaced by others, or with parts of others."""
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
