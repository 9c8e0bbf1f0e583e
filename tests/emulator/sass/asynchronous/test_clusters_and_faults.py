"""Clusters in machine code, and mistakes that machine code alone reveals.

Races are found if the launch is given the PTX. Without it, hangs, uninitialised mbarriers, too many
arrivals and wrong byte counts are found.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator_tools import FAULTY, CompilePtx
from engine.checks.test_clusters import KERNELS, RIGHT, SOURCE, marked_lines
from engine.checks.test_clusters import WRONG as CLUSTER_WRONG
from kernel_files import run_code
from sass.asynchronous.both import Case, launched, together
from sass.conftest import ListTogether, ReadSource
from tensor_kernels import DUMP, INIT, WAIT, kernel

from harness.emulator import TensorMap, UnknownInstruction, launch
from harness.emulator.sass import UnknownMachineInstruction, launch_machine_code, prepare

FOUND = {
    "bulk_copy_expects_more": ("deadlock", "512 bytes are expected (line 8"),
    "bulk_copy_of_a_tail": ("deadlock", "bytes are expected"),
    "bulk_copy_past_the_end": ("out of bounds", "has 480 bytes"),
    "mbarrier_arrived_at_too_often": ("mbarrier", "more arrivals at an mbarrier"),
    "mbarrier_never_set_up": ("mbarrier", "that nobody has set up"),
    "mbarrier_waits_for_one_more": ("deadlock", "64 of 65 threads have arrived"),
    "mbarrier_waits_for_the_phase_before": ("deadlock", "1 phases have ended"),
    "ring_reused_too_early": ("deadlock", "4 phases have ended"),
}
"""File in `faulty` → the kind of its fault, and words from the message. A wait for the wrong phase
never ends here, because bytes move at once. The last file has a race in PTX, too."""


@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("name", RIGHT)
def test_blocks_of_a_cluster_exchange_what_they_do_from_ptx(
    compile_ptx: CompilePtx, read_source: ReadSource, name: str, arch: str
) -> None:
    code, ptx, kernel = read_source(SOURCE, arch), compile_ptx(SOURCE, arch), KERNELS[name]
    values = np.arange(512, dtype=np.int32) + 1
    ours, theirs = np.zeros((2, 512), np.int32)
    report = launch_machine_code(code, kernel, 8, 64, [values, ours], ptx=ptx)
    assert not report.faults, report.faults[0]
    assert not launch(ptx, kernel, 8, 64, [values, theirs]).faults
    assert ours.any()
    assert (ours == theirs).all()


@pytest.mark.parametrize("name", FOUND)
def test_a_mistake_is_found_in_machine_code_alone(
    read_source: ReadSource, list_together: ListTogether, name: str
) -> None:
    files = [FAULTY / f"{each}.cu" for each in FOUND]
    list_together(files)
    path = FAULTY / f"{name}.cu"
    kind, words = FOUND[name]
    _, report = run_code(read_source(path), path)
    (fault,) = report.faults
    assert fault.kind == kind
    assert words in fault.message
    assert Path(fault.file).name == path.name


def test_a_block_that_leaves_while_others_may_read_is_found_in_machine_code(
    compile_ptx: CompilePtx, read_source: ReadSource
) -> None:
    name = "cluster: a block leaves"
    words, _ = CLUSTER_WRONG[name]
    values, out = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    report = launch_machine_code(
        read_source(SOURCE), KERNELS[name], 8, 64, [values, out], ptx=compile_ptx(SOURCE)
    )  # fmt: skip
    (fault,) = report.faults
    assert fault.kind == "cluster"
    assert words in fault.message
    assert fault.line in marked_lines(name)


MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
LOAD = """cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
 [{0}], [%l1, {{0, 0}}], [%r3];"""


def _box(body: str, **more: Any) -> tuple[str, Any]:
    def arguments() -> list[Any]:
        map_ = TensorMap(np.zeros(64, np.float32), [16, 4], [16, 4])
        return [map_, np.zeros(256, np.uint8)]

    return body, {"arguments": arguments, **more}


def _loaded(place: str, expected: int) -> str:
    return f"""{INIT} @%p1 bra WAITS; add.u32 %r7, %r2, 64; add.u32 %r8, %r2, 8064;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {expected}; {LOAD.format(place)}
        WAITS: {WAIT}"""


def _pixels(at: str) -> tuple[str, Any]:
    def arguments() -> list[Any]:
        map_ = TensorMap(np.zeros(3 * 6 * 7 * 8, np.float32), [8, 8], [8, 7, 6, 3],
                         lower=[-1, -1], upper=[-1, -2])  # fmt: skip
        return [map_, np.zeros(256, np.uint8)]

    copy = LOAD.format("%r2").replace("2d", "4d").replace(".tile", ".im2col")
    copy = copy.replace("{0, 0}", at).replace("[%r3]", "[%r3], {1, 1}")
    return _loaded("%r2", 256).replace(LOAD.format("%r2"), copy), {"arguments": arguments}


WRONG = {
    "pixel_before": ("tensor map", _pixels("{0, -2, 0, 0}"), "not in the map's box of pixels"),
    "pixel_behind": ("tensor map", _pixels("{0, 6, 0, 0}"), "not in the map's box of pixels"),
    "row_behind": ("tensor map", _pixels("{0, 5, 4, 0}"), "not in the map's box of pixels"),
    "bytes": ("deadlock", _box(_loaded("%r2", 512)), "and 256 have come"),
    "place": ("misaligned", _box(_loaded("%r7", 256)), "aligned"),
    "end": ("out of bounds", _box(_loaded("%r8", 256)), "accesses"),
    "dimensions": ("tensor map", _box(_loaded("%r2", 256).replace("2d", "1d").replace(
        "{0, 0}", "{0}")), "is of 1 dimensions, and its tensor map is of 2"),
    "no_map": ("tensor map", _box(_loaded("%r2", 256), arguments=lambda: [
        bytes(128), np.zeros(256, np.uint8)]), "are no tensor map"),
    "arrived_twice": ("cluster", _box(f"barrier.cluster.arrive; barrier.cluster.arrive; {MEET}",
                                      grid=2, cluster=2), "again before it has waited"),
    "not_arrived": ("cluster", _box(f"barrier.cluster.wait; {MEET}", grid=2, cluster=2),
                    "without barrier.cluster.arrive"),
    "rank": ("out of bounds", _box(f"""mapa.shared::cluster.u32 %r9, %r2, 5; {MEET}
        st.shared::cluster.u32 [%r9], %r1;""", grid=2, cluster=2), "rank 5 in a cluster of 2"),
    "left": ("cluster", _box(f"""mov.u32 %r9, %cluster_ctarank; setp.eq.u32 %p3, %r9, 1;
        @%p3 bra END; {MEET} mapa.shared::cluster.u32 %r9, %r2, 1;
        st.shared::cluster.u32 [%r9], %r1;
        END:""", grid=2, cluster=2), "all of whose threads have left"),
    "no_arrivals": ("mbarrier", _box("mov.u32 %r9, %ntid.y; sub.u32 %r9, %r9, 1;"
                                     "mbarrier.init.shared::cta.b64 [%r3], %r9;"),
                    "number of arrivals"),
    "pool": ("deadlock", _box("setmaxnreg.inc.sync.aligned.u32 232;"), "given back"),
}  # fmt: skip


def _case(name: str, body: str, more: dict[str, Any]) -> Case:
    text = kernel(body)
    if name == "is_pool":  # without a bound, ptxas omits the instruction
        text = text.replace(")\n{", ")\n.maxntid 384\n.minnctapersm 1\n{", 1)
    return Case(name, text, more["arguments"], grid=more.get("grid", 1), block=32,
                cluster=more.get("cluster"))  # fmt: skip


CASES = {name: _case(f"is_{name}", *given) for name, (_, given, _) in WRONG.items()}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return together(list(CASES.values()), tmp_path_factory.mktemp("wrong"))


@pytest.mark.parametrize("name", WRONG)
def test_what_hangs_or_is_outside_is_a_fault_of_the_kind_that_ptx_has(
    wrong: Any, name: str
) -> None:
    kind, _, words = WRONG[name]
    ptx, code, *_ = launched(wrong, CASES[name])
    (fault,) = code.faults
    assert fault.kind == kind
    assert words in fault.message
    if name not in ("pool", "left"):  # PTX reports a race in the latter
        assert {each.kind for each in ptx.faults} == {kind}


@pytest.mark.parametrize("at", ["{0, -1, -1, 0}", "{0, 5, 3, 2}", "{8, 0, 0, -1}", "{0, 0, 0, 3}"])
def test_pixels_in_their_box_are_copied_from_any_image(tmp_path: Path, at: str) -> None:
    ptx, code, *_ = launched(
        both := together([_case("k", *_pixels(at))], tmp_path), _case("k", *_pixels(at))
    )
    assert (both.ptx.kernels.keys(), ptx.faults, code.faults) == ({"k"}, (), ())


REFUSED = {
    "LDGMC": "multimem.ld_reduce.global.add.u32 %r9, [%l2]; st.shared.u32 [%r2], %r9;",
    "LDGDEPBAR": """cp.async.ca.shared.global [%r2], [%l2], 16; cp.async.commit_group;
        cp.async.wait_group 1; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;""",
}


def test_what_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    cases = [Case(f"k{number}", kernel(body), list) for number, body in enumerate(REFUSED.values())]
    try:
        code = together(cases, tmp_path).code
    except UnknownInstruction as error:  # some are rejected in PTX, too
        raise AssertionError(error) from None
    for number, words in enumerate(REFUSED):
        with pytest.raises(UnknownMachineInstruction, match=words):
            prepare(code, f"k{number}")


def test_a_map_may_be_behind_a_pointer(tmp_path: Path) -> None:
    text = _by_pointer(_case("k", _loaded("%r2", 256) + DUMP.format(256), {"arguments": list}).text)
    values = np.arange(64, dtype=np.float32)
    case = Case("k", text, lambda: [TensorMap(values, [16, 4], [16, 4]), np.zeros(64, np.float32)])
    ptx, code, theirs, ours = launched(together([case], tmp_path), case)
    assert not ptx.faults, ptx.faults[0]
    assert not code.faults, code.faults[0]
    assert (theirs[1] == values).all()
    assert (ours[1] == values).all()


def _by_pointer(text: str) -> str:
    return text.replace(".param .align 64 .b8 map[128]", ".param .u64 map").replace(
        "mov.b64 %l0, map; cvta.param.u64 %l1, %l0;", "ld.param.u64 %l1, [map];")  # fmt: skip
