"""Kernels with C++ names, and the additional files, folders and flags of a compilation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from harness.cases import Case, Step
from harness.compiler.compile import Built, Unit, build, kernel_name
from harness.compiler.units import unit
from harness.dtypes import BY_NAME
from harness.emulator import parse
from harness.emulator.ptx.syntax import Instruction
from harness.errors import CompileError

SOURCE = """\
namespace ns {
template <typename T, int N = 4> __global__ void fill(T* data) {
    data[threadIdx.x] = T(N);
}
__global__ void plain(float* data) { data[0] = 1; }
}
template <int N> static __global__ void hidden(int* data) { data[0] = N; }
namespace {
template <int N> __global__ void unnamed(int* data) { data[0] = N; }
}
template <int N> __global__ void over(int* data) { data[0] = N; }
template <int N> __global__ void over(float* data) { data[0] = N; }
"""


@pytest.fixture
def one(tmp_path: Path, cache: Path) -> Callable[..., Unit]:
    """Make a unit of SOURCE with the given names."""
    (tmp_path / "v0.cu").write_text(SOURCE)

    def make(*names: str, **more: object) -> Unit:
        defines = (("DTYPE", "float"), ("SIX", "6"))
        made = Unit(tmp_path / "v0.cu", (tmp_path,), defines, "sm_90", names=names)
        return replace(made, **more)  # type: ignore[arg-type]

    return make


def test_a_template_is_instantiated_by_its_name_and_found_by_it(one: Callable[..., Unit]) -> None:
    names = ("ns::fill<DTYPE, 2 * SIX>", "ns::fill<int>", "ns::plain", "hidden<3>", "unnamed<5>")
    built = build(one(*names))
    symbols = {name: kernel_name(name, built, "v0.cu") for name in names}
    assert set(symbols.values()) <= set(built.kernels)
    assert symbols["ns::fill<DTYPE, 2 * SIX>"] == "_ZN2ns4fillIfLi12EEEvPT_"
    assert symbols["ns::fill<int>"] == "_ZN2ns4fillIiLi4EEEvPT_"  # with its default argument
    assert symbols["ns::plain"] == "_ZN2ns5plainEPf"
    assert build(one(*names)).names == built.names  # from the cache too


def test_what_was_written_to_name_the_kernels_is_not_in_what_is_run(
    one: Callable[..., Unit],
) -> None:
    built = build(one("ns::fill<float, 2>", "ns::plain"))
    text = built.ptx.read_text()
    assert "harness" not in text
    assert set(parse(text).kernels) == {"_ZN2ns4fillIfLi2EEEvPT_", "_ZN2ns5plainEPf"}
    alone = build(one())  # the same kernel, compiled unchanged
    code = {symbol: found.sass_sha256 for symbol, found in alone.kernels.items()}
    assert built.kernels["_ZN2ns5plainEPf"].sass_sha256 == code["_ZN2ns5plainEPf"]


def test_lines_are_those_of_the_users_own_file(one: Callable[..., Unit], tmp_path: Path) -> None:
    built = build(one("ns::fill<float, 2>"))
    text = built.ptx.read_text()
    assert f'"{tmp_path / "v0.cu"}"' in text
    assert "unit.cu" not in text
    kernel = parse(text).kernels["_ZN2ns4fillIfLi2EEEvPT_"]
    places = {i.location for i in kernel.body or () if isinstance(i, Instruction)} - {None}
    assert {(Path(p.file).name, p.line) for p in places if p} == {
        ("v0.cu", 2),
        ("v0.cu", 3),
        ("v0.cu", 4),
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ns::fil<int>", 'has no member "fil"'),
        ("over<2>", "cannot determine which instance of overloaded function"),
        ("ns::fill<2>", "cannot determine which instance"),
        ("ns::fill<nothing>", '"nothing" is undefined'),
    ],
)
def test_a_name_that_means_no_kernel_is_refused_by_the_compiler_itself(
    one: Callable[..., Unit], name: str, words: str
) -> None:
    with pytest.raises(CompileError) as caught:
        build(one(name))
    assert f"kernel: {name}(1): error: " in str(caught.value)
    assert words in str(caught.value)


def test_a_function_that_is_no_kernel_is_refused(one: Callable[..., Unit], tmp_path: Path) -> None:
    (tmp_path / "v0.cu").write_text("template <int N> void host(float*) {}\n")
    with pytest.raises(CompileError, match="host<2>"):
        build(one("host<2>"))


def test_the_plain_and_the_mangled_name_still_do(one: Callable[..., Unit]) -> None:
    built = build(one("over<int>", names=("ns::fill<int>",)))
    assert kernel_name("_ZN2ns5plainEPf", built, "v0.cu") == "_ZN2ns5plainEPf"


def test_further_sources_come_before_the_source_and_are_watched(
    one: Callable[..., Unit], tmp_path: Path
) -> None:
    more = tmp_path / "more.cu"
    more.write_text("__device__ float factor() { return 3; }\n")
    (tmp_path / "v0.cu").write_text(
        'extern "C" __global__ void scale(float* x) { x[0] *= factor(); }\n'
    )
    first = build(one(sources=(more,)))
    assert set(first.kernels) == {"scale"}
    assert build(one(sources=(more,))).was_cached
    more.write_text("__device__ float factor() { return 5; }\n")
    second = build(one(sources=(more,)))
    assert not second.was_cached
    assert second.cubin_sha256 != first.cubin_sha256
    more.unlink()
    with pytest.raises(CompileError, match=r"more\.cu: No such file"):
        build(one(sources=(more,)))


def test_flags_reach_both_steps_of_the_compiler_and_are_part_of_the_key(
    one: Callable[..., Unit], tmp_path: Path
) -> None:
    (tmp_path / "v0.cu").write_text(
        'extern "C" __global__ void divide(float* x) { x[0] = x[1] / x[2]; }\n'
    )
    exact, fast = build(one()), build(one(flags=("--use_fast_math",)))
    assert "div.rn.f32" in exact.ptx.read_text()
    assert "div.approx.ftz.f32" in fast.ptx.read_text()
    assert build(one(flags=("--use_fast_math",))).was_cached
    few = build(one(flags=("-maxrregcount=16", "-Xptxas", "-O1")))
    assert few.kernels["divide"].sass_sha256 != exact.kernels["divide"].sass_sha256
    with pytest.raises(CompileError, match="no-such-option"):
        build(one(flags=("--no-such-option",)))


def test_a_standard_of_the_users_takes_the_place_of_ours(
    one: Callable[..., Unit], tmp_path: Path
) -> None:
    (tmp_path / "v0.cu").write_text(
        'template <auto V> concept Any = true;\nextern "C" __global__ void f(int* x) { *x = 1; }\n'
    )
    assert set(build(one(flags=("-std=c++20", "-O1"))).kernels) == {"f"}
    options = one(flags=("--std=c++20", "-O1")).options()
    assert [each for each in options if "std" in each or "-O" in each] == ["--std=c++20", "-O1"]
    with pytest.raises(CompileError):
        build(one())


def test_a_cases_unit_has_its_folders_files_flags_and_template_names() -> None:
    step = Step("fill<{4}>", (1, 1, 1), (1, 1, 1), 0, ())
    plain = replace(step, kernel="plain")
    case = Case(
        "p", "v", "bfloat16", {"n": 1}, source="v.cu", steps=(step, plain, step), flags=("-O1",),
        include=("p/headers", "shared"), sources=("more.cu",), defines={"A": 0.5},
    )  # fmt: skip
    found = unit(case, Path("kernels"), "sm_90")
    assert found.include == (
        Path("kernels/p/headers"), Path("kernels/shared"), Path("kernels"), Path("kernels/p"),
    )  # fmt: skip
    assert found.sources == (Path("kernels/p/more.cu"),)
    assert found.names == ("fill<{4}>",)
    assert found.defines == (("A", "0.5"), ("DTYPE", "__nv_bfloat16"))


@pytest.mark.parametrize(
    ("dtype", "header"),
    [
        ("__half", "cuda_fp16.h"),
        ("uint8_t", "cstdint"),
        ("__nv_bfloat16", "cuda_bf16.h"),
        ("__nv_fp8_e4m3", "cuda_fp8.h"),
    ],
)
def test_a_type_whose_header_is_missing_names_the_header(
    one: Callable[..., Unit], tmp_path: Path, dtype: str, header: str
) -> None:
    kernel = 'extern "C" __global__ void f(DTYPE* x) { x[0] = x[1]; }\n'
    (tmp_path / "v0.cu").write_text(kernel)
    with pytest.raises(CompileError, match=f"write #include <{header}> in v0.cu"):
        build(one(defines=(("DTYPE", dtype),)))
    (tmp_path / "v0.cu").write_text(f"#include <{header}>\n{kernel}")
    assert set(build(one(defines=(("DTYPE", dtype),))).kernels) == {"f"}


def test_every_dtype_compiles_as_dtype(one: Callable[..., Unit], tmp_path: Path) -> None:
    (tmp_path / "v0.cu").write_text(
        "#include <cstdint>\n#include <cuda_bf16.h>\n"
        "#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n"
        'extern "C" __global__ void f(DTYPE* x) { DTYPE y = DTYPE(x[1]); x[0] = y; }\n'
        'static_assert(sizeof(DTYPE) == SIZE, "its size");\n'
    )
    for known in BY_NAME.values():
        defines = (("DTYPE", known.cpp), ("SIZE", str(known.numpy.itemsize)))
        assert set(build(one(defines=defines)).kernels) == {"f"}


# --- clusters ------------------------------------------------------------------------------------

CLUSTERS = """\
template <int N> __global__ void __launch_bounds__(64) tile(float* x) { x[blockIdx.x] = N; }
__global__ void __cluster_dims__(2, 1, 1) declared(float* x) { x[blockIdx.x] = 1; }
__global__ void plain(float* x) { x[blockIdx.x] = 1; }
"""


def cluster_of(built: Built, symbol: str) -> list[str]:
    """The cluster directives in the header of a kernel's PTX."""
    head = built.ptx.read_text().split(f".entry {symbol}(")[-1].partition("{")[0]
    return [line for line in head.splitlines() if "cluster" in line]


def attributes(built: Built, symbol: str) -> bytes:
    """The cubin's attributes that tell the driver about a kernel's clusters."""
    with built.cubin.open("rb") as file:
        info: bytes = ELFFile(file).get_section_by_name(f".nv.info.{symbol}").data()
    at = info.find(bytes.fromhex("043d0c00"))  # the dimensions: three integers
    return info[at : at + 16] if at >= 0 else b""


def test_a_launch_in_clusters_is_compiled_as_cluster_dims_would_be(
    one: Callable[..., Unit], tmp_path: Path
) -> None:
    (tmp_path / "v0.cu").write_text(CLUSTERS)
    built = build(one("tile<3>", clusters=(("plain", (2, 1, 1)), ("tile<3>", (4, 2, 1)))))
    directives = [".explicitcluster", ".reqnctapercluster {}"]
    wanted = {"_Z5plainPf": "2, 1, 1", "_Z4tileILi3EEvPf": "4, 2, 1", "_Z8declaredPf": "2, 1, 1"}
    for symbol, extents in wanted.items():
        assert cluster_of(built, symbol) == [each.format(extents) for each in directives]
        numbers = b"".join(int(n).to_bytes(4, "little") for n in extents.split(", "))
        assert attributes(built, symbol) == bytes.fromhex("043d0c00") + numbers
    alone = build(one("tile<3>"))
    assert cluster_of(alone, "_Z5plainPf") == []
    assert attributes(alone, "_Z5plainPf") == b""
    assert set(parse(built.ptx.read_text()).kernels) == set(wanted)


@pytest.mark.parametrize(
    ("clusters", "words"),
    [
        ((("declared", (2, 1, 1)),), "has __cluster_dims__, and the matrix a `cluster`"),
        ((("plain", (2, 1, 1)), ("plain", (1, 1, 1))), "in clusters of several extents"),
    ],
)
def test_clusters_that_contradict_each_other_are_refused(
    one: Callable[..., Unit], tmp_path: Path, clusters: object, words: str
) -> None:
    (tmp_path / "v0.cu").write_text(CLUSTERS)
    with pytest.raises(CompileError, match=words):
        build(one(clusters=clusters))


def test_a_cases_unit_has_the_clusters_of_its_launches() -> None:
    step = Step("k", (4, 1, 1), (1, 1, 1), 0, (), cluster=(2, 1, 1))
    other = replace(step, kernel="other", cluster=(1, 1, 1))
    case = Case("p", "v", "float32", {"n": 1}, source="v.cu", steps=(step, other))
    assert unit(case, Path("kernels"), "sm_90").clusters == (("k", (2, 1, 1)),)


@pytest.mark.parametrize(
    ("target", "arch", "assembled"),
    [("sm_90", "sm_90", "sm_90"), ("sm_80", "sm_90", "sm_90"), ("sm_90a, debug", "sm_90", "sm_90a"),
     ("sm_120a", "sm_120", "sm_120a")],
)  # fmt: skip
def test_ptx_from_elsewhere_is_assembled_for_what_it_needs(
    target: str, arch: str, assembled: str
) -> None:
    one = Unit(Path("v0.ptx"), (), (), arch)
    assert one.assembled_for(f"// by hand\n.version 8.0\n.target {target}\n") == assembled


@pytest.mark.parametrize(
    ("text", "told"),
    [(".version 8.0\n.target sm_100\n", "v0.ptx is PTX for sm_100, and this run is for sm_90"),
     (".version 8.0\n.target sm_80a\n", "v0.ptx is PTX for sm_80a, and this run is for sm_90"),
     ("int main() {}\n", "v0.ptx is no PTX: it names no .target")],
)  # fmt: skip
def test_ptx_that_is_for_another_architecture_is_refused(text: str, told: str) -> None:
    with pytest.raises(CompileError, match=told):
        Unit(Path("v0.ptx"), (), (), "sm_90").assembled_for(text)
