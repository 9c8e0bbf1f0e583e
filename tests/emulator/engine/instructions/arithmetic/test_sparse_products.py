"""Products with a sparse first operand give the same sums as on an H100.

The readings are reports/h100/sparse_products.csv.gz, written by scripts/sparse_products.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from emulator_tools import PtxFile, assemble

from harness.emulator import Module, UnknownInstruction, launch, parse
from harness.emulator.sass import launch_machine_code, read
from harness.emulator.sass.code import Instruction, Operand
from harness.emulator.sass.instructions import matrix
from harness.emulator.sass.instructions.operand_shapes import Unencodable

REPOSITORY = Path(__file__).parents[5]
READINGS = REPOSITORY / "reports/h100/sparse_products.csv.gz"


@pytest.fixture(scope="module")
def listed(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("product_cases")


@pytest.fixture(scope="module")
def readings() -> dict[str, np.ndarray]:
    csv.field_size_limit(1 << 24)
    with gzip.open(READINGS, "rt", newline="") as file:
        return {
            row["kernel"]: np.frombuffer(bytes.fromhex(row["sums"]), np.uint32)
            for row in csv.DictReader(file)
        }


@pytest.fixture(scope="module")
def products(ptx_file: PtxFile) -> Path:
    source = REPOSITORY / "tests/fidelity/sparse_products/products.cu"
    return ptx_file(source, "sm_90a")


@pytest.fixture(scope="module")
def module(products: Path) -> Module:
    return parse(products.read_text())


def test_products_are_those_of_a_gpu(
    listed: ModuleType, readings: dict[str, np.ndarray], module: Module
) -> None:
    for case in listed.cases():
        given = case.words()
        report = launch(module, case.kernel, listed.PRODUCTS, case.threads, list(given))
        assert not report.faults, report.faults[0]
        assert np.array_equal(given[-1].reshape(-1), readings[case.kernel]), case.kernel
    assert len(listed.cases()) == len(readings) == 41


def test_products_of_machine_code_are_those_of_a_gpu(
    listed: ModuleType, readings: dict[str, np.ndarray], module: Module, products: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    code = read(assemble(products, tmp_path / "products.cubin", "sm_90a"))
    for case in listed.cases():
        given = case.words()
        report = launch_machine_code(
            code, case.kernel, listed.PRODUCTS, case.threads, list(given),
            signature=module.kernels[case.kernel],
        )  # fmt: skip
        assert not report.faults, report.faults[0]
        assert np.array_equal(given[-1].reshape(-1), readings[case.kernel]), case.kernel


@pytest.mark.parametrize(
    ("kernel", "metadata"),
    [("f16_32_0", 0), ("tf32_16_0", 0x44444440), ("group_f16_0", 0), ("group_s8_0", 0x44440444)],
)
def test_metadata_that_name_a_place_twice_are_a_fault(
    listed: ModuleType, module: Module, kernel: str, metadata: int
) -> None:
    (case,) = (each for each in listed.cases() if each.kernel == kernel)
    a, b, words, sums = case.words()
    words[:] = metadata
    (fault,) = launch(module, kernel, 1, case.threads, [a, b, words, sums]).faults
    assert fault.kind == "sparse metadata"


def test_infinities_in_columns_that_are_not_stored_have_no_effect(
    listed: ModuleType, module: Module
) -> None:
    (case,) = (each for each in listed.cases() if each.kernel == "f16_16_0")
    a, b, words, sums = case.words()
    words[:] = 0x44444444  # the first two of every four columns
    b.view(np.float16).reshape(listed.PRODUCTS, 32, 2, 2)[:, 1::2] = np.inf  # the last two
    assert not launch(module, "f16_16_0", listed.PRODUCTS, 32, [a, b, words, sums]).faults
    assert np.isfinite(sums.view(np.float32)).all()


@pytest.mark.parametrize(
    ("kernel", "change"),
    [("f16_32_1", ("m16n8k32.row.col.f32.f16", "m16n8k64.row.col.f32.f16")),
     ("f16_32_1", (", 0x1;", ", 0x7;")),
     ("f16_32_1", ("mma.sp::ordered_metadata", "mma.sp::sorted")),
     ("s8_32_1", (", 0x1;", ", 0x2;")), ("s8_64_0", (", 0;", ", 1;")),
     ("group_f16_0", ("mma_async.sp.", "mma_async.sp::ordered_metadata.")),
     ("group_f16_0", ("m64n8k32", "m64n8k16")), ("group_f16_1", (", 1, p", ", 2, p")),
     ("group_s8_0", (", 0, p", ", 1, p"))],
)  # fmt: skip
def test_other_forms_are_refused(products: Path, kernel: str, change: tuple[str, str]) -> None:
    text = products.read_text().replace(" 1;", " 0x1;")
    start = text.index(f".entry {kernel}(")
    changed = text[start:].replace(*change, 1)
    assert changed != text[start:]
    with pytest.raises(UnknownInstruction):
        launch(parse(text[:start] + changed), kernel, 1, 128, [np.zeros(1024, np.uint32)] * 4)


@pytest.mark.parametrize(
    ("modifiers", "selector", "words"),
    [("SP 16832 F32", 2, "from 0 to 1"), ("SP 16832 S8 S8", -1, "from 0 to 1"),
     ("SP 64x8x16 F32 TF32", 3, "from 0 to 1"), ("SP F32", 0, "without a shape")],
)  # fmt: skip
def test_a_selector_that_machine_code_does_not_have_is_refused(
    modifiers: str, selector: int, words: str
) -> None:
    given = Operand("immediate", hex(selector), selector)
    product = Instruction(0, "HMMA", tuple(modifiers.split()), (given,), None, "", b"", None)
    with pytest.raises(Unencodable, match=words):
        matrix.check(product)
