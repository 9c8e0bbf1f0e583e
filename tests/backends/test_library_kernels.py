"""The names of the kernels that a library launched, as a profiler reports them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.backends.cuda import library_kernels

TRACED = [
    ("sm80_xmma_fprop_implicit_gemm_f32f32", "CUDA", 9),
    ("void cudnn::winograd::tiles<float, 4>(Params)", "CUDA", 3),
    ("cudaLaunchKernel", "CPU", 1),
    ("void cudnn::winograd::tiles<float, 8>(Params)", "CUDA", 5),
    ("void (anonymous namespace)::softmax<(Kind)1, float>(float*)", "CUDA", 12),
]


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for torch's profiler, which records the calls in order."""
    log: list[str] = []

    @contextlib.contextmanager
    def profile(activities: Any) -> Iterator[Any]:
        log.append("trace")
        yield SimpleNamespace(events=lambda: [
            SimpleNamespace(name=n, device_type=d, time_range=SimpleNamespace(start=start))
            for n, d, start in TRACED
        ])  # fmt: skip
        log.append("done")

    profiler, autograd = ModuleType("torch.profiler"), ModuleType("torch.autograd")
    profiler.profile, profiler.ProfilerActivity = profile, SimpleNamespace(CUDA="CUDA")  # type: ignore[attr-defined]
    autograd.DeviceType = SimpleNamespace(CUDA="CUDA")  # type: ignore[attr-defined]
    for name, module in (("torch", ModuleType("torch")), ("torch.profiler", profiler),
                         ("torch.autograd", autograd)):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)
    return log


def test_kernels_are_named_once_in_the_order_they_ran_and_nothing_of_the_host(
    torch: list[str],
) -> None:
    found = library_kernels.kernels(lambda: torch.append("call"), lambda: torch.append("wait"))
    assert found == (
        "cudnn::winograd::tiles",
        "sm80_xmma_fprop_implicit_gemm_f32f32",
        "softmax",
    )
    assert torch == ["trace", "call", "wait", "done"]


def test_without_torch_nobody_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "torch.autograd", raising=False)
    assert library_kernels.kernels(lambda: None, lambda: None) == ()


def test_a_name_too_long_to_read_is_cut() -> None:
    assert len(library_kernels.name_of("x" * 300)) == 100
    assert library_kernels.name_of("Memcpy DtoD (Device -> Device)") == "Memcpy DtoD"
