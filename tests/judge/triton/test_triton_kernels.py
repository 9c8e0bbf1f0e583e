"""Triton kernels are judged with Triton's own launch, and rejected with a clear message if Triton
is missing.

Triton itself is installed only on machines with a GPU: elsewhere a stand-in returns PTX that Triton
wrote.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import harness
from harness.compiler import toolchain
from harness.errors import CompileError, NotInstalled, UsageError
from harness.judge import Problem, Submission, triton_kernels
from harness.judge.judge import Judge

HERE = Path(__file__).parent
PTX = (HERE / "row_sum.ptx").read_text()
LAUNCH: dict[str, Any] = {
    "grid": "rows", "args": ("x", "y", "cols"), "constants": {"BLOCK": 256},
}  # fmt: skip


def problem(**more: Any) -> Problem:
    source = {"source": "def row_sum(x):\n    return x.sum(axis=1)\n", "name": "row_sum"}
    stated = {
        "inputs": {"x": "rows, cols"}, "outputs": {"y": "rows"}, "name": "row_sum",
        "test": {"rows, cols": [[1, 1], [3, 33], [2, 256]]}, **more,
    }  # fmt: skip
    return Problem(source, **stated)  # type: ignore[arg-type]


class Function:
    """A stand-in for the object that `triton.jit` makes of row_sum."""

    __module__ = "triton.runtime.jit"
    __name__ = "row_sum"
    arg_names = ("x", "y", "cols", "BLOCK")
    params = tuple(
        SimpleNamespace(name=name, is_constexpr=name == "BLOCK", has_default=False, default=None)
        for name in arg_names
    )


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A stand-in for Triton, which records its last call in `asked` and takes changes to a kernel's
    description from `about`."""
    found = SimpleNamespace(ptx=PTX, about={}, asked=None)

    def compile(source: tuple[Any, ...], target: Any, options: Any) -> SimpleNamespace:
        found.asked = (*source[1:], target, options)
        about = {"name": "row_sum", "shared": 16, "num_warps": 4, "num_ctas": 1,
                 "global_scratch_size": 0, **found.about}  # fmt: skip
        return SimpleNamespace(metadata=SimpleNamespace(**about), asm={"ptx": found.ptx})

    def module(name: str, **members: Any) -> None:
        made = ModuleType(name)
        vars(made).update(members)
        monkeypatch.setitem(sys.modules, name, made)

    module("triton", compile=compile)
    module("triton.compiler", ASTSource=lambda *source: source)
    module("triton.backends")
    module("triton.backends.compiler", GPUTarget=lambda *target: target)
    return found


def test_it_is_launched_as_triton_launches_it(compiled: SimpleNamespace, judge: Judge) -> None:
    kernel = triton_kernels.kernel(Function(), problem(), **LAUNCH)
    types, constants, aligned, target, options = compiled.asked
    assert types == {"x": "*fp32", "y": "*fp32", "cols": "i32", "BLOCK": "constexpr"}
    assert constants == {"BLOCK": 256}
    assert set(aligned) == {(0,), (1,)}
    assert target == ("cuda", 90, 32)
    assert options == {"num_warps": 4, "num_stages": 3}
    assert kernel.block == (128,)
    assert kernel.shared == 16
    assert kernel.args == ("x", "y", "cols", 0, 0), "Triton's own two pointers come last"
    verdict = judge.check(Submission((kernel,), problem()))
    assert verdict.verdict == "right", verdict.text
    assert len(verdict.verified_at) == 3
    assert verdict.counters["sectors_per_load"].value > 0


def test_a_fault_has_the_line_of_the_python_file(compiled: SimpleNamespace, judge: Judge) -> None:
    short = problem(inputs={"x": "rows, cols - 1"}, test={"rows, cols": [[3, 33]]})
    kernel = triton_kernels.kernel(Function(), short, **LAUNCH)
    verdict = judge.check(Submission((kernel,), short))
    assert (verdict.verdict, verdict.cause) == ("fault", "out of bounds"), verdict.text
    assert (verdict.file, verdict.line) == ("row_sum.py", 15)


def test_without_triton_it_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(NotInstalled, match="needs triton 3, which is not installed"):
        harness.check(Function(), problem(), **LAUNCH)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"constants": {}}, "the constants of row_sum are BLOCK; `BLOCK` is missing"),
        ({"constants": {"BLOCK": 256, "ROWS": 1}}, "`ROWS` is none of them"),
        ({"args": ("x", "y")}, r"takes 3 arguments beside its constants \(x, y, cols\)"),
        ({"block": 128}, "block of a kernel in Triton follows from num_warps"),
        ({"problem": problem(dtypes=("float32", "float16"))}, "give the problem one dtype"),
        ({"problem": "kernels/row_sum"}, "and not for a folder's"),
        ({"about": {"global_scratch_size": 64}}, "row_sum needs scratch memory that Triton"),
        ({"about": {"num_ctas": 2}}, "row_sum is launched in clusters"),
        ({"about": {"tensordesc_meta": [1]}}, "row_sum takes tensor descriptors"),
    ],
)
def test_what_is_not_judged_is_refused_by_name(
    compiled: SimpleNamespace, change: dict[str, Any], told: str
) -> None:
    launch = {**LAUNCH, **change}
    compiled.about = launch.pop("about", {})
    stated = launch.pop("problem", problem())
    with pytest.raises(UsageError, match=told):
        triton_kernels.kernel(Function(), stated, **launch)


def tuned(*configs: dict[str, Any]) -> Any:
    """A stand-in for the object that `triton.autotune` makes of row_sum."""
    made = [SimpleNamespace(**{"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None,
                               "pre_hook": None, "ir_override": None, **each})
            for each in configs]  # fmt: skip
    own = {"__module__": "triton.runtime.autotuner", "configs": made, "fn": Function()}
    return type("Autotuner", (), own)()


def test_ptx_of_a_newer_triton_is_written_again_for_this_nvcc(compiled: SimpleNamespace) -> None:
    compiled.ptx = re.sub(r"\.version \d+\.\d+", ".version 99.0", PTX)
    triton_kernels.kernel(Function(), problem(), **LAUNCH)
    own = triton_kernels.ptx_version(toolchain.find().version)
    assert compiled.asked[-1] == {"num_warps": 4, "num_stages": 3, "ptx_version": own}


TWO = ({"kwargs": {"BLOCK": 256}}, {"kwargs": {"BLOCK": 512}, "num_warps": 8, "maxnreg": 64})
UNTOLD = {"args": LAUNCH["args"], "grid": "ceil_div(rows * BLOCK, BLOCK)"}


def test_each_configuration_of_autotune_is_a_kernel(
    compiled: SimpleNamespace, judge: Judge
) -> None:
    made = triton_kernels.kernels(tuned(*TWO), problem(), **UNTOLD)
    assert [each.title for each in made] == [
        "row_sum_BLOCK_256_num_warps_4", "row_sum_BLOCK_512_num_warps_8_maxnreg_64",
    ]  # fmt: skip
    assert compiled.asked[1] == {"BLOCK": 512}
    assert compiled.asked[-1] == {
        "num_warps": 8, "num_stages": 3, "num_ctas": 1, "maxnreg": 64
    }  # fmt: skip
    assert [each.let for each in made] == [{"BLOCK": 256}, {"BLOCK": 512}]
    verdict = judge.check(Submission((made[0],), problem()))
    assert verdict.verdict == "right", verdict.text


def test_a_configuration_is_chosen_by_its_number(compiled: SimpleNamespace) -> None:
    triton_kernels.kernel(tuned(*TWO), problem(), config=1, **UNTOLD)
    assert compiled.asked[1] == {"BLOCK": 512}
    triton_kernels.kernel(tuned(TWO[0]), problem(), **UNTOLD)
    assert compiled.asked[1] == {"BLOCK": 256}


@pytest.mark.parametrize(
    ("function", "config", "told"),
    [
        (tuned(*TWO), None, r"row_sum has 2 configurations of triton.autotune\n  choose one, "
                            r"config=0 to config=1; or give compare all of them"),
        (tuned(*TWO), 2, "row_sum has no configuration 2: they are 0 to 1"),
        (tuned({**TWO[0], "pre_hook": print}), None, "configuration 0 of row_sum calls a function"),
        (Function(), 0, "config chooses one of triton.autotune's"),
    ],
)  # fmt: skip
def test_a_configuration_that_is_not_judged_is_refused_by_name(
    compiled: SimpleNamespace, function: Any, config: int | None, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        triton_kernels.kernel(function, problem(), config=config, **UNTOLD)


def test_heuristics_around_a_function_are_no_kernel(compiled: SimpleNamespace) -> None:
    class Heuristics:
        __module__ = "triton.runtime.autotuner"

    with pytest.raises(UsageError, match=r"Heuristics is no function of triton.jit"):
        harness.check(Heuristics(), problem(), **LAUNCH)


def test_a_function_that_triton_rejects_is_a_compile_error(
    compiled: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile(*asked: Any, **more: Any) -> None:
        raise RuntimeError("at 3:4: cols is no tensor")

    monkeypatch.setattr(sys.modules["triton"], "compile", compile)
    with pytest.raises(CompileError, match="Triton rejects row_sum:\nat 3:4"):
        triton_kernels.kernel(Function(), problem(), **LAUNCH)


@pytest.mark.gpu  # run by `make test-gpu`: Triton comes with torch
def test_triton_itself_compiles_it_to_the_same_parameters(judge: Judge) -> None:
    spec = importlib.util.spec_from_file_location("row_sum", HERE / "row_sum.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = triton_kernels.kernel(module.row_sum, problem(), **LAUNCH)
    assert kernel.args[:3] == LAUNCH["args"]
    assert judge.check(Submission((kernel,), problem())).verdict == "right"


@pytest.mark.parametrize(
    ("nvcc", "newest"), [("12.4.131", 84), ("12.6.20", 85), ("12.9.86", 88), ("13.0.88", 90)]
)
def test_triton_writes_ptx_that_this_nvcc_assembles(nvcc: str, newest: int) -> None:
    assert triton_kernels.ptx_version(nvcc) == newest
