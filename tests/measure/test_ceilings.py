"""A ceiling is the best of several launch shapes, in units that follow from the kernel's work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.backends.base import Batch, Execution
from harness.backends.emulated import EmulatorBackend
from harness.cases import Case, Device
from harness.compiler import compile as compiler
from harness.compiler.compile import Built, Resources, Unit, kernel_name
from harness.errors import HarnessError
from harness.measure import ceilings
from harness.measure.ceilings import (
    CEILING_OF,
    MIXED,
    SOURCE,
    STREAMS,
    WGMMA,
    buffers,
    cases,
    measure_ceilings,
    written,
)
from harness.problem import Buffer
from harness.statistics.net_ceilings import ceiling_over_placements


class FakeBackend:
    """A device with 4e12 byte/s and 6e13 flop/s at one launch shape, and half of that at the
    others."""

    name = "cuda"

    def __init__(self, device: Device) -> None:
        self.device = device
        self.best: dict[str, str] = {}
        self.noisy: list[str] = []
        for case, _ in cases(device):
            self.best[CEILING_OF[case.variant]] = case.id
        self.work = {case.id: amount for case, amount in cases(device)}

    def workspace(
        self, problem: None, needed: Sequence[Buffer], inputs: Mapping[str, Any]
    ) -> FakeBackend:
        self.inputs = inputs
        return self

    def run(self, case: Case, built: Built, draw: int = 0) -> Execution:
        """The values that the kernel must write."""
        count = int(case.steps[0].args[-1])
        return Execution({"copy": written(case.variant, count, self.inputs["input"])})

    def noise(self, name: str) -> None:
        """Values other than zero."""
        self.noisy.append(name)

    def time(
        self, case: Case, built: Built, cache: str, launches: int, *rest: Any, **more: Any
    ) -> Batch:
        assert not self.inputs
        assert self.noisy == ["input"]
        name = CEILING_OF[case.variant]
        rate = {"ns": 0.5e9, "flop/s": 6e13, "exp/s": 4e12, "byte/s": 4e12}[ceilings.unit_of(name)]
        seconds = self.work[case.id] / rate
        # Cached data is read faster than any ceiling allows, and must not count.
        slower = (1 if self.best[name] == case.id else 2) * (0.01 if cache == "warm" else 1)
        return Batch(((seconds * 1e9 * slower,),) * launches)

    def __enter__(self) -> FakeBackend:
        return self

    def __exit__(self, *error: object) -> None: ...


@pytest.fixture
def small(device: Device) -> Device:
    return replace(device, l2_bytes=2**16)


@pytest.fixture
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = {name: Resources(32, 0, 0, 0) for name in CEILING_OF}
    monkeypatch.setattr(compiler, "build", lambda unit: Built(Path(), Path(), "", "", kernels))


@pytest.mark.usefixtures("nothing_compiled")
def test_each_ceiling_is_that_of_its_best_shape(small: Device) -> None:
    found = {c.name: c for c in measure_ceilings(FakeBackend(small), np.random.default_rng(1))}  # type: ignore[arg-type]
    # A cache of 64 KiB is too small for one tile of l2_bandwidth, so there is no such ceiling here.
    bandwidths = [
        "read_bandwidth", "copy_bandwidth", "mix_4_1_bandwidth", "mix_2_1_bandwidth",
        "mix_1_4_bandwidth", "write_bandwidth", "shared_bandwidth",
    ]  # fmt: skip
    rates = ["fp32_rate", "fp64_rate", "fp16_rate", "tensor_rate", "bf16_tensor_rate", "tf32_rate"]
    assert list(found) == ["empty_kernel", *bandwidths, *rates, "exponential_rate"]
    assert found["read_bandwidth"].value == pytest.approx(4e12, rel=1e-3)
    assert found["copy_bandwidth"].value == pytest.approx(4e12, rel=1e-3)
    assert found["fp32_rate"].value == pytest.approx(6e13, rel=1e-3)
    assert found["empty_kernel"].value == pytest.approx(2.0)  # 1 / 0.5e9 s
    units = ["ns"] + ["byte/s"] * len(bandwidths) + ["flop/s"] * len(rates) + ["exp/s"]
    assert [found[n].unit for n in found] == units
    for ceiling in found.values():
        assert ceiling.low <= ceiling.value <= ceiling.high
        assert len(ceiling.samples) == ceilings.ROUNDS
    assert "best of 16" in found["read_bandwidth"].how
    assert "copy_once, grid" in found["copy_bandwidth"].how


@pytest.mark.usefixtures("nothing_compiled")
def test_a_ceiling_that_was_not_timed_is_an_error_by_name(small: Device) -> None:
    class NoTime(FakeBackend):
        def time(self, *arguments: Any, **more: Any) -> Batch:
            return Batch(((float("inf"),),) * 2)

    with pytest.raises(HarnessError, match="the ceiling empty_kernel could not be measured"):
        list(measure_ceilings(NoTime(small), np.random.default_rng(1)))  # type: ignore[arg-type]


def test_the_buffers_dwarf_the_cache_and_fit_the_memory(device: Device) -> None:
    found = buffers(device)
    assert found[0].nbytes == found[1].nbytes == 16 * device.l2_bytes
    tight = buffers(replace(device, memory_bytes=2**30))
    assert sum(buffer.nbytes for buffer in tight) <= 2**30 // 2


def test_every_case_is_within_the_devices_limits_and_has_its_work(device: Device) -> None:
    nbytes = buffers(device)[0].nbytes
    for case, amount in cases(device):
        [step] = case.steps
        threads = step.grid[0] * step.block[0]
        assert step.threads_per_block <= device.max_threads_per_block
        assert step.grid[0] >= 1
        if case.variant.startswith("read"):
            assert amount == nbytes
        elif case.variant in STREAMS:
            reads, writes = STREAMS[case.variant]
            count = int(step.args[-1])
            assert count * max(reads, writes) * 16 == nbytes  # exactly as many bytes as there are
            assert amount == 16 * count * (reads + writes)  # each is read or written once
            assert case.variant == "copy_bandwidth" or threads >= count
        elif case.variant == "exponential_rate":
            assert amount == threads * int(step.args[1]) * 8
        elif case.variant == "l2_bandwidth":
            _, count, passes, _ = step.args
            assert int(count) % (4 * threads) == 0  # whole tiles: nothing is left unread
            assert 0 < 16 * int(count) <= device.l2_bytes // 2
            assert amount == 16 * int(count) * int(passes)
        elif case.variant == "shared_bandwidth":
            assert step.shared_bytes == 16 * step.block[0] <= 48 << 10
            assert amount == threads * 1024 * 4 * 16
        elif case.variant.endswith("_rate"):
            iterations = int(step.args[1])
            flops = {
                "fma_rate": 2 * 8,
                "fp64_rate": 2 * 8,
                "fp16_rate": 4 * 8,
                "tensor_rate": 4 * 2 * 16 * 8 * 16 // 32,
                "wgmma_rate": 8 * 2 * 64 * 128 * 16 // 128,
                "tensor_bf16_rate": 4 * 2 * 16 * 8 * 16 // 32,
                "wgmma_bf16_rate": 8 * 2 * 64 * 128 * 16 // 128,
                "tensor_tf32_rate": 4 * 2 * 16 * 8 * 8 // 32,
                "wgmma_tf32_rate": 8 * 2 * 64 * 128 * 8 // 128,
            }[case.variant]
            assert iterations % 16 == 0
            assert amount == threads * iterations * flops
        else:
            assert (case.variant, amount) == ("empty", 1)
    ids = [case.id for case, _ in cases(device)]
    assert len(ids) == len(set(ids))


def test_every_kernel_named_is_in_its_file_and_takes_its_arguments(
    device: Device, cache: Path
) -> None:
    built = {
        SOURCE.name: compiler.build(Unit(SOURCE, (), (), "sm_90")),
        MIXED.name: compiler.build(Unit(MIXED, (), (), "sm_90")),
        WGMMA.name: compiler.build(Unit(WGMMA, (), (), "sm_90a")),
    }
    assert cache.is_dir()
    for case, _ in cases(device):
        [step] = case.steps
        found = built[case.source]
        symbol = kernel_name(step.kernel, found, case.source)
        entry = found.ptx.read_text().partition(f".entry {symbol}(")[2].partition(")")[0]
        assert entry.count(".param") == len(step.args)
        assert found.kernels[symbol].spill_bytes == 0


def test_a_shape_that_fits_no_multiprocessor_is_not_tried(
    small: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = {name: Resources(32, 0, 0, 0) for name in CEILING_OF}
    kernels["shared_bandwidth"] = Resources(72, 0, 0, 0)  # 1024 threads would take 73,728 registers
    monkeypatch.setattr(compiler, "build", lambda unit: Built(Path(), Path(), "", "", kernels))
    backend = FakeBackend(small)
    timed: list[Case] = []
    time = backend.time
    monkeypatch.setattr(
        backend, "time", lambda case, *rest, **more: timed.append(case) or time(case, *rest, **more)
    )
    found = {c.name: c for c in measure_ceilings(backend, np.random.default_rng(1))}  # type: ignore[arg-type]
    blocks = {c.launch["block"] for c in timed if c.variant == "shared_bandwidth"}
    assert blocks == {128, 256, 512}
    assert "shared_bandwidth" in found


@pytest.mark.usefixtures("nothing_compiled")
def test_a_placement_measures_the_memorys_ceilings_again(small: Device) -> None:
    backend = FakeBackend(small)
    found = {c.name: c for c in measure_ceilings(backend, np.random.default_rng(1))}  # type: ignore[arg-type]
    ids = [found[name].case for name in ceilings.PROBED]
    backend.noisy.clear()
    rounds = list(ceilings.probe(backend, ids, 7))  # type: ignore[arg-type]
    assert {r.case for r in rounds} == set(ids)
    assert {r.placement for r in rounds} == {7}
    slower = [replace(r, samples_ns=tuple(2 * ns for ns in r.samples_ns)) for r in rounds]
    read = found["read_bandwidth"]
    own = [r for r in (*rounds, *slower, *rounds) if r.case == read.case]
    over = ceiling_over_placements(read, own, 0.95)
    assert over.value == pytest.approx(4e12 / 2 ** (1 / 3), rel=1e-3)  # geometric mean
    assert over.low < over.value < over.high
    assert ceiling_over_placements(read, own[:1], 0.95) == read


def test_the_bandwidths_of_memory_are_what_placements_measure_again() -> None:
    assert ceilings.PROBED == (
        "read_bandwidth", "mix_4_1_bandwidth", "mix_2_1_bandwidth", "copy_bandwidth",
        "mix_1_4_bandwidth", "write_bandwidth",
    )  # fmt: skip


@pytest.mark.usefixtures("cache")
def test_every_kernel_that_writes_leaves_what_it_must_and_nothing_else() -> None:
    backend = EmulatorBackend("sm_90")
    built = {s.name: compiler.build(Unit(s, (), (), "sm_90")) for s in (SOURCE, MIXED)}
    ceilings._check(backend, built)
    values = np.arange(4 * 4 * ceilings.CHECKED, dtype=np.float32)
    four = written("mix_4_1", ceilings.CHECKED, values)
    assert four[:2].tolist() == [4 * 4000 + 8000.0, 4 + 4 * 4000 + 8000.0]  # 0 + 4,000 + 8,000 …
    assert written("write_once", 3, values).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert written("mix_1_4", 2, values[:8]).tolist() == [*range(8)] * 4


@pytest.mark.fault(
    "a ceiling's kernel that writes something else", "no ceiling is measured; the run says which"
)
@pytest.mark.usefixtures("nothing_compiled")
def test_a_kernel_that_writes_something_else_is_no_ceiling(small: Device) -> None:
    class Wrong(FakeBackend):
        def run(self, case: Case, built: Built, draw: int = 0) -> Execution:
            right = super().run(case, built).outputs["copy"]
            off = np.float32(case.variant == "mix_2_1")
            return Execution({"copy": right + off})

    with pytest.raises(HarnessError, match="mix_2_1 is no ceiling: it writes other numbers"):
        list(measure_ceilings(Wrong(small), np.random.default_rng(1)))  # type: ignore[arg-type]


def test_what_ceilings_take_beyond_reading_copying_and_arithmetic_is_small(device: Device) -> None:
    """Only launches are counted, at 4 TB/s, 4 × 10¹² exponentials and 10¹⁵ flops per second."""
    new = {"mix_4_1", "mix_2_1", "mix_1_4", "write_once", "exponential_rate", "wgmma_bf16_rate"}
    seconds = sum(
        amount / (1e15 if case.variant == "wgmma_bf16_rate" else 4e12)
        for case, amount in cases(device)
        if case.variant in new
    )
    assert seconds * (ceilings.ROUNDS + 1) * (ceilings.BATCH + 1) < 0.5
