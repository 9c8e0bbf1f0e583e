"""HGMMA, QGMMA and IGMMA: warpgroup MMAs in machine code, compared with matmul in double
precision."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from emulator_tools import assemble, counts_what_an_h200_does
from warpgroup_products import RANDOM, ROWS, exact, kernel, multiplied, random

from harness.emulator.sass import MachineCode, MachineReport, launch_machine_code, read


class Product(NamedTuple):
    """`modes`: the operands after the predicate. `instruction`: the machine instruction that ptxas
    generates. `was_read`: whether an H200's counters were read."""

    types: str
    columns: int
    depth: int
    modes: tuple[int, ...]
    sums: str
    instruction: str
    in_registers: bool = False
    adds: bool = True
    was_read: bool = True


PRODUCTS = (
    Product("f32.f16.f16", 24, 16, (1, 1, 0, 1), "f4", "gdesc[UR].tnspB,R,gsb0"),
    Product("f32.f16.f16", 128, 16, (1, 1, 1, 0), "f4", "gdesc[UR].tnspA,R,gsb0"),
    Product("f16.f16.f16", 24, 16, (-1, 1, 0, 0), "f2", "gdesc[UR].negA,R,gsb0"),
    Product("f32.bf16.bf16", 24, 16, (1, -1, 1), "f4", "R,gdesc[UR].negB.tnspB,R,gsb0", True),
    Product("f32.tf32.tf32", 8, 8, (-1, -1), "f4", "gdesc[UR].negA.negB,RZ,!UPT,gsb0", adds=False),
    Product("f16.e4m3.e5m2", 8, 32, (1, 1), "f2", "gdesc[UR],R,gsb0"),
    Product("f32.e5m2.e4m3", 16, 32, (1, -1), "f4", "R,gdesc[UR].negB,R,gsb0", True),
    Product("s32.u8.s8.satfinite", 32, 32, (), "i4", "gdesc[UR],R,gsb0"),
    Product("s32.s8.s8", 32, 32, (), "i4", "R,gdesc[UR],R,gsb0", True),
    Product("f32.f16.f16", 16, 16, (-1, 1, 0), "f4", "-R,gdesc[UR],R,gsb0", True, was_read=False),
)


def text(product: Product) -> str:
    registers = product.columns // 2 * np.dtype(product.sums).itemsize // 4
    modes = "".join(f", {mode}" for mode in product.modes)
    return kernel(
        f"m64n{product.columns}k{product.depth}.{product.types}", registers, modes,
        product.in_registers, product.adds, "f32" if product.sums == "f4" else "b32",
    )  # fmt: skip


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> MachineCode:
    """All MMAs in one cubin, by number."""
    folder = tmp_path_factory.mktemp("products")
    head, *bodies = (part for product in PRODUCTS for part in text(product).split(".visible"))
    bodies = [body for body in bodies if ".entry" in body]
    named = [body.replace(" k(", f" k{n}(", 1) for n, body in enumerate(bodies)]
    source, cubin = folder / "k.ptx", folder / "k.cubin"
    source.write_text(head + "".join(f".visible{body}" for body in named))
    return read(assemble(source, cubin, "sm_90a"))


@pytest.mark.parametrize("swizzle", ["none", "32", "64", "128"])
@pytest.mark.parametrize("number", range(len(PRODUCTS)))
def test_a_product_from_machine_code(code: MachineCode, number: int, swizzle: str) -> None:
    """The counts also equal Nsight Compute's readings on an H200 exactly."""
    product = PRODUCTS[number]
    kernel_name = f"k{number}"

    def launched(_: str, given: list[Any]) -> MachineReport:
        report = launch_machine_code(code, kernel_name, 1, 128, given)
        assert not report.faults, report.faults[0]
        return report

    a_type, b_type = product.types.split(".")[1:3]
    a, b = random((ROWS, product.depth), a_type), random((product.depth, product.columns), b_type)
    c = RANDOM.integers(-50, 50, (ROWS, product.columns)).astype(product.sums)
    c[0, 0] = 2**30 + 1 if product.sums == "i4" else 1  # what a float32 cannot hold
    turned = product.modes[2:]
    outer = (turned[0] == 1 if len(turned) == 2 else False, turned[-1:] == (1,))
    found, report = multiplied(
        a, b, c, product.types, swizzle=swizzle, outer=outer, in_registers=product.in_registers,
        launched=launched,
    )  # fmt: skip
    sign = -1 if len({*product.modes[:2]}) == 2 else 1
    assert (found.astype(np.float64) == sign * exact(a, b) + (c if product.adds else 0)).all()
    (own,) = (i for i in code.functions[kernel_name].instructions if i.opcode.endswith("GMMA"))
    operands = own.text.partition(" ")[2].partition(",")[2]
    assert re.sub(r"R\d+", "R", operands) == product.instruction
    (counted,) = (each for each in report.instructions if each.opcode == own.name)
    assert counted.warps == 4
    assert report.counter("memory_l1_wavefronts_shared").provenance == "machine-exact"
    name = product.types.replace(".", "_")
    launch = f"p{number:02}_{name}_n{product.columns}_sw{swizzle}"
    if product.was_read:
        counts_what_an_h200_does(report, launch)
