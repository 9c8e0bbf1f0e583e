"""The types of matrix values, checked as they are read.

Every invalid value raises a ValueError whose message is one readable clause; written.py adds the
file, line and key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from harness.budgets import NAMES, NONE, RELATIONS, Budget
from harness.cases import DEVICE_FACTS, ELEMENT_BYTES, IDEAS
from harness.console.suggestions import did_you_mean
from harness.dtypes import BY_NAME
from harness.errors import ConfigError
from harness.matrix import files, forms
from harness.matrix.expressions import FUNCTIONS, QUOTE_IT, Expression, Number, is_cut
from harness.silicon.features import FEATURES

MOST_SHAPES = 4096
"""More launch shapes or sizes than this in one problem are considered a mistake."""

LONGEST_NAME = 100
"""The maximum length of a name. File and folder names combine several of them, and most systems
allow 255 characters."""

Shape = dict[str, int]
"""One combination of sizes, or of launch keys."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_MACRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_KERNEL = re.compile(r"[A-Za-z_][\w:<>,\s*&()\[\].+\-/%]*\Z")
_FUNCTION = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*\Z")

_LONGEST_FIRST = sorted(RELATIONS, key=len, reverse=True)

_OURS = {
    "-arch": "give --arch", "-gencode": "give --arch", "-gpu-architecture": "give --arch",
    "-D": "write it under defines:", "-I": "write it under include:",
    "-include": "write it under sources:", "-options-file": "write its options here",
    "-optf": "write its options here", "-rdc": "one unit is compiled at a time",
} | dict.fromkeys(
    ("-o", "-c", "-dc", "-ptx", "-cubin", "-fatbin", "-shared", "-E", "-M", "-MD", "-MF", "-run"),
    "the harness says what nvcc makes",
)  # fmt: skip
"""nvcc options that would change the kind of output, each with an alternative."""


def expression(value: Any) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("write an integer or an integer expression such as ceil_div(n, block)")
    try:
        return Expression(str(value))
    except ConfigError as error:
        raise ValueError(str(error)) from None


def number(value: Any) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("write a number or an expression such as 1.0 / n")
    try:
        return Number(str(value))
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _extents(value: Any) -> tuple[Expression, ...]:
    extents = tuple(map(expression, value if isinstance(value, list) else [value]))
    if not 1 <= len(extents) <= 3:
        raise ValueError("a grid, block or cluster has one to three dimensions")
    return extents


def name(value: str) -> str:
    if is_cut(value):
        raise ValueError(f"`{value}` is the rest of a value that a comma split\n  {QUOTE_IT}")
    if not _NAME.match(value):
        raise ValueError("a name is a letter, then letters, digits and _")
    if len(value) > LONGEST_NAME:
        raise ValueError(f"a name of {len(value)} letters; at most {LONGEST_NAME}")
    return value


def _free_name(value: str) -> str:
    """A user-defined name in expressions."""
    name(value)
    if value in (*DEVICE_FACTS, ELEMENT_BYTES, *FUNCTIONS):
        raise ValueError(f"`{value}` has a meaning in expressions; choose another")
    return value


def _positive(value: Any) -> int:
    try:
        found = expression(value).evaluate({})
    except ConfigError as error:
        raise ValueError(str(error)) from None
    if found < 1:
        raise ValueError(f"{found} is not a positive number")
    return found


def _axes(value: Any) -> tuple[Shape, ...]:
    """`{m: [1, 2], "a, b": [[3, 4], [5, 6]]}` → every combination, each a dict of integers.

    Lists under different keys are combined in every way; a key with several names takes its values
    row by row.
    """
    if not isinstance(value, dict):
        raise ValueError("write keys with lists of integers: `block: [128, 256]`")
    columns: list[list[Shape]] = []
    seen: set[str] = set()
    for key, rows in value.items():
        column = _column(key, rows)
        names = set(column[0])
        if seen & names:
            raise ValueError(f"{key}: a name is given twice")
        seen |= names
        columns.append(column)
    combinations = 1
    for column in columns:
        combinations *= len(column)
    if combinations > MOST_SHAPES:
        raise ValueError(f"{combinations} combinations; at most {MOST_SHAPES}")
    merged = [{k: v for part in parts for k, v in part.items()} for parts in product(*columns)]
    return tuple(dict(t) for t in dict.fromkeys(tuple(m.items()) for m in merged))


def _column(key: str, rows: Any) -> list[Shape]:
    """The values of one key. Each is a row of one number, or of several numbers that belong
    together."""
    names = tuple(part.strip() for part in key.split(","))
    try:
        for each in names:
            _free_name(each)
        if len(set(names)) < len(names):
            raise ValueError("a name is given twice")
        column = []
        for row in rows if isinstance(rows, list) else [rows]:
            cells = row if isinstance(row, list) else [row]
            if len(cells) != len(names):
                raise ValueError(f"takes rows of {len(names)} numbers, not {row!r}")
            column.append(dict(zip(names, map(_positive, cells), strict=True)))
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    if not column:
        raise ValueError(f"{key}: an empty list")
    if len(column) > MOST_SHAPES:
        raise ValueError(f"{key}: {len(column)} values; at most {MOST_SHAPES}")
    return column


def _rounds(value: Any) -> str | int:
    if value == "auto":
        return "auto"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("write `auto`, or an integer")
    if not 6 <= value <= 1000:
        raise ValueError(f"{value}: it must be greater than or equal to 6, and at most 1000")
    return value


def _looks(value: Any) -> tuple[int, ...]:
    numbers = value if isinstance(value, list | tuple) else [value]
    if not numbers or any(isinstance(n, bool) or not isinstance(n, int) for n in numbers):
        raise ValueError("write one or more whole numbers: [8, 16, 24]")
    if numbers[0] < 3 or numbers[-1] > 1000 or sorted(set(numbers)) != list(numbers):
        raise ValueError("the numbers must increase, from at least 3 to at most 1000")
    return tuple(numbers)


def _macros(value: Any) -> Any:
    for each in value if isinstance(value, dict) else ():
        if is_cut(each):
            name(each)
        if not _MACRO.match(each):
            raise ValueError(f"`{each}` is not the name of a macro")
    return value


def argument(value: Any) -> str | int | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("an argument is the name of a buffer, a number or an expression")
    if is_cut(str(value)):
        raise ValueError(f"`{value}` is not an expression\n  {QUOTE_IT}")
    return value


def _budgets(value: Any) -> dict[str, Budget | None]:
    """`{spills: none, sectors_per_request: "<= 4"}`; null removes a default budget."""
    if not isinstance(value, dict) or not value:
        raise ValueError('write names with limits: {spills: none, sectors_per_request: "<= 4"}')
    found: dict[str, Budget | None] = {}
    for key, said in value.items():
        if key not in NAMES:
            near = did_you_mean(key, NAMES, 3) or f"; there are {', '.join(NAMES)}"
            raise ValueError(f"{key}: nothing counts `{key}`{near}")
        try:
            found[key] = None if said is None else _budget(said)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return found


def _budget(value: Any) -> Budget:
    """`none`, a number, a string with a comparison to a number, or a mapping that contains one of
    these."""
    if isinstance(value, Budget):
        return value
    if isinstance(value, dict):
        unchecked = value.get("may_be_unchecked")
        if set(value) != {"limit", "may_be_unchecked"} or not isinstance(unchecked, bool):
            raise ValueError('write {limit: "<= 4", may_be_unchecked: true}, or the limit alone')
        return replace(_budget(value["limit"]), may_be_unchecked=unchecked)
    if value == NONE:
        return Budget("==", 0)
    text = "" if isinstance(value, bool) else str(value).strip()
    relation = next((each for each in _LONGEST_FIRST if text.startswith(each)), "")
    try:
        limit = Number(text[len(relation) :].strip()).evaluate({})
    except ConfigError:
        raise ValueError(
            f"`{value}` is not a budget: write none, a number, or a comparison in quotation "
            f'marks: "<= 4"; there are {", ".join(RELATIONS)}'
        ) from None
    return Budget(relation or "==", limit)


def _dtype(value: Any) -> str:
    if not isinstance(value, str) or value not in BY_NAME:
        near = did_you_mean(str(value), BY_NAME)
        raise ValueError(f"`{value}` is not a dtype; there are {', '.join(BY_NAME)}{near}")
    return value


def _distinct(value: list[str]) -> list[str]:
    if len(set(value)) < len(value):
        raise ValueError("one of them is listed twice")
    return value


def _flag(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith("-") or len(value) < 2:
        raise ValueError(f"`{value}` is not an nvcc option; join an option and its value with =")
    word = "-" + value.lstrip("-").partition("=")[0]
    instead = _OURS.get(word) or (_OURS[value[:2]] if value[:2] in ("-D", "-I") else "")
    if instead:
        raise ValueError(f"`{value}` is not a flag to give here: {instead}")
    return value


def _function(value: Any, suffix: str) -> str:
    """`file.py:function`"""
    file, colon, function = str(value).rpartition(":")
    if file.endswith(":"):  # file.cu:ns::function
        file, colon, function = str(value).partition(":")
    if not colon or not _FUNCTION.match(function):
        raise ValueError(f"write file{suffix}:function, such as sums{suffix}:sum")
    return f"{files.relative(file, suffix)}:{function}"


@dataclass(frozen=True)
class KernelName:
    """A kernel's C++ name, with expressions in braces: `sums<float, {block}>`."""

    text: str

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError("write the name of a kernel")
        if len(self.text) > 500:
            raise ValueError("the name of a kernel has at most 500 characters")
        if is_cut(self.text, "()<>{}"):
            raise ValueError(
                f"`{self.text}` is cut short: quote it, because inside [ ] and {{ }} a comma ends "
                'a YAML value: kernel: "sums<float, 4>"'
            )
        plain = "".join(part if i % 2 == 0 else "0" for i, part in enumerate(self._parts))
        if not _KERNEL.match(plain):
            raise ValueError(
                f"`{self.text}` is not the name of a kernel; write it as C++ does, such as "
                "block_sums or ns::block_sums<float, {block}>"
            )
        for text in self._parts[1::2]:
            expression(text)

    @cached_property
    def _parts(self) -> list[str]:
        """The parts of a name: text alternating with expressions in braces."""
        return re.split(r"[{}]", self.text)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(map(Expression, self._parts[1::2]))

    def filled(self, values: Sequence[int]) -> str:
        """The name with the values of its expressions filled in."""
        parts = list(self._parts)
        parts[1::2] = map(str, values)
        return "".join(parts)

    def __str__(self) -> str:
        return self.text


def _kernel(value: Any) -> KernelName:
    if not isinstance(value, str):
        raise ValueError("write the name of a kernel, a string")
    return KernelName(value)


def _capability(value: Any) -> tuple[int, int]:
    """Parse a compute capability: 8.0 gives 8 and 0."""
    found = re.fullmatch(r"(\d{1,2})\.(\d)", str(value))
    if not found or isinstance(value, bool):
        raise ValueError("write a compute capability, such as 8.0")
    return int(found[1]), int(found[2])


def _feature(value: str) -> str:
    if value not in FEATURES:
        raise ValueError(
            f"`{value}` is not a feature{did_you_mean(value, FEATURES)}; known: "
            f"{', '.join(FEATURES)}"
        )
    return value


def _idea(value: str) -> str:
    if value not in IDEAS:
        raise ValueError(
            f"`{value}` is not an idea{did_you_mean(value, IDEAS)}; known: {', '.join(IDEAS)}"
        )
    return value


AFeature = Annotated[str, AfterValidator(_feature), forms.one_of(FEATURES)]
ACapability = Annotated[tuple[int, int] | None, BeforeValidator(_capability), forms.NUMERIC]
AnIdea = Annotated[str, AfterValidator(_idea), forms.one_of(IDEAS)]
AnExpression = Annotated[Expression, BeforeValidator(expression), forms.WHOLE]
ANumber = Annotated[Number, BeforeValidator(number), forms.NUMERIC]
Argument = Annotated[str | int | float, BeforeValidator(argument), forms.NUMERIC]
Axes = Annotated[tuple[Shape, ...], BeforeValidator(_axes), forms.AXES]
Budgets = Annotated[dict[str, Budget | None], BeforeValidator(_budgets), forms.budgets(NAMES)]
Dtypes = Annotated[
    list[Annotated[str, BeforeValidator(_dtype), forms.one_of(BY_NAME)]],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}), AfterValidator(_distinct),
]  # fmt: skip
Extents = Annotated[tuple[Expression, ...], BeforeValidator(_extents), forms.EXTENTS]
Flag = Annotated[str, BeforeValidator(_flag), forms.matching("^-.")]
FreeName = Annotated[str, BeforeValidator(_free_name)]
IncludeFolder = Annotated[str, BeforeValidator(files.include)]
HostFunction = Annotated[
    str, BeforeValidator(lambda value: _function(value, ".cu")), forms.matching(r"\.cu:.")
]
Kernel = Annotated[KernelName, BeforeValidator(_kernel), forms.matching(".")]
Looks = Annotated[tuple[int, ...], BeforeValidator(_looks), forms.LOOKS]
Macros = Annotated[dict[str, ANumber], BeforeValidator(_macros)]
Name = Annotated[str, BeforeValidator(name)]
Positive = Annotated[int, BeforeValidator(_positive), forms.WHOLE]
PythonFunction = Annotated[
    str, BeforeValidator(lambda value: _function(value, ".py")), forms.matching(r"\.py:.")
]
Rounds = Annotated[Literal["auto"] | int, BeforeValidator(_rounds), forms.ROUNDS]
CudaSource = Annotated[
    str, BeforeValidator(lambda value: files.relative(value, ".cu")), forms.matching(r"\.cu$")
]
Source = Annotated[
    str,
    BeforeValidator(lambda value: files.relative(value, ".cu", files.PTX)),
    forms.matching(r"\.(cu|ptx)$"),
]
