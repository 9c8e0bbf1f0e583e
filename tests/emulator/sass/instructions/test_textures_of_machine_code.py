"""Machine code fetches from textures, and loads and stores surfaces, as an H200 was read to."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sass.conftest import ReadSource

from harness.emulator import Surface, Texture
from harness.emulator.sass import launch_machine_code

READINGS = Path(__file__).parents[4] / "reports" / "h200" / "fidelity"
STEPS = {"float16": 2.0**-10, "int8": 1.01 / 32767}


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
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
    """Hopper's code goes round for one handle after the other; lanes with others skip the fetch."""
    code = read_source(BEYOND, arch)
    texels = [Texture(np.full((2, 4), value, np.float32)) for value in (3, 5, 7)]
    out = np.zeros(64, np.float32)
    report = launch_machine_code(code, "divergent", 1, 64, [*texels, out])
    assert not report.faults
    assert out.tolist() == [(3, 5, 7)[i % 3] for i in range(64)]
    label = {each.provenance for each in report.counters}
    assert (label == {"emulator-model"}) == (arch == "sm_90")
