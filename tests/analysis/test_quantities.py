"""Quantities computed from the emulator's counters, compared with values worked out by hand."""

from __future__ import annotations

import numpy as np
from small_runs import Variant, case_of, run_of

from harness.analysis.finders import evaluate
from harness.analysis.readings import Missing, Reading, Readings
from harness.emulator import launch, parse
from harness.report.words import COUNTERS, meaning

SECTORS = {"distinct_sectors_read": 125_000.0, "distinct_sectors_written": 1_000.0}
BRANCHES = "smsp__sass_branch_targets{}.sum"


def value(key: str, *counters: dict[str, float]) -> float | str:
    """The quantity of a case with 4,000,000 compulsory bytes, or the reason why there is none."""
    steps = tuple(1e5 for _ in counters) if len(counters) > 1 else ()
    run = run_of({"v0": Variant(counters=counters, steps=steps, provenance="ptx-level")})
    answer = evaluate(key, Readings(run), case_of(run, "v0"))
    if isinstance(answer, Missing):
        return answer.reason
    assert isinstance(answer, Reading)
    return answer.value


def test_distinct_sectors_stand_in_bytes_beside_the_compulsory_ones() -> None:
    second = {"distinct_sectors_read": 500.0, "distinct_sectors_written": 500.0}
    assert value("distinct-bytes", SECTORS, second) == 32 * 127_000
    assert value("compulsory-bytes", SECTORS, second) == 4_000_000
    assert value("distinct-over-compulsory", SECTORS, second) == 32 * 127_000 / 4_000_000


def test_compulsory_bytes_are_left_out_where_no_sector_was_counted() -> None:
    for key in ("compulsory-bytes", "distinct-bytes", "distinct-over-compulsory"):
        assert value(key, {"smsp__inst_executed.sum": 1.0}) == "not collected"


def test_too_few_sectors_for_the_compulsory_bytes_are_not_all_of_them() -> None:
    """Otherwise a kernel that loads tiles with the tensor memory accelerator would seem to touch
    almost nothing."""
    few = {"distinct_sectors_read": 100_000.0, "distinct_sectors_written": 1_000.0}
    said = value("distinct-over-compulsory", few)
    assert isinstance(said, str)
    assert said.startswith("not applicable: these counters have 0.81 of the compulsory bytes")
    loads = {
        f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum": float(sectors)
        for op, sectors in (("ld", 100_000), ("st", 1_000), ("red", 0), ("atom", 0))
    }
    assert str(value("sectors-over-compulsory", loads)).startswith("not applicable: these counters")


def test_branch_uniformity_is_formed_from_sums_and_does_not_apply_without_a_branch() -> None:
    def branches(all_: float, uniform: float) -> dict[str, float]:
        return {BRANCHES.format(""): all_, BRANCHES.format("_threads_uniform"): uniform}

    assert value("branch-uniformity", branches(60, 30), branches(20, 20)) == 50 / 80
    assert value("branch-uniformity", branches(0, 0)) == "not applicable"


def test_lanes_an_address_do_not_apply_without_atomics() -> None:
    one = {"shared_atomic_lanes": 64.0, "shared_atomic_addresses": 8.0}
    two = {"shared_atomic_lanes": 32.0, "shared_atomic_addresses": 24.0}
    assert value("shared-lanes-per-address", one, two) == 3
    assert value("shared-lanes-per-address", dict.fromkeys(one, 0.0)) == "not applicable"
    assert value("global-lanes-per-address", one) == "not collected"


PIPE = "sm__inst_executed_pipe_tensor"
HFMA = "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"


def test_what_adds_pairs_of_halves_in_the_tensor_pipe_is_no_product_of_matrices() -> None:
    """The values are an H200's readings of elementwise_add, which packs halves, and of attention's
    matrix products."""
    packed = {"smsp__inst_executed.sum": 425_984.0, f"{PIPE}.sum": 16_384.0}
    assert value("tensor-share", packed | {HFMA: 32 * 16_384.0}) == 0
    kept_apart = {f"{PIPE}_op_hmma_type_hfma2.sum": 16_000.0}
    assert value("tensor-share", packed | kept_apart | {HFMA: 0.0}) == 384 / 425_984
    products = {"smsp__inst_executed.sum": 8_073_216.0, f"{PIPE}.sum": 1_048_576.0}
    assert value("tensor-share", products | {HFMA: 0.0}) == 1_048_576 / 8_073_216
    assert value("tensor-share", products) == 1_048_576 / 8_073_216


def test_single_halves_go_elsewhere_and_take_nothing_off() -> None:
    single = {"smsp__inst_executed.sum": 7e7, f"{PIPE}.sum": 1_056.0, HFMA: 2.7e8}
    assert value("tensor-share", single) == 0


PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p0)
{
    .reg .b64 %a;
    .reg .b32 %r;
    .reg .pred %p;
    .shared .align 4 .b8 s[4];
    ld.param.u64 %a, [p0];
    mov.u32 %r, s;
    st.shared.u32 [%r], 0;
    red.shared.add.u32 [%r], 3;
    red.global.add.u32 [%a], 3;
    setp.eq.u32 %p, %r, 7;
    @%p bra L;
    st.global.u32 [%a], 0;
    L: ret;
}
"""


def test_every_counter_of_the_emulator_explains_itself() -> None:
    report = launch(parse(PTX), "k", 1, 32, [np.zeros(1, np.uint32)], checks=False)
    assert not report.faults
    names = [counter.name for counter in report.counters]
    assert "global_atomic_most_lanes_per_address" in names
    assert "smsp__sass_average_branch_targets_threads_uniform.pct" in names
    for name in names:
        assert not meaning(name).text.startswith("A counter of Nsight Compute's;"), name
        assert meaning(name).title != name
    assert set(COUNTERS) <= set(names)
