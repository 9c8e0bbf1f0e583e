from __future__ import annotations

from collections import Counter

import pytest

from harness.backends.cuda.launch_phase import TURNS, empty_kernels


def turns_of_a_batch(kernels: int, said: int, launches: int = 12) -> Counter[int]:
    launched, found = 0, Counter[int]()
    for number in range(launches):
        launched += empty_kernels(number, said)
        found[launched % TURNS] += 1
        launched += kernels
    return found


@pytest.mark.parametrize("kernels", range(1, 13))
def test_a_batch_of_twelve_takes_every_turn_three_times(kernels: int) -> None:
    assert turns_of_a_batch(kernels, kernels) == dict.fromkeys(range(TURNS), 3)


@pytest.mark.parametrize("kernels", range(1, 13))
@pytest.mark.parametrize("said", range(1, 5))
def test_a_batch_whose_kernels_are_not_known_keeps_to_no_turn(kernels: int, said: int) -> None:
    found = turns_of_a_batch(kernels, said)
    assert len(found) >= 3
    assert max(found.values()) <= 4
