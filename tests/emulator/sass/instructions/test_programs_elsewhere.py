"""Control flow, and exchange of values between lanes, in forms that do not occur in sm_90's code.

A program sets R1; P0 is true in the lanes of the upper half-warp. `name:` is a label, and `<name>`
its address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from accesses import ACCESS
from definitions import definition
from one_by_one import LANES, forms_elsewhere, instruction, launched

from harness.emulator.sass import UnknownMachineInstruction

LOWER = np.arange(LANES) < LANES // 2
APART = ["@P0 BRA <upper>", "MOV R1,0x5", "BRA <met>", "upper:", "MOV R1,0x7", "met:"]
"""Lanes of the lower half set 5, lanes of the upper half 7."""
FROM_THE_OTHER_HALF = ["MOV R5,0x1f", "LOP3.LUT R4,R240,0x10,RZ,0x3c,!PT",
                       "SHFL.IDX PT,R1,R1,R4,R5"]  # fmt: skip
"""Lanes that have reconverged; R1 of a lane that is missing is undefined."""
EACH, OTHERS = np.where(LOWER, 5, 7), np.where(LOWER, 7, 5)
COPY = [
    "IMAD.WIDE R2,R240,0x10,c[0x0][0x160]",
    "IMAD R9,R240,0x10,RZ",
    "ISETP.GE.AND P3,PT,R240,RZ,PT",
]
COPIED = ["LDGDEPBAR", "DEPBAR.LE SB0,0x0,{1}", "LDS R1,[R9]"]

PROGRAMS: dict[str, tuple[Sequence[str], Any]] = {
    "BSSY.RECONVERGENT B0,0x640 | BSYNC.RECONVERGENT B0 | SHFL.IDX PT,R12,R7,R13,R12": (
        ["BSSY.RECONVERGENT B0,<met>", *APART, "BSYNC.RECONVERGENT B0", *FROM_THE_OTHER_HALF],
        OTHERS),
    "WARPSYNC 0xffffffff": ([*APART, "WARPSYNC 0xffffffff", *FROM_THE_OTHER_HALF], OTHERS),
    "BAR.SYNC 0x0": (
        [*APART, "IMAD R6,R240,0x4,RZ", "STS [R6],R1", "BAR.SYNC 0x0",
         "LOP3.LUT R6,R6,0x40,RZ,0x3c,!PT", "LDS R1,[R6]"], OTHERS),
    "BMOV.32.CLEAR B1,B0": (
        ["BSSY B0,<met>", "BMOV.32.CLEAR B1,B0", *APART, "BSYNC B1", *FROM_THE_OTHER_HALF], OTHERS),
    "BMOV.32.CLEAR RZ,B0 | BMOV.32 B0,0xffffffff": (
        ["BSSY B0,<met>", "BMOV.32.CLEAR RZ,B0", "BMOV.32 B0,0xffffffff", *APART, "BSYNC B0",
         *FROM_THE_OTHER_HALF], OTHERS),
    "BRA.U 0x60": (["MOV R1,0x1", "BRA.U <on>", "MOV R1,0x2", "on:", "NOP"], 1),
    "BRA.U !UP0,0x17e0": (
        ["UISETP.NE.AND UP0,UPT,URZ,URZ,UPT", "MOV R1,0x1", "BRA.U !UP0,<on>", "MOV R1,0x2", "on:",
         "UISETP.EQ.AND UP0,UPT,URZ,URZ,UPT", "BRA.U !UP0,<off>", "IADD3 R1,R1,0x4,RZ", "off:",
         "NOP"], 5),
    "BRA.DIV 0x3d0 | BRA.CONV 0x360": (
        ["MOV R1,0x0", "BRA.DIV <apart>", "IADD3 R1,R1,0x1,RZ", "BRA.CONV <both>", "apart:",
         "IADD3 R1,R1,0x2,RZ", "both:", "BSSY B0,<met>", "@P0 BRA <upper>", "BRA.CONV <met>",
         "IADD3 R1,R1,0x4,RZ", "BRA <met>", "upper:", "BRA.DIV <more>", "BRA <met>", "more:",
         "IADD3 R1,R1,0x8,RZ", "met:", "BSYNC B0"], np.where(LOWER, 5, 9)),
    "BRA.CONV ~URZ,0x300": (
        ["MOV R1,0x1", "BRA.CONV ~URZ,<both>", "MOV R1,0x2", "both:", "BSSY B0,<met>",
         "@P0 BRA <upper>", "BRA.CONV ~URZ,<met>", "IADD3 R1,R1,0x4,RZ", "BRA <met>", "upper:",
         "BRA.DIV ~URZ,<met>", "IADD3 R1,R1,0x8,RZ", "met:", "BSYNC B0"], np.where(LOWER, 5, 1)),
    **{f"{left} | BSSY.RELIABLE B2,0xd70 | BSYNC.RELIABLE B2": (
        # Lanes of the upper half wait for the others, which would wait for them at the barrier.
        ["BSSY.RELIABLE B2,<met>", by, "@P0 BRA <upper>", "MOV R1,0x5", "met:",
         "BSYNC.RELIABLE B2", "BRA <end>", "upper:", "MOV R1,0x7", "end:", "WARPSYNC 0xffffffff",
         *FROM_THE_OTHER_HALF], OTHERS)
       for left, by in (("BREAK.RELIABLE B2", "@P0 BREAK.RELIABLE B2"),
                        ("BREAK.RELIABLE B3,P1", "BREAK.RELIABLE B2,P0"))},
    "CS2UR UR4,SR_CLOCKLO": (
        ["CS2UR UR4,SR_CLOCKLO", "CS2UR UR6,SR_CLOCKLO", "MOV R2,UR6", "IADD3 R2,R2,-UR4,RZ",
         "ISETP.GT.AND P1,PT,R2,RZ,PT", "SEL R1,RZ,0x1,!P1"], 1),
    "FCHK P0,R249,UR13": (
        ["I2F.U32 R2,R240", "UMOV UR13,0x40400000", "FCHK P1,R2,UR13", "SEL R1,RZ,0x1,!P1"],
        np.arange(LANES) == 0),
    "STL.U8 [R15+UR10],R0 | LDL.S8 R16,[R10+UR12] | LDL.U8 R8,[R12+UR10]": (
        ["UMOV UR10,0x8", "MOV R15,0x3", "IADD3 R0,R240,0xf0,RZ", "STL.U8 [R15+UR10],R0",
         "LDL.S8 R1,[R15+UR10]", "LDL.U8 R2,[R15+UR10]", "IMAD R1,R2,0x10000,R1"],
        [(240 + lane) % 256 * 65536 + (240 + lane + 128) % 256 - 128 & 0xFFFFFFFF
         for lane in range(LANES)]),
    "CREDUX.MAX.S32 UR4,R4": (
        ["IADD3 R4,R240,-0x10,RZ", "CREDUX.MAX.S32 UR4,R4", "MOV R1,UR4"], 15),
    "VOTEU.ANY UP0,P0": (
        ["VOTEU.ANY UP0,P0", "SEL R1,RZ,0x1,!UP0", "ISETP.LT.AND P1,PT,R240,RZ,PT",
         "VOTEU.ANY UP1,P1", "SEL R2,RZ,0x2,!UP1", "IADD3 R1,R1,R2,RZ"], 1),
    "VOTEU.ALL UP0,P0": (
        ["VOTEU.ALL UP0,P0", "SEL R1,RZ,0x1,!UP0", "ISETP.GE.AND P1,PT,R240,RZ,PT",
         "VOTEU.ALL UP1,P1", "SEL R2,RZ,0x2,!UP1", "IADD3 R1,R1,R2,RZ"], 2),
    "IADD R27,-R5,R0 | IADD R23,R5,-R4": (
        ["MOV R2,0x64", "IADD R1,-R240,R2", "IADD R1,R1,-R240"], 100 - 2 * np.arange(LANES)),
    "LEPC R14": (["LEPC R14", "here:", "IADD3 R1,-R14,<here>,RZ"], 16),
    "FCHK P1,R11,c[0x0][0x190]": (
        ["I2F.U32 R2,R240", "FCHK P1,R2,c[0x0][0x170]", "SEL R1,RZ,0x1,!P1",
         "FCHK P2,R2,RZ", "SEL R3,RZ,0x2,!P2", "IADD3 R1,R1,R3,RZ"],
        np.where(np.arange(LANES) == 0, 3, 2)),
    "LDGSTS.E [R9][R2.64],P3 | DEPBAR.LE SB0,0x0,{1}": (
        [*COPY, "LDGSTS.E [R9][R2.64],P3", *COPIED], 1000 + 4 * np.arange(LANES)),
    "LDGSTS.E.BYPASS.128 [R5][R2.64],P2": (
        [*COPY, "LDGSTS.E.BYPASS.128 [R9][R2.64],P3", *COPIED[:2], "LDS R1,[R9+0x8]"],
        1002 + 4 * np.arange(LANES)),
    "LDGSTS.E.BYPASS.128.ZFILL [R17],desc[UR12][R12.64],P3": (
        [*COPY, "LDGSTS.E.BYPASS.128.ZFILL [R9],desc[UR12][R2.64],P0", *COPIED[:2],
         "LDS R1,[R9+0x8]"], np.where(LOWER, 0, 1002 + 4 * np.arange(LANES))),
}  # fmt: skip
FORMS = [text for text, _, refused in forms_elsewhere() if not refused]
IN_KERNELS = {
    "CS2R.32 R6,SR_CgaSize": "test_blackwell_forms.py, a barrier of the grid",
    "TEX.SCR.LL RZ,R4,R4,R8,0x0,0x5e,2D,0x1": "test_textures_of_machine_code.py",
    "TEX.LL RZ,R15,R2,R15,UR4,2D,0x1": "test_textures_of_machine_code.py",
    "TEX RZ,R15,R4,UR4,2D,0x1": "test_textures_of_machine_code.py",
    "HMMA.1688.F32 R8,R26,R15,R8": "below",
}


def _assembled(texts: Sequence[str]) -> list[str]:
    places: dict[str, int] = {}
    kept: list[str] = []
    for text in texts:
        if text.endswith(":"):
            places[text[:-1]] = 16 * len(kept)
        else:
            kept.append(text)
    return [re.sub(r"<(\w+)>", lambda found: f"{places[found[1]]:#x}", text) for text in kept]


def _executed(texts: Sequence[str], given: Any, words: int = 1) -> Any:
    out = np.zeros((LANES, words), np.uint32)
    before = ["S2R R240,SR_TID.X", "ISETP.GE.AND P0,PT,R240,0x10,PT",
              f"IMAD.WIDE R244,R240,{4 * words:#x},c[0x0][0x168]"]  # fmt: skip
    after = [f"STG.E [R244.64+{4 * n:#x}],R{1 + n}" for n in range(words)]
    scale = np.full(1, 3, np.float32).tobytes()
    launched(_assembled([*before, *texts, *after, "EXIT"]), [given, out, scale], 4096, 64)
    return out


@pytest.mark.parametrize(("at_least", "wanted"), [("0x10", 2), ("0x0", 1), ("0x20", 2)])
def test_a_uniform_branch_is_taken_by_all_lanes_or_by_none(at_least: str, wanted: int) -> None:
    """ptxas uses `BRA.U` to skip code that lanes also leave by separate branches on the same
    predicate."""
    found = _executed(
        [f"ISETP.GE.AND P1,PT,R240,{at_least},PT", "MOV R1,0x1", "@P1 BRA.U <on>", "MOV R1,0x2",
         "on:", "NOP"],
        1000 + np.arange(128, dtype=np.uint32),
    )  # fmt: skip
    assert np.all(found == wanted)


@pytest.mark.parametrize("forms", PROGRAMS)
def test_lanes_go_and_meet_as_each_form_says(forms: str) -> None:
    texts, wanted = PROGRAMS[forms]
    opcodes = {form.split()[0] for form in forms.split(" | ")}
    assert opcodes <= {text.split()[-2] if text[0] == "@" else text.split()[0] for text in texts}
    found = _executed(texts, 1000 + np.arange(128, dtype=np.uint32))
    np.testing.assert_array_equal(found[:, 0], np.broadcast_to(wanted, LANES))


def test_a_product_of_turing_is_the_sum_of_eight() -> None:
    random = np.random.default_rng(5)
    a, b, c = (random.integers(-8, 8, shape) for shape in ((16, 8), (8, 8), (16, 8)))
    given = np.zeros((LANES, 8), np.uint32)
    for lane in range(LANES):  # fragments of m16n8k8, as PTX's manual has them
        row, two = lane // 4, lane % 4 * 2
        parts = a[row, two : two + 2], a[row + 8, two : two + 2], b[two : two + 2, row]
        for n, part in enumerate(parts):
            given[lane, n] = part.astype(np.float16).view(np.uint32)[0]
        sums = np.concatenate([c[row, two : two + 2], c[row + 8, two : two + 2]])
        given[lane, 3:7] = sums.astype(np.float32).view(np.uint32)
    loads = [f"LDG.E R{r},[R2.64+{4 * n:#x}]" for n, r in enumerate((26, 27, 15, 8, 9, 10, 11))]
    texts = ["IMAD.WIDE R2,R240,0x20,c[0x0][0x160]", *loads, "HMMA.1688.F32 R8,R26,R15,R8",
             *(f"MOV R{1 + n},R{8 + n}" for n in range(4))]  # fmt: skip
    found = _executed(texts, given, 4).view(np.float32)
    wanted = a @ b + c
    for lane in range(LANES):
        row, two = lane // 4, lane % 4 * 2
        np.testing.assert_array_equal(found[lane, :2], wanted[row, two : two + 2])
        np.testing.assert_array_equal(found[lane, 2:], wanted[row + 8, two : two + 2])


def _shape(text: str) -> tuple[str, ...]:
    """The form of an instruction: the opcode with its modifiers, and the kinds of operands."""
    each = instruction(text)
    return each.name, *(operand.kind for operand in each.operands)


def test_every_form_is_executed_here_or_beside() -> None:
    here = {form for forms in PROGRAMS for form in forms.split(" | ")} | set(IN_KERNELS)
    left = {
        text for text in FORMS
        if definition(instruction(text).opcode) is None and not ACCESS.match(text)
    }  # fmt: skip
    assert {*map(_shape, left)} <= {*map(_shape, here)}


def test_what_is_refused_is_refused_by_name() -> None:
    beside = ("TEX.LL RZ,R9,R4,R8,UR4,0x4,2D,0x1", "none", "with a handle in another form")
    for text, _, refused in (*forms_elsewhere(), beside):
        if refused:
            with pytest.raises(UnknownMachineInstruction, match=re.escape(f"`{text}` ({refused})")):
                launched([text, "EXIT"], [bytes(8)])
