"""Workers and emulated launches share the cores and never use more than there are."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.processes.cores import Cores


@pytest.mark.parametrize(
    ("total", "items", "expected"), [(8, 8, 1), (8, 4, 2), (8, 1, 8), (2, 20, 1), (1, 3, 1)]
)
def test_the_first_piece_gets_its_part(total: int, items: int, expected: int) -> None:
    cores = Cores(total)
    cores.expect(items)
    with cores.some() as taken:
        assert taken == expected


@pytest.mark.parametrize(("total", "items"), [(4, 11), (3, 2), (16, 5)])
def test_no_more_are_in_use_than_there_are_and_the_last_pieces_get_more(
    total: int, items: int
) -> None:
    cores, lock = Cores(total), threading.Lock()
    cores.expect(items)
    in_use, most, given = 0, 0, list[int]()

    def work() -> None:
        nonlocal in_use, most
        with cores.some() as taken:
            with lock:
                in_use += taken
                most = max(most, in_use)
                given.append(taken)
            time.sleep(0.01)
            with lock:
                in_use -= taken

    with ThreadPoolExecutor(total) as pool:
        for _ in range(items):
            pool.submit(work)
    assert len(given) == items
    assert min(given) >= 1
    assert most <= total


def test_the_last_of_many_pieces_has_all_cores() -> None:
    cores = Cores(4)
    cores.expect(5)
    given = []
    for _ in range(5):
        with cores.some() as taken:
            given.append(taken)
    assert given == [1, 1, 1, 2, 4]
