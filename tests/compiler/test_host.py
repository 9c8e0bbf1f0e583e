"""A host function is compiled into a library, and called only with arguments that fit its
parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.cases import Case, Device
from harness.compiler.functions import host
from harness.compiler.functions.host import HostFunction, HostLibrary
from harness.compiler.units import Unit
from harness.errors import CompileError, LaunchError
from harness.matrix import model, plan

SOURCE = """\
#include <cuda_runtime.h>
#include "factor.cuh"
// Host work alone, so that no GPU is needed to see that the arguments arrive.
extern "C" int scale(const float* x, float* y, unsigned int n, double by, cudaStream_t stream) {
    if (stream == nullptr) return 7;
    for (unsigned int i = 0; i < n; i++) y[i] = FACTOR * by * x[i];
    return 0;
}
namespace ns {
cudaError_t kinds(const void* p, unsigned char a, short b, long long c, unsigned long long d,
                  float e, bool f, cudaStream_t stream) {
    double* out = (double*)p;
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f;
    return *(long long*)stream == 5 ? cudaSuccess : cudaErrorInvalidValue;
}
}
int without_stream(int n) { return n; }
struct Pair { int a, b; };
int with_struct(Pair p, cudaStream_t) { return p.a; }
void returns_nothing(cudaStream_t) {}
int launches(float* x, cudaStream_t stream);
__global__ void one(float* x) { *x = 1; }
int launches(float* x, cudaStream_t stream) {
    one<<<1, 1, 0, stream>>>(x);
    return cudaGetLastError();
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kernels = tmp_path_factory.mktemp("all kernels")
    (kernels / "scale").mkdir()
    (kernels / "scale" / "host.cu").write_text(SOURCE)
    (kernels / "scale" / "factor.cuh").write_text("#define FACTOR 2\n")
    return kernels


@pytest.fixture
def unit(folder: Path, cache: Path) -> Callable[[str], Unit]:
    def make(function: str) -> Unit:
        case = Case("scale", "v", "float32", {"n": 3}, kind="host", source="host.cu",
                    function=f"host.cu:{function}")  # fmt: skip
        return host.unit(case, folder, "sm_90")

    return make


@pytest.fixture(scope="module")
def built(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, HostLibrary]:
    """Two functions of the file, each compiled once for all tests that do nothing but call them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.compiler.cache.CACHE", tmp_path_factory.mktemp("cache"))
        found = {}
        for name in ("scale", "ns::kinds"):
            case = Case("scale", "v", "float32", {"n": 3}, kind="host", source="host.cu",
                        function=f"host.cu:{name}")  # fmt: skip
            found[name] = host.build(host.unit(case, folder, "sm_90"))
    return found


def addresses(**arrays: np.ndarray) -> dict[str, int]:
    return {name: array.ctypes.data for name, array in arrays.items()}


def test_a_host_function_gets_buffers_numbers_and_the_stream(
    built: dict[str, HostLibrary],
) -> None:
    x, y = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32)
    function = HostFunction(built["scale"].path, "scale", ("x", "y", 3, 0.5))
    function(addresses(x=x, y=y), 1)
    assert y.tolist() == [1, 2, 3]


def test_each_number_arrives_in_the_type_of_its_parameter(built: dict[str, HostLibrary]) -> None:
    out, stream = np.zeros(6), np.array([5], np.int64)
    args = ("p", 255, -32768, -(2**63), 2**64 - 1, 0.1, 1)
    HostFunction(built["ns::kinds"].path, "ns::kinds", args)(addresses(p=out), stream.ctypes.data)
    assert out.tolist() == [255, -32768, -(2.0**63), 2.0**64, float(np.float32(0.1)), 1]


def test_what_is_not_success_is_an_error_with_its_number_and_cudas_words(
    built: dict[str, HostLibrary],
) -> None:
    x = np.zeros(6, np.float64)
    with pytest.raises(LaunchError, match="scale returns 7; 0 is success"):
        HostFunction(built["scale"].path, "scale", ("x", "x", 1, 1))(addresses(x=x), 0)
    args = ("p", 0, 0, 0, 0, 0, 0)
    with pytest.raises(
        LaunchError, match=r"ns::kinds returns 1 \(invalid argument\); 0 is success"
    ):
        HostFunction(built["ns::kinds"].path, "ns::kinds", args)(addresses(p=x), x.ctypes.data)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("x", "y", 3), "scale takes 4 arguments and the stream (a pointer, a pointer, an unsigned "
         "integer of 32 bits, a float of 64 bits, the stream), but args: lists 3 (x, y, 3)"),
        (("x", "y", 3, 1, 1), "args: lists 5"),
        (("x", "y", "x", 1), "argument 3: `x` is a buffer, but it takes an unsigned integer"),
        ((1, "y", 3, 1), "argument 1: 1 is a number, but it takes a pointer"),
        (("x", "y", -1, 1), "argument 3: -1 does not fit an unsigned integer of 32 bits"),
        (("x", "y", 2**32, 1), "argument 3: 4294967296 does not fit"),
        (("x", "y", 1.5, 1), "argument 3: 1.5 is no integer"),
    ],
)  # fmt: skip
def test_arguments_that_the_parameters_do_not_take_are_refused_before_the_call(
    built: dict[str, HostLibrary], args: tuple[str | int | float, ...], words: str
) -> None:
    with pytest.raises(LaunchError) as caught:
        HostFunction(built["scale"].path, "scale", args)
    assert words in str(caught.value)


def test_a_number_beyond_the_range_of_a_float_is_refused(built: dict[str, HostLibrary]) -> None:
    with pytest.raises(LaunchError, match="argument 6: 1e\\+300 does not fit a float of 32 bits"):
        HostFunction(built["ns::kinds"].path, "ns::kinds", ("p", 0, 0, 0, 0, 1e300, 0))


def test_a_library_is_kept_until_a_header_a_flag_or_the_function_changes(
    unit: Callable[[str], Unit], folder: Path
) -> None:
    first = host.build(unit("scale"))
    assert not first.was_cached
    assert host.build(unit("scale")).was_cached
    header = folder / "scale" / "factor.cuh"
    header.write_text("#define FACTOR 3\n")
    second = host.build(unit("scale"))
    assert not second.was_cached
    assert second.library_sha256 != first.library_sha256
    x, y = np.ones(1, np.float32), np.zeros(1, np.float32)
    HostFunction(second.path, "scale", ("x", "y", 1, 1))(addresses(x=x, y=y), 1)
    assert y[0] == 3
    header.write_text("#define FACTOR 2\n")


def test_a_function_that_launches_kernels_is_loaded_where_there_is_no_gpu(
    unit: Callable[[str], Unit],
) -> None:
    library = host.build(unit("launches"))
    with pytest.raises(LaunchError, match="launches takes 1 argument and the stream"):
        HostFunction(library.path, "launches", ())
    HostFunction(library.path, "launches", ("x",))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("without_stream", "the last parameter must be a cudaStream_t"),
        ("with_struct", "it takes a type that cannot be passed"),
    ],
)
def test_a_function_that_cannot_be_called_so_says_what_it_takes(
    unit: Callable[[str], Unit], function: str, words: str
) -> None:
    library = host.build(unit(function))
    with pytest.raises(LaunchError) as caught:
        HostFunction(library.path, function, (1,))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("returns_nothing", "a host function returns int, or cudaError_t"),
        ("no_such", "no_such"),
    ],
)
def test_what_is_no_host_function_is_refused_by_the_compiler(
    unit: Callable[[str], Unit], function: str, words: str
) -> None:
    with pytest.raises(CompileError) as caught:
        host.build(unit(function))
    assert words in str(caught.value)


def test_a_file_that_is_no_library_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "host.so").write_text("nothing")
    with pytest.raises(LaunchError, match="scale cannot be loaded"):
        HostFunction(tmp_path / "host.so", "scale", ())


@pytest.mark.parametrize("problem", ["reduce_sum", "histogram", "scan", "index_add"])
def test_the_repositorys_own_library_compiles_and_takes_what_its_matrix_gives(
    device: Device, problem: str
) -> None:
    bench = model.load(Path(__file__).parents[2] / "bench.yaml")
    found = plan.resolve(bench, device, "cuda", [f"{problem}/cub"])
    case = next(case for case in found.cases if case.variant == "cub")
    library = host.build(host.unit(case, bench.kernels, "sm_90"))
    assert HostFunction(library.path, case.function, case.args).name == case.function
