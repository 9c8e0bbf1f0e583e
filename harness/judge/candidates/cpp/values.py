"""Values in host code: C++ rules for numbers, types, tensor options, and dim3."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from harness.judge.candidates.errors import Refused
from harness.judge.candidates.recording import Place

DTYPES = {
    "kFloat32": torch.float32, "kFloat": torch.float32, "kFloat64": torch.float64,
    "kDouble": torch.float64, "kFloat16": torch.float16, "kHalf": torch.float16,
    "kBFloat16": torch.bfloat16, "kInt32": torch.int32, "kInt": torch.int32,
    "kInt64": torch.int64, "kLong": torch.int64, "kInt16": torch.int16, "kShort": torch.int16,
    "kInt8": torch.int8, "kChar": torch.int8, "kUInt8": torch.uint8, "kByte": torch.uint8,
    "kBool": torch.bool,
    "ScalarType::Float": torch.float32, "ScalarType::Double": torch.float64,
    "ScalarType::Half": torch.float16, "ScalarType::BFloat16": torch.bfloat16,
    "ScalarType::Int": torch.int32, "ScalarType::Long": torch.int64,
    "ScalarType::Bool": torch.bool, "ScalarType::Byte": torch.uint8,
}  # fmt: skip
C_TYPES = {
    torch.float32: "float", torch.float64: "double", torch.float16: "at::Half",
    torch.bfloat16: "at::BFloat16", torch.int32: "int", torch.int64: "long",
    torch.int16: "short", torch.int8: "signed char", torch.uint8: "unsigned char",
    torch.bool: "bool",
}  # fmt: skip
_POINTED = {
    "float": torch.float32, "double": torch.float64, "int": torch.int32, "int32_t": torch.int32,
    "int64_t": torch.int64, "long": torch.int64, "long long": torch.int64, "bool": torch.bool,
    "unsigned char": torch.uint8, "uint8_t": torch.uint8, "at::Half": torch.float16,
    "c10::Half": torch.float16, "torch::Half": torch.float16, "at::BFloat16": torch.bfloat16,
    "c10::BFloat16": torch.bfloat16, "int8_t": torch.int8, "signed char": torch.int8,
    "int16_t": torch.int16, "short": torch.int16,
}  # fmt: skip
_SIZES = {
    "char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "signed char": 1, "unsigned char": 1,
    "short": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "__half": 2, "at::Half": 2,
    "at::BFloat16": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2, "int": 4, "unsigned": 4,
    "unsigned int": 4, "float": 4, "int32_t": 4, "uint32_t": 4, "uint": 4, "double": 8,
    "long": 8, "long long": 8, "size_t": 8, "int64_t": 8, "uint64_t": 8, "unsigned long": 8,
    "unsigned long long": 8, "float2": 8, "int2": 8, "float4": 16, "int4": 16,
}  # fmt: skip
_INTEGERS = {
    "char": (8, True), "signed char": (8, True), "int8_t": (8, True), "unsigned char": (8, False),
    "uint8_t": (8, False), "short": (16, True), "int16_t": (16, True), "uint16_t": (16, False),
    "unsigned short": (16, False), "int": (32, True), "int32_t": (32, True),
    "signed int": (32, True), "unsigned": (32, False), "unsigned int": (32, False),
    "uint32_t": (32, False), "uint": (32, False), "long": (64, True), "long int": (64, True),
    "long long": (64, True), "long long int": (64, True), "int64_t": (64, True),
    "ssize_t": (64, True), "size_t": (64, False), "uint64_t": (64, False),
    "unsigned long": (64, False), "unsigned long long": (64, False), "ulong": (64, False),
}  # fmt: skip


@dataclass
class Dim3:
    x: int = 1
    y: int = 1
    z: int = 1


@dataclass(frozen=True)
class Options:
    """torch::TensorOptions, without the tensor's device."""

    dtype: Any = torch.float32


@dataclass(frozen=True)
class Ignored:
    """A value that has no effect on launches: a device, a stream, a success code."""

    word: str


STREAM = Ignored("stream")
CUDA = Ignored("device")


@dataclass(frozen=True)
class KernelName:
    name: str


def literal(text: str) -> Any:
    """The value of a C++ numeric literal."""
    plain = text.replace("'", "")
    if plain[:2].lower() == "0x":
        return int(plain.rstrip("uUlL"), 16)
    if re.fullmatch(r"\d+[uUlL]*", plain):
        digits = plain.rstrip("uUlL")
        return int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits)
    if plain[-1] in "fF":
        return np.float32(plain[:-1])
    return np.float64(plain.rstrip("lL"))


def size_of(kind: str) -> int:
    if kind.endswith("*"):
        return 8
    if kind not in _SIZES:
        raise Refused(f"`sizeof({kind})` in host code is not known")
    return _SIZES[kind]


def dtype_of(kind: str) -> Any:
    """Torch's dtype for the element type of `data_ptr<kind>`."""
    return _POINTED.get(kind)


def converted(value: Any, kind: str, what: str = "a value") -> Any:
    """Convert a value to the type of its variable. Raises Refused if it does not fit."""
    plain = kind.removeprefix("std::")
    if plain in ("auto", "") or value is None:
        return value
    if kind.endswith("*"):
        if isinstance(value, Place):
            pointed = kind[:-1].strip()
            return value if pointed in ("void", "auto") else replace(value, type=pointed)
        if value == 0:
            return 0
        raise Refused(f"{what} of type `{kind}` is no pointer to a tensor's memory")
    if plain in _INTEGERS and isinstance(value, int | bool | np.floating):
        return _integer(int(value), *_INTEGERS[plain], kind, what)
    if plain == "float" and isinstance(value, int | np.floating):
        return np.float32(value)
    if plain == "double" and isinstance(value, int | np.floating):
        return np.float64(value)
    if plain == "bool" and isinstance(value, int | np.floating | Place):
        return bool(value)
    if plain == "dim3":
        return dim3(value)
    return value


def _integer(value: int, bits: int, is_signed: bool, kind: str, what: str) -> int:
    low, high = (-(1 << bits - 1), 1 << bits - 1) if is_signed else (0, 1 << bits)
    if not low <= value < high:
        raise Refused(f"{what} of type `{kind}` becomes {value}, which does not fit into it")
    return value


def dim3(value: Any) -> Dim3:
    if isinstance(value, Dim3):
        return Dim3(value.x, value.y, value.z)
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= 3 or not all(isinstance(each, int) for each in items):
        raise Refused("an extent of a launch in host code is no whole number")
    return Dim3(*items)


def divided(left: Any, right: Any, is_rest: bool) -> Any:
    """`/` and `%` with C++ semantics: integers truncate towards zero."""
    whole = isinstance(left, int) and isinstance(right, int)
    if whole and right == 0:
        raise Refused("its host code divides by zero")
    if whole:
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return left - quotient * right if is_rest else quotient
    if is_rest:
        raise Refused("its host code takes the rest of a division of numbers that are not whole")
    with np.errstate(all="ignore"):
        return np.divide(left, right)


def told(value: Any) -> str:
    """Describe a value for a message."""
    names = {torch.Tensor: "tensor", str: "text", Ignored: "device or stream", Dim3: "dim3",
             list: "list", Options: "TensorOptions", KernelName: "kernel"}  # fmt: skip
    return names.get(type(value), type(value).__name__)
