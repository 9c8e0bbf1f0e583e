"""`discard` leaves a line of global memory undefined; `applypriority`, `pmevent` and `.mmio` change
no value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from emulator_tools import assemble, ptx_kernel

from harness.emulator import UnknownInstruction, launch, parse
from harness.emulator.sass import launch_machine_code, read

WORDS_OF_LINE, UNDEFINED = 32, 0xFFFFFFFF
FIRST_LANE = "setp.eq.u32 %p1, %i, 0;"
PLACE = """
    ld.param.u64 %a0, [p0];
    ld.param.u64 %a1, [p1];
    mad.wide.u32 %a2, %i, 4, %a0;
    mad.wide.u32 %a3, %i, 4, %a1;
"""

Launch = Callable[..., object]


@pytest.fixture(params=["PTX", "machine code"])
def begin(request: pytest.FixtureRequest, tmp_path: Path) -> Launch:
    """Launch one block of a kernel's text from PTX, or from its machine code with its PTX."""

    def launched(body: str, threads: int, arguments: list[np.ndarray], **more: object) -> object:
        text = ptx_kernel(PLACE + body, ["u64", "u64"]).replace("version 8.0", "version 8.2")
        if request.param == "PTX":
            return launch(parse(text), "k", 1, threads, arguments, **more)
        path = tmp_path / "k.ptx"
        path.write_text(text)
        code = read(assemble(path, tmp_path / "k.cubin", "sm_90"))
        return launch_machine_code(code, "k", 1, threads, arguments, ptx=parse(text))

    return launched


def _lines(count: int) -> np.ndarray:
    return np.arange(count * WORDS_OF_LINE, dtype=np.uint32)


@pytest.mark.parametrize("form", ["discard.global.L2", "discard.L2"])
def test_only_the_line_that_is_discarded_loses_its_values(begin: Launch, form: str) -> None:
    values, read_back = _lines(3), _lines(3)
    report = begin(f"{FIRST_LANE} @%p1 {form} [%a0+128], 128; bar.sync 0;"
                   "ld.global.u32 %r1, [%a2]; st.global.u32 [%a3], %r1;",
                   3 * WORDS_OF_LINE, [values, read_back])  # fmt: skip
    assert report.faults == ()
    wanted = _lines(3)
    wanted[WORDS_OF_LINE : 2 * WORDS_OF_LINE] = UNDEFINED
    assert values.tolist() == read_back.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("offset", "kind"), [(64, "misaligned"), (384, "out of bounds"), (-128, "out of bounds")]
)
def test_a_line_is_aligned_and_inside_its_buffer(begin: Launch, offset: int, kind: str) -> None:
    report = begin(f"discard.global.L2 [%a0+{offset}], 128;", 1, [_lines(3), _lines(1)])
    assert [fault.kind for fault in report.faults] == [kind]


def test_a_line_that_another_warp_writes_is_a_race_without_a_barrier(begin: Launch) -> None:
    body = f"{FIRST_LANE} @%p1 discard.global.L2 [%a0+128], 128; {{}} st.global.u32 [%a2], %i;"
    racing = begin(body.format(""), 2 * WORDS_OF_LINE, [_lines(2), _lines(1)])
    assert [fault.kind for fault in racing.faults] == ["race"]
    values = _lines(2)
    assert begin(body.format("bar.sync 0;"), 64, [values, _lines(1)]).faults == ()
    assert values.tolist() == _lines(2).tolist()


def test_storing_what_was_discarded_uses_unwritten_memory() -> None:
    body = (PLACE + f"{FIRST_LANE} @%p1 discard.global.L2 [%a0], 128; bar.sync 0; {{}}"
            "ld.global.u32 %r1, [%a2]; add.u32 %r1, %r1, 1; st.global.u32 [%a3], %r1;")  # fmt: skip
    for between, kinds in (("", ["uninitialised"]), ("st.global.u32 [%a2], %i;", [])):
        module = parse(ptx_kernel(body.format(between), ["u64", "u64"]))
        known = {0: np.ones(4 * WORDS_OF_LINE, np.bool_)}
        report = launch(module, "k", 1, 32, [_lines(1), _lines(1)], written=known)
        assert [fault.kind for fault in report.faults] == kinds
        assert known[0].all() == bool(between)


def test_hints_events_and_accesses_to_devices_change_no_value(begin: Launch) -> None:
    values, copied = _lines(1), np.zeros(WORDS_OF_LINE, np.uint32)
    report = begin(
        "applypriority.global.L2::evict_normal [%a0], 128; pmevent 3; pmevent.mask 5;"
        "ld.mmio.relaxed.sys.global.u32 %r1, [%a2]; st.mmio.relaxed.sys.global.u32 [%a3], %r1;",
        WORDS_OF_LINE, [values, copied],
    )  # fmt: skip
    assert report.faults == ()
    assert values.tolist() == copied.tolist() == _lines(1).tolist()


@pytest.mark.parametrize(
    "text",
    ["discard.global.L2 [%a0], 64;", "discard.shared.L2 [%a0], 128;", "discard.global [%a0], 128;",
     "applypriority.global.L2::evict_last [%a0], 128;"],
)  # fmt: skip
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        launch(parse(ptx_kernel(PLACE + text, ["u64", "u64"])), "k", 1, 1, [_lines(1), _lines(1)])
