"""Run ZLUDA's PTX tests, a small kernel for each instruction, as PTX and as machine code.

    python scripts/others_kernels/zluda.py CHECKOUT COMPILED           rewrite docs/fidelity.md
    python scripts/others_kernels/zluda.py CHECKOUT COMPILED --check   exit 1 if it is out of date

CHECKOUT is a clone of vosen/ZLUDA at the commit below, and COMPILED keeps the machine code; this
repository contains no part of either. A test is a line of `spirv_run/mod.rs`: `test_ptx!(name,
[input], [output])` launches one thread with two buffers, and `test_ptx_warp!(name, [output])`
launches 64 threads with one buffer. A test without values only has to be translated. Results are
compared with the values bit by bit; any two NaNs are equal.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))

import numpy as np
import sections
from numpy.typing import NDArray

from harness import emulator
from harness.compiler import toolchain
from harness.emulator import sass

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fidelity.md"
COMMIT = "8a7931be87d758835776f54ea2e33d30621c74ce"
TESTS = Path("ptx/src/test/spirv_run")
ARCH = "sm_90"
SHARED_BYTES, WARP_TEST_THREADS = 1024, 64
BUDGET = 2**24
PTXAS_REFUSES = "ptxas refuses it"

Array = NDArray[Any]

_TYPES = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64,
    "f16": np.float16,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<hex>0x[0-9A-Fa-f_]+?(?=[iu]\d|\b))(?P<of_hex>[iu](?:8|16|32|64))?\b"
    r"|(?P<plain>0b[01_]+?|\d[\d_]*(?:\.[\d_]+)?)_?(?P<of_plain>[iu](?:8|16|32|64)|f32|f64)?\b"
)


@dataclass(frozen=True)
class Test:
    """`given` is None for tests of whole warps; `wanted` is None if the test only has to be
    translated."""

    name: str
    given: Array | None
    wanted: Array | None
    threads: int


def tests(text: str) -> Iterator[Test]:
    """The tests of a `mod.rs`."""
    text = re.sub(r"//[^\n]*", "", text)
    for found in re.finditer(r"^(test_ptx\w*)!\((.*?)\);$", text, re.MULTILINE | re.DOTALL):
        macro, inside = found.groups()
        name, *lists = (part.strip() for part in re.split(r",\s*(?=\[)", inside))
        arrays = [values(each) for each in lists]
        wanted = arrays[-1] if arrays else None
        if macro == "test_ptx_warp":
            yield Test(name, None, wanted, WARP_TEST_THREADS)
        else:
            yield Test(name, arrays[0] if arrays else None, wanted, 1)


def values(text: str) -> Array:
    """Parse an array as Rust writes it; a suffix on any number gives the type of all of them."""
    kinds: list[str] = []

    def number(found: re.Match[str]) -> str:
        kinds.extend(each for each in (found["of_hex"], found["of_plain"]) if each)
        digits = (found["hex"] or found["plain"]).replace("_", "")
        return digits if digits.startswith("0x") or "." in digits else str(int(digits, 0))

    if "half::f16::NAN.to_bits()" in text:
        text = text.replace("half::f16::NAN.to_bits()", "0x7e00")
    kinds += ["f16"] * ("half::f16" in text)
    kinds += re.findall(r"\b([fiu]\d+)::", text) * ("half::" not in text)
    text = re.sub(r"\b([iu]\d+)::(max_value\(\)|MAX|MIN)", _extreme, text)
    for spelled, plain in (
        (r"(half::f16|f32)::from_bits\(", r"bits_of_\1("), ("half::f16::from_f(32|64)", ""),
        (r"(half::f16|f32)::NAN", "nan"), (r"(half::f16|f32)::NEG_INFINITY", "-inf"),
        (r"(half::f16|f32)::INFINITY", "inf"), (r"std::f32::consts::PI", "pi"),
    ):  # fmt: skip
        text = re.sub(spelled, plain, text)
    text = _NUMBER.sub(number, text.replace("bits_of_half::f16", "halves").replace(
        "bits_of_f32", "singles"))  # fmt: skip
    names = {
        "nan": math.nan, "inf": math.inf, "pi": math.pi, "__builtins__": {},
        "singles": lambda bits: np.uint32(bits).view(np.float32),
        "halves": lambda bits: np.uint16(bits).view(np.float16),
    }  # fmt: skip
    if not re.fullmatch(
        r"[\[\](),\s\d.xA-Fa-f/+-]*", re.sub("nan|inf|pi|singles|halves", "", text)
    ):
        raise ValueError(f"not an array of numbers: {text}")
    found = eval(text, names)
    kind = kinds[0] if kinds else "f64" if any(isinstance(v, float) for v in found) else "i32"
    bits = [v & (1 << 64) - 1 if isinstance(v, int) and kind[0] != "f" else v for v in found]
    if kind[0] == "f":
        return np.array(bits, _TYPES[kind])
    size = np.dtype(_TYPES[kind]).itemsize * 8
    return np.array([v & (1 << size) - 1 for v in bits], f"u{size // 8}").view(_TYPES[kind])


def _extreme(found: re.Match[str]) -> str:
    limits = np.iinfo(_TYPES[found[1]])
    return f"{limits.min if found[2] == 'MIN' else limits.max}"


def from_ptx(test: Test, path: Path) -> str:
    """Run a test's PTX; describe how the result differs from the expected one; empty if it is
    equal."""
    module = emulator.parse(path.read_text())
    if test.wanted is None:
        (name,) = module.kernels
        return _translated(module, name)
    kernel = next(each for each in module.kernels if each == test.name)
    buffers, out = _buffers(test, len(module.kernels[kernel].params))
    report = emulator.launch(
        module, kernel, 1, test.threads, buffers, SHARED_BYTES, arch=ARCH,
        max_thread_instructions=BUDGET,
    )  # fmt: skip
    return _differs(test, report.faults, out)


def _translated(module: emulator.Module, name: str) -> str:
    """Launch a test on empty buffers: unknown instructions are refused before anything runs."""
    arguments = [None] * len(module.kernels[name].params)
    emulator.launch(module, name, 1, 1, arguments, SHARED_BYTES, max_thread_instructions=BUDGET)
    return ""


def assembled(paths: list[Path], folder: Path) -> None:
    """Assemble and list each test's machine code if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = str(toolchain.find().nvcc)
    for path in paths:
        cubin = folder / f"{path.stem}.cubin"
        if not cubin.exists():
            command = [nvcc, "-cubin", "-w", f"-arch={ARCH}", str(path), "-o", str(cubin)]
            subprocess.run(command, capture_output=True, check=False)
    cubins = sorted(folder.glob("*.cubin"))
    sass.keep_listings({each: each.with_suffix(".listing") for each in cubins})


def from_machine_code(test: Test, path: Path) -> str:
    """Run a test's machine code, from ptxas; describe how the result differs from the expected
    one."""
    if not path.exists():
        return PTXAS_REFUSES
    code = sass.read(path, path.with_suffix(".listing"))
    name = test.name if test.wanted is not None else next(iter(code.functions))
    if test.wanted is None:
        sass.prepare(code, name)
        return ""
    buffers, out = _buffers(test, len(code.functions[name].parameters))
    report = sass.launch_machine_code(
        code, name, 1, test.threads, buffers, SHARED_BYTES, max_thread_instructions=BUDGET
    )
    return _differs(test, report.faults, out)


def _buffers(test: Test, count: int) -> tuple[list[Array], Array]:
    assert test.wanted is not None
    out = np.zeros_like(test.wanted)
    buffers = [out if test.given is None else test.given.copy(), out]
    return buffers[:count], out


def _differs(test: Test, faults: tuple[emulator.Fault, ...], out: Array) -> str:
    assert test.wanted is not None
    if faults:
        return f"the fault `{faults[0].kind}`: {faults[0].message}"
    same = out.view(f"u{out.itemsize}") == test.wanted.view(f"u{out.itemsize}")
    if out.dtype.kind == "f":
        same |= np.isnan(out) & np.isnan(test.wanted)
    at = np.flatnonzero(~same)
    return f"[{at[0]}] is {out[at[0]]}, wanted {test.wanted[at[0]]}" if at.size else ""


def section(checkout: Path, compiled: Path) -> str:
    folder = checkout / TESTS
    known = {test.name: test for test in tests((folder / "mod.rs").read_text())}
    assembled([folder / f"{name}.ptx" for name in known], compiled)
    told: dict[str, list[str]] = {}
    right, of = Counter[str](), Counter[str]()
    for test in known.values():
        for form, launched, path in (
            ("PTX", from_ptx, folder / f"{test.name}.ptx"),
            ("machine code", from_machine_code, compiled / f"{test.name}.cubin"),
        ):
            try:
                wrong = launched(test, path)
            except emulator.EmulatorError as error:
                wrong = str(error).splitlines()[0].partition(": ")[2].partition(". Nothing was")[0]
            if wrong == PTXAS_REFUSES:
                continue
            of[form] += 1
            right[form] += not wrong
            if wrong:
                told.setdefault(test.name, []).append(f"from {form}: {wrong}")
    link = f"[vosen/ZLUDA](https://github.com/vosen/ZLUDA/tree/{COMMIT})"
    lines = [
        "| suite | tests | right from PTX | right from machine code |", "|---|--:|--:|--:|",
        f"| {link} | {len(known)} | {right['PTX']} of {of['PTX']} | {right['machine code']} of "
        f"{of['machine code']} |", "", "What is refused or differs:", "",
        *(f"- `{name}`: {'; '.join(parts)}" for name, parts in told.items()),
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("compiled", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = section(options.checkout, options.compiled)
    print(text)
    command = f"python {' '.join(sys.argv[:3])}"
    return sections.keep(PAGE, {"zluda": text}, options.check, command)


if __name__ == "__main__":
    sys.exit(main())
