"""Draw the held-out kernels, each of which combines several asynchronous operations at random
sizes, places and lanes. The rules are derived only from the kernels of tests/fidelity/asynchronous;
the held-out kernels show whether the rules hold elsewhere.

Each kernel is drawn with its number as the seed, and the hash of the whole file has to match that
of the file executed on a GPU. A kernel runs in clusters of one to four blocks. Each operation has
its own part of shared memory and its own barrier, so operations do not interfere.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from functools import cache

from one_launch import TensorLayout

FILE = "held_out"
KERNELS = range(36)
SHA256 = "b5d91794763401e2ae827052a90ed160b3a78aa44cb4180305cbbfdfc3eb10db"
PART = 4096
"""The bytes of shared memory for each operation, and the bytes of `out` for its stores."""
MOST = 7
_OF_BLOCK = PART * MOST
_RESULTS = 4096
"""Bytes at the beginning of `out` for the digests."""
HEAD = """// Drawn by scripts/asynchronous_counters/mixed_kernels.py.
#include "probes.cuh"

__shared__ uint64_t barriers[8], counters[8];

// bytes[i]: how many will come to this block in operation i.
HELPER void begin_all(const uint32_t (&bytes)[8]) {
    if (threadIdx.x == 0)
        for (int i = 0; i < 8; ++i) {
            init(barriers + i, 1);
            init(counters + i, 1023);
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            expect(barriers + i, bytes[i]);
        }
    show_to_copies();
    __syncthreads();
    meet_in_cluster();
}
"""


class Writer:
    """Writes one kernel. `maps`: two tensor maps, the first for loads and the second for stores."""

    def __init__(self, number: int) -> None:
        self._draw = random.Random(f"asynchronous {number}")
        self.number = number
        self.blocks = self._draw.choice([1, 2, 2, 4])
        self.grid = self.blocks * self._draw.choice([1, 1, 2])
        self.threads = self._draw.choice([32, 64, 128])
        self.maps = (self._map(), self._map())
        self._expected = ["0"] * 8
        self._at = 0

    def text(self) -> str:
        kinds: list[Callable[[], Iterator[str]]] = [
            self._bulk_load, self._bulk_store, self._bulk_reduction, self._box_load,
            self._box_store, self._box_reduction, self._matrices, self._arrivals, self._prefetch,
        ]  # fmt: skip
        if self.threads == 128:
            kinds += [self._product] * 3
        if self.blocks > 1:
            kinds += [
                self._remote_load, self._remote_store, self._remote_atomic, self._send,
                self._multicast, self._box_multicast, self._store_async, self._red_async,
            ] * 2  # fmt: skip
        body = []
        for number in range(self._draw.randint(2, MOST)):
            self._at = number
            body += list(self._draw.choice(kinds)())
        lines = "\n".join(f"    {line}" for line in body)
        bytes_ = ", ".join(self._expected)
        return f"""
extern "C" __global__ void __cluster_dims__({self.blocks}) __launch_bounds__({self.threads})
    mixed_{self.number}(const __grid_constant__ CUtensorMap from_map,
                        const __grid_constant__ CUtensorMap to_map, ARRAYS, NUMBERS) {{
    [[maybe_unused]] const uint32_t rank = rank_in_cluster(), next = (rank + 1) % {self.blocks};
    [[maybe_unused]] const uint32_t lane = threadIdx.x & 31;
    [[maybe_unused]] const bool first = threadIdx.x == 0;
    uint32_t sum = 0;
    fetch(tile, in + 256 * blockIdx.x, {MOST * PART});
    begin_all({{{bytes_}}});
{lines}
    meet_in_cluster();
    tell(out, sum + digest(tile, {MOST * PART}));
}}
"""

    @property
    def _tile(self) -> str:
        return f"tile + {self._at * PART}"

    @property
    def _barrier(self) -> str:
        return f"barriers + {self._at}"

    def _bytes(self, most: int) -> int:
        """Draw a number of bytes, a multiple of 16; small numbers are as likely as large ones."""
        return 16 * self._draw.randint(1, self._draw.choice([2, 8, most // 16]))

    def _offset(self) -> int:
        return 16 * self._draw.choice([0, 0, 1, 2, 3, 4, 8])

    def _lanes(self) -> str:
        """Draw a condition that some or all lanes meet."""
        return self._draw.choice([
            "true", "true", f"lane < {self._draw.randint(1, 31)}",
            f"lane % {self._draw.randint(2, 5)} == 0", f"lane >= {self._draw.randint(1, 31)}",
            f"(0x{self._draw.getrandbits(32) | 1:08x} >> lane & 1)",
        ])  # fmt: skip

    def _map(self) -> TensorLayout:
        """Draw a two-dimensional map; its pitch need not be a multiple of a sector."""
        swizzle = self._draw.choice(["none", "none", "32B", "64B", "128B"])
        most = {"none": 256, "32B": 32, "64B": 64, "128B": 128}[swizzle]
        row = 16 * self._draw.randint(1, most // 16)
        rows = self._draw.randint(1, (PART - 1024) // max(row, 128))
        pitch = 16 * self._draw.randint(40, 72)
        return TensorLayout("u32", (160, 64), (row // 4, rows), (pitch,), swizzle=swizzle)

    def _corner(self, *, stores: bool) -> str:
        """Draw the coordinates of a box that may lie partly outside the tensor; stores get no
        negative coordinates."""
        x = self._draw.choice([0, 0, 4, 8, 16, 4 * self._draw.randint(0, 24)])
        y = self._draw.randint(0, 40)
        if self._draw.random() < 0.3:
            outside = [(140, 50), (152, 62), *([] if stores else [(-8, 3), (12, -2)])]
            x, y = self._draw.choice(outside)
        return f'"r"({x}), "r"({y})'

    def _wait(self) -> str:
        return f"sum += late_in_cluster({self._barrier});"

    def _bulk_load(self) -> Iterator[str]:
        size, offset = self._bytes(PART - 128), self._offset()
        self._expected[self._at] = str(size)
        source = f"in + {self._offset()} + 512 * rank"
        yield f"if (first) load_bulk(at({self._tile} + {offset}), {source}, {size},"
        yield f"                     {self._barrier});"
        yield self._wait()

    def _place_in_out(self, apart: int) -> str:
        return f"{_RESULTS + PART * self._at + self._offset()} + {apart} * blockIdx.x"

    def _bulk_store(self) -> Iterator[str]:
        size = self._bytes(PART - 128)
        place = f"out + {self._place_in_out(_OF_BLOCK)}"
        source = f"{self._tile} + {self._offset()}"
        yield "if (first) {"
        yield f"    store_bulk({place}, {source}, {size});"
        yield "    end_of_copies();"
        yield "}"

    def _bulk_reduction(self) -> Iterator[str]:
        """Reduce the data of all blocks into one place, or each block's data into its own place."""
        size, apart = self._bytes(PART - 128), self._draw.choice([0, _OF_BLOCK])
        operation = self._draw.choice(["add.u32", "xor.b32", "max.u32", "add.u64", "min.s32"])
        place = f"out + {self._place_in_out(apart)}"
        yield "if (first) {"
        yield f'    REDUCE_BULK("{operation}", {place}, {self._tile}, {size});'
        yield "    end_of_copies();"
        yield "}"

    def _box_load(self) -> Iterator[str]:
        self._expected[self._at] = str(self.maps[0].box_bytes)
        yield 'if (first) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"'
        yield '    ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"'
        yield f'    ::"r"(at({self._tile})), "l"(&from_map), {self._corner(stores=False)},'
        yield f'      "r"(at({self._barrier})) : "memory");'
        yield self._wait()

    def _box_multicast(self) -> Iterator[str]:
        mask = self._draw.randint(1, (1 << self.blocks) - 1)
        self._expected[self._at] = f"({mask}u >> rank & 1) * {self.maps[0].box_bytes}"
        yield "if (first && rank == 0)"
        yield '    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"'
        yield '        ".mbarrier::complete_tx::bytes.multicast::cluster "'
        yield '        "[%0], [%1, {%2, %3}], [%4], %5;"'
        yield f'        ::"r"(at({self._tile})), "l"(&from_map), {self._corner(stores=False)},'
        yield f'          "r"(at({self._barrier})), "h"(static_cast<uint16_t>({mask})) : "memory");'
        yield self._wait()

    def _multicast(self) -> Iterator[str]:
        mask, size = self._draw.randint(1, (1 << self.blocks) - 1), self._bytes(PART - 128)
        self._expected[self._at] = f"({mask}u >> rank & 1) * {size}"
        yield "if (first && rank == 0)"
        yield f"    load_bulk_to({mask}, at({self._tile}), in + {self._offset()}, {size},"
        yield f"                 {self._barrier});"
        yield self._wait()

    def _box(self, instruction: str) -> Iterator[str]:
        yield "if (first && blockIdx.x == 0) {"
        yield f'    asm volatile("{instruction}"'
        yield '        ".tile.bulk_group [%1, {%2, %3}], [%0];"'
        yield f'        ::"r"(at({self._tile})), "l"(&to_map), {self._corner(stores=True)}'
        yield '        : "memory");'
        yield "    end_of_copies();"
        yield "}"

    def _box_store(self) -> Iterator[str]:
        yield from self._box("cp.async.bulk.tensor.2d.global.shared::cta")

    def _box_reduction(self) -> Iterator[str]:
        operation = self._draw.choice(["add", "min", "max", "and", "xor"])
        yield from self._box(f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{operation}")

    def _prefetch(self) -> Iterator[str]:
        size = self._bytes(PART)
        yield 'if (first) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"'
        yield f'    ::"l"(in + {self._offset()}), "r"({size}) : "memory");'

    def _matrices(self) -> Iterator[str]:
        """Store matrices from the first warp alone, in rows that are at most 112 bytes apart."""
        pitch, count = 16 * self._draw.randint(1, 7), self._draw.choice([1, 2, 4])
        turned = self._draw.choice(["", ".trans"])
        registers = ", ".join(f"%{n}" for n in range(1, count + 1))
        values = ", ".join(f'"r"(lane * {n + 77})' for n in range(count))
        yield "if (threadIdx.x < 32)"
        yield f'    asm volatile("stmatrix.sync.aligned.m8n8.x{count}{turned}.shared.b16 "'
        yield f'        "[%0], {{{registers}}};"'
        yield f'        ::"r"(at({self._tile} + {pitch} * lane)), {values} : "memory");'
        yield "__syncthreads();"

    def _product(self) -> Iterator[str]:
        """Multiply matrices of bytes, in which every bit pattern is a valid number; both factors
        lie in this operation's part of shared memory."""
        columns, swizzle = self._draw.choice([8, 16, 32, 64]), self._draw.choice([0, 3])
        leading, count = 128, self._draw.choice([1, 2])
        sums = ", ".join(f"%{n}" for n in range(columns // 2))
        places = ", ".join(f'"+r"(sums[{n}])' for n in range(columns // 2))
        registers = self._draw.random() < 0.4
        at = columns // 2
        second = f'"l"(describe({self._tile} + 2048, {leading}, 256, {swizzle}))'
        if registers:
            factors = f"{{%{at}, %{at + 1}, %{at + 2}, %{at + 3}}}, %{at + 4}"
            given = f'"r"(lane), "r"(lane * 77), "r"(threadIdx.x), "r"(rank), {second}'
        else:
            factors = f"%{at}, %{at + 1}"
            given = f'"l"(describe({self._tile}, {leading}, 256, {swizzle})), {second}'
        yield "__syncwarp();"
        yield "{"
        yield f"    uint32_t sums[{at}] = {{}};"
        yield '    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");'
        for _ in range(count):
            yield f'    asm volatile("wgmma.mma_async.sync.aligned.m64n{columns}k32.s32.s8.s8 "'
            yield f'        "{{{sums}}}, {factors}, 1;"'
            yield f'        : {places} : {given} : "memory");'
        yield '    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");'
        yield '    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");'
        yield f'    _Pragma("unroll") for (int i = 0; i < {at}; ++i) sum = sum * 31 + sums[i];'
        yield "}"

    def _arrivals(self) -> Iterator[str]:
        yield f"if ({self._lanes()})"
        yield '    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"'
        yield f'        ::"r"(at(counters + {self._at})) : "memory");'
        yield "__syncwarp();"
        yield f"sum += is_complete(counters + {self._at}, 0);"

    def _place(self, least: int) -> str:
        stride = self._draw.choice([least, least, 2 * least, 16])
        stride = -(-max(stride, least) // least) * least
        if stride * self.threads > PART - 128:
            stride = least
        offset = least * self._draw.randint(0, 4)
        where = self._draw.choice(["next", "next", "rank"])
        return f"in_block(at({self._tile} + {offset} + {stride} * threadIdx.x), {where})"

    def _remote_load(self) -> Iterator[str]:
        yield "{"
        yield "    uint32_t word = 0;"
        yield f"    if ({self._lanes()})"
        yield '        asm volatile("ld.shared::cluster.u32 %0, [%1];"'
        yield f'            : "=r"(word) : "r"({self._place(4)}) : "memory");'
        yield "    sum += word;"
        yield "    __syncwarp();"
        yield "}"

    def _remote_store(self) -> Iterator[str]:
        yield f"if ({self._lanes()})"
        if self._draw.random() < 0.5:
            yield '    asm volatile("st.shared::cluster.u32 [%0], %1;"'
            yield f'        ::"r"({self._place(4)}), "r"(lane * 99) : "memory");'
        else:
            yield '    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %1, %1, %1};"'
            yield f'        ::"r"({self._place(16)}), "r"(lane * 99) : "memory");'
        yield "__syncwarp();"

    def _remote_atomic(self) -> Iterator[str]:
        what = self._draw.choice(["add.u32", "max.u32", "xor.b32"])
        place = self._place(4)
        if self._draw.random() < 0.3:
            place = f"in_block(at({self._tile} + 4 * (lane / {self._draw.randint(2, 32)})), next)"
        yield f"if ({self._lanes()})"
        yield f'    asm volatile("red.relaxed.cluster.shared::cluster.{what} [%0], %1;"'
        yield f'        ::"r"({place}), "r"(lane + 1) : "memory");'
        yield "__syncwarp();"

    def _send(self) -> Iterator[str]:
        size, half = self._bytes(PART // 2 - 128), PART // 2
        self._expected[self._at] = str(size)
        place = f"in_block(at({self._tile} + {half + self._offset()}), next)"
        source, barrier = f"{self._tile} + {self._offset()}", f"in_block(at({self._barrier}), next)"
        reduces = self._draw.choice(["", "", '"add.u32", ', '"xor.b32", '])
        call = f"SEND_REDUCTION({reduces}" if reduces else "send_bulk("
        yield f"if (first) {call}{place}, {source}, {size}, {barrier});"
        yield self._wait()

    def _store_async(self) -> Iterator[str]:
        width, form = self._draw.choice([(4, "b32"), (16, "v4.b32")])
        value = "%2" if width == 4 else "{%2, %2, %2, %2}"
        yield from self._told(width, f"st.async.weak.TELLS{form} [%0], {value}, [%1];", width)

    def _red_async(self) -> Iterator[str]:
        what = self._draw.choice(["add.u32", "max.u32", "or.b32"])
        yield from self._told(4, f"red.async.relaxed.cluster.TELLS{what} [%0], %2, [%1];", 4)

    def _told(self, width: int, instruction: str, least: int) -> Iterator[str]:
        lanes = self._draw.randint(1, 32)
        self._expected[self._at] = str(width * lanes * self.threads // 32)
        place = self._place(least).replace(", rank)", ", next)")
        text = instruction.replace("TELLS", "shared::cluster.mbarrier::complete_tx::bytes.")
        yield f"if (lane < {lanes})"
        yield f'    asm volatile("{text}"'
        yield f'        ::"r"({place}), "r"(in_block(at({self._barrier}), next)),'
        yield '          "r"(threadIdx.x * 5) : "memory");'
        yield "__syncwarp();"
        yield self._wait()


@cache
def writers() -> tuple[Writer, ...]:
    return tuple(Writer(number) for number in KERNELS)


@cache
def text() -> str:
    """Return the file. Raises ValueError if it differs from the file executed on a GPU."""
    found = "".join([HEAD, *(each.text() for each in (Writer(number) for number in KERNELS))])
    digest = hashlib.sha256(found.encode()).hexdigest()
    if digest != SHA256:
        raise ValueError(f"{FILE}.cu is drawn differently here: {digest}, not {SHA256}")
    return found
