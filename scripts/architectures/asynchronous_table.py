"""List the forms of Hopper's asynchronous instructions that the emulator executes in PTX and in
machine code.

    python scripts/architectures/asynchronous_table.py          write the table of docs/fidelity.md
    python scripts/architectures/asynchronous_table.py --check  exit 1 if it is out of date

Each PTX form is assembled for sm_90a. The table lists the instructions that ptxas generates from
it, except those that every kernel has, and says whether the emulator executes the form and those
instructions. The meaning of the machine instructions was derived from these pairs. Needs nvcc and
nvdisasm.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pages"))

from sections import keep

from harness.compiler import toolchain
from harness.emulator import EmulatorError, Module, parse
from harness.emulator.program.translate import translate
from harness.emulator.sass import Function, MachineCode, prepare, read
from harness.emulator.sass.instructions import hopper

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "fidelity.md"
_NAME = "asynchronous"
_TELLS = "mbarrier::complete_tx::bytes"
_BULK = "cp.async.bulk.tensor.{0}d.{1}"
_TO_SHARED = f"shared::cluster.global.{{0}}.{_TELLS}"
_ALSO: Final = (
    "MEMBAR", "FENCE", "CCTL", "DEPBAR", "ACQBULK", "PREEXIT", "LDGMC", "LD", "ST", "ATOM", "UPRMT",
    "R2UR", "BAR", "NANOSLEEP", "UP2UR", "LDGDEPBAR",
)  # fmt: skip
"""Other opcodes whose instructions are listed, unless the kernel without a form has them, too."""
FORMS: Final = (
    "mbarrier.init.shared::cta.b64 [%a], %x", "mbarrier.inval.shared::cta.b64 [%a]",
    "mbarrier.arrive.shared::cta.b64 %t, [%a]", "mbarrier.arrive.shared::cta.b64 %t, [%a], %x",
    "mbarrier.arrive.expect_tx.shared::cta.b64 %t, [%a], %x",
    "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %t, [%a], %x",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%a]",
    "mbarrier.arrive_drop.shared::cta.b64 %t, [%a]",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%a], %x",
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%a], %x",
    "mbarrier.test_wait.shared::cta.b64 %p, [%a], %t",
    "mbarrier.try_wait.parity.shared::cta.b64 %p, [%a], %x",
    "mbarrier.try_wait.parity.shared::cta.b64 %p, [%a], %x, 1000",
    "cp.async.mbarrier.arrive.shared::cta.b64 [%a]",
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%a]",
    f"cp.async.bulk.shared::cluster.global.{_TELLS} [%a], [%g], %x, [%b]",
    f"cp.async.bulk.shared::cluster.global.{_TELLS}.multicast::cluster [%a], [%g], %x, [%b], %h",
    f"cp.async.bulk.shared::cluster.shared::cta.{_TELLS} [%a], [%b], %x, [%c]",
    "cp.async.bulk.global.shared::cta.bulk_group [%g], [%a], %x",
    "cp.async.bulk.prefetch.L2.global [%g], %x",
    "cp.async.bulk.commit_group", "cp.async.bulk.wait_group 1", "cp.async.bulk.wait_group.read 0",
    *(f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{each} [%g], [%a], %x"
      for each in ("add.u32", "min.s64", "inc.u32", "and.b64", "add.f32", "add.noftz.bf16",
                   "min.f16")),
    f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_TELLS}.add.u32 [%a], [%b], %x, [%c]",
    *(f"{_BULK.format(n, _TO_SHARED.format('tile'))} [%a], [%g, {at}], [%b]"
      for n, at in ((1, "{%x}"), (2, "{%x, %x}"), (5, "{%x, %x, %x, %x, %x}"))),
    _BULK.format(2, _TO_SHARED.format("tile"))
    + ".multicast::cluster [%a], [%g, {%x, %x}], [%b], %h",
    _BULK.format(4, _TO_SHARED.format("im2col"))
    + " [%a], [%g, {%x, %x, %x, %x}], [%b], {%h, %h}",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%g, {%x, %x}], [%a]",
    "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%g, {%x, %x, %x}], [%a]",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%g, {%x, %x}], [%a]",
    "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%g, {%x, %x}]",
    "prefetch.tensormap [%g]",
    "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%a], 1, %x",
    "fence.proxy.tensormap::generic.acquire.gpu [%g], 128",
    "barrier.cluster.arrive.aligned", "barrier.cluster.wait.aligned",
    "mapa.shared::cluster.u32 %x, %a, %x", "getctarank.shared::cluster.u32 %x, %a",
    "ld.shared::cluster.u32 %x, [%a]", "st.shared::cluster.u32 [%a], %x",
    "atom.shared::cluster.add.u32 %x, [%a], %x",
    f"st.async.shared::cluster.{_TELLS}.b32 [%a], %x, [%b]",
    f"red.async.relaxed.cluster.shared::cluster.{_TELLS}.add.u32 [%a], %x, [%b]",
    "multimem.ld_reduce.global.add.u32 %x, [%g]",
    "setmaxnreg.inc.sync.aligned.u32 232", "setmaxnreg.dec.sync.aligned.u32 40",
    "elect.sync %x|%p, -1", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%a], {%x, %x, %x, %x}",
    "fence.proxy.async", "fence.proxy.async.shared::cta", "fence.proxy.alias",
    "griddepcontrol.wait", "griddepcontrol.launch_dependents",
)  # fmt: skip


def _kernel(name: str, body: str) -> str:
    return f"""
.visible .entry {name}(.param .u64 g, .param .u32 a, .param .u32 x, .param .u64 t)
.maxntid 384
.minnctapersm 1
{{
    .reg .pred %p; .reg .b32 %a, %b, %c, %x, %i; .reg .b64 %g, %t, %o; .reg .b16 %h;
    ld.param.u64 %g, [g]; ld.param.u32 %a, [a]; add.u32 %b, %a, 512; add.u32 %c, %a, 1024;
    ld.param.u32 %x, [x]; ld.param.u64 %t, [t]; cvt.u16.u32 %h, %x; setp.eq.u32 %p, %x, 9;
    {body}
    @%p st.global.u32 [%g+8], %x; st.global.u64 [%g], %t;
    ret;
}}
"""


def _assembled(folder: Path) -> tuple[Module, MachineCode]:
    kernels = [_kernel(f"k{number}", f"{form};") for number, form in enumerate(FORMS)]
    head = ".version 8.6\n.target sm_90a\n.address_size 64\n"
    text = head + "".join([_kernel("none", ""), *kernels])
    source, cubin = folder / "k.ptx", folder / "k.cubin"
    source.write_text(text)
    command = [toolchain.find().nvcc, "-cubin", "-arch=sm_90a", str(source), "-o", str(cubin)]
    subprocess.run(command, check=True, capture_output=True)
    return parse(text), read(cubin)


def _own(function: Function, others: set[str]) -> list[str]:
    """The names of the machine instructions that ptxas generates from a form. `others`: the names
    in the kernel without a form."""
    found = [
        each.name for each in function.instructions
        if each.opcode in hopper.OPCODES
        or (each.opcode in _ALSO and each.name not in others)
        or each.name == "BRA.U.ANY"
    ]  # fmt: skip
    return list(dict.fromkeys(found))


def _rows() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        ptx, code = _assembled(Path(folder))
    others = {each.name for each in code.functions["none"].instructions}
    yield "| PTX | executed | machine code (sm_90a) | executed |"
    yield "|---|---|---|---|"
    for number, form in enumerate(FORMS):
        name = f"k{number}"
        of_ptx = _executed(partial(translate, ptx, ptx.kernels[name]))
        of_code = _executed(partial(prepare, code, name))
        made = " ".join(f"`{each}`" for each in _own(code.functions[name], others)) or "–"
        cells = f"`{form.replace('|', chr(92) + '|')}`", of_ptx, made, of_code
        yield f"| {' | '.join(cells)} |"


def _executed(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except EmulatorError:
        return "refused"
    return "yes"


def main(arguments: list[str]) -> int:
    """Write the table, or check it."""
    command = "python scripts/architectures/asynchronous_table.py"
    return keep(PAGE, {_NAME: "\n".join(_rows())}, "--check" in arguments, command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
