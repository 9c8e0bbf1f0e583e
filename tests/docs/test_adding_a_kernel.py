"""The worked examples of docs/adding-a-kernel.md are typed exactly as on the page, and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import load
from harness.cases import Device
from harness.compiler.functions import host
from harness.compiler.functions.host import HostFunction
from harness.matrix import model, plan, written

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-a-kernel.md").read_text()


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that contains only the files from the page."""
    folder = tmp_path_factory.mktemp("typed")
    blocks = re.findall(r"^`(kernels/\S+)`:\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 7
    for name, text in blocks:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_what_the_docs_say_of_timing_and_limits_is_what_holds(tmp_path: Path) -> None:
    [block] = re.findall(r"```yaml\n(timing:\n.*?)```", PAGE, re.DOTALL)
    (tmp_path / "bench.yaml").write_text(block)
    said = model.load(tmp_path / "bench.yaml", ROOT / "kernels")
    assert (said.timing, said.limits) == (written.Timing(), written.Limits())
    for one, known in ((said.timing, written.Timing), (said.limits, written.Limits)):
        assert one.model_fields_set == set(known.model_fields)


def test_the_page_says_every_key_of_a_matrix() -> None:
    for model_ in (written.Problem, written.Defaults, written.Library, written.Variant):
        for key in model_.model_fields:
            assert re.search(rf"`{key}`|^ *{key}:", PAGE, re.MULTILINE), key
    table = PAGE.split("| key of a step |")[1].split("\n\n")[0]
    for key in written.WrittenStep.model_fields:
        assert f"`{key}`" in table, key
    table = PAGE.split("| key of a variant |")[1].split("\n\n")[0]
    for key in written.Variant.model_fields:
        assert f"`{key}`" in table, key


def test_the_examples_are_verified_and_what_needs_a_gpu_says_so(typed: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "run", "--backend", "emulator", "--out", "run"],
        cwd=typed, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = load(typed / "run")
    status: dict[tuple[str, str], set[str]] = {}
    for case, outcome in found.outcomes.items():
        if found.planned[case].sizes == {"n": 2**16}:
            planned = found.planned[case]
            status.setdefault((planned.variant, planned.dtype), set()).add(outcome.status)
    assert status == {
        ("v0_one_block", "float32"): {"ok"},
        ("acme", "float32"): {"ok"},
        ("acme", "float64"): {"ok"},
        ("with_torch", "float32"): {"skipped"},
        ("two_launches", "float32"): {"skipped"},
    }


def test_the_host_function_compiles_and_takes_its_arguments(typed: Path, device: Device) -> None:
    bench = model.load(None, typed / "kernels")
    cases = plan.resolve(bench, device, "cuda", ["sum_squares/two_launches"]).cases
    case = next(case for case in cases if case.kind == "host")
    library = host.build(host.unit(case, bench.kernels, "sm_90"))
    assert HostFunction(library.path, case.function, case.args).name == case.function


def test_the_annotated_matrix_of_the_page_is_a_matrix(tmp_path: Path) -> None:
    [text] = re.findall(r"^```yaml\n(dtypes: \[float32\]\nsizes:\n.*?)^```", PAGE, re.DOTALL | re.M)
    here = tmp_path / "kernels" / "reduce_sum"
    here.mkdir(parents=True)
    (here / "bench.yaml").write_text(text)
    (here / "problem.py").write_text("")
    for name in ("v0", "v1", "v2"):
        (here / f"{name}.cu").write_text("")
    variants = model.load(None, tmp_path / "kernels").problems["reduce_sum"].variants
    assert [str(step.kernel) for step in variants["v3"].steps] == ["zero", "block_sums"]
    assert str(variants["v2"].steps[0].shared) == "0"
