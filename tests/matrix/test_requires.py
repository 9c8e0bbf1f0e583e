"""Hardware that a variant requires: if it is missing, the variant is skipped with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cases import Case, Device
from harness.compiler.units import unit
from harness.errors import ConfigError
from harness.matrix import model
from harness.matrix.plan import resolve
from harness.run.staleness import Origins

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
        ("{features: [wgmma]}", "sm_89",
         "needs compute capability 9.0 (warpgroup products), sm_89 is 8.9"),
        ("{features: [wgmma]}", "sm_100",
         "needs compute capability 9.0 (warpgroup products) and no other, sm_100 is 10.0"),
        ("{features: [wgmma]}", "sm_90a", ""),
        ("{features: [setmaxnreg]}", "sm_100", ""),
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


@pytest.mark.parametrize(
    ("feature", "arch", "compiled_for"),
    [("wgmma", "sm_90", "sm_90a"), ("wgmma", "sm_90a", "sm_90a"),
     ("setmaxnreg", "sm_120", "sm_120a"), ("tma", "sm_90", "sm_90")],
)  # fmt: skip
def test_what_one_architecture_alone_has_is_compiled_for_its_own_target(
    edited: Edited, device: Device, feature: str, arch: str, compiled_for: str
) -> None:
    path = edited("source: v0.cu", f"source: v0.cu\n        requires: {{features: [{feature}]}}")
    assert {unit(case, path.parent, arch).arch for case in cases(path, device, arch)} == {
        compiled_for
    }


def test_code_of_an_own_target_needs_a_compiler_that_knows_the_card(
    edited: Edited, device: Device
) -> None:
    path = edited("source: v0.cu", "source: v0.cu\n        requires: {features: [setmaxnreg]}")
    reason = (
        "needs code for compute capability 13.0 itself (registers moved between warpgroups), and "
        "kernels are compiled for sm_90"
    )
    card = replace(device, capability=(13, 0))
    assert {case.skip for case in cases(path, card, "sm_90")} == {reason}


@pytest.mark.usefixtures("processes")  # asks nvcc for its version
def test_a_result_names_the_target_that_its_kernels_were_compiled_for(
    edited: Edited, device: Device
) -> None:
    plain = edited("source: v0.cu", "source: v0.cu")
    bench = model.load(plain)
    case = cases(plain, device)[0]
    origins = Origins(bench, [], "sm_90", is_timed=False)
    made = origins.of(case), origins.of(replace(case, target="a"))
    assert made[1] == made[0] | {"target": "sm_90a"}


def test_a_feature_that_nobody_knows_is_an_error_with_the_known_ones(edited: Edited) -> None:
    path = edited("source: v0.cu", "source: v0.cu\n        requires: {features: [cp_asynk]}")
    with pytest.raises(ConfigError, match=r"(?s)cp_asynk.*did you mean.*cp_async"):
        model.load(path)


def test_headers_of_a_python_package_are_searched_first(
    edited: Edited, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = tmp_path / "packages" / "vendor" / "include"
    headers.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    path = edited("source: v0.cu", 'source: v0.cu\n        include: ["package:vendor/include"]')
    first = cases(path, device)[0]
    assert (first.skip, first.include) == ("", ("package:vendor/include",))
    assert unit(first, path.parent / "kernels", "sm_90").include[0] == headers


def test_a_variant_whose_package_is_missing_is_skipped_and_not_compiled(
    edited: Edited, device: Device
) -> None:
    path = edited("source: v0.cu", 'source: v0.cu\n        include: ["package:no.such/include"]')
    reason = "the Python package no.such is not installed: pip install no-such"
    found = cases(path, device)
    assert {case.skip for case in found} == {reason}
    # The sources of a skipped row are requested, too.
    assert (
        Path("package:no.such/include") in unit(found[0], path.parent / "kernels", "sm_90").include
    )
