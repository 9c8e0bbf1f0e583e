"""GPUVerify's CUDA tests: small kernels with or without a race, a divergent barrier or a failed
assertion.

The head of a test states the result that the tool must report, and the launch's dimensions. A block
is limited to 1024 threads, even if a test specifies more. Annotations become code: `__assert` and
`__requires` are checked, invariants expand to nothing, and statements about other threads or
earlier accesses are assumed to hold. Functions that are only declared return 0. A pointer gets an
array of different values. A scalar gets the value in the head's counterexample, else one from a
`__requires`, else 1; a scalar called `size` gets the length of an array. The kernels are compiled
without optimisation, because most of them compute nothing that is used.

Some tests are omitted, because no launch can show what the head says: tests in which the tool must
reject the source, fails at an invariant, or assumes indices that differ from the launch's (an
axiom) or constant contents that differ from the source's; tests with empty arrays or with host
variables; tests that nvcc does not compile (texture references, cuRAND without its header); and
those in `NOT_LAUNCHED`, which ptxas or the emulator refuses. A grid has at most 256 blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fault_suites.kernels import BOUNDS, RACE, Kernel

DIVERGED, UNSET = frozenset({"divergent barrier"}), frozenset({"uninitialised"})

LEFT_OUT = re.compile(
    r"^//xfail:(BUGLE|CLANG)_ERROR|error: loop invariant|^__axiom"
    r"|the host is free to change the contents|^texture<|\bcurand|//0-sized|^(char \*|s )\w+;",
    re.MULTILINE,
)

NOT_LAUNCHED = {
    "ctimeslid",  # a static shared array of 64 KiB; the limit is 48 KiB
    # The emulator refuses a call through a pointer that the host supplies, if no code takes the
    # function's address.
    "function_pointers/basic_argument_fail",
    "function_pointers/constant_value",
    "function_pointers/pass_struct/call",
}

SPECIAL = {
    "function_pointers/basic_assignment_fail": {"i": 0},  # neither 1 nor 2: calls a null pointer
    "function_pointers/funcptr_to_ptr_add": {"i": 0},  # likewise, or one past a function
    "misc/fail/miscfail7": {"H": 0},  # the null pointer itself
    "barrierconditionalkernelparam": {"x": 0},  # takes the branch with the barrier
}

OTHERWISE_FAULTY = {
    # Lanes exchange values in lockstep, which the tool is configured to assume.
    "warpsync/2d": RACE,
    "warpsync/intragroup_scan": RACE,
    "warpsync/scan_warp": RACE,
    "warpsync/shuffle": RACE,
    # Uninitialised values are stored; the tool does not check for this.
    "memcpy/arrayofstruct": UNSET,
    "pointertests/test_copy_between_memory_spaces": UNSET,
    "scope": UNSET,
}
"""Tests that pass GPUVerify but have a fault under CUDA's rules."""

HEADER = """\
#include <cassert>
#include <cooperative_groups.h>
#define synchronize(group) group.sync()
#define __assert(what) assert(what)
#define __assume(what) assert(what)
#define __requires(what) assert(what)
#define __requires_fresh_array(array)
#define __ensures(what)
#define __invariant(what) ((void)0)
#define __global_invariant(what) ((void)0)
#define __implies(one, other) (!(one) || (other))
#define __all(what) (what)
#define __enabled() true
#define __other_int(value) (-1)
#define __uniform_int(value) true
#define __uniform_bool(value) true
#define __distinct_int(value) true
#define __no_read(array) true
#define __no_write(array) true
#define __read_implies(array, what) true
#define __write_implies(array, what) true
#define __ptr_offset_bytes(pointer) 0
"""

TYPES = {
    "int": np.int32, "unsigned int": np.uint32, "unsigned": np.uint32, "float": np.float32,
    "double": np.float64, "char": np.int8, "unsigned long long int": np.uint64,
}  # fmt: skip
"""NumPy's types of array elements; an array of any other type is an array of bytes."""


def kernels(clone: Path) -> Iterator[Kernel]:
    tests = clone / "testsuite" / "CUDA"
    for path in sorted(tests.rglob("kernel.cu")):
        name, text = str(path.parent.relative_to(tests)), path.read_text()
        if "__global__" in text and name not in NOT_LAUNCHED and not LEFT_OUT.search(text):
            yield _kernel(name, text)


def _kernel(name: str, text: str) -> Kernel:
    grid, block = _extents(text, "gridDim"), _extents(text, "blockDim")
    parameters = _parameters(text)
    threads = int(np.prod(grid)) * int(np.prod(block))
    length = max(2**18, 2 * threads + 256)
    special = SPECIAL.get(name, {})
    defines = re.findall(r" (-D\w+=\w+)", text)

    def arguments() -> list[Any]:
        return [_argument(text, each, length, block[0], special) for each in parameters]

    source = _source(text, parameters)
    flat = name.replace("/", "_")
    return Kernel(flat, source, _faults(name, text), grid, block, arguments,
                  options=("-Xcicc", "-O0", *defines))  # fmt: skip


def _faults(name: str, text: str) -> frozenset[str]:
    if text.lower().startswith("//pass"):
        return OTHERWISE_FAULTY.get(name, frozenset())
    if "synchronize(" in text:
        return DIVERGED | {"deadlock"}  # of the grid, at a barrier that some blocks never reach
    if "null" in text or "null" in name or "pass_struct" in name:
        return BOUNDS | {"trap"}
    if "constant memory" in text:
        return frozenset({"read-only"})
    if "__assert(false)" in text or "//assert" in text or "value_in_assert" in name:
        return frozenset({"assert"})
    return RACE | UNSET if " fresh;" in text else RACE


def _extents(text: str, name: str) -> tuple[int, ...]:
    """The dimensions of the grid (at most 256 blocks) or of the block (at most 1024 threads)."""
    found = re.search(rf"--{name}=\[?([\d,]+)", text)
    assert found
    extents, left = [], 1024 if name == "blockDim" else 256
    for each in map(int, found[1].split(",")):
        extents.append(min(each, left))
        left //= extents[-1]
    return tuple(extents)


def _parameters(text: str) -> list[tuple[str, str]]:
    """The type, with a star for a pointer, and the name of each parameter of the kernel."""
    found = re.search(r"__global__\s+void\s+\w+\s*\((.*?)\)\s*\{", text, re.DOTALL)
    assert found
    parts = (re.fullmatch(r"(.*?)(\w+)", each.strip(), re.DOTALL) for each in found[1].split(","))
    return [(re.sub(r"\b(volatile|__restrict|struct)\b| +(?=\*)", "", part[1]).strip(), part[2])
            for part in parts if part]  # fmt: skip


def _argument(
    text: str, parameter: tuple[str, str], length: int, block: int, special: dict[str, int]
) -> Any:
    kind, name = parameter
    if name in special:
        return special[name]
    if "*" in kind:
        return _array(kind.split("*")[0], length)
    pointers = _pointers(text, kind)
    if pointers:
        return tuple(_array("char", 4 * length) for _ in range(pointers))
    members = re.search(rf"(struct|class)\s+{kind}\b", text) or re.search(rf"\}}\s*{kind};", text)
    if members:
        return bytes(8 if kind == "pair" else 4 if "int" in text else 1)
    named = re.search(rf"^//{name} = (\d+)", text, re.MULTILINE)
    required = re.search(rf"__requires\({name} == (\w+)", text)
    if named:
        return int(named[1])
    if required:
        return int(required[1]) if required[1].isdigit() else block
    if kind == "funcType":
        return 0
    return length if name == "size" else 1


def _array(kind: str, length: int) -> Any:
    if kind in TYPES:
        return np.arange(length).astype(TYPES[kind])
    return (np.arange(16 * length) % 251).astype(np.uint8)


def _pointers(text: str, kind: str) -> int:
    """The number of pointers in a struct that contains nothing else."""
    found = re.search(
        rf"(?:struct|class)\s+{kind}\s*(?::\s*(\w+)\s*)?\{{(.*?)\n\}};", text, re.DOTALL
    )
    if not found:
        return 0
    count = _pointers(text, found[1]) if found[1] else 0
    for member in re.finditer(r"^\s+(\w+) (\*?) ?\w+(?:\[(\d+)\])?;", found[2], re.MULTILINE):
        count += int(member[3] or 1) if member[2] else _pointers(text, member[1])
    return count


def _source(text: str, parameters: list[tuple[str, str]]) -> str:
    text = re.sub(r'#include\s+[<"]cuda.h[">]', "", text)
    for kind, name in parameters:
        if kind == "funcType":
            text = re.sub(rf"__requires\({name} == (\w+).*?\);", rf"{name} = \1;", text)
    text = re.sub(r"^(__device__ (\w+)\s+\w+\([^()]*\));", _defined, text, flags=re.MULTILINE)
    return HEADER + text


def _defined(found: re.Match[str]) -> str:
    body = "" if found[2] == "void" else " return 0; "
    return f"{found[1]} {{{body}}}"
