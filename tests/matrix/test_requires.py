"""What a variant requires of the hardware: skipped by name where that is not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cases import Case, Device
from harness.errors import ConfigError
from harness.matrix import model
from harness.matrix.plan import resolve

Edited = Callable[[str, str], Path]


def cases(path: Path, device: Device, arch: str = "sm_90") -> list[Case]:
    return list(resolve(model.load(path), replace(device, arch=arch), "cuda").cases)


@pytest.mark.parametrize(
    ("requires", "arch", "reason"),
    [
        ("{features: [cp_async]}", "sm_75",
         "needs compute capability 8.0 (cp.async), sm_75 is 7.5"),
        ("{compute_capability: 8.9}", "sm_86", "needs compute capability 8.9, sm_86 is 8.6"),
        ("{shared: 232449}", "sm_90",
         "needs 232,449 bytes of shared memory a block, sm_90 allows 232,448"),
        ("{features: [cp_async], shared: 232448}", "sm_80", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["variant", "problem"])
def test_a_case_is_skipped_with_what_it_needs_and_what_is_there(
    edited: Edited, device: Device, requires: str, arch: str, reason: str, place: str
) -> None:
    old, indent = ("source: v0.cu", " " * 8) if place == "variant" else ("baseline: v0", " " * 4)
    path = edited(old, f"{old}\n{indent}requires: {requires}")
    for case in cases(path, device, arch):
        assert (case.skip, case.refusal) == (reason, "")


def test_dynamic_shared_memory_needs_no_word_of_its_own(edited: Edited, device: Device) -> None:
    path = edited("block: block\n", "block: block\n            shared: 227 * 1024\n")
    card = replace(device, max_shared_bytes=99 * 1024)
    reason = "twice: needs 232,448 bytes of shared memory a block, sm_86 allows 101,376"
    assert {case.skip for case in cases(path, card, "sm_86")} == {reason}


def test_a_cluster_needs_a_card_that_has_them(edited: Edited, device: Device) -> None:
    path = edited("block: block\n", "block: block\n            cluster: 2\n")
    reason = "twice: needs compute capability 9.0 (thread block clusters), sm_80 is 8.0"
    assert {case.skip for case in cases(path, device, "sm_80")} == {reason}
    assert {case.skip for case in cases(path, device, "sm_90")} == {""}


def test_a_card_that_has_clusters_has_none_in_code_for_an_older_architecture(
    edited: Edited, device: Device
) -> None:
    path = edited("block: block\n", "block: block\n            cluster: 2\n")
    reason = "twice: needs compute capability 9.0 (thread block clusters), sm_80 is 8.0"
    card = replace(device, capability=(9, 0))
    assert {case.skip for case in cases(path, card, "sm_80")} == {reason}


def test_a_feature_that_nobody_knows_is_an_error_with_the_known_ones(edited: Edited) -> None:
    path = edited("source: v0.cu", "source: v0.cu\n        requires: {features: [cp_asynk]}")
    with pytest.raises(ConfigError, match=r"(?s)cp_asynk.*did you mean.*cp_async"):
        model.load(path)
