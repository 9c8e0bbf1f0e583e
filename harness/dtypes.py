"""The element types that a matrix may name, with their NumPy, C++ and torch names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.console.suggestions import did_you_mean
from harness.errors import ProblemError

if TYPE_CHECKING:  # reading and completing a matrix requires only the names
    import numpy as np
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"


@dataclass(frozen=True)
class DType:
    """One element type.

    `stored`: its name in NumPy, or in ml_dtypes. `cpp`: its name in C++; one word, so that DTYPE(x)
    converts. `header`: the header that declares it, if the language does not.
    """

    stored: str
    cpp: str
    torch: str
    header: str = ""

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        import ml_dtypes
        import numpy as np

        return np.dtype(getattr(ml_dtypes, self.stored, self.stored))


BY_NAME: dict[str, DType] = {
    "float32": DType("float32", "float", "float32"),
    "float64": DType("float64", "double", "float64"),
    "float16": DType("float16", "__half", "float16", "cuda_fp16.h"),
    "bfloat16": DType("bfloat16", "__nv_bfloat16", "bfloat16", "cuda_bf16.h"),
    # Under these names, CUDA and torch mean the 8-bit formats without infinities.
    "float8_e4m3": DType("float8_e4m3fn", "__nv_fp8_e4m3", "float8_e4m3fn", "cuda_fp8.h"),
    "float8_e5m2": DType("float8_e5m2", "__nv_fp8_e5m2", "float8_e5m2", "cuda_fp8.h"),
    "int8": DType("int8", "int8_t", "int8", "cstdint"),
    "uint8": DType("uint8", "uint8_t", "uint8", "cstdint"),
    "int16": DType("int16", "short", "int16"),
    "int32": DType("int32", "int", "int32"),
    "uint32": DType("uint32", "unsigned", "uint32"),
    "int64": DType("int64", "int64_t", "int64", "cstdint"),
    "bool": DType("bool", "bool", "bool"),
}
"""The names that `dtypes:` in a matrix may list, with the expansion of the macro DTYPE in a
kernel."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype for a name in BY_NAME, or for any other name that NumPy recognises (`uint64`).

    Use this instead of np.dtype: np.dtype("bfloat16") depends on earlier imports, and
    np.dtype("float8_e4m3") is not CUDA's format. Raises ProblemError for other names.
    """
    if isinstance(name, str) and name in BY_NAME:
        return BY_NAME[name].numpy
    import numpy as np

    try:
        found = np.dtype(name)
    except TypeError:
        found = None
    if found is None or not isinstance(name, str) or found.hasobject:
        near = did_you_mean(str(name), BY_NAME)
        raise ProblemError(f"the dtype {name!r}, which NumPy does not know{near}")
    return found


_IN_TENSOR_MAPS = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "int32": "s32", "uint32": "u32", "int64": "s64", "uint64": "u64",
    **dict.fromkeys(("int16", "uint16"), "u16"),
    **dict.fromkeys(("int8", "uint8", "bool", "float8_e4m3", "float8_e5m2"), "u8"),
}  # fmt: skip


def tensor_map_element(name: str) -> str:
    """The PTX name of a tensor map's element type; empty if none is suitable."""
    return _IN_TENSOR_MAPS.get(name, "")


def torch_name(name: str) -> str:
    """The name of this dtype in torch."""
    return BY_NAME[name].torch if name in BY_NAME else name


def is_float(name: str) -> bool:
    """Return whether the type has fractions, NaN and rounding."""
    return numpy_dtype(name).name.startswith(("float", "bfloat"))


def smallest_normal(name: str) -> float:
    return float(_finfo(name).tiny)


def largest(name: str) -> float:
    return float(_finfo(name).max)


def machine_epsilon(name: str) -> float:
    """The unit in the last place of 1.0: 2^-23 for float32, 2^-7 for bfloat16."""
    return float(_finfo(name).eps)


def rounded(values: Array, name: str) -> Array:
    """Round values to a narrower float type; values that would be subnormal in that type become 0.

    Very few inputs with magnitudes around 1 become 0. Subnormals are avoided because arithmetic on
    them may take a slower path, and typical inputs have none.
    """
    import numpy as np

    found = values.astype(numpy_dtype(name))
    if found.dtype != values.dtype:
        found[np.abs(values) < smallest_normal(name)] = 0
    return found


def _finfo(name: str) -> Any:
    if not is_float(name):
        raise ProblemError(f"{name} is exact: it has no machine epsilon, and needs no tolerance")
    import ml_dtypes

    return ml_dtypes.finfo(numpy_dtype(name))  # type: ignore[no-untyped-call]
