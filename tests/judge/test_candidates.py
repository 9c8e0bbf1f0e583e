"""Candidates that launch their kernels from host code: supported code is interpreted, and other
code is rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.judge.candidates import submission
from harness.judge.candidates.cpp import syntax as cpp_syntax
from harness.judge.candidates.cpp import tree as cpp_tree
from harness.judge.candidates.cpp.text import parted
from harness.judge.candidates.errors import Refused
from harness.judge.judge import Judge

with_torch = pytest.mark.gpu
"""Run by `make test-gpu`, because torch is installed only where there is a GPU."""

KERNEL = """#include <torch/extension.h>
#define THREADS 64
#define CHECK(x) TORCH_CHECK(x.is_cuda(), #x " is no CUDA tensor"); TORCH_CHECK(x.dim() == 2, #x)

__global__ void twice(const float* in, float* out, int n, float by) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = by * in[i];
}

inline int pieces(int n, int size) { return (n + size - 1) / size; }

torch::Tensor run(torch::Tensor x) {
    CHECK(x);  // a comment, with a } in it
    auto out = torch::empty_like(x);
    const int n = x.numel(), threads = THREADS;
    dim3 grid(pieces(n, THREADS));
    twice<<<grid, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), n, 2);
    return out;
}
"""
CANDIDATE = f'''import torch
from torch.utils.cpp_extension import load_inline

own = load_inline(name="own", cpp_sources="torch::Tensor run(torch::Tensor x);",
                  cuda_sources="""{KERNEL}""", functions=["run"], extra_cuda_cflags=["-O3"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return own.run(x)
'''
PROBLEM = """import torch

rows = 4096
cols = 4096


class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x


def get_inputs():
    return [torch.rand(rows, cols)]


def get_init_inputs():
    return []
"""


def test_kernels_stay_for_nvcc_at_their_lines_and_host_code_goes() -> None:
    found = parted(KERNEL)
    assert "torch" not in found.device
    assert "twice" in found.kernels
    assert set(found.functions) == {"pieces", "run"}
    _, _, rest = found.device.partition("#line 1\n")
    lines = rest.split("\n")
    assert lines[4] == KERNEL.split("\n")[4]
    assert len(lines) == len(KERNEL.split("\n"))


def test_the_names_that_python_calls_are_those_that_pybind_is_told() -> None:
    text = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &run, "doc"); }'
    found = parted(KERNEL + text)
    assert found.bound == {"forward": "run"}
    assert "PYBIND11" not in found.device


def test_a_kernel_in_a_namespace_and_a_template_are_known_as_such() -> None:
    found = parted(
        "namespace a { template <typename T, int N = 2>\n"
        "__global__ void __launch_bounds__(64) k(T* x) {} }\nstruct S { int a; };\n"
        "__constant__ float table[2] = {1, 2};\nstatic const int TILE = 16;\n"
    )
    assert found.kernels == {"k": "a::k"}
    assert found.templates == {"k"}
    assert not found.functions
    assert "table[2]" in found.device


def test_host_code_becomes_a_tree_with_macros_filled_in() -> None:
    found = parted(KERNEL)
    [run] = found.functions["run"]
    body = cpp_syntax.block(run.body, found.macros)
    launches = [each for each in body.statements if isinstance(each, cpp_tree.Launch)]
    assert [each.kernel.path for each in launches] == ["twice"]
    assert launches[0].shape[1] == cpp_tree.Name("threads")


@pytest.mark.parametrize(
    "text",
    ["switch (n) {}", "try { f(); } catch (...) {}", "int a[3];", "goto end;", "f(;", "if (n"],
)
def test_c_plus_plus_that_is_not_read_is_refused(text: str) -> None:
    found = parted(f"void run() {{ {text} }}")
    with pytest.raises(Refused):
        cpp_syntax.block(found.functions["run"][0].body, found.macros)


def written(folder: Path, candidate: str) -> tuple[Path, Path]:
    own, problem = folder / "own.py", folder / "1_Twice.py"
    own.write_text(candidate)
    problem.write_text(PROBLEM)
    return own, problem


@with_torch
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (("", ""), "right"),
        (("by * in[i]", "in[i]"), "wrong"),
        (("n, 2)", "n - 1, 2)"), "wrong"),
        (("i < n", "i <= n"), "fault"),
        (("return own.run(x)", "return own.run(x.t().contiguous()).t()"), "right"),
        (("return own.run(x)", "x.copy_(own.run(x)); return x"), "right"),
    ],
)
def test_a_candidate_is_judged_by_the_kernels_that_it_launches(
    change: tuple[str, str], verdict: str, judge: Judge, tmp_path: Path
) -> None:
    text = CANDIDATE.replace(*change) if change[0] else CANDIDATE
    found = judge.check(submission(*written(tmp_path, text), {"rows": 5, "cols": 33}))
    assert found.verdict == verdict, found.text


REFUSED = [
    (("own.run(x)", "2 * x"), "torch's `mul`"),
    (("own.run(x)", "own.run(x) if x.sum() > 0 else x"), "torch's `sum`"),
    (("own.run(x)", "own.run(x) if x[0, 0] > 0 else x"), "torch's `gt`"),
    (("own.run(x)", "own.run(x[1:])"), "into the middle of an array"),
    (("own.run(x)", "own.run(torch.ones(3, 3).to(x))"), "shape"),
    (("own.run(x)", "torch.empty_like(x)"), "launches no kernel"),
    (("class ModelNew", "class Model"), "defines no `ModelNew`"),
    (('functions=["run"]', 'functions=["other"]'), "no attribute"),
    (('"-O3"', '"-ccbin=/tmp/own"'), "-ccbin"),
    (("const int n = x.numel()", "const int n = secret(x)"), "`secret`"),
    (("const int n = x.numel()", "const int n = x.sum().item<int>()"), "torch's `sum`"),
    (("const int n = x.numel()", "const int n = *x.data_ptr<float>()"), "points to"),
    (("dim() == 2", "dim() == 3"), "its own check fails"),
    (("return own.run(x)", "try:\n            2 * x\n        except Exception:\n"
      "            pass\n        return own.run(x)"), "torch's `mul`"),
]  # fmt: skip


@with_torch
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(("change", "said"), REFUSED)
def test_what_cannot_be_known_of_launches_is_refused_by_name(
    change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    assert change[0] in CANDIDATE
    with pytest.raises(UsageError) as refused:
        submission(*written(tmp_path, CANDIDATE.replace(*change)), {"rows": 5, "cols": 33})
    assert said in str(refused.value)


@with_torch
@pytest.mark.usefixtures("processes")
def test_what_a_candidate_prints_is_no_answer(tmp_path: Path) -> None:
    forged = '{"texts": {}, "steps": [], "scratch": {}}'
    text = CANDIDATE.replace(
        "return own", f"print({forged!r}); raise SystemExit\n        return own"
    )
    with pytest.raises(UsageError, match="without an answer"):
        submission(*written(tmp_path, text), {"rows": 5, "cols": 33})


@with_torch
@pytest.mark.usefixtures("processes")
def test_a_candidate_that_writes_the_answer_itself_gains_nothing(tmp_path: Path) -> None:
    forged = '{"texts": {"0": ""}, "steps": [], "scratch": {"x": [1, "float32"]}}\\n'
    body = (
        "import os\n        for number in range(3, 12):\n            try:\n"
        f"                os.write(number, b{forged!r}.replace(b'\\\\n', b'\\n'))\n"
        "            except OSError:\n                pass\n        os._exit(0)\n        return own"
    )
    text = CANDIDATE.replace("return own", body)
    with pytest.raises(UsageError, match=r"cannot be|without an answer"):
        submission(*written(tmp_path, text), {"rows": 5, "cols": 33})


def _told(**more: Any) -> Any:
    from harness.judge.candidates.described import _TOLD

    step = {"kernel": "k", "module": 0, "grid": [1], "block": [1], "shared": 0, "args": ["x"]}
    return _TOLD.validate_python({"texts": {"0": ""}, "steps": [{**step, **more}]})


@pytest.mark.parametrize(
    "more", [{"args": ["expected"]}, {"kernel": "k>>>(0); evil"}, {"grid": [1, 1, 1, 1]}]
)
def test_an_answer_of_the_candidates_process_is_checked(more: dict[str, Any]) -> None:
    from harness.judge import Problem
    from harness.judge.candidates.described import _kernel

    stated = Problem("numpy:copy", inputs={"x": "n"}, outputs={"y": "n"}, test={"n": [1]})
    assert _kernel(_told(), stated, "own").title == "own"
    with pytest.raises(UsageError, match="cannot be"):
        _kernel(_told(**more), stated, "own")
