"""The limits of each compute capability are consistent with each other, and are looked up by
name."""

from __future__ import annotations

import dataclasses

import pytest

from harness.silicon.architectures import ARCHITECTURES, Architecture, architecture

each_architecture = pytest.mark.parametrize("arch", ARCHITECTURES.values(), ids=ARCHITECTURES)


def test_an_architecture_is_found_by_the_name_that_nvcc_uses() -> None:
    assert architecture("sm_90").compute_capability == (9, 0)
    assert architecture("sm_90").representative.name == "NVIDIA H200"


@pytest.mark.parametrize(
    ("name", "plain"), [("sm_90a", "sm_90"), ("sm_100f", "sm_100"), ("sm_120a", "sm_120")]
)
def test_a_specific_target_has_the_limits_of_the_plain_one(name: str, plain: str) -> None:
    assert architecture(name) is architecture(plain)


@pytest.mark.parametrize("name", ["sm_42", "", "90", "sm_90x", "sm_a", "compute_90", "sm_90aa"])
def test_an_unknown_architecture_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match=r"sm_75, sm_80, .*sm_90, .*sm_120"):
        architecture(name)


def test_facts_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        architecture("sm_90").warp_size = 64  # type: ignore[misc]


@each_architecture
def test_name_and_compute_capability_agree(arch: Architecture) -> None:
    major, minor = arch.compute_capability
    assert arch.name == f"sm_{major}{minor}"


@each_architecture
def test_the_largest_block_fits_a_multiprocessor(arch: Architecture) -> None:
    # The largest shared memory of a block, plus the system's reserve, is the SM's whole shared
    # memory.
    assert (
        arch.max_shared_bytes_per_block + arch.reserved_shared_bytes_per_block
        == arch.shared_bytes_per_sm
    )
    assert arch.max_threads_per_block <= arch.max_threads_per_sm
    assert arch.default_shared_bytes_per_block <= arch.max_shared_bytes_per_block
    assert arch.registers_per_block <= arch.registers_per_sm


@each_architecture
def test_one_kib_a_block_is_reserved_since_ampere(arch: Architecture) -> None:
    expected = 1024 if arch.compute_capability >= (8, 0) else 0
    assert arch.reserved_shared_bytes_per_block == expected


# CUDA Programming Guide 13.0, "Technical Specifications per Compute Capability": resident blocks,
# resident warps and resident threads per multiprocessor, shared memory per multiprocessor in KB.
# The value for sm_88 is from [cccl] in architectures.py.
@pytest.mark.parametrize(
    ("name", "blocks", "warps", "threads", "shared_kib"),
    [
        ("sm_75", 16, 32, 1024, 64),
        ("sm_80", 32, 64, 2048, 164),
        ("sm_86", 16, 48, 1536, 100),
        ("sm_87", 16, 48, 1536, 164),
        ("sm_88", 16, 48, 1536, 100),
        ("sm_89", 24, 48, 1536, 100),
        ("sm_90", 32, 64, 2048, 228),
        ("sm_100", 32, 64, 2048, 228),
        ("sm_103", 32, 64, 2048, 228),
        ("sm_120", 24, 48, 1536, 100),
    ],
)
def test_limits_are_those_of_the_programming_guide(
    name: str, blocks: int, warps: int, threads: int, shared_kib: int
) -> None:
    arch = architecture(name)
    assert arch.max_blocks_per_sm == blocks
    assert arch.max_warps_per_sm == warps
    assert arch.max_threads_per_sm == threads
    assert arch.shared_bytes_per_sm == shared_kib * 1024
