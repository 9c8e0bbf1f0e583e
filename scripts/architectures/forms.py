"""List the machine instruction forms that occur in other architectures' code but not in sm_90's.

    python scripts/architectures/forms.py CHECKOUTS [sm_75 sm_90 …] [--own] [--table]

A form is an opcode with its modifiers and the kinds of its operands, as nvdisasm prints them for
this repository's kernels, for other people's kernels (CHECKOUTS as in
scripts/others_kernels/sources.py) and for CUDA's device functions. `--own` uses only this
repository's kernels. The forms of each architecture are cached in .cache/forms/. The file
forms_elsewhere.txt, whose lines the tests execute, combines them: for each form that sm_90 lacks,
it has an example instruction, the architectures that have the form and, if the emulator refuses the
form, the reason. `--table` writes only that file. A form that only a CUDA release other than 13.0
emits (set NVCC to its compiler) is marked with the release, as in sm_120@13.5. An architecture
whose kernels have not been compiled yet takes about ten minutes of processor time.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "others_kernels"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import declared
import functions
import launches as listed
import sources

from harness.backends.emulated_device import emulated_device
from harness.backends.machine_code import LISTING, list_together
from harness.compiler import compile as compiler
from harness.compiler import toolchain
from harness.compiler.compile import Built
from harness.emulator.sass import MachineCode
from harness.emulator.sass import read as read_cubin
from harness.emulator.sass.code import Function, Instruction
from harness.emulator.sass.encode import encode
from harness.emulator.sass.errors import UnknownMachineInstruction
from harness.emulator.sass.library import load
from harness.errors import HarnessError
from harness.matrix import model, plan

ROOT = Path(__file__).resolve().parents[2]
READ = "sm_90"
USUAL = "13.0"
"""The CUDA release whose forms carry no release mark."""
KEPT = ROOT / ".cache" / "forms"
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", READ, "sm_100", "sm_103", "sm_110",
          "sm_120", "sm_121")  # fmt: skip
TABLE = ROOT / "tests" / "emulator" / "sass" / "instructions" / "forms" / "forms_elsewhere.txt"
HEAD = """\
# An instruction of each form that nvdisasm prints for other architectures and not for sm_90, the
# architectures, and why it is refused, if it is. Written by scripts/architectures/forms.py.
# Behind an @ is the release of CUDA, where 13.0 does not write it."""
_REASON = re.compile(r"` \((.*)\) at 0x")
_REPLACED = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"\.reuse\b", ""), (r"[-~!|]", ""), (r"\b(UR|R)(\d+|Z)\b", r"\1"),
        (r"\b(UP|P)(\d|T)\b", r"\1"), (r"\bB\d+\b", "B"), (r"\bSB\d\b", "SB"),
        (r"\b0x[0-9a-f]+\b", "I"), (r"c\[I\]\[I\]", "C"), (r"\+I\]", "]"),
        (r"(?<![\w.])[+]?(\d+(\.\d*)?(e[-+]?\d+)?|INF|QNAN|SNAN)(?![\w.])", "I"),
    )
)  # fmt: skip


def form(each: Instruction) -> str:
    """Reduce an instruction to its form, without the numbers of registers, predicates, immediates
    and labels."""
    text = each.text.partition(" ")[2] if each.guard else each.text
    opcode, _, operands = text.rstrip(" ;").partition(" ")
    if each.opcode in ("CALL", "RET") and each.operands[-1].kind == "name":
        operands = operands.removesuffix(each.operands[-1].text) + "I"
    for pattern, by in _REPLACED:
        operands = pattern.sub(by, operands)
    return f"{opcode} {operands.replace(' ', '')}".rstrip()


def _collection(arch: str) -> Iterator[Built]:
    bench = model.load(ROOT / "bench.yaml")
    tests = plan.resolve(bench, emulated_device(arch), "emulator").tests
    units = {
        (case.problem, case.variant, case.dtype): compiler.unit(case, bench.kernels, arch)
        for case in tests
        if case.kind == "kernel" and not case.skip
    }
    for each in units.values():
        yield compiler.build(each)


def _others(arch: str, checkouts: Path) -> Iterator[Built]:
    launches = listed.read()
    for source in dict.fromkeys(each.source for each in launches):
        of = [each for each in launches if each.source == source]
        try:
            yield compiler.build(sources.unit(source, of, checkouts / source.folder, arch))
        except HarnessError as error:
            print(f"{arch}: {source.path}: {error}", file=sys.stderr, flush=True)


def codes(arch: str, checkouts: Path, own: bool) -> Iterator[MachineCode]:
    """Yield the machine code of every file."""
    built = [*_collection(arch), *(() if own else _others(arch, checkouts))]
    list_together(built)
    for each in built:
        yield read_cubin(each.cubin, each.cubin.with_name(LISTING))
    if own:
        return
    include = functions._include()
    with tempfile.TemporaryDirectory() as folder:
        yield functions.compiled(declared.functions(include), arch, Path(folder)).fused


def refusals(function: Function) -> Mapping[str, str]:
    """Map each refused instruction to the reason."""
    found: dict[str, str] = {}
    left = function
    while True:
        try:
            encode(left, load().definitions)
        except UnknownMachineInstruction as refusal:
            reason = _REASON.search(str(refusal))
            found[refusal.text] = reason[1] if reason else "refused"
            # Refused instructions become NOPs, so that labels keep their positions.
            left = replace(left, instructions=tuple(
                replace(each, opcode="NOP", modifiers=(), operands=(), guard=None)
                if each.text in found else each
                for each in left.instructions
            ))  # fmt: skip
        else:
            return found


def of_architecture(arch: str, checkouts: Path, own: bool) -> dict[str, Any]:
    """Collect the number of instructions, each form with an example, and each refused form with the
    reason."""
    count, examples, refused = 0, dict[str, str](), dict[str, str]()
    for code in codes(arch, checkouts, own):
        for function in code.functions.values():
            why = refusals(function)
            for each in function.instructions:
                count += 1
                kind = form(each)
                examples.setdefault(kind, each.text)
                if each.text in why:
                    refused.setdefault(kind, why[each.text])
    return {"instructions": count, "forms": examples, "refused": refused}


def _order(name: str) -> tuple[str, int]:
    arch, _, release = name.partition("@")
    return release, ARCHES.index(arch)


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The lines of forms_elsewhere.txt, from the forms found for each architecture."""
    there: dict[str, list[str]] = {}
    for arch in sorted(found.keys() - {READ}, key=_order):
        for each in found[arch]["forms"]:
            known = there.setdefault(each, [])
            known += [arch] if arch.partition("@")[0] not in known else []
    lines = [HEAD]
    for each in sorted(there.keys() - found[READ]["forms"].keys()):
        first = found[there[each][0]]
        text = first["forms"][each]
        text = text.partition(" ")[2] if text.startswith("@") else text
        parts = [text.rstrip(), ",".join(there[each]), first["refused"].get(each, "")]
        lines.append(" | ".join(filter(None, parts)))
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("arches", nargs="*", default=ARCHES, metavar="ARCH")
    parser.add_argument("--own", action="store_true", help="this repository's kernels alone")
    parser.add_argument("--table", action="store_true", help="write the table of what is kept")
    options = parser.parse_args(arguments)
    KEPT.mkdir(parents=True, exist_ok=True)
    release = toolchain.find().version.rpartition(".")[0]
    for arch in () if options.table else options.arches:
        made = of_architecture(arch, options.checkouts, options.own)
        name = arch if release == USUAL else f"{arch}@{release}"
        (KEPT / f"{name}.json").write_text(json.dumps(made), encoding="utf-8")
        print(f"{arch}: {made['instructions']} instructions, {len(made['forms'])} forms, "
              f"{len(made['refused'])} refused", flush=True)  # fmt: skip
    kept = {each.stem: json.loads(each.read_text(encoding="utf-8")) for each in KEPT.iterdir()}
    TABLE.write_text(table(kept), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
