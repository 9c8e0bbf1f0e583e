"""The committed tables of machine code by architecture, and the scripts that write them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from harness.emulator.sass.architectures import ARCHITECTURES

ROOT = Path(__file__).parents[2]
EMULATED = ROOT / "reports" / "emulated"
LEAST = 0.98
FOREIGN_LEAST = 0.95


def _rows(name: str) -> list[dict[str, str]]:
    with (EMULATED / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_what_the_files_say(
    script_of: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script_of("architecture_tables").main(["--check"]) == 0


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_of_every_architecture_nearly_all_cases_were_counted_in_machine_code(arch: str) -> None:
    small = [row for row in _rows("architectures.csv") if row["measured"].startswith("small")]
    own = [row for row in small if row["arch"] == arch]
    assert own
    for row in own:
        assert row["failed"] == "0"
        assert int(row["counted_in_machine_code"]) >= LEAST * int(row["ok"])
        counted, equal = int(row["counted_in_machine_code"]), int(row["equal_to_ptx"])
        assert bool(row["differ"]) == (equal < counted)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nearly_all_of_others_kernels_were_executed_from_machine_code(arch: str) -> None:
    launched = [row for row in _rows("others.csv") if row["arch"] == arch]
    executed = [row for row in launched if row["from_machine_code"] == "executed"]
    assert len(launched) == 103
    assert len(executed) >= FOREIGN_LEAST * len(launched)
    files = [row for row in _rows("others_kernels.csv") if row["arch"] == arch]
    assert sum(int(row["kernels"]) for row in files) == 222
    assert [row["refused"] for row in files if row["refused"]] == []


def test_results_of_others_kernels_are_those_of_sm_90_unless_nvcc_makes_other_ptx() -> None:
    launched = _rows("others.csv")
    wanted = {row["launch"]: row["digest"] for row in launched if row["arch"] == "sm_90"}
    assert len(wanted) == 103
    apart = {
        (row["launch"], row["arch"]) for row in launched
        if row["digest"] != wanted[row["launch"]] and row["from_ptx_of_sm_90"] != "equal"
    }  # fmt: skip
    # In PTX, the value that a shuffle reads from an exited lane is undefined.
    assert {launch for launch, _ in apart} == {"odd_even_partition"}, apart


@pytest.mark.parametrize("arch", ["sm_75", "sm_100", "sm_120"])
def test_nearly_all_device_functions_were_executed_from_machine_code(arch: str) -> None:
    [functions] = [row for row in _rows("device_functions.csv") if row["arch"] == arch]
    assert int(functions["functions"]) > 280
    assert int(functions["executed"]) >= FOREIGN_LEAST * int(functions["functions"])


def test_device_functions_have_the_results_of_sm_90_but_for_signs_of_zero() -> None:
    compared = [row for row in _rows("device_functions.csv") if row["equal_to_sm_90"]]
    assert {"sm_75", "sm_90", "sm_100", "sm_120"} <= {row["arch"] for row in compared}
    # On architectures without this instruction, CUDA's header compares, and +0 is not greater than
    # -0.
    signs = {"__hmax_nan", "__hmin_nan", "__hmax2_nan", "__hmin2_nan"}
    for row in compared:
        apart = {each.partition("(")[0] for each in row["differ_from_sm_90"].split("; ") if each}
        assert apart == (signs if row["arch"] == "sm_75" else set()), row["arch"]
        assert int(row["equal_to_sm_90"]) == int(row["executed"]) - len(apart)


HEADERS = {
    "cuda_fp16.h": """/** \\brief __device__ int not_this(int x); */
__CUDA_FP16_DECL__ __half2 __hadd2(const __half2 a, const __half2 b);
__CUDA_FP16_DECL__ float __shfl_sync(unsigned int mask, float v);""",
    "cuda_bf16.h": "__CUDA_BF16_DECL__ void *nothing(int x);",
    "crt/device_functions.h": """extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ unsigned int
    __brev(unsigned int x);""",
    "crt/math_functions.h": "__DEVICE__ double ldexp(double x, int exp) __THROW;\n"
    "extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ float jnf(int n, float x) __THROW;",
    "crt/device_double_functions.h": "",
}


def test_a_header_says_which_device_functions_there_are(
    script_of: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    declared = script_of("declared")
    for name, text in HEADERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = declared.functions(tmp_path)
    assert [each.text for each in found] == [
        "__hadd2(__half2, __half2)", "__brev(unsigned int)", "ldexp(double, int)",
        "jnf(int, float)",
    ]  # fmt: skip
    source = declared.source(found).splitlines()
    assert "out[i] = __brev(a0[i]);" in source[declared.FIRST_LINE]
    widths = [[array.dtype.itemsize for array in each.drawn()] for each in found]
    assert widths == [[4, 4], [4], [8, 4], [4, 4]]
    assert found[3].drawn()[0].max() < 9


def test_results_that_are_no_numbers_are_the_same_and_zeros_have_signs(
    script_of: Callable[[str], ModuleType],
) -> None:
    difference = script_of("functions")._difference
    one = np.array([np.nan, 0.0, 1.0], np.float32)
    other = one.copy()
    other.view(np.uint32)[0] = 0xFFC00001
    assert difference(one.view(np.uint32), other.view(np.uint32), "f32") == 0
    other[1] = -0.0
    assert 0 < difference(one.view(np.uint32), other.view(np.uint32), "f32") < 1e-300
    other[2] = 1.5
    off = difference(one.view(np.uint32), other.view(np.uint32), "f32")
    assert off == pytest.approx(1 / 3)
    assert difference(np.array([1], np.uint32), np.array([2], np.uint32), "u32") == np.inf
    assert difference(one.view(np.uint32), one.view(np.uint32), "f16x2") == 0
