"""Textures and surfaces give the same results as an H200.

The readings are textures.csv.gz and surfaces.csv.gz in reports/h200/fidelity, written by
scripts/textures.
"""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel

from harness.emulator import (
    LaunchError,
    Module,
    Surface,
    Texture,
    UnknownInstruction,
    launch,
    parse,
)

READINGS = Path(__file__).parents[5] / "reports" / "h200" / "fidelity"
STEPS = {"float16": 2.0**-10, "int8": 1.01 / 32767}
"""The permitted difference of filtered values: one rounding of the format or, for formats
without an entry, of a float."""

AXES = {
    "1d": (False, False, True), "2d": (False, True, True), "3d": (True, True, True),
    "layered 1d": (True, False, True), "layered 2d": (True, True, True),
}  # fmt: skip
"""Kind of surface → whether it has a depth, a height and a width."""

COPIES = """
template <class T> __device__ void copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    T texel;
    const int size = sizeof(T), x = threadIdx.x, y = blockIdx.x;
    surf2Dread(&texel, from, x * size, y);
    surf2Dwrite(texel, to, (blockDim.x - 1 - x) * size, y);
}
#define COPY(NAME, T) extern "C" __global__ void NAME(cudaSurfaceObject_t from, cudaSurfaceObject_t to) { copy<T>(from, to); }
COPY(uint8_1, unsigned char) COPY(uint8_4, uchar4) COPY(int16_2, short2) COPY(float32_1, float)
COPY(uint32_2, uint2) COPY(float32_4, float4)

extern "C" __global__ void others(cudaSurfaceObject_t line, cudaSurfaceObject_t volume,
                                  cudaSurfaceObject_t layers, float* out) {
    const int i = threadIdx.x;
    surf1Dwrite(i * 2.0f, line, i * 4);
    surf3Dwrite(i * 3.0f, volume, i * 4, 1, 2);
    surf2DLayeredwrite(i * 5.0f, layers, i * 4, 2, 1);
    float a, b, c;
    surf1Dread(&a, line, i * 4);
    surf3Dread(&b, volume, i * 4, 1, 2);
    surf2DLayeredread(&c, layers, i * 4, 2, 1);
    out[i] = a + b + c;
}

extern "C" __global__ void beyond(cudaSurfaceObject_t s, float* out) {
    const int x = 4 * (static_cast<int>(threadIdx.x) - 2);
    surf2Dread(&out[threadIdx.x], s, x, 1, cudaBoundaryModeClamp);
    surf2Dread(&out[8 + threadIdx.x], s, x, 1, cudaBoundaryModeZero);
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def listed(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("fetch_cases")


@pytest.fixture(scope="module")
def readings() -> Mapping[str, np.ndarray]:
    found: dict[str, list[list[int]]] = defaultdict(list)
    with gzip.open(READINGS / "textures.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["case"]].append([int(row[channel], 16) for channel in "rgba"])
    return {case: np.array(rows, np.uint32) for case, rows in found.items()}


@pytest.fixture
def fetches(listed: ModuleType, compile_ptx: CompilePtx) -> Module:
    return compile_ptx(listed.SOURCE)


def fetched(module: Module, case: Any, count: int) -> np.ndarray:
    """The fetched bits, shaped (count, 4)."""
    width, height, depth = case.extent
    shapes = {"1d": (width,), "memory": (width,), "2d": (height, width),
              "layered 1d": (depth, width)}  # fmt: skip
    shape = shapes.get(case.kind, (depth, height, width))
    texels = case.texels().reshape(*shape, *[case.channels] * (case.channels > 1))
    texture = Texture(
        texels, "1d" if case.kind == "memory" else case.kind, case.channels, case.address,
        "linear" if case.linear else "point", case.normalized, case.fractions,
    )  # fmt: skip
    out = np.zeros((count, 4), np.uint32)
    report = launch(module, case.kernel, 1, 128, [texture, out, *case.coordinates(), count])
    assert not report.faults, report.faults[0]
    return out


def test_every_case_was_read(listed: ModuleType, readings: Mapping[str, np.ndarray]) -> None:
    assert {case.name for case in listed.cases()} == set(readings)
    assert sum(map(len, readings.values())) > 13_000


def test_a_fetch_that_filters_nothing_is_the_h200s_to_the_bit(
    listed: ModuleType, fetches: Module, readings: Mapping[str, np.ndarray]
) -> None:
    cases = [case for case in listed.cases() if not case.linear]
    assert len(cases) == 84
    for case in cases:
        found = fetched(fetches, case, listed.FETCHES)
        np.testing.assert_array_equal(found, readings[case.name], case.name)


def test_a_filtered_fetch_is_the_h200s_but_for_its_last_digit(
    listed: ModuleType, fetches: Module, readings: Mapping[str, np.ndarray]
) -> None:
    apart = total = 0
    for case in listed.cases():
        if not case.linear:
            continue
        ours = fetched(fetches, case, listed.FETCHES).view(np.float32)
        theirs = readings[case.name].view(np.float32)
        assert np.isfinite(theirs).all()
        assert np.abs(ours - theirs).max() <= STEPS.get(case.dtype, 2.5e-7), case.name
        apart += int((np.abs(ours - theirs) > 2.5e-7).any(axis=1).sum())
        total += len(ours)
    assert (apart, total) == (23, 5856)


def test_surfaces_are_loaded_and_stored_as_by_the_h200_within_and_beyond(
    script_of: Callable[[str], ModuleType], compile_ptx: CompilePtx
) -> None:
    """Covers every kind and size of access: the texels' own size, and other sizes."""
    script = script_of("surface_cases")
    with gzip.open(READINGS / "surfaces.csv.gz", "rt", encoding="utf-8", newline="") as file:
        readings = {row["case"]: (row["loaded"], row["stored"]) for row in csv.DictReader(file)}
    cases = list(script.cases())
    assert {case.name for case in cases} == set(readings)
    assert len(cases) == 130
    module = compile_ptx(script.SOURCE)
    for case in cases:
        texels, loaded, places = case.texels(), np.zeros_like(case.values()), case.places()
        shape = [length for length, is_there in zip(texels.shape[:3], AXES[case.kind], strict=True)
                 if is_there]  # fmt: skip
        texels = texels.reshape(*shape, *[case.channels] * (case.channels > 1))
        surface = Surface(texels, case.kind, case.channels)
        end = (*places, script.ACCESSES, int(case.clamp))
        load = launch(module, f"{case.kernel}_loads", 1, 128, [surface, loaded, *end])
        store = launch(module, f"{case.kernel}_stores", 1, 1, [surface, case.values(), *end])
        assert not load.faults + store.faults, case.name
        assert (loaded.tobytes().hex(), texels.tobytes().hex()) == readings[case.name], case.name


@pytest.mark.parametrize(
    ("dtype", "channels"),
    [("uint8", 1), ("uint8", 4), ("int16", 2), ("float32", 1), ("uint32", 2), ("float32", 4)],
)
def test_texels_of_every_size_are_loaded_and_stored(
    compile_ptx: CompilePtx, dtype: str, channels: int
) -> None:
    shape = (3, 16, channels) if channels > 1 else (3, 16)
    given = np.random.default_rng(1).integers(0, 255, shape).astype(dtype)
    made = np.zeros_like(given)
    args = [Surface(given, channels=channels), Surface(made, channels=channels)]
    report = launch(compile_ptx(COPIES), f"{dtype}_{channels}", 3, 16, args)
    assert not report.faults
    np.testing.assert_array_equal(made, given[:, ::-1])


def test_surfaces_of_every_kind_are_loaded_and_stored(compile_ptx: CompilePtx) -> None:
    line, volume, layers = (
        np.zeros(shape, np.float32) for shape in ((8,), (4, 3, 8), (2, 3, 8))
    )  # fmt: skip
    out, i = np.zeros(8, np.float32), np.arange(8)
    args = [Surface(line, "1d"), Surface(volume, "3d"), Surface(layers, "layered 2d"), out]
    assert not launch(compile_ptx(COPIES), "others", 1, 8, args).faults
    np.testing.assert_array_equal(out, 10 * i)
    np.testing.assert_array_equal(volume[2, 1], 3 * i)
    np.testing.assert_array_equal(layers[1, 2], 5 * i)
    assert np.count_nonzero(volume) == np.count_nonzero(layers) == 7


def test_beyond_a_surface_the_nearest_texel_or_zero_is_read_or_it_is_a_fault(
    compile_ptx: CompilePtx,
) -> None:
    module, texels = compile_ptx(COPIES), np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    out = np.zeros(16, np.float32)
    assert not launch(module, "beyond", 1, 8, [Surface(texels), out]).faults
    assert out.tolist() == [5, 5, 5, 6, 7, 8, 8, 8, 0, 0, 5, 6, 7, 8, 0, 0]
    args = [Surface(texels), Surface(texels.copy())]
    [fault] = launch(module, "float32_1", 3, 4, args).faults
    assert (fault.kind, fault.block, fault.thread) == ("out of bounds", (2, 0, 0), (0, 0, 0))
    assert "of 4 bytes at (0, 2) of argument 0 (float32_1_param_0)" in fault.message


def test_an_access_wider_than_a_row_has_no_nearest_place(compile_ptx: CompilePtx) -> None:
    out = np.zeros(16, np.float32)
    narrow = Surface(np.zeros((2, 3), np.uint8))
    [fault] = launch(compile_ptx(COPIES), "beyond", 1, 8, [narrow, out]).faults
    assert fault.kind == "out of bounds"
    assert "whose rows have 3 bytes" in fault.message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0, "0x0, which is no texture or surface of the launch"),
        (Texture(np.zeros((4, 4), np.float32)), "which is a 2d texture"),
        (Surface(np.zeros(4, np.float32), "1d"), "which is a 1d surface"),
    ],
)
def test_a_handle_of_something_else_is_a_fault_at_its_line(
    compile_ptx: CompilePtx, given: Any, words: str
) -> None:
    args = [given, Surface(np.zeros((4, 4), np.float32))]
    [fault] = launch(compile_ptx(COPIES), "float32_1", 1, 4, args).faults
    assert (fault.kind, fault.line) == ("out of bounds", 5)
    assert words in fault.message


def test_one_address_mode_is_that_of_the_axes_there_are(fetches: Module) -> None:
    """A GPU filters a 1D texture like the only row of a 2D texture, including the borders of that
    row."""

    def filtered(address: Any) -> float:
        out, at = np.zeros((1, 4), np.float32), np.full(1, 1.5, np.float32)
        line = Texture(np.full(4, 8, np.float32), "1d", address=address, filter="linear")
        assert not launch(fetches, "line_floats", 1, 32, [line, out, at, at, at, 1]).faults
        return float(out[0, 0])

    assert [filtered("border"), filtered(("border", "border"))] == [8, 4]


PLANE = np.zeros((4, 4), np.float32)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Texture(PLANE, "3d"), "are no 3d texture of 1 channels"),
        (Texture(PLANE, channels=4), "are no 2d texture of 4 channels"),
        (Texture(PLANE, channels=3), "channels is 3: give 1, 2 or 4"),
        (Texture(PLANE, "4d"), "kind is '4d': known are 1d, 2d"),  # type: ignore[arg-type]
        (Texture(PLANE, address="repeat"), "address is 'repeat'"),  # type: ignore[arg-type]
        (Texture(PLANE, address=("wrap", 5)), "address is"),  # type: ignore[arg-type]
        (Texture(PLANE, filter="cubic"), "filter is 'cubic'"),  # type: ignore[arg-type]
        (Texture(PLANE.astype(np.float64)), "give an array of uint8"),
        (Texture([[1.0]]), "give an array of uint8"),  # type: ignore[arg-type]
        (Texture(PLANE.T[::2]), "not contiguous"),
        (Texture(np.zeros((5, 4, 4), np.float32), "cube"), "are no cube texture"),
        (Texture(np.zeros((0, 4), np.float32)), "are no 2d texture"),
        (Texture(PLANE.astype(np.int32), filter="linear"), "only if they are read as fractions"),
        (Texture(PLANE.astype(np.int32), fractions=True), "of 8 and 16 bits alone"),
        (Surface(np.broadcast_to(PLANE, (4, 4))), "an array that may be written"),
        (Surface(np.zeros((6, 4, 4), np.float32), "cube"), "and no cube"),
    ],
)
def test_what_is_no_texture_is_refused_before_anything_runs(given: Any, words: str) -> None:
    with pytest.raises(LaunchError, match=words):
        launch(parse(ptx_kernel("", ["u64"])), "k", 1, 1, [given])


def test_a_texture_where_a_number_belongs_is_refused() -> None:
    with pytest.raises(LaunchError, match="is a texture, but the parameter is no handle"):
        launch(parse(ptx_kernel("", ["u32"])), "k", 1, 1, [Texture(PLANE)])


@pytest.mark.parametrize(
    "text",
    [
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [named, {%f5, %f6}];",
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%l1, {%f5}];",
        "tex.2d.v4.f32.f32 {%f1, %f2}, [%l1, {%f5, %f6}];",
        "tex.acube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%l1, {%r5, %f6, %f7, %f8}];",
        "tex.2d.v2.f16x2.f32 {%r1, %r2}, [%l1, {%f5, %f6}];",
        "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%l1, {%f5, %f6}];",
        "txq.width.b32 %r1, [%l1];",
        "suld.b.2d.v2.b32.trap {%r1}, [%l1, {%r2, %r3}];",
        "suld.b.cube.b32.trap {%r1}, [%l1, {%r2, %r3, %r4, %r4}];",
        "sust.p.2d.b32.trap [%l1, {%r2, %r3}], {%r1};",
        "sured.b.add.2d.u32.trap [%l1, {%r2, %r3}], %r1;",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        launch(parse(ptx_kernel(text, ["u64"])), "k", 1, 1, [0])
