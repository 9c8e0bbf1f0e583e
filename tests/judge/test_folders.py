"""A submission's folder contains the matrix, the problem and the kernels, and nothing else."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import affine
import numpy as np
import pytest
import yaml

from harness.errors import ProblemError, UsageError
from harness.judge import Kernel, Problem, ProblemFolder, Submission, Text, Written
from harness.judge.folders import to_folder
from harness.judge.slots.process import tidy
from harness.judge.submissions import SUBMISSION
from harness.matrix import model
from harness.problem import loading
from harness.problem.shaped import TOLERANCES

SIZES = {"rows": 3, "cols": 4}


def written(problem: Problem, tmp_path: Path) -> Path:
    kernel = Kernel("__global__ void f() {}", "f", grid="rows", block=32, args=())
    return to_folder(Submission((kernel,), problem), tmp_path / "matrix")


def rows(**more: object) -> Problem:
    stated = {
        "inputs": {"x": "rows, cols"}, "outputs": {"y": "rows"},
        "test": {"rows, cols": [[3, 4], [1, 1]]}, "name": "rows", **more,
    }  # fmt: skip
    source = {"source": "def total(x):\n    return x.sum(axis=1)\n", "name": "total"}
    return Problem(source, **stated)  # type: ignore[arg-type]


def test_the_folder_is_a_matrix_that_loads(tmp_path: Path) -> None:
    folder = to_folder(affine.submission("right", "wrong"), tmp_path / "matrix")
    bench = model.load(folder / "bench.yaml")
    assert list(bench.problems["affine"].variants) == ["right", "wrong"]
    assert bench.problems["affine"].baseline == "right"
    assert sorted(p.name for p in (folder / "kernels" / "affine").iterdir()) == [
        "bench.yaml", "problem.py", "right.cu", "wrong.cu",
    ]  # fmt: skip


def test_a_reference_gets_float64_in_its_shape(tmp_path: Path) -> None:
    problem = loading.load(written(rows(), tmp_path) / "kernels" / "rows")
    given = problem.inputs(SIZES, "float32", np.random.default_rng(1), 0)
    found = problem.reference(SIZES, "float32", given)
    assert found["y"].dtype == np.float64
    assert np.allclose(found["y"], given["x"].reshape(3, 4).astype(np.float64).sum(axis=1))
    relative, absolute = TOLERANCES["float32"]
    bound = problem.tolerance(SIZES, "float32", given)["y"]
    assert np.allclose(bound, absolute + relative * np.abs(found["y"]))
    assert problem.work(SIZES, "float32").read_bytes == 48


def test_limits_types_scalars_and_tolerance_reach_the_problem(tmp_path: Path) -> None:
    source = {"source": "def pick(x, at, scale):\n    return scale * x[at]\n", "name": "pick"}
    stated = Problem(
        source, inputs={"x": "n", "at": "m"}, outputs={"y": "m"}, test={"n, m": [[9, 40]]},
        name="pick", types={"at": "int32"}, limits={"at": (0, "n")}, scalars={"scale": 2.5},
        tolerance=(1e-3, 1e-4), flops="m",
    )  # fmt: skip
    folder = written_as(stated, tmp_path)
    problem = loading.load(folder / "kernels" / "pick")
    sizes = {"n": 9, "m": 40}
    given = problem.inputs(sizes, "float32", np.random.default_rng(1), 0)
    assert given["at"].dtype == np.int32
    assert 0 <= given["at"].min() <= given["at"].max() < 9
    assert problem.work(sizes, "float32").flops == 40
    expected = 2.5 * given["x"].astype(np.float64)[given["at"]]
    assert np.allclose(problem.reference(sizes, "float32", given)["y"], expected)
    assert model.load(folder / "bench.yaml").problems["pick"].variants["f"].let == {}
    kernel = Kernel("__global__ void f() {}", "f", grid=1, block=32, args=("scale",))
    taken = to_folder(Submission((kernel,), stated), tmp_path / "with scale")
    assert list(model.load(taken / "bench.yaml").problems["pick"].variants["f"].let) == ["scale"]


def written_as(problem: Problem, tmp_path: Path) -> Path:
    kernel = Kernel("__global__ void f() {}", "f", grid=1, block=32, args=())
    return to_folder(Submission((kernel,), problem), tmp_path / "matrix")


def test_a_result_of_another_shape_is_refused(tmp_path: Path) -> None:
    wrong = rows(outputs={"y": "cols"})
    problem = loading.load(written(wrong, tmp_path) / "kernels" / "rows")
    given = problem.inputs(SIZES, "float32", np.random.default_rng(1), 0)
    with pytest.raises(ProblemError, match=r"returns `y` in the shape \(3,\); the problem says"):
        problem.reference(SIZES, "float32", given)


def test_a_files_own_headers_come_with_it(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one.cuh").write_text('#include "two.cuh"\n')
    (tmp_path / "parts" / "two.cuh").write_text("// nothing\n")
    (tmp_path / "f.cu").write_text('#include "parts/one.cuh"\n#include <cuda_fp16.h>\n')
    kernel = Kernel(str(tmp_path / "f.cu"), "f", grid=1, block=32, args=())
    folder = to_folder(Submission((kernel,), rows()), tmp_path / "matrix")
    there = {str(p.relative_to(folder / "kernels/rows")) for p in folder.rglob("*.cu*")}
    assert there == {"f.cu", "parts/one.cuh", "parts/two.cuh"}


@pytest.mark.parametrize(
    "name",
    ["../out.cuh", "/etc/out.cuh", "problem.py", "a/../../b.cuh", "./bench.yaml", "problem.pyc",
     "__pycache__/problem.cpython-314.pyc", "__pycache__/a.h", "numpy.so", "table.csv"],
)  # fmt: skip
def test_a_header_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    kernel = affine.kernel("right", headers={name: "x"})
    with pytest.raises(UsageError, match=r"leads out of|is no header"):
        to_folder(Submission((kernel,), affine.problem()), tmp_path / "matrix")


def test_a_kernel_cannot_change_a_header_of_another_kernel_or_of_the_problem(
    tmp_path: Path,
) -> None:
    ours = affine.kernel("right", headers={"tile.h": "#define TILE 32\n"})
    theirs = affine.kernel("wrong", headers={"tile.h": "#define TILE 1\n"})
    with pytest.raises(UsageError, match=r"'tile\.h' stands there already"):
        to_folder(Submission((ours, theirs), affine.problem()), tmp_path / "matrix")
    lent = tmp_path / "lent"
    lent.mkdir()
    to_folder(Submission((ours,), affine.problem()), lent)
    text = Text("__global__ void affine() {}", headers={"tile.h": "// another\n"})
    there = ProblemFolder(str(lent / "kernels" / "affine"))
    with pytest.raises(UsageError, match=r"'tile\.h' stands there already"):
        to_folder(Submission((text,), there), tmp_path / "other")


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(UsageError, match="holds something already"):
        to_folder(affine.submission("right"), tmp_path)


def test_what_is_kept_for_kernels_that_come_again_is_bounded(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number) / "inside").mkdir(parents=True)
        os.utime(tmp_path / str(number), (number, number))
    os.utime(tmp_path / "0")  # used again
    tidy(tmp_path, most=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "4"]


def test_a_submission_survives_json() -> None:
    found = affine.submission("right", seconds=5)
    assert SUBMISSION.validate_json(SUBMISSION.dump_json(found)) == found


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"inputs": {"x": "m"}}, "the shape of `x` names `m`"),
        ({"outputs": {"x": "n"}}, "`x` is the name of two arrays"),
        ({"types": {"z": "int32"}}, "types names `z`"),
        ({"dtypes": ["float33"]}, "'float33' is no element type"),
        ({"inputs": {}}, "has inputs and outputs"),
        ({"inputs": {"x": "n +"}}, "n \\+"),
    ],
)
def test_a_problem_that_cannot_be_is_refused_with_its_reason(
    wrong: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        affine.problem(**wrong)


def test_a_problems_folder_lends_its_launch(tmp_path: Path, folder: Path) -> None:
    (folder / "bench.yaml").write_text("timing: {}\n")
    own = folder / "kernels" / "double"
    own.joinpath("bench.yaml").write_text(
        "dtypes: [float32]\nsizes: {test: {n: [1, 33]}, bench: {n: 1024}}\nbaseline: v0\n"
        "variants:\n  v0: {source: v0.cu, launch: {block: [64]}, steps: [{kernel: twice, "
        "grid: 'ceil_div(n, block)', block: block, args: [input, output, n]}]}\n"
    )
    text = Text((own / "v0.cu").read_text(), "mine")
    made = to_folder(Submission((text,), ProblemFolder(str(own))), tmp_path / "matrix")
    found = model.load(made / "bench.yaml").problems["double"]
    assert list(found.variants) == ["mine"]
    assert not (made / "kernels" / "double" / "v0.cu").exists()


def test_a_kernel_with_an_instruction_of_one_architecture_is_compiled_for_it(
    tmp_path: Path,
) -> None:
    plain = affine.kernel("right")
    source = plain.source.replace("{", '{ asm volatile("wgmma.fence.sync.aligned;");', 1)
    kernels = (plain, replace(plain, source=source, name="products"))
    made = to_folder(Submission(kernels, affine.problem()), tmp_path / "matrix")
    [problem] = model.load(made / "bench.yaml").problems.values()
    specific = [variant.needs.is_specific for variant in problem.variants.values()]
    assert specific == [False, True]


def test_a_text_has_the_needs_of_the_variant_whose_launch_it_takes(tmp_path: Path) -> None:
    sgemm = Path(__file__).parents[2] / "kernels" / "sgemm_tf32"
    text = Text((sgemm / "v2_warpgroup_products.cu").read_text(), "mine")
    like = ProblemFolder(str(sgemm), like="v2_warpgroup_products")
    made = to_folder(Submission((text,), like), tmp_path / "matrix")
    [problem] = model.load(made / "bench.yaml").problems.values()
    assert problem.variants["mine"].needs.is_specific
    assert (made / "kernels" / "gemm_bf16" / "ring.cuh").is_file(), "it includes this"


def test_a_text_gets_no_other_kernels_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    sgemm = Path(__file__).parents[2] / "kernels" / "sgemm_tf32"
    (tmp_path / "secret.h").write_text("")
    wanted = ("sgemm_tf32/v1_mma_async_copy.cu", "sgemm/v0_naive.cu", "sgemm/problem.py",
              f"{tmp_path}/secret.h", "../kernels/sgemm/block_order.cuh")  # fmt: skip
    source = "".join(f'#include "{each}"\n' for each in wanted)
    like = ProblemFolder(str(sgemm), like="v0_wmma")
    made = to_folder(Submission((Text(source, "mine"),), like), tmp_path / "matrix") / "kernels"
    assert not (made / "sgemm").exists()
    assert not (made / "sgemm_tf32" / "v1_mma_async_copy.cu").exists()
    assert (tmp_path / "secret.h").read_text() == ""


def test_a_reference_of_torch_takes_and_returns_tensors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tensor:  # torch itself is installed only where there is a GPU
        def __init__(self, values: np.ndarray) -> None:
            self.values = values

        def detach(self) -> Tensor:
            return self

        cpu = detach

        def numpy(self) -> np.ndarray:
            return self.values

    torch = ModuleType("torch")
    torch.from_numpy = Tensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    source = "def total(x):\n    return type(x)(x.numpy().sum(axis=1))\n"
    stated = rows(tensors=True)
    object.__setattr__(stated, "reference", Written(source, "total"))
    problem = loading.load(written(stated, tmp_path) / "kernels" / "rows")
    given = problem.inputs(SIZES, "float32", np.random.default_rng(1), 0)
    found = problem.reference(SIZES, "float32", given)["y"]
    assert np.allclose(found, given["x"].reshape(3, 4).astype(np.float64).sum(axis=1))


def test_the_width_that_is_asked_for_is_the_matrixs_own(tmp_path: Path) -> None:
    to_folder(affine.submission("right", interval=0.02), tmp_path / "wide")
    to_folder(affine.submission("right"), tmp_path / "default")
    read = {name: yaml.safe_load((tmp_path / name / "bench.yaml").read_text())
            for name in ("wide", "default")}  # fmt: skip
    assert read["wide"]["timing"] == {"interval": 0.02, "placements": [4, 8, 16, 24]}
    assert "timing" not in read["default"]
