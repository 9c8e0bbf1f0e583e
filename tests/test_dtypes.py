"""An element type has one name in a matrix, in NumPy, in C++ and in torch."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from harness.dtypes import BY_NAME, is_float, machine_epsilon, numpy_dtype, smallest_normal
from harness.errors import ProblemError
from harness.problem import Buffer, summation_bound

BYTES = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "float8_e4m3": 1, "float8_e5m2": 1,
    "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "uint32": 4, "int64": 8, "bool": 1,
}  # fmt: skip


def test_every_type_has_a_dtype_of_its_size() -> None:
    assert set(BYTES) == set(BY_NAME)
    for name, size in BYTES.items():
        assert numpy_dtype(name).itemsize == size
        assert Buffer("x", "input", name, 3).nbytes == 3 * size


def test_the_8_bit_floats_are_those_of_cuda_and_not_of_the_ieee() -> None:
    assert numpy_dtype("float8_e4m3") == np.dtype(ml_dtypes.float8_e4m3fn)
    assert float(np.array(448.0, numpy_dtype("float8_e4m3"))) == 448.0  # its largest; IEEE's is 240


def test_names_that_only_numpy_knows_are_its_own() -> None:
    assert numpy_dtype("uint64") == np.dtype(np.uint64)


@pytest.mark.parametrize("name", ["float31", "object", "O", "", None, 3, np.float32])
def test_what_is_no_name_of_a_type_is_refused(name: object) -> None:
    with pytest.raises(ProblemError, match="which NumPy does not know"):
        numpy_dtype(name)  # type: ignore[arg-type]


def test_a_misspelt_type_is_told_the_nearest() -> None:
    with pytest.raises(ProblemError, match=r"did you mean bfloat16\?"):
        Buffer("x", "input", "bfloat61", 1)


@pytest.mark.parametrize(
    ("name", "epsilon", "normal"),
    [
        ("float16", 2**-10, 2**-14),
        ("bfloat16", 2**-7, 2**-126),
        ("float8_e4m3", 2**-3, 2**-6),
        ("float8_e5m2", 2**-2, 2**-14),
        ("float64", 2**-52, 2**-1022),
    ],
)
def test_epsilons_and_smallest_normals_are_those_of_the_formats(
    name: str, epsilon: float, normal: float
) -> None:
    assert is_float(name)
    assert machine_epsilon(name) == epsilon
    assert smallest_normal(name) == pytest.approx(normal, rel=1e-5)


@pytest.mark.parametrize("name", ["int8", "uint32", "bool"])
def test_an_exact_type_has_no_epsilon(name: str) -> None:
    assert not is_float(name)
    with pytest.raises(ProblemError, match=f"{name} is exact"):
        machine_epsilon(name)


def test_the_summation_bound_is_that_of_bfloat16() -> None:
    u = 2.0**-8
    assert summation_bound(8, 1.0, "bfloat16") == pytest.approx(8 * u / (1 - 8 * u), rel=1e-9)
