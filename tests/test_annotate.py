"""The source with what each line cost."""

from __future__ import annotations

from pathlib import Path

from harness import annotate, config, plan
from harness.backends.emulated import emulated_device
from harness.records import SourceLine
from harness.runner import buffer_names, emulate, load_problems

ROOT = Path(__file__).parent.parent


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
    assert marks(warps=10, threads=320, requests=10, sectors=320) == ("32.0 sectors a request",)
    found = marks(warps=10, threads=320, wavefronts=33, wavefronts_ideal=10)
    assert found == ("3.3× the ideal wavefronts",)


def test_full_128_bit_loads_are_not_called_scattered() -> None:
    assert marks(warps=10, threads=320, requests=10, sectors=160) == ()


def test_only_the_lines_between_the_first_and_the_last_cost_are_shown() -> None:
    lines = annotate.annotated("a\nb\nc\nd\n", {2: cost(2, warps=1), 3: cost(3, warps=1)})
    assert [line.number for line in lines] == [2, 3]


def test_the_bank_conflicts_of_v2_are_on_the_line_that_adds() -> None:
    bench = config.load(ROOT / "bench.yaml")
    device = emulated_device("sm_90")
    names = buffer_names(bench, load_problems(bench, ["reduce_sum"]))
    cases = plan.plan(bench, device, ["reduce_sum/v2_no_divergence"], "bench", names)
    case = next(c for c in cases if "v2" in c.variant and c.launch == {"block": 256})
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
    # Of the whole launch, 150 wavefronts a block against 45 without conflicts.
    blocks = case.sizes["n"] // 256
    assert sum(c.wavefronts for c in costs.values()) == 150 * blocks
    assert sum(c.wavefronts_ideal for c in costs.values()) == 45 * blocks
