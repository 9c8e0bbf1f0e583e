"""`--size`, `--dtype`, `--launch` and `--quick` reduce the matrix, and their errors list the valid
values."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cases import Device
from harness.errors import UsageError
from harness.matrix import model, plan
from harness.matrix.filters import Choice, narrowed

MATRIX = """\
dtypes: [float32, float64]
sizes:
  test: {n: [1, 33]}
  bench: {n: [2**10, 2**12, 2**30]}
launch: {block: [64, 128]}
baseline: v0
library: torch
defaults:
  let: {blocks: "ceil_div(n, block)"}
  steps: {twice: {grid: blocks, block: block, args: [input, output, n]}}
variants:
  v0: {launch: {block: [64]}}
  v1: {source: v0.cu}
  v2: {source: v0.cu, dtypes: [float64]}
  function: {python: "f.py:f"}
"""


@pytest.fixture
def bench(folder: Path) -> model.Bench:
    (folder / "bench.yaml").write_text("limits: {emulate_bytes: 2**16}\n")
    (folder / "kernels" / "double" / "bench.yaml").write_text(MATRIX)
    (folder / "kernels" / "double" / "f.py").write_text("def f(tensors): ...\n")
    return model.load(folder / "bench.yaml")


def cases(bench: model.Bench, device: Device, choice: Choice, backend: str = "cuda") -> set[str]:
    found = plan.resolve(narrowed(bench, choice, backend), device, backend, choice.only).cases
    return {case.id.removeprefix("double/") for case in found}


@pytest.mark.parametrize(
    "values", [("n=2**10", "n=1*4096"), ("n=2**10,2**12",), (" n =1024,4096",)]
)
def test_a_size_is_chosen_by_its_value_however_it_is_written(
    bench: model.Bench, device: Device, values: tuple[str, ...]
) -> None:
    found = cases(bench, device, Choice(size=values))
    everything = cases(bench, device, Choice())
    assert found == {each for each in everything if "n=1024" in each or "n=4096" in each}


def test_a_size_in_no_list_is_one_of_its_own_beside_those_that_are_chosen(
    bench: model.Bench,
) -> None:
    quick = narrowed(bench, Choice(size=("n=7,2**10",)), "cuda")
    assert quick.problems["double"].sizes.bench == ({"n": 1024}, {"n": 7})


def test_a_size_of_several_names_is_typed_with_a_comma_or_with_two_options(
    bench: model.Bench, folder: Path
) -> None:
    path = folder / "kernels" / "double" / "bench.yaml"
    path.write_text(
        MATRIX.replace("{n: [1, 33]}", "{n: [1, 33], m: [2]}").replace(
            "{n: [2**10, 2**12, 2**30]}", "{n: [2**10], m: [2]}"
        )
    )
    bench = model.load(folder / "bench.yaml")
    for typed in (("n=64,m=4,2**3",), ("m=4", "n=64", "m=8")):
        found = narrowed(bench, Choice(size=typed), "cuda").problems["double"].sizes.bench
        assert found == ({"n": 64, "m": 4}, {"n": 64, "m": 8})
    with pytest.raises(UsageError, match="n=64 matches nothing"):
        narrowed(bench, Choice(size=("n=64",)), "cuda")


@pytest.fixture
def emulating(bench: model.Bench, folder: Path) -> model.Bench:
    (folder / "kernels" / "double" / "bench.yaml").write_text(
        MATRIX.replace("2**30]}", "2**30]}\n  emulate: {n: [2**6, 2**11]}")
    )
    return model.load(folder / "bench.yaml")


def test_the_emulator_counts_the_sizes_that_the_matrix_has_for_it(
    emulating: model.Bench, device: Device
) -> None:
    choice = Choice(only=("double/v1/float32",))
    sizes = {
        backend: {id.split("/")[2] for id in cases(emulating, device, choice, backend)}
        for backend in ("cuda", "emulator")
    }
    assert sizes["emulator"] == {"n=64", "n=2048"}
    assert sizes["cuda"] == {"n=1024", "n=4096", "n=1073741824"}
    unfiltered = plan.resolve(emulating, device, "emulator", ["double/v1/float32"]).cases
    assert {case.sizes["n"] for case in unfiltered} == {64, 2048}


def test_a_size_that_only_the_emulator_has_can_be_chosen_for_a_gpu(emulating: model.Bench) -> None:
    for backend in ("cuda", "emulator"):
        found = narrowed(emulating, Choice(size=("n=64",)), backend)
        assert found.problems["double"].sizes.bench == ({"n": 64},)


def test_a_type_is_chosen_and_variants_without_it_are_left_out(
    bench: model.Bench, device: Device
) -> None:
    found = cases(bench, device, Choice(dtype=("float32",)))
    assert {each.split("/")[0] for each in found} == {"v0", "v1", "function", "torch"}
    assert {each.split("/")[1] for each in found} == {"float32"}


def test_a_launch_shape_is_chosen_and_what_others_are_compared_with_stays(
    bench: model.Bench, device: Device
) -> None:
    found = cases(bench, device, Choice(launch=("block=128",), size=("n=1024",)))
    shapes = {tuple(each.split("/")[::3]) for each in found if "float64" in each}
    # The baseline has no block=128, and a function has no launch shape to choose.
    assert shapes == {
        ("v0", "block=64"), ("v1", "block=128"), ("v2", "block=128"), ("function",), ("torch",),
    }  # fmt: skip


def test_filters_and_only_hold_together(bench: model.Bench, device: Device) -> None:
    choice = Choice(only=("double/v1",), size=("n=1024",), dtype=("float64",), launch=("block=64",))
    assert cases(bench, device, choice) == {
        "v0/float64/n=1024/block=64", "v1/float64/n=1024/block=64", "torch/float64/n=1024",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(size=("n=0",)), "--size n=0 matches nothing; there are n = 1024, 4096, 1073741824"),
        (Choice(size=("m=8",)), "or any size, with all its names: --size n=1024"),
        (Choice(size=("m=1024",)), "--size m=1024 matches nothing; there are n = 1024"),
        (Choice(size=("1024",)), "there is no `=` behind a name"),
        (Choice(size=("n=",)), "write a name and values: --size n=2**20,2**24"),
        (Choice(size=("n=2+",)), "`2+` is not an expression"),
        (Choice(launch=("block=256",)), "--launch block=256 matches nothing; there are block = 64"),
        (
            Choice(dtype=("flaot32",)),
            "--dtype 'flaot32' is not an element type; did you mean float32?",
        ),
        (Choice(dtype=("int8",)), "--dtype matches nothing; there are float32, float64"),
    ],
)
def test_a_filter_that_leaves_nothing_says_what_there_is(
    bench: model.Bench, choice: Choice, expected: str
) -> None:
    with pytest.raises(UsageError) as caught:
        narrowed(bench, choice, "cuda")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("backend", "size"),
    # 8 bytes per element: 2^30 elements exceed 256 MiB, 2^12 are within the emulator's 2^16 bytes.
    [("cuda", 2**12), ("emulator", 2**12)],
)
def test_a_quick_run_has_one_size_all_test_sizes_and_few_rounds(
    bench: model.Bench, backend: str, size: int
) -> None:
    quick = narrowed(bench, Choice(quick=True), backend)
    sizes = quick.problems["double"].sizes
    assert sizes.bench == ({"n": size},)
    assert sizes.test == bench.problems["double"].sizes.test
    assert sum(quick.timing.looks) < sum(bench.timing.looks)
    assert quick.timing.batch < bench.timing.batch
    assert quick.limits.measure_s <= 15


def test_a_quick_run_without_a_small_size_takes_the_smallest(
    bench: model.Bench, folder: Path
) -> None:
    quick = narrowed(bench, Choice(quick=True, size=("n=2**30",)), "emulator")
    assert quick.problems["double"].sizes.bench == ({"n": 2**30},)


def test_a_choice_reads_as_it_is_typed() -> None:
    choice = Choice(("double",), ("n=2**20",), (), ("block=64", "block=128"), True)
    assert (
        str(choice) == "--only double --size n=2**20 --launch block=64 --launch block=128 --quick"
    )
    assert str(Choice()) == "no filter"
