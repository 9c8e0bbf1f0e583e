"""The source with the cost of each line."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from harness.analysis.lines import source_lines as annotate
from harness.backends.base import Execution
from harness.backends.emulated_device import emulated_device
from harness.backends.host_memory import line_counts
from harness.emulator import InstructionCount
from harness.journal.counter_records import SourceLine
from harness.matrix import model, plan
from harness.run.emulated.emulate import by_front_end, emulate

ROOT = Path(__file__).parents[2]


def cost(line: int, **figures: int) -> SourceLine:
    zero = dict.fromkeys(
        ("warps", "threads", "requests", "sectors", "wavefronts", "wavefronts_ideal"), 0
    )
    return SourceLine("case", 0, "a.cu", line, **{**zero, **figures})


def marks(**figures: int) -> tuple[str, ...]:
    [line] = annotate.annotated("text", {1: cost(1, **figures)})
    return line.marks


def test_a_line_that_loses_nothing_is_not_marked() -> None:
    assert marks(warps=10, threads=320, requests=10, sectors=40) == ()
    assert marks(warps=10, threads=320, wavefronts=10, wavefronts_ideal=10) == ()


def test_idle_lanes_scattered_sectors_and_bank_conflicts_are_marked_in_words() -> None:
    assert marks(warps=10, threads=80) == ("8.0 of 32 lanes",)
    assert marks(warps=10, threads=320, requests=10, sectors=320) == ("32.0 sectors per load",)
    found = marks(warps=10, threads=320, wavefronts=33, wavefronts_ideal=10)
    assert found == ("3.3× the ideal wavefronts",)


def test_full_128_bit_loads_are_not_called_scattered() -> None:
    assert marks(warps=10, threads=320, requests=10, sectors=160) == ()


def test_a_branch_is_marked_where_a_tenth_of_its_warps_diverge() -> None:
    assert marks(warps=64, threads=2048, branches=64, diverged=12) == ("diverged 12 of 64 warps",)
    assert marks(warps=64, threads=2048, branches=64, diverged=6) == ()
    assert marks(warps=64, threads=2048, branches=64) == ()


def test_an_atomic_is_marked_where_more_than_two_lanes_meet_on_an_address() -> None:
    def atomic(lanes: int, addresses: int, most: int) -> tuple[str, ...]:
        return marks(
            warps=10, threads=320, atomic_lanes=lanes, atomic_addresses=addresses,
            atomic_most_lanes=most,
        )  # fmt: skip

    assert atomic(320, 40, 17) == ("8.0 lanes per address, at most 17",)
    assert atomic(320, 160, 9) == ()
    assert atomic(0, 0, 0) == ()


def test_only_columns_that_some_line_has_stand_before_the_source() -> None:
    text = "if (x) y();\ncount(z);\n"
    plain = annotate.annotated(text, {1: cost(1, warps=8, threads=256, requests=8, sectors=32)})
    names = [annotate.COLUMNS[i][0] for i in annotate.used(plain)]
    assert names == ["warp instructions", "lanes", "sectors per load"]
    costs = {
        1: cost(1, warps=64, threads=2048, branches=64, diverged=12),
        2: cost(
            2, warps=4, threads=128, atomic_lanes=128, atomic_addresses=32, atomic_most_lanes=9
        ),
    }
    lines = annotate.annotated(text, costs)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(annotate.table("title", lines))
    head, below, first, second = console.export_text().splitlines()[1:5]
    assert head.split() == ["warp", "lanes/"]
    assert below.split() == ["line", "instr", "lanes", "diverged", "addr", "source"]
    assert " ".join(first.split()) == "1 64 32.0 12 of 64 if (x) y(); ← diverged 12 of 64 warps"
    assert " ".join(second.split()) == ("2 4 32.0 4.0 count(z); ← 4.0 lanes per address, at most 9")


def test_only_the_lines_between_the_first_and_the_last_cost_are_shown() -> None:
    lines = annotate.annotated("a\nb\nc\nd\n", {2: cost(2, warps=1), 3: cost(3, warps=1)})
    assert [line.number for line in lines] == [2, 3]


def test_instructions_of_a_line_are_summed_and_the_most_lanes_are_the_most_of_any() -> None:
    def of(line: int, **figures: int) -> InstructionCount:
        plain = dict.fromkeys(
            ("warps", "threads", "threads_predicated_on", "global_requests", "global_sectors",
             "shared_requests", "shared_wavefronts", "shared_wavefronts_ideal"), 0,
        )  # fmt: skip
        where = {"opcode": "x", "ptx_line": 1, "file": "a.cu", "line": line}
        return InstructionCount(**where, **{**plain, "warps": 2, **figures})

    lines = line_counts(
        "case", 3,
        [
            of(7, branches=10, diverged_warps=4, global_sectors=5),
            of(7, branches=20, diverged_warps=1, shared_wavefronts=9),
            of(8, atomic_lanes=64, atomic_addresses=16, atomic_most_lanes=5),
            of(8, atomic_lanes=32, atomic_addresses=32, atomic_most_lanes=1),
        ],
        "ptx-level",
    )  # fmt: skip
    assert list(lines) == [
        SourceLine("case", 3, "a.cu", 7, 4, 0, 0, 5, 9, 0, 30, 5, 0, 0, 0),
        SourceLine("case", 3, "a.cu", 8, 4, 0, 0, 0, 0, 0, 0, 0, 96, 48, 5),
    ]


def test_loads_stores_and_atomics_of_one_line_are_told_apart() -> None:
    def of(opcode: str, requests: int, sectors: int) -> InstructionCount:
        return InstructionCount(
            opcode=opcode, ptx_line=1, file="a.cu", line=7, warps=2, threads=64,
            threads_predicated_on=64, global_requests=requests, global_sectors=sectors,
        )  # fmt: skip

    [line] = line_counts(
        "case", 0,
        [of("ld.global.f32", 2, 8), of("st.global.f32", 2, 64), of("red.global.add.f32", 2, 2),
         of("atom.global.add.u32", 2, 2), of("cp.async.ca.shared.global", 1, 4)],
        "ptx-level",
    )  # fmt: skip
    assert (line.requests, line.sectors) == (3, 12)
    assert (line.store_requests, line.store_sectors) == (2, 64)
    assert (line.atomic_requests, line.atomic_sectors) == (4, 4)
    [marked] = annotate.annotated("\n" * 6 + "text", {7: line})
    assert marked.marks == ("32.0 sectors per store",)
    names = [annotate.COLUMNS[i][0] for i in annotate.used([marked])]
    assert names == [
        "warp instructions", "lanes", "sectors per load", "sectors per store", "sectors per atomic",
    ]  # fmt: skip


def test_at_80_columns_every_column_and_most_of_the_source_are_readable() -> None:
    line = cost(
        7, warps=524_288, threads=2**24, requests=10, sectors=40, store_requests=3,
        store_sectors=96, wavefronts=33, wavefronts_ideal=10, branches=64, diverged=12,
    )  # fmt: skip
    source = "\n" * 6 + "    shared[threadIdx.x] = input[i];"
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(annotate.table("title", annotate.annotated(source, {7: line})))
    text = console.export_text()
    assert all(len(row) <= 80 for row in text.splitlines())
    for words in ("524,288", "12 of 64", "4.0", "32.0", "shared["):
        assert words in text


def test_on_a_narrow_terminal_figures_are_short_and_the_source_has_room() -> None:
    line = cost(
        7, warps=1_524_288, threads=2**25, requests=10, sectors=40, wavefronts=565_248,
        wavefronts_ideal=8_192, branches=64, diverged=12,
    )  # fmt: skip
    source = "\n" * 6 + "    shared[threadIdx.x] = input[blockIdx.x];"
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(annotate.table("title", annotate.annotated(source, {7: line}), console.width))
    [row] = [row for row in console.export_text().splitlines() if "shared[" in row]
    assert row.split()[:7] == ["7", "1.5M", "22.0", "19", "%", "4.0", "565k"]
    assert row.index("    shared[") <= 44


def test_v1_diverges_in_ptx_and_leaves_lanes_idle_in_machine_code() -> None:
    """There are 8 warps and 8 steps. All warps diverge while 2·stride < 32, then 4, 2 and 1 of
    them.

    ptxas turns the branch around the sum into a predicate, so no warp diverges, and 4.5 lanes
    add on average.
    """
    bench = model.load(ROOT / "bench.yaml")
    found = plan.resolve(
        bench, emulated_device("sm_90"), "emulator", ["reduce_sum/v1_shared_memory"]
    )
    case = next(c for c in found.cases if "v1" in c.variant and c.launch == {"block": 256})
    ptx, machine = by_front_end(bench, case, "sm_90")
    assert isinstance(machine, Execution)
    for execution, has_branch in ((ptx, True), (machine, False)):
        file, costs = next(iter(annotate.by_file(execution.lines, 0).items()))
        text = Path(file).read_text()
        choice, addition = (
            next(n for n, line in enumerate(text.splitlines(), 1) if words in line)
            for words in ("if (tid % (2 * stride)", "s[tid] += ")
        )
        shown = {x.number: x for x in annotate.annotated(text, costs)}
        blocks = case.sizes["n"] // 256
        if has_branch:
            assert costs[choice].diverged == (5 * 8 + 4 + 2 + 1) * blocks
            assert costs[choice].branches == 8 * 8 * blocks
            mark = f"diverged {47 * blocks:,} of {64 * blocks:,} warps"
            assert mark in shown[choice].marks
        else:
            assert costs[choice].diverged == 0
            assert shown[addition].marks == ("4.0 of 32 lanes",)


def test_the_bank_conflicts_of_v2_are_on_the_line_that_adds() -> None:
    bench = model.load(ROOT / "bench.yaml")
    device = emulated_device("sm_90")
    found = plan.resolve(bench, device, "emulator", ["reduce_sum/v2_no_divergence"])
    case = next(c for c in found.cases if "v2" in c.variant and c.launch == {"block": 256})
    execution = emulate(bench, case, "sm_90")
    assert execution.faults == ()
    file, costs = next(iter(annotate.by_file(execution.lines, 0).items()))
    assert file.endswith("v2_no_divergence.cu")
    marked = {
        line.text.strip(): line.marks
        for line in annotate.annotated(Path(file).read_text(), costs)
        if any("wavefronts" in mark for mark in line.marks)
    }
    assert list(marked) == ["s[left] += s[left + stride];"]
    # The whole launch has 150 wavefronts per block; without conflicts it would have 45.
    blocks = case.sizes["n"] // 256
    assert sum(c.wavefronts for c in costs.values()) == 150 * blocks
    assert sum(c.wavefronts_ideal for c in costs.values()) == 45 * blocks


@pytest.mark.fault(
    "a `#line` that names a secret, a pipe or a device",
    outcome="`annotate` does not open it; only C++ files are shown, up to 16 MiB.",
)
def test_only_source_files_are_shown(tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("secret")
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "endless.cu").symlink_to("/dev/zero")
    (tmp_path / "kernel.cu").write_text("int x;")
    shown = [
        annotate.read(str(tmp_path / name))
        for name in ("id_rsa", "pipe.cu", "endless.cu", "kernel.cu")
    ]
    assert shown == ["", "", "", "int x;"]
