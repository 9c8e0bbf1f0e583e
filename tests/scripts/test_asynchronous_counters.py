"""The experiment that reads a GPU's counters for asynchronous instructions, without a GPU: every
launch runs in the emulator, and stand-ins for ncu and the driver show that everything is recorded.
"""

from __future__ import annotations

import csv
import ctypes
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.compiler import compile as compiler

FILES = (
    "bulk_copies", "tensor_copies", "cluster_memory", "barriers", "matrices", "products",
    "held_out",
)  # fmt: skip


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("readings_on_gpu")


@pytest.fixture(scope="module")
def emulated(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("emulated_launches")


@pytest.fixture(scope="module")
def comparison(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("compared")


@pytest.mark.parametrize("file", FILES)
def test_every_launch_leaves_the_same_from_ptx_and_machine_code_and_has_the_readings_of_an_h100(
    script: ModuleType, emulated: ModuleType, comparison: ModuleType, file: str
) -> None:
    built = compiler.build(script.unit(file))
    launches = script.every(file)
    assert len({each.name + each.kernel for each in launches}) == len(launches)
    for each in launches:
        code, ptx = emulated.of_machine_code(built, each), emulated.of_ptx(built, each)
        where = f"{each.kernel} {each.name}"
        assert not code.report.faults, f"{where}: {code.report.faults[0]}"
        assert not ptx.report.faults, f"{where}: {ptx.report.faults[0]}"
        assert code.digest == ptx.digest, where
        assert code.digest != script.one_launch.digest(each.buffers()), f"{where} leaves nothing"
        found = list(comparison.compared(each, code.report.counters))
        assert len(found) > 15 or each.kernel == "store_pixels_4", f"{where} was not read"
        exact = [one for one in found if one.counter.provenance == comparison.EXACT]
        wrong = [one for one in exact if not one.is_equal]
        excepted = (each.kernel, each.name) in comparison.EXCEPTIONS
        assert bool(wrong) == excepted, f"{where}: {wrong}"
        assert_ptx_moves_as_much(comparison, each, ptx.report, code.report)
        assert_models_are_equal_unless_named(comparison, each, found)


def assert_models_are_equal_unless_named(
    comparison: ModuleType, each: Any, found: list[Any]
) -> None:
    models = [one for one in found if one.counter.provenance != comparison.EXACT]
    wrong = [one for one in models if not one.is_equal]
    named = (each.kernel, each.name) in comparison.MODELS
    assert bool(wrong) == named, f"{each.kernel} {each.name}: {wrong}"


def assert_ptx_moves_as_much(comparison: ModuleType, each: Any, ptx: Any, code: Any) -> None:
    """Assert that PTX and machine code agree on the values and provenance of the bulk copy unit's
    counters, except the totals of its instructions and requests, and that the readings agree with
    PTX."""
    ours = {one.name: one for one in code.counters if "_tma" in one.name}
    found = [one for one in ptx.counters if "_tma" in one.name]
    left_out = {"smsp__inst_executed_pipe_tma.sum", "l1tex__tmain_requests.sum"}
    assert {one.name for one in found} == {*ours} - left_out, each.name
    for one in found:
        assert one.value == ours[one.name].value, f"{each.kernel} {each.name}: {one}"
        certain = ours[one.name].provenance != "emulator-model"
        assert one.provenance == ("emulator-exact" if certain else "emulator-model"), one
    assert all(one.is_equal for one in comparison.compared(each, found))


def test_launches_read_after_the_rules_leave_the_same_and_count_what_the_h100_counted(
    script: ModuleType, emulated: ModuleType, comparison: ModuleType
) -> None:
    launches = script.every("further")
    assert len({each.name + each.kernel for each in launches}) == len(launches) > 80
    built = compiler.build(script.unit("further"))
    for each in launches:
        code, ptx = emulated.of_machine_code(built, each), emulated.of_ptx(built, each)
        where = f"{each.kernel} {each.name}"
        assert not code.report.faults, f"{where}: {code.report.faults[0]}"
        assert not ptx.report.faults, f"{where}: {ptx.report.faults[0]}"
        assert code.digest == ptx.digest, where
        found = list(comparison.compared(each, code.report.counters))
        assert len(found) > 15, f"{where} was not read"
        exact = [one for one in found if one.counter.provenance == comparison.EXACT]
        assert [one for one in exact if not one.is_equal] == [], where
        assert_ptx_moves_as_much(comparison, each, ptx.report, code.report)
        assert_models_are_equal_unless_named(comparison, each, found)
        assert code.digest != script.one_launch.digest(each.buffers()), f"{where} leaves nothing"
    assert {part.file for part in script.parts(["further"])} == {"further"}


@pytest.mark.parametrize(
    ("file", "kernel", "certain"), [("barriers", "poll", False), ("bulk_copies", "load", True)]
)
def test_only_counters_that_a_polling_loop_adds_to_are_models(
    script: ModuleType, emulated: ModuleType, file: str, kernel: str, certain: bool
) -> None:
    each = next(one for one in script.every(file) if one.kernel == kernel)
    report = emulated.of_machine_code(compiler.build(script.unit(file)), each).report
    for name in ("smsp__inst_executed.sum", "smsp__sass_branch_targets.sum"):
        assert (report.counter(name).provenance == "machine-exact") == certain
    for name in (
        "memory_l1_wavefronts_shared", "smsp__sass_inst_executed_op_tma_ld.sum",
        "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
    ):  # fmt: skip
        assert report.counter(name).provenance == "machine-exact"


def test_a_launch_without_asynchronous_instructions_has_none_of_their_counters(
    script: ModuleType, emulated: ModuleType
) -> None:
    each = next(one for one in script.every("matrices") if one.kernel == "load_1")
    report = emulated.of_machine_code(compiler.build(script.unit("matrices")), each).report
    assert not [one.name for one in report.counters if "tma" in one.name or "dsh" in one.name]


def test_files_and_launches_are_as_many_as_the_experiment_needs(script: ModuleType) -> None:
    assert script.FILES == FILES
    probes, held_out = list(script.listed.probes()), list(script.listed.held_out())
    assert {each.file for each in probes} == {*FILES} - {"held_out"}
    assert len({each.kernel for each in probes}) > 100
    assert len({each.kernel for each in held_out}) >= 30
    once = [n for part in script.parts() if part.reading == 1 for n in part.numbers]
    assert len(once) == len(probes) + len(held_out)


NCU = """#!{python}
import csv, subprocess, sys
if "--version" in sys.argv:
    sys.exit(print("NVIDIA Nsight Compute\\nVersion 2025.3.1.0 (build 1)"))
if "--query-metrics" in sys.argv:
    sys.exit(print("Device 0\\n" + "".join(name + "  Counter\\n" for name in {known})))
at = sys.argv.index("--metrics")
command = sys.argv[at + 2 :]
print("==PROF== Connected to process 1")
subprocess.run(command, check=True)
metrics = sys.argv[at + 1].split(",")
table = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
table.writerow(["ID", "Kernel Name", *metrics])
table.writerow(["", "", *("inst" for _ in metrics)])
for number, line in enumerate(open(command[-1])):
    if "error" not in line:
        kernel = open(command[-1] + ".names").read().split()[number]
        values = (f"1,{{n:03}}.0" for n, _ in enumerate(metrics))
        table.writerow([number, kernel + "(int)", *values])
print("==PROF== Disconnected")
"""
"""Answers as ncu does; the second line of its table holds units."""


@pytest.fixture
def stand_in(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: None
) -> Path:
    """A folder with prepared launches, an ncu that counts, and launches that need no driver."""
    program = tmp_path / "ncu"
    known = [each.removesuffix(".sum") for each in script.METRICS[:-3]]
    program.write_text(NCU.format(python=sys.executable, known=known))
    program.chmod(0o755)
    starter = tmp_path / "launches.py"
    starter.write_text(STARTER.format(scripts=str(Path(script.__file__).parent)))
    monkeypatch.setenv("NCU", str(program))
    monkeypatch.setattr(script, "__file__", str(starter))
    expected = {file: ["0badcafe"] * len(script.every(file)) for file in FILES}
    (tmp_path / script.EXPECTED).write_text(json.dumps(expected))
    return tmp_path


STARTER = """
import sys
sys.path.insert(0, {scripts!r})
import readings_on_gpu as script
from pathlib import Path
_, _, folder, file, numbers, told = sys.argv
with open(told, "w") as out, open(told + ".names", "w") as names:
    for number in map(int, numbers.split(",")):
        kernel = script.every(file)[number].kernel
        if kernel == "phases":
            print(number, "error cuCtxSynchronize failed: error 719", file=out)
            break
        print(number, "0badcafe", file=out)
        print(kernel, file=names)
"""
"""Executes nothing; one kernel fails, and ends its process."""


def test_what_ncu_says_is_recorded_launch_by_launch_also_after_one_that_fails(
    script: ModuleType, stand_in: Path
) -> None:
    part = script.Part("barriers", tuple(range(len(script.every("barriers")))))
    rows = list(script.collected(stand_in, part, script.METRICS[:2], float("inf")))
    found: dict[tuple[str, str], dict[str, str]] = {}
    for kind, reading, file, kernel, name, metric, value in rows:
        assert (kind, reading, file) == ("probe", "1", "barriers")
        found.setdefault((kernel, name), {})[metric] = value
    assert list(found) == [(each.kernel, each.name) for each in script.every("barriers")]
    right = {"result": "0badcafe", "expected": "0badcafe"}
    right |= dict(zip(script.METRICS[:2], ("1000", "1001"), strict=True))
    failed = {"error": "cuCtxSynchronize failed: error 719"}
    assert all(values == (failed if kernel == "phases" else right)
               for (kernel, _), values in found.items())  # fmt: skip
    assert sum(values == failed for values in found.values()) == 2
    told = script.summary(part, rows, 12.0)
    assert f"{len(found) - 2} have counters and {len(found) - 2} the emulator's result" in told
    assert "719" in told


def test_a_visit_without_time_writes_a_table_without_readings(
    script: ModuleType, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = stand_in / "out"
    monkeypatch.setattr(script, "write_machine", lambda *_: None)
    script.read(stand_in, out, -1.0, FILES)
    with gzip.open(out / "asynchronous.csv.gz", "rt", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [list(script.HEAD)]


def test_counters_that_ncu_does_not_have_are_not_asked_for(
    script: ModuleType, stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offered = script.offered()
    missing = {each for each in script.METRICS[-3:] if "__" in each}
    assert {*script.METRICS} - {*offered} == missing
    assert all(each in capsys.readouterr().err for each in missing)


class Driver:
    """A driver with memory but no GPU: it records all calls, and a launch writes nothing.

    The arguments are ctypes objects, as the real functions get them.
    """

    def __init__(self) -> None:
        self.memory: dict[int, bytearray] = {}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        does = {
            "cuMemAlloc_v2": self._allocate, "cuMemcpyHtoD_v2": self._write,
            "cuMemcpyDtoH_v2": self._read, "cuLaunchKernel": self._launch,
        }.get(name, lambda *_: 0)  # fmt: skip

        def called(*arguments: Any) -> int:
            self.calls.append(name)
            return does(*arguments)

        return called

    def _allocate(self, to: Any, size: Any) -> int:
        address = 0x1000000 * (1 + len(self.memory))
        self.memory[address] = bytearray(size.value)
        to._obj.value = address
        return 0

    def _write(self, to: Any, data: Any, size: Any) -> int:
        self.memory[to.value][:] = ctypes.string_at(data.value, size.value)
        return 0

    def _read(self, data: Any, of: Any, size: Any) -> int:
        ctypes.memmove(data.value, bytes(self.memory[of.value]), size.value)
        return 0

    def _launch(self, function: Any, grid: int, *more: Any) -> int:
        return 719 if grid == 3 else 0


def test_a_launch_passes_its_arguments_and_reads_what_it_left(
    script: ModuleType, script_of: Callable[[str], ModuleType]
) -> None:
    driver, library = script_of("cuda_driver"), Driver()
    with driver.opened(library) as context:
        addresses = [context.allocated(script.one_launch.BYTES) for _ in range(4)]
        one = script.one_launch.Launch("barriers", "arrive", (1, -1))
        said = script.executed(context, None, addresses, one)
        assert said == script.one_launch.digest(one.buffers())
        failing = script.one_launch.Launch("barriers", "arrive", (1, -1), grid=3)
        with pytest.raises(driver.DriverError, match="cuLaunchKernel failed: error 719"):
            script.executed(context, None, addresses, failing)
    assert library.calls[-1] == "cuDevicePrimaryCtxRelease_v2"


@pytest.mark.parametrize("file", ["tensor_copies", "held_out"])
def test_a_process_executes_its_launches_and_writes_what_each_left(
    script: ModuleType,
    script_of: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
) -> None:
    library = Driver()
    monkeypatch.setattr(script_of("cuda_driver").ctypes, "CDLL", lambda _: library)
    (tmp_path / f"{file}.cubin").write_bytes(b"")
    launches, told = script.every(file), tmp_path / "told"
    script.launch(tmp_path, file, range(len(launches)), told)
    found = [line.split() for line in told.read_text().splitlines()]
    wanted = [script.one_launch.digest(each.buffers()) for each in launches]
    assert found == [[str(number), each] for number, each in enumerate(wanted)]
    encoded = [name for name in library.calls if "TensorMapEncode" in name]
    assert len(encoded) == sum(len(each.maps) for each in launches)
    assert ("cuTensorMapEncodeIm2col" in encoded) == (file == "tensor_copies")


def test_counters_that_a_second_reading_does_not_repeat_are_named(script: ModuleType) -> None:
    def row(reading: str, kernel: str, metric: str, value: str) -> tuple[str, ...]:
        return ("probe", reading, "barriers", kernel, "1 <1,32>", metric, value)

    same = [row(n, *each, "1") for n in "12" for each in (("poll", "tma"), ("arrive", "lsu"))]
    other = [row("1", "poll", "lsu", "7"), row("2", "poll", "lsu", "8")]
    assert script.varying([*same, *other]) == {"lsu": {"poll"}}


def test_an_ncu_that_starts_nothing_ends_the_part_with_what_it_said(
    script: ModuleType, stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = stand_in / "ncu"
    program.write_text("#!/bin/sh\necho '==ERROR== no permission'\n")
    part = script.Part("barriers", (0, 1))
    assert not list(script.collected(stand_in, part, script.METRICS, float("inf")))
    assert "no permission" in capsys.readouterr().err
