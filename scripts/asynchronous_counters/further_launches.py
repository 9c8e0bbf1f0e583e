"""The launches of tests/fidelity/asynchronous/further.cu. A GPU executed them only after the rules
for the counters had been written."""

from __future__ import annotations

from collections.abc import Iterator

from one_launch import Launch, TensorLayout

FILE = "further"
_ALL_LANES, _EVEN, _HALF = -1, 0x55555555, 0xFFFF


def further() -> Iterator[Launch]:
    """Every launch."""
    for kernel in ("wait_for_launch", "launch_dependents"):
        for count, block in ((1, 32), (3, 32), (2, 96)):
            yield Launch(FILE, kernel, (count,), 1, block)
    yield from _spread()
    yield from _multicasts()
    for size, offset, count, to in (
        (32, 32, 1, 0), (32, 16, 1, 0), (32, 0, 1, 32), (32, 0, 1, 16), (32, 0, 3, 0),
        (32, 16, 2, 48), (64, 0, 1, 0), (48, 16, 1, 16),
    ):  # fmt: skip
        yield Launch(FILE, "send_2", (size, offset, count, to, 1), 2)


def _spread() -> Iterator[Launch]:
    kernels = ("load", "store", "atom", "red", "store_async", "red_async")
    for kernel in (f"{each}_spread" for each in kernels):
        for stride, mask, shift, first, blocks in (
            (4, _ALL_LANES, 4, 1, 2), (4, _ALL_LANES, 3, 1, 3), (4, _ALL_LANES, 0, 1, 3),
            (4, _ALL_LANES, 4, 0, 2), (4, _ALL_LANES, 0, 0, 2), (4, _EVEN, 2, 1, 2),
            (32, _ALL_LANES, 1, 1, 2), (128, _HALF, 0, 0, 4),
        ):  # fmt: skip
            yield Launch(FILE, kernel, (stride, mask, shift, first, blocks, 8192), 4)
        if kernel == "red_spread":  # otherwise, colliding lanes' results depend on their order
            yield Launch(FILE, kernel, (0, _ALL_LANES, 4, 1, 2, 8192), 4)


def _multicasts() -> Iterator[Launch]:
    def one(row: int, x: int, y: int, blocks: int, mask: int, **more: object) -> Launch:
        map_ = TensorLayout("u8", (640, 64), (row, 8), (1024,), **more)  # type: ignore[arg-type]
        numbers = (x, y, mask, 0, 0, map_.box_bytes)
        return Launch(FILE, f"multicast_box_{blocks}", numbers, blocks, maps=(map_,))

    for row, x, y in (
        (64, 592, 0), (64, 0, 60), (64, -16, 0), (64, 0, -3), (128, 624, 0), (128, 528, 0),
        (128, 576, 62), (128, 0, 100), (128, 640, 0), (32, 624, 0), (32, 0, 57), (16, 640, 3),
        (16, 0, 61), (128, -64, -4), (128, 608, 0),
    ):  # fmt: skip
        yield one(row, x, y, 2, 3)
    for row, x, y in ((64, 592, 60), (128, 0, 60)):
        yield one(row, x, y, 4, 0b1011)
        yield one(row, x, y, 2, 2)
    yield one(128, 576, 0, 2, 3, swizzle="128B")
    yield one(32, 0, 58, 2, 3, swizzle="32B")
