"""The launches of the kernels in tests/fidelity/asynchronous: sizes, alignments, boxes and strides
that distinguish between hypotheses about the counters."""

from __future__ import annotations

from collections.abc import Iterator

import mixed_kernels
from one_launch import Launch
from probe_boxes import boxes


def probes() -> Iterator[Launch]:
    """Every launch of the kernels in the repository."""
    yield from _bulk()
    yield from boxes()
    yield from _remote()
    yield from _barriers()
    yield from _matrices()
    yield from _products()


def held_out() -> Iterator[Launch]:
    """The drawn kernels, one launch each."""
    for each in mixed_kernels.writers():
        yield Launch(
            mixed_kernels.FILE, f"mixed_{each.number}", (), each.grid, each.threads, each.maps
        )


def _bulk() -> Iterator[Launch]:
    def one(kernel: str, *numbers: int, grid: int = 1, **more: object) -> Launch:
        return Launch("bulk_copies", kernel, numbers, grid, **more)  # type: ignore[arg-type]

    for size in (16, 32, 48, 64, 96, 128, 144, 256, 512, 1024, 4096, 16384, 32768):
        yield one("load", size, 0, 1)
    for size, offset in ((16, 16), (32, 16), (128, 16), (128, 32), (128, 64), (1024, 16)):
        yield one("load", size, offset, 1)
    yield one("load", 128, 0, 1, 16)
    yield one("load", 128, 16, 1, 16)
    yield one("load", 1024, 0, 1, 64)
    yield one("load", 48, 0, 3, grid=4)
    yield one("load", 1024, 0, 4, grid=2)
    yield one("load_by_lanes", 16, 16)
    yield one("load_by_lanes", 64, 128)
    for size, offset in (
        (16, 0), (32, 0), (48, 0), (128, 0), (1024, 0), (16384, 0), (32, 16), (128, 16), (128, 32),
        (1024, 16),
    ):  # fmt: skip
        yield one("store", size, offset, 1)
    yield one("store", 128, 0, 1, 16)
    yield one("store", 1024, 0, 3, grid=4)
    yield one("store_read", 1024, 0, 1)
    for size, offset in ((16, 0), (32, 0), (128, 0), (1024, 0), (16384, 0), (32, 16), (128, 16)):
        yield one("reduce_add_u32", size, offset, 1)
    yield one("reduce_add_u32", 256, 0, 2, 0, 0, grid=4)
    yield one("reduce_add_u32", 256, 0, 2, 0, 512, grid=4)
    for kind in ("add_u64", "min_s32", "and_b32"):
        yield one(f"reduce_{kind}", 1024, 0, 1)
    for kind in ("f32", "f64", "bf16"):
        yield one(f"reduce_add_{kind}", 1024, 0, 1, data=kind)
    for size, offset, count in ((16, 0, 1), (128, 0, 1), (4096, 0, 1), (128, 16, 1), (128, 0, 4)):
        yield one("prefetch", size, offset, count)
    for size, at, count, to in (
        (16, 0, 1, 0), (32, 0, 1, 0), (48, 0, 1, 0), (128, 0, 1, 0), (1024, 0, 1, 0),
        (8192, 0, 1, 0), (128, 16, 1, 0), (128, 0, 1, 16), (128, 16, 1, 16), (512, 0, 4, 0),
    ):  # fmt: skip
        yield one("send_2", size, at, count, to, 1, grid=2)
    yield one("send_2", 1024, 0, 1, 0, 0, grid=2)
    yield one("send_2", 512, 0, 2, 0, 1, grid=4)
    yield one("send_4", 1024, 0, 1, 0, 1, grid=4)
    for size, to in ((16, 0), (128, 0), (1024, 0), (128, 16)):
        yield one("send_add_u32", size, 0, 1, to, 1, grid=2)
    yield one("send_add_u32", 1024, 0, 1, 0, 0, grid=2)
    yield one("send_add_u32", 256, 0, 3, 0, 1, grid=4)
    yield one("send_max_s32", 1024, 0, 1, 0, 1, grid=2)
    yield one("send_add_u64", 1024, 0, 1, 0, 1, grid=2)
    yield one("multicast_1", 1024, 0, 1, 0, 1)
    for mask in (1, 2, 3):
        yield one("multicast_2", 1024, 0, 1, 0, mask, grid=2)
    for size, offset in ((16, 0), (32, 0), (96, 0), (128, 0), (128, 16), (8192, 0)):
        yield one("multicast_2", size, offset, 1, 0, 3, grid=2)
    yield one("multicast_2", 256, 0, 3, 0, 3, grid=4)
    for mask in (0b1111, 0b1010, 0b0110):
        yield one("multicast_4", 1024, 0, 1, 0, mask, grid=4)
    yield one("multicast_8", 1024, 0, 1, 0, 0xFF, grid=8)
    yield one("multicast_8", 1024, 0, 1, 0, 0x81, grid=8)


_ALL_LANES, _EVEN, _HALF, _ONE = -1, 0x55555555, 0xFFFF, 0x10


def _remote() -> Iterator[Launch]:
    def one(kernel: str, *numbers: int, grid: int = 2, block: int = 32) -> Launch:
        return Launch("cluster_memory", kernel, (*numbers, *(8192,) * (6 - len(numbers))), grid,
                      block)  # fmt: skip

    for width in (8, 16, 32, 64, 128):
        for what in ("load", "store"):
            yield one(f"{what}_{width}", width // 8, _ALL_LANES, 1, 0, 1)
    for kernel in ("load_32", "store_32"):
        yield one(kernel, 4, _ALL_LANES, 0, 0, 1)
        for stride in (8, 32, 128):
            yield one(kernel, stride, _ALL_LANES, 1, 0, 1)
        for mask in (_EVEN, _HALF, _ONE):
            yield one(kernel, 4, mask, 1, 0, 1)
        yield one(kernel, 4, _ALL_LANES, 1, 16, 1)
        yield one(kernel, 4, _ALL_LANES, 1, 0, 3, grid=4, block=64)
    yield one("load_32", 0, _ALL_LANES, 1, 0, 1)
    yield one("load_32", 0, _ALL_LANES, 0, 0, 1)
    yield one("load_64", 64, _ALL_LANES, 1, 0, 1)
    yield one("load_128", 32, _ALL_LANES, 1, 0, 1)
    yield one("store_128", 32, _ALL_LANES, 1, 0, 1)
    yield one("store_8", 4, _ALL_LANES, 1, 0, 1)
    yield one("load_32_of_4", 4, _ALL_LANES, 3, 0, 2, grid=4)
    yield one("store_32_of_4", 4, _ALL_LANES, 2, 0, 2, grid=4)
    yield one("load_generic", 4, _ALL_LANES, 1, 0, 1)
    yield one("load_generic", 4, _ALL_LANES, 0, 0, 1)
    for kernel in ("atom_add_u32", "red_add_u32"):
        yield one(kernel, 4, _ALL_LANES, 0, 0, 1)
        for stride in (0, 4, 8, 128):
            yield one(kernel, stride, _ALL_LANES, 1, 0, 1)
        yield one(kernel, 4, _EVEN, 1, 0, 1)
        yield one(kernel, 0, _ONE, 1, 0, 1)
        yield one(kernel, 4, _ALL_LANES, 1, 0, 2, grid=4, block=64)
    for kernel, stride in (
        ("atom_max_u32", 4), ("atom_max_u32", 0), ("atom_add_u64", 8), ("red_add_u64", 8),
        ("red_xor_b32", 4), ("compare_and_swap", 4), ("compare_and_swap", 0),
    ):  # fmt: skip
        yield one(kernel, stride, _ALL_LANES, 1, 0, 1)
    for width in (32, 64, 128):
        yield one(f"store_async_{width}", width // 8, _ALL_LANES, 1, 0, 1)
    yield one("store_async_32", 4, _ALL_LANES, 0, 0, 1)
    yield one("store_async_32", 32, _ALL_LANES, 1, 0, 1)
    yield one("store_async_32", 4, _HALF, 1, 0, 1)
    yield one("store_async_32", 4, _ALL_LANES, 1, 0, 2, grid=4, block=64)
    for stride in (0, 4, 32):
        yield one("red_async_add", stride, _ALL_LANES, 1, 0, 1)
    yield one("red_async_add", 4, _ALL_LANES, 0, 0, 1)
    yield one("red_async_add", 4, _ALL_LANES, 1, 0, 2, grid=4, block=64)
    yield one("red_async_xor", 4, _ALL_LANES, 1, 0, 1)
    yield one("red_async_add_u64", 8, _ALL_LANES, 1, 0, 1)
    for kernel in ("mapa", "meet"):
        for count in (1, 4):
            yield one(kernel, 0, 0, 0, 0, count)


def _barriers() -> Iterator[Launch]:
    def one(kernel: str, *numbers: int, grid: int = 1, block: int = 32) -> Launch:
        return Launch("barriers", kernel, numbers, grid, block)

    for kernel in ("initialise", "invalidate"):
        yield one(kernel, 1)
        yield one(kernel, 8)
    for kernel in ("arrive", "arrive_and_drop", "arrive_and_expect", "expect_only"):
        yield one(kernel, 1, _ALL_LANES)
        yield one(kernel, 4, _ONE)
    yield one("arrive_twice", 1, _ALL_LANES)
    yield one("arrive", 4, _ALL_LANES)
    yield one("arrive", 1, _ALL_LANES, 1)
    yield one("arrive", 1, _EVEN)
    yield one("arrive", 2, _ALL_LANES, grid=3, block=64)
    yield one("arrive_for_token", 1, _ALL_LANES)
    yield one("arrive_for_token", 1, _ONE)
    for count, mask, apart, parity in (
        (1, _ALL_LANES, 0, 0), (4, _ALL_LANES, 0, 0), (4, _ALL_LANES, 0, 1), (1, _ALL_LANES, 1, 0),
        (1, _ONE, 0, 0), (16, _ONE, 0, 0),
    ):  # fmt: skip
        yield one("test_wait", count, mask, apart, parity)
    yield one("try_wait", 1, _ALL_LANES)
    yield one("try_wait", 4, _ONE)
    yield one("poll", 1024)
    yield one("phases", 3)
    yield one("phases", 3, block=128)
    yield one("arrive_with_copies", 0)
    yield one("arrive_with_copies", 0, grid=2, block=64)
    yield one("arrive_remotely", 1, _ALL_LANES, 1, 0, grid=2)
    yield one("arrive_remotely", 1, _ALL_LANES, 1, 1, grid=2)
    yield one("arrive_remotely", 4, _ONE, 1, 0, grid=2)
    yield one("arrive_remotely", 1, _ALL_LANES, 0, 0, grid=2)


def _matrices() -> Iterator[Launch]:
    def one(kernel: str, *numbers: int, grid: int = 1, block: int = 32) -> Launch:
        return Launch("matrices", kernel, numbers, grid, block)

    for kind in ("1", "2", "4", "1_transposed", "4_transposed"):
        for what in ("store", "load"):
            for pitch in (16, 32, 128):
                yield one(f"{what}_{kind}", pitch, 1)
    for what in ("store", "load"):
        yield one(f"{what}_4", 64, 1)
        yield one(f"{what}_4", 144, 1)
        yield one(f"{what}_4", 16, 3, grid=2, block=128)
    yield one("store_2_transposed", 16, 1)
    yield one("elect", 0, 3)
    yield one("move_registers", block=384)
    yield one("dependent_launches")
    yield one("fence", 0, 1)
    yield one("fence", 0, 4)
    yield one("empty_group", 0, 3)


_SWIZZLED = {0: (128, 256), 3: (16, 256), 2: (16, 512), 1: (16, 1024)}
"""The descriptor's swizzle → the leading and the stride byte offset of factors whose rows fill the
swizzle pattern."""


def _products() -> Iterator[Launch]:
    def one(kernel: str, swizzle: int, count: int = 1, grid: int = 1) -> Launch:
        kind = kernel.partition("_")[0]
        leading, stride = _SWIZZLED[swizzle]
        numbers = (leading, stride, swizzle, count, 8192, 40960)
        return Launch("products", kernel, numbers, grid, 128, data=kind)

    for columns in (8, 64, 128, 256):
        yield one(f"bf16_{columns}", 0)
    for swizzle in (1, 2, 3):
        yield one("bf16_64", swizzle)
        yield one("bf16_256", swizzle)
    yield one("bf16_64", 0, 4, grid=2)
    yield one("bf16_128", 1, 3, grid=2)
    yield one("bf16_transposed_64", 1)
    for kind, columns in (
        ("tf32", 8), ("tf32", 64), ("tf32", 256), ("e4m3", 8), ("e4m3", 128), ("s8", 8), ("s8", 64),
        ("s8", 256), ("bf16_registers", 8), ("bf16_registers", 128), ("bf16_registers", 256),
        ("tf32_registers", 64), ("s8_registers", 64), ("e4m3_registers", 64),
        ("bf16_sparse_registers", 64),
    ):  # fmt: skip
        yield one(f"{kind}_{columns}", 0)
        yield one(f"{kind}_{columns}", 1)
    yield one("bf16_registers_128", 0, 3)
    for kind, columns in (
        ("bf16_sparse", 8), ("bf16_sparse", 64), ("bf16_sparse", 256), ("s8_sparse", 64),
    ):  # fmt: skip
        yield one(f"{kind}_{columns}", 0)
    yield one("bf16_sparse_64", 1)
    yield one("bf16_sparse_64", 2, 2)
    for count in (0, 1, 3):
        yield Launch("products", "loop_of_s8", (128, 256, 0, count, 8192, 40960), 1, 128, data="s8")
