"""Texture fetches, surface loads and surface stores in machine code match an H200's readings."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from emulator_tools import CompilePtx
from one_by_one import LANES, launched
from sass.conftest import ReadSource

from harness.emulator import Surface, Texture, launch
from harness.emulator.sass import UnknownMachineInstruction, launch_machine_code

READINGS = Path(__file__).parents[4] / "reports" / "h200" / "fidelity"
GRADIENTS = """
#define X (threadIdx.x % 8 * 0.75f)
#define Y (threadIdx.x / 8 * 0.5f)
#define DX make_float2(X, 9.0f)
#define DY make_float2(3.0f, Y)
extern "C" __global__ void line(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex1DGrad<float>(t, X, 0.5f, Y);
}
extern "C" __global__ void plane(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex2DGrad<float>(t, X, Y, DX, DY);
}
extern "C" __global__ void lines(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex1DLayeredGrad<float>(t, X, threadIdx.x / 16, 0.5f, Y);
}
extern "C" __global__ void planes(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex2DLayeredGrad<float>(t, X, Y, threadIdx.x % 2, DX, DY);
}
"""
STEPS = {"float16": 2.0**-10, "int8": 1.01 / 32767}


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_fetches_are_the_h200s(
    script_of: Callable[[str], ModuleType], read_source: ReadSource, arch: str
) -> None:
    listed = script_of("fetch_cases")
    code = read_source(listed.SOURCE, arch)
    readings: dict[str, list[list[int]]] = defaultdict(list)
    with gzip.open(READINGS / "textures.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            readings[row["case"]].append([int(row[channel], 16) for channel in "rgba"])
    for case in listed.cases():
        width, height, depth = case.extent
        shapes = {"1d": (width,), "memory": (width,), "2d": (height, width),
                  "layered 1d": (depth, width)}  # fmt: skip
        shape = shapes.get(case.kind, (depth, height, width))
        texture = Texture(
            case.texels().reshape(*shape, *[case.channels] * (case.channels > 1)),
            "1d" if case.kind == "memory" else case.kind, case.channels, case.address,
            "linear" if case.linear else "point", case.normalized, case.fractions,
        )  # fmt: skip
        out = np.zeros((listed.FETCHES, 4), np.uint32)
        args = [texture, out, *case.coordinates(), listed.FETCHES]
        assert not launch_machine_code(code, case.kernel, 1, 128, args).faults
        read = np.array(readings[case.name], np.uint32)
        if case.linear:
            apart = np.abs(out.view(np.float32) - read.view(np.float32))
            assert apart.max() <= STEPS.get(case.dtype, 2.5e-7), case.name
        else:
            np.testing.assert_array_equal(out, read, case.name)


@pytest.mark.parametrize(
    "text",
    [
        "TEX.LL RZ,R9,R4,R8,UR4,0x0,2D,0x1",
        "TEX.LL RZ,R9,R4,R8,UR4,2D,0x1",
        "TEX RZ,R9,R4,UR4,2D,0x1",
        "TEX R12,R10,R4,UR4,2D",
        "TEX RZ,R9,R3,UR4,ARRAY_2D,0x1",
        "TLD.LZ RZ,R9,R6,UR4,2D,0x1",
        "TLD.LZ RZ,R9,R6,UR4,0x0,2D,0x1",
    ],
)
def test_a_uniform_register_alone_is_a_handle(text: str) -> None:
    """For Blackwell, ptxas omits the offset of 0 that it writes for Hopper. A fetch without a level
    has no level operand in code for sm_120 and later; for earlier architectures, the operand is a
    level below all others."""
    lane = np.arange(LANES, dtype=np.uint32)
    x, y = lane % 4, lane // 4
    centres = [(each + np.float32(0.5)).astype(np.float32).view(np.uint32) for each in (x, y)]
    least = np.full(LANES, -32, np.float32).view(np.uint32)
    given = np.stack([np.ones(LANES, np.uint32), *centres, x, y, least, lane, lane], axis=1)
    layers = [np.arange(100 * n, 100 * n + LANES).reshape(8, 4) for n in range(2)]
    texels = np.stack(layers).astype(np.int32)
    layered = "ARRAY" in text
    texture = Texture(texels, "layered 2d") if layered else Texture(texels[0])
    every = "0x1" not in text.split(",")
    out = np.zeros(LANES, np.int32)
    loads = [f"LDG.E R{3 + n},[R242.64+{4 * n:#x}]" for n in range(6)]
    launched(
        ["S2R R240,SR_TID.X", "IMAD.WIDE R242,R240,0x20,c[0x0][0x168]", "ULDC UR4,c[0x0][0x160]",
         "IMAD.WIDE R244,R240,0x4,c[0x0][0x170]", *loads, text,
         f"STG.E [R244.64],R{10 if every else 9}", "EXIT"], [texture, given, out])  # fmt: skip
    assert out.tolist() == (lane + 100 * layered).tolist()


def test_a_handle_with_another_offset_is_refused() -> None:
    for handle in ("UR4,0x4", "UR4,UR0", "UR4,0x0,0x0"):
        with pytest.raises(UnknownMachineInstruction):
            launched([f"TEX.LL RZ,R9,R4,R8,{handle},2D,0x1", "EXIT"], [bytes(8)])


def test_surfaces_are_loaded_and_stored_as_by_the_h200(
    script_of: Callable[[str], ModuleType], read_source: ReadSource
) -> None:
    script = script_of("surface_cases")
    with gzip.open(READINGS / "surfaces.csv.gz", "rt", encoding="utf-8", newline="") as file:
        readings = {row["case"]: (row["loaded"], row["stored"]) for row in csv.DictReader(file)}
    code = read_source(script.SOURCE)
    for case in script.cases():
        texels, loaded, places = case.texels(), np.zeros_like(case.values()), case.places()
        depth, height, width = texels.shape[:3]
        shape = {"1d": (width,), "2d": (height, width), "layered 1d": (depth, width)}.get(
            case.kind, (depth, height, width)
        )
        texels = texels.reshape(*shape, *[case.channels] * (case.channels > 1))
        surface = Surface(texels, case.kind, case.channels)
        end = (*places, script.ACCESSES, int(case.clamp))
        for name, block, values in (("loads", 128, loaded), ("stores", 1, case.values())):
            args = [surface, values, *end]
            report = launch_machine_code(code, f"{case.kernel}_{name}", 1, block, args)
            assert not report.faults, case.name
        assert (loaded.tobytes().hex(), texels.tobytes().hex()) == readings[case.name], case.name


BEYOND = """extern "C" __global__ void trap(cudaSurfaceObject_t s, int x) {
    surf2Dwrite(1.0f, s, x, 0);
}
extern "C" __global__ void divergent(cudaTextureObject_t a, cudaTextureObject_t b,
                                     cudaTextureObject_t c, float* out) {
    const cudaTextureObject_t t = threadIdx.x % 3 == 0 ? a : threadIdx.x % 3 == 1 ? b : c;
    out[threadIdx.x] = tex2D<float>(t, 0.5f, 0.5f);
}"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_wrong_handle_and_a_place_beyond_are_faults(read_source: ReadSource, arch: str) -> None:
    code, texels = read_source(BEYOND, arch), np.zeros((2, 4), np.float32)
    assert not launch_machine_code(code, "trap", 1, 1, [Surface(texels), 4]).faults
    assert texels[0].tolist() == [0, 1, 0, 0]
    for given, x in ((Surface(texels), 16), (Texture(texels), 4), (np.zeros(4), 4), (0, 4)):
        [fault] = launch_machine_code(code, "trap", 1, 1, [given, x]).faults
        assert (fault.kind, fault.line) == ("out of bounds", 2)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_handles_may_differ_within_a_warp(read_source: ReadSource, arch: str) -> None:
    """Hopper's code loops over the handles, one at a time; lanes that hold a different handle skip
    the fetch.
    """
    code = read_source(BEYOND, arch)
    texels = [Texture(np.full((2, 4), value, np.float32)) for value in (3, 5, 7)]
    out = np.zeros(64, np.float32)
    report = launch_machine_code(code, "divergent", 1, 64, [*texels, out])
    assert not report.faults
    assert out.tolist() == [(3, 5, 7)[i % 3] for i in range(64)]
    label = {each.provenance for each in report.counters}
    assert (label == {"emulator-model"}) == (arch == "sm_90")


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_fetches_with_gradients_are_those_of_ptx(
    compile_ptx: CompilePtx, read_source: ReadSource, tmp_path: Path, arch: str
) -> None:
    """There is only one level, so the gradients do not change the fetched values."""
    path = tmp_path / "gradients.cu"
    path.write_text(GRADIENTS)
    texels = np.arange(96, dtype=np.float32).reshape(4, 8, 3)[..., 0].copy()
    layers = np.arange(64, dtype=np.float32).reshape(2, 4, 8)
    for kernel, texture in (
        ("line", Texture(texels[0], "1d", filter="linear")),
        ("plane", Texture(texels, filter="linear")),
        ("lines", Texture(texels, "layered 1d")), ("planes", Texture(layers, "layered 2d")),
    ):  # fmt: skip
        of_ptx, of_code = np.zeros((2, 64), np.float32)
        launch(compile_ptx(path), kernel, 1, 64, [texture, of_ptx])
        launch_machine_code(read_source(path, arch), kernel, 1, 64, [texture, of_code])
        assert len(set(of_ptx)) > 4
        np.testing.assert_array_equal(of_ptx, of_code)
