"""Kernels access the right elements of arrays that have far more than 2^32 of them.

No such array is allocated. The last blocks of a large grid are launched as a small one, with
`blockIdx` and `gridDim` as in the large grid. Only the end of each array exists, and its pointer is
moved back by the size of the missing elements. An index that was truncated to 32 bits would
access memory that belongs to no array.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from own_repository import BENCH

from harness.backends.emulated_device import emulated_device
from harness.compiler import toolchain
from harness.dtypes import BY_NAME, numpy_dtype
from harness.emulator import LaunchReport, launch, parse
from harness.matrix import plan

KERNELS = Path(__file__).parents[2] / "kernels"
MISSING = 1 << 36  # elements of every array, so that even vectors of eight exceed 2^32
MISSING_OF_PACKS = {2: 1 << 34, 4: 1 << 32}
"""The same for kernels that number an array's packs in 32 bits: bytes of an element → missing
elements."""
BLOCK, BLOCKS = 64, 4
COLS = 64
ROWS = MISSING // COLS  # missing rows

FAR = """
struct Far {{ unsigned int x, y, z; }};
__device__ __forceinline__ Far far_block() {{ return {{blockIdx.x + {first}u, 0, 0}}; }}
__device__ __forceinline__ Far far_grid() {{ return {{gridDim.x + {first}u, 1, 1}}; }}
#include "{includes}"
#define blockIdx far_block()
#define gridDim far_grid()
// A kernel cannot call another one, so the variant's becomes a function of the device.
#pragma push_macro("__global__")
#undef __global__
#define __global__ __device__
#include "{source}.cu"
#pragma pop_macro("__global__")
extern "C" __global__ void far({parameters}) {{
    {call};
}}
"""


def launched(
    folder: Path,
    source: str,
    call: str,
    parameters: str,
    arguments: list[Any],
    first: int,
    dtype: str,
    shared: int = 0,
) -> LaunchReport:
    """Launch `call` in the blocks from number `first` of a large grid."""
    text = FAR.format(source=source, call=call, parameters=parameters, first=first,
                      includes="common/pack.cuh")  # fmt: skip
    path, ptx = folder / "far.cu", folder / "far.ptx"
    path.write_text(text)
    command = [toolchain.find().nvcc, "-O3", "-std=c++17", "-lineinfo", "-arch=sm_90",
               f"-I{KERNELS}", f"-DDTYPE={BY_NAME[dtype].cpp}", "-ptx", str(path),
               "-o", str(ptx)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return launch(parse(ptx.read_text()), "far", BLOCKS, BLOCK, arguments, shared)


def missing(source: str, dtype: str) -> int:
    text = (KERNELS / f"{source}.cu").read_text()
    numbered = "common/pack.cuh" in text or "common/vector.cuh" in text
    return MISSING_OF_PACKS[numpy_dtype(dtype).itemsize] if numbered else MISSING


class Elementwise(NamedTuple):
    kernel: str
    inputs: int
    function: Callable[..., Any]


OF = {
    "elementwise_add": Elementwise("add", 2, np.add),
    "elementwise_mul_half": Elementwise("multiply", 2, np.multiply),
    "relu": Elementwise("relu", 1, lambda x: np.maximum(x, 0)),
    "sigmoid": Elementwise("sigmoid", 1, lambda x: 1 / (1 + np.exp(-x))),
}
VARIANTS = [
    ("elementwise_add/v0_scalar", "float32", 1),
    ("elementwise_add/v1a_float4", "float32", 4),
    ("elementwise_add/v1b_half2", "bfloat16", 2),
    ("elementwise_add/v2b_eight_halves", "bfloat16", 8),
    ("elementwise_add/v3_packs_in_flight", "float16", 16),
    ("elementwise_add/v4_streaming", "bfloat16", 8),
    ("elementwise_mul_half/v0_scalar", "bfloat16", 1),
    ("elementwise_mul_half/v1_half2", "bfloat16", 2),
    ("elementwise_mul_half/v2_eight_halves", "bfloat16", 8),
    ("elementwise_mul_half/v3_packs_in_flight", "bfloat16", 16),
    ("elementwise_mul_half/v4_streaming", "bfloat16", 8),
    ("relu/v0_scalar", "bfloat16", 1),
    ("relu/v1a_float4", "float32", 4),
    ("relu/v1b_half2", "bfloat16", 2),
    ("relu/v2b_eight_halves", "bfloat16", 8),
    ("relu/v3_packs_in_flight", "bfloat16", 32),
    ("sigmoid/v0_scalar", "bfloat16", 1),
    ("sigmoid/v1a_float4", "float32", 4),
    ("sigmoid/v1b_half2", "bfloat16", 2),
    ("sigmoid/v2b_eight_halves", "bfloat16", 8),
    ("sigmoid/v3_packs_in_flight", "bfloat16", 32),
    ("sigmoid/v4_fast_exponential", "bfloat16", 32),
]
"""Source, type, and elements per thread."""
ONE_BY_ONE = [
    (source, dtype, 1)
    for source, dtype, _ in VARIANTS
    if "start_on_16_bytes" in (KERNELS / f"{source}.cu").read_text()
]
"""If the arrays start between two packs, a thread handles one element at a time."""


@pytest.mark.parametrize(("source", "dtype", "elements"), [*VARIANTS, *ONE_BY_ONE])
def test_elements_beyond_32_bits_are_computed(
    source: str, dtype: str, elements: int, tmp_path: Path
) -> None:
    one, before = OF[source.partition("/")[0]], missing(source, dtype)
    count, shift = BLOCKS * BLOCK * elements, int((source, dtype, elements) in ONE_BY_ONE)
    ctype, rng = BY_NAME[dtype].cpp, np.random.default_rng(1)
    made = [rng.uniform(-4, 4, count + shift) for _ in range(one.inputs)]
    inputs = [values.astype(numpy_dtype(dtype)) for values in made]
    output = np.full(count + shift, np.nan, numpy_dtype(dtype))
    names = [f"x{i}" for i in range(one.inputs)]
    report = launched(
        tmp_path, source,
        f"{one.kernel}({', '.join(f'{n} + {shift} - {before}' for n in [*names, 'y'])}, n)",
        ", ".join([*(f"const {ctype}* {name}" for name in names), f"{ctype}* y, size_t n"]),
        [*inputs, output, before + count], before // (elements * BLOCK), dtype,
    )  # fmt: skip
    assert not report.faults, str(report.faults[0])
    exact = one.function(*(x[shift:].astype(np.float64) for x in inputs))
    near = np.spacing(numpy_dtype(dtype).type(np.abs(exact).max()))
    assert np.all(np.abs(output[shift:] - exact) <= 2 * near)  # other elements are far from it


OF_DOT = {
    "v0_block_reduce_atomic": ("bfloat16", "output", 1),
    "v1a_float4": ("float32", "output", 4),
    "v1b_half2": ("bfloat16", "output", 2),
    "v2a_four_loads_in_flight": ("float32", "output", 4),
    "v2b_aligned_half2_atomic": ("bfloat16", "pair", 2),
    "v3b_float32_accumulation": ("bfloat16", "total", 2),
    "v4b_eight_halves": ("bfloat16", "total", 8),
}
"""Type, target, and the elements that a thread handles at a time."""


@pytest.mark.parametrize("variant", OF_DOT)
def test_products_beyond_32_bits_are_added(variant: str, tmp_path: Path) -> None:
    dtype, target, elements = OF_DOT[variant]
    before = missing(f"dot/{variant}", dtype)
    total = np.zeros(2, np.float32 if target == "total" else numpy_dtype(dtype))
    ctype = BY_NAME[dtype].cpp
    # Whole numbers whose sums are exact in 8 bits.
    a = np.zeros(BLOCKS * BLOCK * elements, numpy_dtype(dtype))
    a[:: len(a) // 64] = np.random.default_rng(1).integers(-2, 3, 64)
    report = launched(
        tmp_path, f"dot/{variant}", f"dot(a - {before}, b - {before}, total, n)",
        f"const {ctype}* a, const {ctype}* b, {'float' if target == 'total' else ctype}* total, "
        "size_t n",
        [a, np.full_like(a, 2), total, before + len(a)], before // (elements * BLOCK), dtype,
    )  # fmt: skip
    assert not report.faults, str(report.faults[0])
    assert total[0] == 2 * a.astype(np.float64).sum() != 0


@pytest.mark.parametrize(
    ("problem", "fits", "larger"),
    [
        *((name, {"n": 2**31}, {"n": 2**31 + 1}) for name in [*OF, "dot"]),
        ("index_add", *({"rows": 2**24, "cols": 128, "targets": t, "stretch": 1}
                        for t in (2**24, 2**24 + 1))),
    ],
)  # fmt: skip
def test_the_matrix_asks_for_indices_of_64_bits_where_32_do_not_suffice(
    problem: str, fits: dict[str, int], larger: dict[str, int]
) -> None:
    for wide, sizes in enumerate((fits, larger)):
        cases = plan.cases_at(BENCH, emulated_device("sm_90"), problem, [sizes])
        kernels = [case for case in cases if case.kind == "kernel"]
        assert {int(case.defines["WIDE"]) for case in kernels} == {wide}


ONE_SIZE = {"scan": 2**31, "reduce_sum": 2**31, "reduce_max": 2**31, "copy": 2**31,
            "softmax": 2**31, "tail_effect": 2**31, "vector_add_coarsening": 2**31,
            "occupancy_probe": 2**31, "parity_branch": 2**31, "histogram": 2**31 - 1,
            "convolve_1d": 2**30, "window_sum": 2**30, "nms": 2**20 - 1}  # fmt: skip
"""The largest n for which every kernel of the problem can index its arrays in 32 bits."""
SEVERAL_SIZES = {
    "transpose": ({"rows": 2**15, "cols": 2**16}, {"rows": 2**16, "cols": 2**17}),
    "sgemm": ({"m": 2**16, "n": 64, "k": 2**15}, {"m": 2**16, "n": 64, "k": 2**16}),
    "sgemm_tf32": ({"m": 2**15, "n": 2**16, "k": 64}, {"m": 2**16, "n": 2**16, "k": 64}),
    "sgemv": ({"m": 2**27, "k": 16}, {"m": 2**28, "k": 16}),
    "upsample_nearest_2d": ({"planes": 2, "h": 2**14, "w": 2**14},
                            {"planes": 4, "h": 2**14, "w": 2**14}),
    "upsample_nearest_2d_backward": ({"planes": 2, "h": 2**14, "w": 2**14},
                                     {"planes": 4, "h": 2**14, "w": 2**14}),
    "conv2d": ({"n": 2**10, "c": 64, "h": 56, "w": 56, "out": 64, "k": 3, "rows": 56},
               {"n": 2**15, "c": 64, "h": 56, "w": 56, "out": 64, "k": 3, "rows": 56}),
    "attention": ({"heads": 2**6, "n": 2**12, "d": 64, "mask": 1},
                  {"heads": 2**10, "n": 2**16, "d": 64, "mask": 1}),
    "attention_decode": ({"batch": 2, "heads": 32, "kv_heads": 8, "n": 2**20, "d": 128},
                         {"batch": 2, "heads": 32, "kv_heads": 8, "n": 2**25, "d": 128}),
}  # fmt: skip
"""For each problem, sizes for which 32-bit indices suffice, and sizes for which they do not."""


@pytest.mark.parametrize(
    ("problem", "fitting", "larger"),
    [*((name, {"n": most}, {"n": most + 1}) for name, most in ONE_SIZE.items()),
     *((name, *sizes) for name, sizes in SEVERAL_SIZES.items())],
)  # fmt: skip
def test_where_indices_of_32_bits_do_not_suffice_every_kernel_is_skipped(
    problem: str, fitting: dict[str, int], larger: dict[str, int]
) -> None:
    others = dict.fromkeys(("skew", "stretch", "crowd", "rounds"), 1)
    names = BENCH.problems[problem].sizes.test[0]
    for sizes, is_skipped in ((fitting, False), (larger, True)):
        whole = {name: sizes.get(name) or others[name] for name in names}
        cases = plan.cases_at(BENCH, emulated_device("sm_90"), problem, [whole])
        kernels = [case for case in cases if case.kind == "kernel"]
        assert any("integers are too narrow" in case.skip for case in kernels) == is_skipped
        assert not is_skipped or all(case.skip for case in kernels)


@pytest.mark.parametrize("problem", [*OF, "dot"])
def test_variants_with_packs_skip_arrays_whose_packs_32_bits_cannot_number(problem: str) -> None:
    cases = plan.cases_at(BENCH, emulated_device("sm_90"), problem, [{"n": 2**34 + 8}])
    for case in (case for case in cases if case.source):
        text = (KERNELS / problem / case.source).read_text()
        numbered = "common/pack.cuh" in text or "common/vector.cuh" in text
        assert not numbered or "n * element_bytes <= 2**35" in case.skip, case.id


def added(rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    sums = np.zeros((index.max() + 1, rows.shape[1]))
    np.add.at(sums, index, rows.astype(np.float64))
    return sums


def of_index_add(dtype: str) -> Mapping[str, np.ndarray]:
    """Make 32 rows of whole numbers, and the 8 target rows that they are added to."""
    rng = np.random.default_rng(1)
    return {
        "source": rng.integers(-2, 3, (32, COLS)).astype(numpy_dtype(dtype)),
        "index": np.resize(np.arange(8, dtype=np.int32), 32),
    }


@pytest.mark.parametrize(
    ("variant", "dtype", "vector"),
    [("v0_atomic_per_element", "bfloat16", 1), ("v1_vector_atomics", "float32", 4),
     ("v1_vector_atomics", "bfloat16", 2), ("v4_eight_halves", "bfloat16", 8),
     ("v4_eight_halves", "float16", 8)],
)  # fmt: skip
def test_rows_beyond_32_bits_are_added_to_targets_beyond_them(
    variant: str, dtype: str, vector: int, tmp_path: Path
) -> None:
    arrays, ctype = of_index_add(dtype), BY_NAME[dtype].cpp
    rows = BLOCKS * BLOCK * vector // COLS
    source, index = arrays["source"][:rows], arrays["index"][:rows]
    output = np.zeros((8, COLS), source.dtype)
    report = launched(
        tmp_path, f"index_add/{variant}",
        f"add(source - {MISSING}, index - {ROWS}, output - {MISSING}, rows, {COLS})",
        f"const {ctype}* source, const int* index, {ctype}* output, unsigned int rows",
        [source, index + np.int32(ROWS), output, ROWS + rows],
        MISSING // (vector * BLOCK), dtype,
    )  # fmt: skip
    assert not report.faults, str(report.faults[0])
    exact = added(source, index)
    assert np.array_equal(output[: len(exact)].astype(np.float64), exact)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("variant", ["v2_sorted_segments", "v3_wide_segments<1>"])
def test_segments_of_rows_beyond_32_bits_are_added(
    variant: str, dtype: str, tmp_path: Path
) -> None:
    arrays, ctype = of_index_add(dtype), BY_NAME[dtype].cpp
    index = arrays["index"] % BLOCKS  # a block for each target
    order = (np.argsort(index, kind="stable") + ROWS).astype(np.int32)
    counts = np.bincount(index).astype(np.int32)
    output = np.full((BLOCKS, COLS), np.nan, numpy_dtype(dtype))
    wide = variant.startswith("v3")
    kernel = "add_segments<true>" if wide else "add_segments"
    last = f"{COLS}, {ROWS + BLOCKS}u, {BLOCK}" if wide else f"{COLS}"
    report = launched(
        tmp_path, f"index_add/{variant.removesuffix('<1>')}",
        f"{kernel}(source - {MISSING}, order, counts - {ROWS}, ends - {ROWS}, output - {MISSING}, "
        f"{last})",
        f"const {ctype}* source, const int* order, const int* counts, const int* ends, "
        f"{ctype}* output",
        [arrays["source"], order, counts, np.cumsum(counts, dtype=np.int32), output],
        ROWS, dtype, 16 * BLOCK,
    )  # fmt: skip
    assert not report.faults, str(report.faults[0])
    assert np.array_equal(output.astype(np.float64), added(arrays["source"], index))


def test_the_output_is_zeroed_beyond_32_bits(tmp_path: Path) -> None:
    output = np.full(BLOCKS * BLOCK, np.nan, numpy_dtype("bfloat16"))
    report = launched(
        tmp_path, "index_add/v0_atomic_per_element", f"zero(output - {MISSING}, n)",
        "__nv_bfloat16* output, size_t n", [output, MISSING + len(output)], MISSING // BLOCK,
        "bfloat16",
    )  # fmt: skip
    assert not report.faults, str(report.faults[0])
    assert not output.any()


def test_an_index_of_32_bits_would_be_caught(tmp_path: Path) -> None:
    source = tmp_path / "narrow.cu"
    source.write_text("""
extern "C" __global__ void narrow(const float* input, float* output, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i];
}
""")
    x = np.ones(BLOCKS * BLOCK, np.float32)
    report = launched(
        tmp_path, str(source.with_suffix("")), f"narrow(x - {MISSING}, y - {MISSING}, ~0u)",
        "const float* x, float* y", [x, np.zeros_like(x)], MISSING // BLOCK, "float32",
    )  # fmt: skip
    assert report.faults
