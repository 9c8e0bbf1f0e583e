"""A card's properties come from its driver, whichever card it is; here the driver is simulated."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness import backends
from harness.cases import Device
from harness.compiler import targets
from harness.machine import card
from harness.measure import ceilings
from harness.silicon.architectures import ARCHITECTURES, architecture
from harness.worker.describing import CONTEXT, describe

pytestmark = pytest.mark.usefixtures("processes")  # nvcc is asked what it supports

MIB = 2**20
PACKAGE = "harness.backends.cuda"


class Names:
    """A namespace such as `device_attribute`, in which each attribute (`WARP_SIZE`) is its own
    name."""

    def __getattr__(self, name: str) -> str:
        return name


class Driver(ModuleType):
    """Records allocations and launches; `Stream` and similar classes do nothing."""

    device_attribute = Names()
    host_alloc_flags = Names()

    def __init__(self) -> None:
        super().__init__("pycuda.driver")
        self.allocated: list[int] = []
        self.launched: list[tuple[str, tuple[Any, ...]]] = []
        self.words_set = 0

    def mem_alloc(self, nbytes: int) -> int:
        self.allocated.append(nbytes)
        return len(self.allocated)

    def memset_d8(self, *where: Any) -> None: ...

    def memset_d32_async(self, where: int, value: int, words: int, stream: Any) -> None:
        self.words_set = words

    def pagelocked_zeros(self, *shape: Any, **flags: Any) -> Any:
        return SimpleNamespace(base=SimpleNamespace(get_device_pointer=lambda: 0))

    def module_from_file(self, path: str) -> Any:
        return SimpleNamespace(get_function=self._function)

    def _function(self, name: str) -> Any:
        def launch(*args: Any) -> None:
            self.launched.append((name, args))

        function = SimpleNamespace(prepared_async_call=launch)
        function.prepare = lambda signature: function
        return function


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """Replace pycuda with a stand-in, and import the backend's modules again so that they use
    it."""
    made = Driver()
    package: Any = ModuleType("pycuda")
    package.driver = made
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", made)
    monkeypatch.setattr(backends, "cuda", import_module(PACKAGE))
    before = {name: module for name, module in sys.modules.items() if name.startswith(PACKAGE)}
    for name in before:
        del sys.modules[name]
    yield made
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        del sys.modules[name]
    sys.modules.update(before)


def told_of(capability: tuple[int, int], name: str, l2_bytes: int, **other: int) -> Any:
    """Describe a card through PyCUDA's Device: the values that an H100's driver reports, except for
    those given."""
    facts = {
        "MULTIPROCESSOR_COUNT": 132, "L2_CACHE_SIZE": l2_bytes, "WARP_SIZE": 32,
        "MAX_THREADS_PER_MULTIPROCESSOR": 2048, "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 228 * 1024,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 * 1024, "RESERVED_SHARED_MEMORY_PER_BLOCK": 1024,
        "MAX_SHARED_MEMORY_PER_BLOCK": 48 * 1024, "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
        "MAX_REGISTERS_PER_BLOCK": 65536, "MAX_THREADS_PER_BLOCK": 1024,
        "MAX_BLOCK_DIM_X": 1024, "MAX_BLOCK_DIM_Y": 1024, "MAX_BLOCK_DIM_Z": 64,
        "MAX_GRID_DIM_X": 2**31 - 1, "MAX_GRID_DIM_Y": 65535, "MAX_GRID_DIM_Z": 65535, **other,
    }  # fmt: skip
    return SimpleNamespace(
        get_attribute=facts.__getitem__, compute_capability=lambda: capability,
        name=lambda: name, total_memory=lambda: 180 * 10**9, pci_bus_id=lambda: "0000:1B:00.0",
    )  # fmt: skip


def described(found: Any) -> Device:
    device: Device = import_module("harness.backends.cuda.backend")._describe(found, None)
    return device


def b200() -> Any:
    return told_of((10, 0), "NVIDIA B200", 126 * MIB, MULTIPROCESSOR_COUNT=148)


def test_a_card_that_the_table_knows_is_told_alike_by_both(driver: Driver) -> None:
    """An H100's driver reports the same limits as the row of its architecture."""
    limits = described(told_of((9, 0), "NVIDIA H100", 50 * MIB)).limits
    row = architecture("sm_90")
    for name in vars(limits):
        assert getattr(limits, name) == getattr(row, name), name


def test_a_card_without_a_row_has_the_limits_that_its_driver_tells(driver: Driver) -> None:
    """The card is newer than every architecture in the table; nvcc writes PTX for the newest of
    these, and the driver compiles that PTX."""
    assert (13, 7) not in {each.compute_capability for each in ARCHITECTURES.values()}
    more = {"MAX_THREADS_PER_MULTIPROCESSOR": 3072, "MAX_BLOCKS_PER_MULTIPROCESSOR": 48,
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 511 * 1024}  # fmt: skip
    card_ahead = described(told_of((13, 7), "a card of tomorrow", 200 * MIB, **more))
    assert card_ahead.limits.max_threads_per_sm == 3072
    assert card_ahead.limits.max_blocks_per_sm == 48
    assert card_ahead.max_shared_bytes == 511 * 1024
    assert card_ahead.l2_bytes == 200 * MIB
    assert card_ahead.compute_capability == (13, 7)
    assert card_ahead.arch in targets.known()
    assert not card_ahead.runs_machine_code


@pytest.mark.parametrize("l2_mib", [4, 50, 126])  # T4, H100, B200
def test_the_cache_is_emptied_with_twice_what_the_cards_own_holds(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, l2_mib: int
) -> None:
    stream = import_module("harness.backends.cuda.stream")
    built = SimpleNamespace(loaded_by=lambda device: "stream_control.cubin")
    monkeypatch.setattr(stream.compiler, "build", lambda unit: built)
    device = described(told_of((10, 0), "a card", l2_mib * MIB))
    control = stream.StreamControl("the stream", device)
    assert driver.allocated[:2] == [2 * l2_mib * MIB] * 2
    control.flush_l2()
    (write, written), (read, readings) = driver.launched
    assert (write, read) == ("write_buffer", "read_buffer")
    dirty, clean = 1, 2
    assert written[-2:] == (dirty, 2 * l2_mib * MIB // 16)  # float4s
    assert readings[-3:-1] == (clean, 2 * l2_mib * MIB // 16)
    control.flush_l2("dirty")
    assert driver.words_set == l2_mib * MIB // 4


def test_a_ceiling_of_memory_is_read_from_far_more_than_the_cards_own_cache(
    driver: Driver,
) -> None:
    device = described(b200())
    array = ceilings.buffers(device)[0]
    assert array.nbytes >= 8 * 126 * MIB
    within = [case for case, _ in ceilings.cases(device) if case.variant == "l2_bandwidth"]
    assert within
    for case in within:
        count = case.steps[0].args[1]
        assert isinstance(count, int)
        assert 126 * MIB // 8 < 16 * count <= 126 * MIB // 2


def test_where_nobody_tells_what_a_worker_holds_its_flush_counts_by_the_cards_own_cache(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card, "free_bytes", dict)
    backend = SimpleNamespace(device=described(b200()), free_bytes=lambda: 10**9)
    room = describe(backend, {}).room
    assert room is not None
    assert room.device_taken == CONTEXT + 2 * 2 * 126 * MIB
