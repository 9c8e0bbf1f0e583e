"""The number of concurrent workers is limited by memory."""

from __future__ import annotations

import threading
from dataclasses import replace

from harness.cases import Device, Room
from harness.processes.slots import EMULATING, Slots, for_workers_of

MIB, GIB = 1 << 20, 1 << 30


def with_room(device: Device, free: int, taken: int = 500 * MIB, host: int = 300 * MIB) -> Device:
    return replace(device, room=Room(free, taken, host))


def test_as_many_as_fit_the_device(device: Device) -> None:
    assert for_workers_of(with_room(device, 6 * GIB), None).most == 6 * 1024 // 564


def test_as_many_as_fit_the_machine(device: Device) -> None:
    assert for_workers_of(with_room(device, 80 * GIB), 1200 * MIB).most == 4


def test_at_least_one_even_where_that_may_not_fit(device: Device) -> None:
    assert for_workers_of(with_room(device, 100 * MIB), 100 * MIB).most == 1
    assert for_workers_of(device, EMULATING // 2).most == 1


def test_where_nothing_is_told_nothing_bounds_them(device: Device) -> None:
    assert for_workers_of(device, None).most is None


def test_one_waits_until_another_has_ended() -> None:
    slots, order = Slots(1), []
    held, let_go = threading.Event(), threading.Event()

    def first() -> None:
        with slots.one():
            held.set()
            let_go.wait(10)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    held.wait(10)
    waiting = threading.Thread(target=lambda: _append(slots, order))
    waiting.start()
    let_go.set()
    thread.join(10)
    waiting.join(10)
    assert order == ["first", "second"]


def _append(slots: Slots, order: list[str]) -> None:
    with slots.one():
        order.append("second")


def test_who_was_alone_all_the_time_had_no_company() -> None:
    slots = Slots(2)
    with slots.one() as alone:
        pass
    with slots.one() as one, slots.one() as other:
        pass
    assert not alone.had_company
    assert one.had_company
    assert other.had_company


def test_after_a_failure_for_lack_of_memory_there_are_fewer_and_never_none() -> None:
    slots = Slots(None)
    with slots.one(), slots.one(), slots.one():
        slots.shrink()
    assert slots.most == 2
    slots.shrink()
    slots.shrink()
    assert slots.most == 1


def test_each_has_an_equal_part_of_the_machines_memory_and_the_last_one_all() -> None:
    slots = Slots(46, 24 * GIB)
    slots.at_most(2)
    with slots.one() as slot:
        assert slot.part == 12 * GIB
    slots.at_most(1)
    with slots.one() as slot:
        assert slot.part is None


def test_who_wants_to_be_alone_waits_for_all_and_all_wait_for_it() -> None:
    slots, order = Slots(4, 4 * GIB), []
    held, let_go, ended = threading.Event(), threading.Event(), threading.Event()

    def alone() -> None:
        with slots.one(alone=True) as slot:
            order.append(("alone", slot.part))
            held.set()
            let_go.wait(10)
            order.append(("ends", None))

    def beside() -> None:
        with slots.one() as slot:
            order.append(("beside", slot.part))
        ended.set()

    with slots.one():
        first = threading.Thread(target=alone)
        first.start()
        assert not held.wait(0.1)
    assert held.wait(10)
    second = threading.Thread(target=beside)
    second.start()
    assert not ended.wait(0.1)
    let_go.set()
    first.join(10)
    second.join(10)
    assert order == [("alone", None), ("ends", None), ("beside", GIB)]
