"""Products with a sparse first operand, for `products_on_gpu.py` and the tests.

Their numbers are small integers, so every sum is exact. Every lane has metadata, including lanes
whose metadata is ignored, so the results show which lanes supply it.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

SOURCE: Final = Path(__file__).parents[2] / "tests/fidelity/sparse_products/products.cu"
PRODUCTS: Final = 8
"""The number of blocks in a launch; each block computes one product."""
SUM_WORDS: Final = 4
"""The number of words for a thread's sums. Half-precision sums take only two."""
_BITS: Final = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4,
                "e4m3": 8, "e5m2": 8}  # fmt: skip
_FP8: Final = {
    "e4m3": np.array([0x00, 0x38, 0x40, 0xB8, 0xC0], np.uint8),
    "e5m2": np.array([0x00, 0x3C, 0x40, 0xBC, 0xC0], np.uint8),
}
"""Type → the encodings of 0, 1, 2, -1 and -2."""


@dataclass(frozen=True)
class Case:
    """A kernel in products.cu, and the words that are passed to it.

    `name`: the kernel's name, without the selector. `types`: the types of the operands' numbers.
    `depth`: the number of columns of the first operand, including its zeros. `selector`: selects
    the lanes that supply the metadata. `sums`: the type of the sums. `group`: whether a warpgroup
    multiplies. `any_order`: whether the metadata may also be in descending order.
    """

    name: str
    types: tuple[str, str]
    depth: int
    selector: int
    sums: str = "f32"
    group: bool = False
    any_order: bool = False

    @property
    def kernel(self) -> str:
        return f"{self.name}_{self.selector}"

    @property
    def threads(self) -> int:
        return 128 if self.group else 32

    @property
    def factor_words(self) -> int:
        """The number of words of the first operand in each thread. All threads together hold 16
        rows, or 64 for a warpgroup."""
        return 16 * self.depth // 2 * _BITS[self.types[0]] // 32 // 32

    def words(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Both operands, the metadata and the sums, each shaped (products, threads, words)."""
        rng = np.random.default_rng(zlib.crc32(self.kernel.encode()))
        counts = (self.factor_words, 1 if self.group else self.factor_words)
        factors = [
            _packed(rng, type_, (PRODUCTS, self.threads, count))
            for type_, count in zip(self.types, counts, strict=True)
        ]
        metadata = self._metadata(rng)
        whole = rng.integers(-99, 99, (PRODUCTS, self.threads, SUM_WORDS))
        sums = np.zeros(whole.shape, np.uint32)
        if self.sums == "f16":
            sums[..., :2] = whole.astype(np.float16).view(np.uint32)
        else:
            kind = np.int32 if self.sums == "s32" else np.float32
            sums[:] = whole.astype(kind).view(np.uint32)
        return factors[0], factors[1], metadata, sums

    def _metadata(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a valid nibble for each group: for tf32, which one of two is kept; otherwise which
        two of four."""
        pairs = [a | b << 2 for a in range(4) for b in range(4)
                 if a < b or (self.any_order and a != b)]  # fmt: skip
        nibbles = np.array([0b0100, 0b1110] if self.types[0] == "tf32" else pairs, np.uint32)
        drawn = rng.choice(nibbles, (PRODUCTS, self.threads, 1, 8))
        return (drawn << np.arange(0, 32, 4, dtype=np.uint32)).sum(-1).astype(np.uint32)


def _packed(rng: np.random.Generator, type_: str, shape: tuple[int, ...]) -> np.ndarray:
    """Draw small numbers of a type, packed into words."""
    count = 32 // _BITS[type_]
    small = rng.integers(-5, 6, (*shape, count))
    if type_ == "f16":
        drawn = small.astype(np.float16)
    elif type_ == "bf16":
        drawn = (small.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    elif type_ == "tf32":
        drawn = small.astype(np.float32)
    elif type_ in _FP8:
        drawn = rng.choice(_FP8[type_], (*shape, count))
    else:
        drawn = rng.integers(0, 256, (*shape, 4), np.uint8)
    return np.ascontiguousarray(drawn).view(np.uint32)[..., 0]


def cases() -> list[Case]:
    """All kernels of the source."""
    return [
        Case(name, (a, b), depth, selector, sums, name.startswith("group"), "any_order" in name)
        for name, a, b, depth, selectors, sums in (
            ("f16_16", "f16", "f16", 16, range(4), "f32"),
            ("f16_32", "f16", "f16", 32, range(2), "f32"),
            ("half_16", "f16", "f16", 16, (1,), "f16"),
            ("half_32", "f16", "f16", 32, (1,), "f16"),
            ("bf16_16", "bf16", "bf16", 16, range(4), "f32"),
            ("bf16_32", "bf16", "bf16", 32, range(2), "f32"),
            ("tf32_8", "tf32", "tf32", 8, range(4), "f32"),
            ("tf32_16", "tf32", "tf32", 16, range(2), "f32"),
            ("s8_32", "s8", "s8", 32, range(2), "s32"),
            ("s8_64", "s8", "s8", 64, (0,), "s32"),
            ("u8s8_32", "u8", "s8", 32, range(2), "s32"),
            ("s8u8_64", "s8", "u8", 64, (0,), "s32"),
            ("u8_64_clamped", "u8", "u8", 64, (0,), "s32"),
            ("s4_64", "s4", "s4", 64, range(2), "s32"),
            ("u4_128", "u4", "u4", 128, (0,), "s32"),
            ("e4m3_64", "e4m3", "e5m2", 64, (0,), "f32"),
            ("f16_32_any_order", "f16", "f16", 32, range(2), "f32"),
            ("s8_64_any_order", "s8", "s8", 64, (0,), "s32"),
            ("group_f16", "f16", "f16", 32, range(2), "f32"),
            ("group_bf16", "bf16", "bf16", 32, (1,), "f32"),
            ("group_tf32", "tf32", "tf32", 16, range(2), "f32"),
            ("group_s8", "s8", "s8", 64, (0,), "s32"),
            ("group_e4m3", "e4m3", "e5m2", 64, (0,), "f32"),
        )
        for selector in selectors
    ]
