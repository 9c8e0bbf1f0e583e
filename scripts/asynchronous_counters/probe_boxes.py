"""The launches that copy boxes through tensor maps: rows of several widths at several pitches,
swizzles, element types, and boxes partly outside the tensor."""

from __future__ import annotations

from collections.abc import Iterator

from one_launch import Launch, TensorLayout


def boxes() -> Iterator[Launch]:
    def one(kernel: str, map_: TensorLayout, *at: int, bytes_: int = 0, **more: object) -> Launch:
        numbers = (*at, *(0,) * (5 - len(at)), bytes_ or map_.box_bytes)
        return Launch("tensor_copies", kernel, numbers, maps=(map_,), **more)  # type: ignore[arg-type]

    def flat(row: int, rows: int, pitch: int = 1024, **more: object) -> TensorLayout:
        return TensorLayout("u8", (640, 64), (row, rows), (pitch,), **more)  # type: ignore[arg-type]

    for size in (16, 64, 256):
        yield one("load_1", TensorLayout("u8", (4096,), (size,)), 0)
    yield one("load_1", TensorLayout("f32", (1024,), (64,)), 4)
    yield one("load_1", TensorLayout("f32", (1000,), (64,)), 980)
    for row in (16, 32, 48, 64, 128, 256):
        yield one("load_2", flat(row, 8), 0, 0)
    for row, pitch in ((16, 656), (32, 656), (64, 656), (128, 656), (128, 672), (128, 704)):
        yield one("load_2", flat(row, 8, pitch), 0, 0)
    for swizzle, row in (("32B", 32), ("64B", 64), ("128B", 128)):
        yield one("load_2", flat(row, 16, swizzle=swizzle), 0, 0)
    for swizzle, row in (("128B", 64), ("128B", 16), ("64B", 16)):
        yield one("load_short_rows", flat(row, 16, swizzle=swizzle), 0, 0)
    for x, y in ((16, 0), (32, 0), (-16, 0), (-64, 0), (592, 0), (0, -4), (0, 60), (0, 100),
                 (-256, 0), (-16, -3)):  # fmt: skip
        yield one("load_2", flat(128, 8), x, y)
    for element in ("u16", "bf16", "f32", "tf32", "f64"):
        size = TensorLayout(element, (1,), (1,)).element_bytes
        map_ = TensorLayout(element, (128, 32), (128 // size, 8), (1024,))
        yield one("load_2", map_, 0, 0, data=element if element in ("f32", "f64") else "words")
    for l2 in ("64B", "256B"):
        yield one("load_2", flat(64, 8, l2=l2), 0, 0)
    yield one("load_2", TensorLayout("f32", (256, 32), (64, 16), (1024,), (2, 2)), 0, 0)
    yield one("load_2", flat(16, 1), 0, 0)
    yield one("load_2", flat(256, 64), 0, 0)
    deep = TensorLayout("f32", (64, 8, 8), (16, 4, 3), (256, 2048))
    yield one("load_3", deep, 0, 0, 0)
    yield one("load_3", deep, 56, 6, -1)
    for interleave, swizzle in (("16B", "none"), ("32B", "32B")):
        unit = int(interleave[:2])
        slices = TensorLayout(
            "u8", (24, 5, 4), (16, unit, 2), (1024, 8192), interleave=interleave, swizzle=swizzle
        )
        yield one("load_3", slices, 0, 0, 0)
    yield one("load_4", TensorLayout("f32", (16, 8, 6, 4), (8, 4, 3, 2)), 0, 0, 0, 0)
    yield one("load_4", TensorLayout("f32", (16, 8, 6, 4), (8, 4, 3, 2)), 12, 2, 4, 3)
    yield one("load_5", TensorLayout("f32", (8, 6, 5, 4, 3), (8, 2, 2, 2, 2)), 0, 0, 0, 0, 0)
    yield one("load_pixels_3", TensorLayout("f32", (16, 10, 3), (8, 7), lower=(-1,), upper=(-1,)),
              4, 2, 1)  # fmt: skip
    image = TensorLayout("f32", (32, 7, 6, 3), (32, 16), lower=(-1, -1), upper=(-1, -1))
    yield one("load_pixels_4", image, 0, -1, 1, 0)
    yield one("load_pixels_4", image, 16, 2, 2, 1)
    yield one("load_pixels_5", TensorLayout("f32", (8, 5, 4, 3, 2), (8, 40), lower=(0, -1, -1),
              upper=(-1, 0, 0)), 0, 1, 0, 1, 0)  # fmt: skip
    for grid, count in ((1, 4), (4, 1), (4, 2)):
        map_ = flat(64, 8)
        numbers = (0, 0, count, 8, 0, map_.box_bytes)
        yield Launch("tensor_copies", "load_several", numbers, grid, maps=(map_,))
    yield from _stored_boxes(one, flat)


def _stored_boxes(one, flat) -> Iterator[Launch]:  # type: ignore[no-untyped-def]
    yield one("store_1", TensorLayout("u8", (4096,), (256,)), 0)
    for row, pitch in ((16, 1024), (32, 1024), (48, 1024), (128, 1024), (128, 656)):
        yield one("store_2", flat(row, 8, pitch), 0, 0)
    yield one("store_2", flat(128, 8, swizzle="128B"), 0, 0)
    yield one("store_2", flat(32, 16, swizzle="32B"), 0, 0)
    for x, y in ((16, 0), (32, 0), (592, 60), (0, 100)):
        yield one("store_2", flat(128, 8), x, y)
    yield one("store_3", TensorLayout("f32", (64, 8, 8), (16, 4, 3), (256, 2048)), 0, 0, 0)
    yield one("store_4", TensorLayout("f32", (16, 8, 6, 4), (8, 4, 3, 2)), 0, 0, 0, 0)
    yield one("store_5", TensorLayout("f32", (8, 6, 5, 4, 3), (8, 2, 2, 2, 2)), 0, 0, 0, 0, 0)
    image = TensorLayout("f32", (32, 7, 6, 3), (32, 16), lower=(0, 0), upper=(-1, -1))
    yield one("store_pixels_4", image, 0, 1, 1, 0)
    yield one("add_1", TensorLayout("u32", (1024,), (64,)), 0)
    for row in (8, 16, 32):
        yield one("add_2", TensorLayout("u32", (160, 64), (row, 8), (1024,)), 0, 0)
    yield one("add_2", TensorLayout("u32", (160, 64), (32, 8), (656,)), 0, 0)
    yield one("add_2", TensorLayout("u32", (160, 64), (32, 8), (1024,)), 148, 60)
    yield one("add_2", TensorLayout("u32", (160, 64), (32, 8), (1024,), swizzle="128B"), 0, 0)
    yield one("add_2", TensorLayout("f32", (160, 64), (32, 8), (1024,)), 0, 0, data="f32")
    yield one("add_3", TensorLayout("u32", (64, 8, 8), (16, 4, 3), (256, 2048)), 0, 0, 0)
    yield one("max_2", TensorLayout("s32", (160, 64), (32, 8), (1024,)), 0, 0)
    yield one("xor_2", TensorLayout("u64", (80, 64), (16, 8), (1024,)), 0, 0)
    yield one("prefetch_1", TensorLayout("u8", (4096,), (256,)), 0)
    yield one("prefetch_2", flat(32, 8), 0, 0)
    yield one("prefetch_2", flat(128, 8), 16, -2)
    yield one("prefetch_3", TensorLayout("f32", (64, 8, 8), (16, 4, 3), (256, 2048)), 0, 0, 0)
    yield one("prefetch_map", flat(32, 8))
    for blocks, mask, row in (
        (1, 1, 128), (2, 3, 128), (2, 3, 32), (2, 2, 128), (4, 15, 128), (4, 15, 16), (4, 5, 64),
        (8, 255, 128), (8, 0x90, 128),
    ):  # fmt: skip
        map_ = flat(row, 8)
        numbers = (0, 0, mask, 0, 0, map_.box_bytes)
        yield Launch("tensor_copies", f"multicast_box_{blocks}", numbers, blocks, maps=(map_,))
    map_ = flat(64, 8)
    yield Launch("tensor_copies", "multicast_box_2", (592, 60, 3, 0, 0, map_.box_bytes), 4,
                 maps=(map_,))  # fmt: skip
