"""`harness.check`, `compare` and `time` from Python return reports for use in assertions."""

from __future__ import annotations

from pathlib import Path

import affine
import pytest

import harness
from harness.errors import BackendUnavailable, UsageError
from harness.judge import Kernel, Problem
from harness.machine import devices
from harness.matrix import model

pytestmark = pytest.mark.usefixtures("own_place")

SHARED = """\
__global__ void turned(const float* x, float* y) {
    __shared__ float tile[32][%d];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""


def turned(padding: int) -> Kernel:
    name = f"padded_{padding}"
    return Kernel(SHARED % (32 + padding), "turned", 1, (32, 32), ("x", "y"), name=name)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem(
        lambda x: x.T, inputs={"x": "n, n"}, outputs={"y": "n, n"}, test={"n": [32]}, name="turned"
    )


def test_a_check_counts_bank_conflicts_exactly(problem: Problem) -> None:
    report = harness.check(turned(0), problem)
    assert report.verdict == "right"
    assert report.bank_conflicts == 32 * 31
    assert report.counters["wavefronts_over_ideal"] == pytest.approx(16.5)
    assert "bank conflicts" in str(report)
    html = report._repr_html_()
    assert "counters" in html
    assert "<summary>turned/padded_0.cu, turned at n = 32, 1 marked</summary>" in html
    assert len(report.run.results) == 1


def test_a_counter_that_is_not_exact_says_so(problem: Problem) -> None:
    report = harness.check(turned(1), problem)
    assert report.bank_conflicts == 0
    with pytest.raises(KeyError, match="flops_tensor is 0, and not exact: ptx-level"):
        report.counters["flops_tensor"]
    with pytest.raises(KeyError, match="did you mean registers"):
        report.counters["register"]


def test_several_kernels_are_one_matrix(problem: Problem, tmp_path: Path) -> None:
    found = harness.compare([turned(0), turned(1)], problem)
    if not devices.has_driver():
        assert [r.verdict for r in found] == ["right", "right"]
        assert found["padded_1"].bank_conflicts == 0 < found["padded_0"].bank_conflicts
    assert found.run.ladder("turned").index.tolist() == ["padded_0", "padded_1"]
    html = found._repr_html_()
    assert html.count("data:image/png;base64,") == 1, "what each kernel did"
    assert all(f"<summary>turned/padded_{n}.cu" in html for n in (0, 1))
    page = found.page()
    assert "padded_1" in page.read_text()
    assert "tile[threadIdx.x][threadIdx.y]" in (page.parent / "problems/turned.html").read_text()
    bench = model.load(found.to_folder(tmp_path / "matrix") / "bench.yaml")
    assert list(bench.problems["turned"].variants) == ["padded_0", "padded_1"]
    with pytest.raises(KeyError, match="did you mean padded_1"):
        found["padded_2"]


def test_a_source_and_its_launch_are_enough() -> None:
    report = harness.check(
        affine.text(affine.BODIES["outside"]), affine.problem(), entry="affine",
        grid="ceil_div(n, 256)", block=256, args=["x", "y", "n"],
    )  # fmt: skip
    assert (report.verdict, report.file, report.line) == ("fault", "affine.cu", 3)
    assert ">    3 |     y[i] = 3 * x[i] + n;" in report.excerpt


def test_a_time_needs_a_gpu(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_driver", lambda: False)
    with pytest.raises(BackendUnavailable, match="a time needs an NVIDIA GPU"):
        harness.time(turned(0), problem)


def test_no_kernel_is_refused(problem: Problem) -> None:
    with pytest.raises(UsageError, match="there is no kernel to judge"):
        harness.compare([], problem)


def test_a_type_of_its_own_is_verified_by_its_own_bound() -> None:
    half = Problem(
        affine.REFERENCE, inputs={"x": "n"}, outputs={"y": "n"}, test={"n": [33]}, name="affine",
        dtypes=("float16", "bfloat16"), types={},
    )  # fmt: skip
    source = (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        "__global__ void affine(const DTYPE* x, DTYPE* y, int n) {\n"
        "    const int i = threadIdx.x;\n"
        "    if (i < n) y[i] = DTYPE(3 * float(x[i]) + n);\n"
        "}\n"
    )
    report = harness.check(Kernel(source, "affine", 1, 64, ("x", "y", "n")), half)
    assert report.verdict == "right", report.text


def test_what_is_no_text_no_path_and_no_function_is_no_kernel(problem: Problem) -> None:
    with pytest.raises(UsageError, match=r"a path or a text, or a function, and no int"):
        harness.check(3, problem)


def test_a_check_of_a_function_says_that_it_needs_a_gpu(problem: Problem) -> None:
    def softmax(x: object) -> None: ...

    report = harness.check(softmax, problem)
    assert (report.verdict, report.cause) == ("cannot-tell", "not run")
    assert "a Python function needs a GPU" in report.text
