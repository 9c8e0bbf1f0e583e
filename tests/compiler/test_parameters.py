"""Parameters read from the header of PTX agree with those of the emulator's full parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compiler import compile as compiler
from harness.compiler.compile import Unit
from harness.compiler.parameters import Parameter, kernel_parameters
from harness.emulator.ptx.parser import parse

SOURCE = """\
struct Pair { int a; double b; };
extern "C" __global__ void scalars(const float* x, int n, float scale, double d, char c,
                                   unsigned long long m, short s, bool flag) {
    if (flag) x += n + m + c + s;
    *const_cast<float*>(x) = scale * d;
}
extern "C" __global__ void structure(Pair pair, int* out) { *out = pair.a + pair.b; }
extern "C" __global__ void nothing() {}
template <typename T> __global__ void of(T* x, const T* __restrict__ y) { *x = *y; }
template __global__ void of<double>(double*, const double*);
"""


@pytest.fixture
def ptx(tmp_path: Path, cache: Path) -> str:
    source = tmp_path / "kernels.cu"
    source.write_text(SOURCE)
    return compiler.build(Unit(source, (), (), "sm_90")).ptx.read_text()


def test_names_and_types_are_those_of_the_whole_parser(ptx: str) -> None:
    parsed = {
        symbol: [(p.name, f"{p.type}[{p.size}]" if p.is_array else p.type) for p in k.params]
        for symbol, k in parse(ptx).kernels.items()
    }
    found = {s: [(p.name, p.type) for p in ps] for s, ps in kernel_parameters(ptx).items()}
    assert found == parsed
    assert len(found) == 4


def test_a_structure_is_told_with_its_size(ptx: str) -> None:
    assert kernel_parameters(ptx)["structure"][0] == Parameter("structure_param_0", "b8[16]")
    assert kernel_parameters(ptx)["nothing"] == []
