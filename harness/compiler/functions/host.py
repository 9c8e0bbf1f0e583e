"""Compile a host function in a .cu file into a shared library; call it with buffers and a stream.

    int sum(const float* input, float* output, unsigned int n, cudaStream_t stream);

Buffers are passed as pointers, and numbers as the types that the function declares. The last
argument is the stream on which everything is to be enqueued. Returning 0 means success. The
function creates anything else that it needs, such as scratch memory, in its first call, which is
never timed.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.cases import Case, how_many
from harness.compiler import cache, toolchain
from harness.compiler.toolchain import Toolchain
from harness.compiler.units import Unit, explained
from harness.compiler.units import unit as unit_of_kernels
from harness.errors import CompileError, LaunchError

_CALL = Path(__file__).with_name("host_call.h")
_LIBRARY = "host.so"

Argument = str | int | float


@dataclass(frozen=True)
class HostLibrary:
    """A compiled host function: its shared library, and the hash that identifies it."""

    path: Path
    source_sha256: str
    library_sha256: str
    was_cached: bool = False


def unit(case: Case, kernels: Path, arch: str) -> Unit:
    """Return the unit to compile for a host case; its `names` has only the function's name."""
    function = case.function.partition(":")[2]
    return replace(unit_of_kernels(case, kernels, arch), names=(function,))


def _key(one: Unit, compiler: Toolchain) -> str:
    return one.key(compiler, f"host {cache.sha256(_CALL)}")


def is_kept(one: Unit) -> bool:
    """See compile.is_kept."""
    return cache.has(_key(one, toolchain.find()))


def build(one: Unit, compiler: Toolchain | None = None) -> HostLibrary:
    """Compile the library, or take it from the cache if nothing that it depends on has changed.

    Raises CompileError with nvcc's own message.
    """
    compiler = compiler or toolchain.find()
    key = _key(one, compiler)
    try:
        entry, about, was_cached = cache.entry_of(key, lambda work: _compile(one, compiler, work))
    except CompileError as error:
        raise explained(one, error) from None
    return HostLibrary(
        entry / _LIBRARY, about["source_sha256"], about["files"][_LIBRARY], was_cached
    )


def _compile(one: Unit, compiler: Toolchain, work: Path) -> cache.About:
    depends, plain = work / "depends", replace(one, names=())
    call = (
        f'#include "{_CALL}"\n#line 1 "host: {one.names[0]}"\n'
        'extern "C" const char* harness_signature() { '
        f"static const std::string text = harness_host::signature(&{one.names[0]}); "
        "return text.c_str(); }\n"
        'extern "C" const char* harness_words(int code) { '
        f"return harness_host::words(&{one.names[0]}, code); }}\n"
        'extern "C" int harness_call(const harness_host::Slot* slots) { '
        f"return harness_host::call(&{one.names[0]}, slots); }}"
    )
    libraries = Path(compiler.nvcc).resolve().parent.parent / "lib"  # where the wheels keep them
    cache.run(one.source, [
        compiler.nvcc, *one.options(), "-shared", "-Xcompiler", "-fPIC,-fno-gnu-unique",
        *([f"-L{libraries}"] if libraries.is_dir() else []), "-MD", "-MF", str(depends),
        "-o", str(work / _LIBRARY), str(plain.file(work, call)),
    ])  # fmt: skip
    headers = cache.dependencies(depends, one.include)
    for path in (depends, work / "unit.cu"):
        path.unlink(missing_ok=True)
    folders = cache.looked_in([one.source, *one.sources, *headers], one.include)
    return {"source_sha256": cache.sha256(one.source), "headers": headers, "folders": folders}


class _Slot(ctypes.Union):
    _fields_ = [
        ("pointer", ctypes.c_void_p), ("integer", ctypes.c_longlong), ("number", ctypes.c_double),
    ]  # fmt: skip


class HostFunction:
    """A loaded host function, with the arguments of one case.

    Raises LaunchError if the arguments do not match its parameters.
    """

    def __init__(self, path: Path, function: str, args: Sequence[Argument]) -> None:
        self.name, self._args = function, tuple(args)
        try:
            library = ctypes.CDLL(str(path.resolve()))
        except OSError as error:
            raise LaunchError(f"{function} cannot be loaded: {error}") from None
        library.harness_signature.restype = ctypes.c_char_p
        library.harness_words.restype = ctypes.c_char_p
        self._call, self._said = library.harness_call, library.harness_words
        self._kinds = library.harness_signature().decode().split()
        self._check()

    def __call__(self, addresses: Mapping[str, int], stream: int) -> None:
        """Call it with the buffers' addresses. Raises LaunchError if it does not return success."""
        slots = (_Slot * len(self._kinds))()
        for slot, kind, argument in zip(slots, self._kinds, self._args, strict=False):
            if isinstance(argument, str):
                slot.pointer = addresses[argument]
            elif kind[0] == "f":
                slot.number = argument
            else:
                slot.integer = _wrapped(int(argument))
        slots[len(self._args)].pointer = stream
        code = self._call(slots)
        if code:
            words = self._said(code).decode(errors="replace")
            raise LaunchError(f"{self.name} returns {code}{words and f' ({words})'}; 0 is success")

    def _check(self) -> None:
        wanted = ", ".join(map(_words, self._kinds))
        if not self._kinds or self._kinds[-1] != "s":
            raise LaunchError(
                f"{self.name} takes ({wanted}); the last parameter must be a cudaStream_t"
            )
        if len(self._args) != len(self._kinds) - 1:
            raise LaunchError(
                f"{self.name} takes {how_many(len(self._kinds) - 1, 'argument')} and the stream "
                f"({wanted}), but args: lists {len(self._args)} ({', '.join(map(str, self._args))})"
            )
        for number, (kind, argument) in enumerate(zip(self._kinds, self._args, strict=False), 1):
            wrong = _mismatch(kind, argument)
            if wrong:
                raise LaunchError(f"{self.name}, argument {number}: {wrong}")


def _mismatch(kind: str, argument: Argument) -> str:
    """The reason why a parameter cannot take an argument; empty if it can."""
    if isinstance(argument, str):
        return "" if kind == "p" else f"`{argument}` is a buffer, but it takes {_words(kind)}"
    if kind[0] == "f":
        largest = {"f4": 3.4028234663852886e38}.get(kind, math.inf)
        return "" if abs(argument) <= largest else f"{argument} does not fit {_words(kind)}"
    if kind[0] not in "iu":
        return f"{argument} is a number, but it takes {_words(kind)}"
    if isinstance(argument, float):
        return f"{argument} is no integer, but it takes {_words(kind)}"
    bits = 8 * int(kind[1:])
    low, high = (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return "" if low <= argument <= high else f"{argument} does not fit {_words(kind)}"


def _words(kind: str) -> str:
    named = {"p": "a pointer", "s": "the stream", "?": "a type that cannot be passed"}
    letters = {"f": "a float", "i": "an integer", "u": "an unsigned integer"}
    return named.get(kind) or f"{letters[kind[0]]} of {8 * int(kind[1:])} bits"


def _wrapped(value: int) -> int:
    """Convert to a signed 64-bit integer with the same bits, because argument slots are signed."""
    return value - 2**64 if value >= 2**63 else value
