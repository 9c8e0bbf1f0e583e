"""Other people's kernels: their list, their launches on a GPU, and the comparison of results.

Their code is not in this repository; the test runs one of the repository's own kernels in the same
way.
"""

from __future__ import annotations

import importlib
import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness.compiler.compile import Unit, build
from harness.emulator.sass import launch_machine_code, read, variable

SCRIPTS = Path(__file__).parents[2] / "scripts"

SOURCE = """__constant__ float weights[2];
extern "C" __global__ void scaled(char first, float4 by, const float* in, float* out, double add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * by.z + weights[first] + (float)add;
}"""
ENTRY = {
    "name": "scaled_by_z",
    "kernel": "scaled",
    "grid": 2,
    "block": 64,
    "variables": {"weights": "float32[2] repeat(0.5, 8)"},
    "args": [
        {"first": "int8 1"},
        {"by": "float32 (1, 2, 4, 8)"},
        {"in": "float32[128] uniform(-1, 1)"},
        {"out": "float32[128]"},
        {"add": "float64 0.25"},
    ],
}


@pytest.fixture(scope="module")
def scripts() -> Iterator[SimpleNamespace]:
    names = ("launches", "on_gpu", "emulated", "readings", "table", "translated", "zluda")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS / "pages"))
        patch.syspath_prepend(str(SCRIPTS / "others_kernels"))
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def own(scripts: SimpleNamespace) -> Any:
    """A launch of the repository's own kernel, in the form of the list."""
    source = scripts.launches.Source("us/ours", "0" * 40, "MIT", "a/scaled.cu", "0" * 64, (), ())
    return scripts.launches._launch(source, ENTRY)


@pytest.fixture(scope="module")
def compiled(own: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in the form that sources.py writes."""
    folder = tmp_path_factory.mktemp("compiled")
    path = folder / "scaled.cu"
    path.write_text(SOURCE)
    built = build(Unit(path, (), (), "sm_90"))
    for made, suffix in ((built.cubin, "cubin"), (built.ptx, "ptx")):
        (folder / f"{own.source.stem}.{suffix}").write_bytes(made.read_bytes())
    parameters = read(built.cubin).functions["scaled"].parameters
    entry = {
        "file": own.source.stem,
        "symbol": "scaled",
        "parameters": [[each.offset, each.size] for each in parameters],
    }
    (folder / "manifest.json").write_text(json.dumps({own.name: entry}))
    return folder


def test_the_list_names_repositories_files_and_launches_beyond_doubt(
    scripts: SimpleNamespace,
) -> None:
    listed = scripts.launches.read()
    assert len(listed) >= 40
    assert len({launch.source.repository for launch in listed}) >= 4
    for launch in listed:
        assert re.fullmatch("[0-9a-f]{40}", launch.source.commit), launch.name
        assert re.fullmatch("[0-9a-f]{64}", launch.source.sha256), launch.name
        assert launch.source.licence, launch.name
        assert launch.buffers or launch.variables, launch.name
        names = {buffer.name for buffer in launch.buffers}
        assert launch.unordered <= names, launch.name
    stems = {launch.source: launch.source.stem for launch in listed}
    assert len(set(stems.values())) == len(stems)


def test_what_a_buffer_holds_follows_from_its_names_alone(scripts: SimpleNamespace) -> None:
    buffer = scripts.launches.Buffer("in", "float32", 4, "uniform", (-1, 1))
    wanted = np.array([0.1375159, 0.7100358, -0.9250779, 0.04144752], np.float32)
    np.testing.assert_array_equal(buffer.contents("some"), buffer.contents("some"))
    np.testing.assert_allclose(buffer.contents("some"), wanted, rtol=0, atol=1e-7)
    assert not np.array_equal(buffer.contents("some"), buffer.contents("other"))


@pytest.mark.parametrize(
    ("text", "said"),
    [("float32[4] unifrom(0, 1)", "unifrom"), ("float32[x]", "float32"), ("int32", "int32")],
)
def test_an_argument_that_is_not_understood_is_said(
    scripts: SimpleNamespace, own: Any, text: str, said: str
) -> None:
    entry = {**ENTRY, "args": [{"in": text}]}
    with pytest.raises(scripts.launches.ListError, match=f"scaled_by_z: in: .*{said}"):
        scripts.launches._launch(own.source, entry)


def driver() -> ModuleType:
    """PyCUDA's driver, as far as on_gpu.py uses it, with the emulator in place of a GPU."""
    memory: dict[int, np.ndarray[Any, Any]] = {}

    class Allocation:
        def __init__(self, size: int) -> None:
            self.address = 0x7F0000000000 + 0x10000 * len(memory)
            memory[self.address] = np.zeros(size, np.uint8)

        def __int__(self) -> int:
            return self.address

        def free(self) -> None:
            memory[self.address] = memory[self.address][:0]

    def to_device(to: Any, array: np.ndarray[Any, Any]) -> None:
        held = to if isinstance(to, np.ndarray) else memory[int(to)]
        held[:] = array.view(np.uint8)

    def from_device(array: np.ndarray[Any, Any], place: Allocation) -> None:
        array.view(np.uint8)[:] = memory[int(place)]

    class Function:
        def __init__(self, code: Any, name: str) -> None:
            self.code, self.name, self.format = code, name, ""

        def prepare(self, text: str) -> None:
            self.format = text

        def prepared_call(self, grid: Any, block: Any, *args: Any, shared_size: int) -> None:
            packed, given = struct.pack(self.format, *args), list[Any]()
            for each in self.code.functions[self.name].parameters:
                own = packed[each.offset : each.offset + each.size]
                number = int.from_bytes(own, "little")
                whole = number if each.size in (1, 2, 4, 8) else own
                given.append(memory.get(number, whole) if each.size == 8 else whole)
            report = launch_machine_code(self.code, self.name, grid, block, given, shared_size)
            assert not report.faults

    class Module:
        def __init__(self, path: str) -> None:
            self.code = read(Path(path))

        def get_function(self, name: str) -> Function:
            return Function(self.code, name)

        def get_global(self, name: str) -> tuple[Any, int]:
            found = variable(self.code, name)
            return found, found.size

    context = SimpleNamespace(push=lambda: None, pop=lambda: None)
    fake: Any = ModuleType("pycuda.driver")
    fake.init = lambda: None
    fake.Device = lambda number: SimpleNamespace(retain_primary_context=lambda: context)
    fake.Context = SimpleNamespace(synchronize=lambda: None)
    fake.mem_alloc, fake.memcpy_htod, fake.memcpy_dtoh = Allocation, to_device, from_device
    fake.module_from_file = Module
    return fake


def test_a_launch_gets_its_arguments_variables_and_hashes(
    scripts: SimpleNamespace, own: Any, compiled: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    package: Any = ModuleType("pycuda")
    package.driver = driver()
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", package.driver)
    monkeypatch.setattr(scripts.on_gpu.listed, "read", lambda: [own])
    scripts.on_gpu.run(compiled, [own.name], tmp_path / "lines")
    starts, done = map(json.loads, (tmp_path / "lines").read_text().splitlines())
    assert starts == {"starts": own.name}
    given = own.buffers[0].contents(own.name)
    wanted = given * np.float32(4) + np.float32(8) + np.float32(0.25)
    assert done["before"]["in"] == done["after"]["in"] == scripts.on_gpu.sha256(given)
    assert done["after"]["out"] == scripts.on_gpu.sha256(wanted)
    assert list(done["samples"]) == ["out"]
    np.testing.assert_array_equal(done["samples"]["out"], scripts.on_gpu.samples(wanted))


def test_a_reading_that_differs_and_a_result_that_differs_are_told(
    scripts: SimpleNamespace, own: Any, compiled: Path
) -> None:
    entry = json.loads((compiled / "manifest.json").read_text())[own.name]
    launcher = scripts.emulated.Launcher(own, compiled, entry)
    found = launcher.from_machine_code()
    true = {each.name: each.value for each in found.report.counters}
    result = scripts.table.Result("", scripts.on_gpu.sha256(found.buffers["out"]), ())
    same = scripts.table.hold(launcher, true, {"out": result})
    assert (same.equal, same.apart, same.on_gpu, same.from_ptx) == (len(true), [], "", "")
    assert "Nothing differs." in scripts.table.table([same])

    wrong = {**true, "smsp__inst_executed.sum": true["smsp__inst_executed.sum"] + 1}
    wrong[f"{scripts.table.OPCODES}/FFMA"] = 7
    values = tuple(2 * value for value in scripts.on_gpu.samples(found.buffers["out"]))
    result = scripts.table.Result("", "0" * 64, values)
    other = scripts.table.hold(launcher, wrong, {"out": result})
    differing = {each.metric for each in other.apart}
    assert {"smsp__inst_executed.sum", "FFMA"} <= differing
    assert "of 16 values differ, by 5.0e-01" in other.on_gpu
    told = scripts.table.table([other])
    assert "`smsp__inst_executed.sum`" in told
    assert "`scaled_by_z`" in told


@pytest.mark.usefixtures("processes")
def test_of_a_repositorys_kernels_those_are_counted_that_the_emulator_takes(
    scripts: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "us+ours" / "tried"
    folder.mkdir(parents=True)
    (folder / "scaled.cu").write_text(SOURCE)
    (folder / "gathers.cu").write_text(
        'extern "C" __global__ void gathers(cudaTextureObject_t t, float4* out) {'
        " *out = tex2Dgather<float4>(t, 1.5f, 2.5f); }"
    )
    (folder / "host.cu").write_text("#include <not_there.h>")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- translated:begin -->\n<!-- translated:end -->\nafter\n")
    arguments = [str(tmp_path), "us/ours@abc=tried", "--page", str(page)]
    assert scripts.translated.main(arguments) == 0
    assert (
        "| [us/ours](https://github.com/us/ours/tree/abc) | 3 | 2 | 2 | 1 | 50.0 % | 1 | 50.0 % |"
        in (page.read_text())
    )
    told = capsys.readouterr().out
    assert "- does not know `tld4.r.2d.v4.f32.f32` (of textures" in told
    assert "- does not know the machine instruction `TLD4.R` (no row in its table): 1" in told


def test_arrays_are_read_as_rust_writes_them(scripts: SimpleNamespace) -> None:
    for text, kind, wanted in (
        ("[1u64, 0x10]", "u8", [1, 16]),
        ("[i32::MIN, -1]", "i4", [-(2**31), -1]),
        ("[u64::max_value()]", "u8", [2**64 - 1]),
        ("[0b1_01u32]", "u4", [5]),
        ("[0x01_00__01i64]", "i8", [0x10001]),
        ("[0.5f32, f32::NEG_INFINITY, f32::from_bits(0x3F800000)]", "f4", [0.5, -np.inf, 1]),
        ("[std::f32::consts::PI / 2f32]", "f4", [np.float32(np.pi / 2)]),
        ("[half::f16::from_f64(1.5), half::f16::from_bits(0x3C00)]", "f2", [1.5, 1]),
        ("[0u16, half::f16::NAN.to_bits()]", "u2", [0, 0x7E00]),
        ("[7]", "i4", [7]),
    ):
        found = scripts.zluda.values(text)
        assert found.dtype == np.dtype(kind), text
        assert found.tolist() == wanted, text
    with pytest.raises(ValueError, match="not an array of numbers"):
        scripts.zluda.values("[exit(1)]")


@pytest.mark.usefixtures("processes")
def test_a_test_of_zluda_is_right_wrong_or_refused_in_both_forms(
    scripts: SimpleNamespace, tmp_path: Path
) -> None:
    folder = tmp_path / scripts.zluda.TESTS
    folder.mkdir(parents=True)
    (folder / "mod.rs").write_text(
        "// test_ptx!(gone, [1u32], [1u32]);\ntest_ptx!(twice, [3u32], [6u32]);\n"
        "test_ptx!(\n    thrice,\n    [3u32],\n    [8u32]\n);\ntest_ptx_warp!(lanes, [\n"
        + "".join(f"{n}u32," for n in range(64)) + "\n]);\ntest_ptx!(unknown);\n"
    )  # fmt: skip
    head = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry "
    one = (
        head
        + """{name}(.param .u64 a, .param .u64 b) {{
        .reg .u64 %l<3>; .reg .u32 %r;
        ld.param.u64 %l1, [a]; ld.param.u64 %l2, [b];
        ld.u32 %r, [%l1]; mul.lo.u32 %r, %r, {by}; st.u32 [%l2], %r; ret;
    }}"""
    )
    (folder / "twice.ptx").write_text(one.format(name="twice", by=2))
    (folder / "thrice.ptx").write_text(one.format(name="thrice", by=3))
    (folder / "lanes.ptx").write_text(head + """lanes(.param .u64 a) {
        .reg .u64 %l<3>; .reg .u32 %r;
        ld.param.u64 %l1, [a]; mov.u32 %r, %tid.x; mul.wide.u32 %l2, %r, 4;
        add.u64 %l1, %l1, %l2; st.u32 [%l1], %r; ret;
    }""")  # fmt: skip
    (folder / "unknown.ptx").write_text(head + "unknown() { frobnicate.b32; ret; }")
    told = scripts.zluda.section(tmp_path, tmp_path / "compiled")
    assert "| 4 | 2 of 4 | 2 of 3 |" in told  # ptxas rejects frobnicate, too
    assert "- `thrice`: from PTX: [0] is 9, wanted 8; from machine code: [0] is 9, want" in told
    assert "- `unknown`: from PTX: the emulator does not know `frobnicate.b32`" in told
