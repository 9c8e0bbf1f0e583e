"""Compare a worker with the client by hash: the harness, the problems and the packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.cluster.messages import Requirements
from harness.files import source_text
from harness.machine import environment
from harness.matrix import model

_HARNESS = Path(__file__).parents[1]
_CODE = (".py", ".cu", ".cuh", ".cpp", ".h")
_PACKAGES = ("distributed", "numpy", "torch", "triton", "pycuda")
_MOST = 3


def wanted(bench: model.Bench, backend: str, arch: str | None) -> Requirements:
    """Return the client's files and packages, which a worker's must match."""
    return Requirements(
        backend, arch, bench.kernels.absolute(), harness_files(),
        environment.sources(bench, sorted(bench.problems))["sources"], packages(),
    )  # fmt: skip


def harness_files() -> dict[str, str]:
    """Map each harness file that is executed to its hash."""
    files = (path for path in sorted(_HARNESS.rglob("*")) if path.suffix in _CODE)
    return {str(p.relative_to(_HARNESS)): source_text.sha256(p.read_bytes()) for p in files}


def packages() -> dict[str, str]:
    """Map each installed package to its version."""
    return environment.installed(_PACKAGES)


def differences(wanted: Requirements, kernels: Path) -> Iterator[str]:
    """List, as clauses, how this machine differs from the client; empty if it does not.

    A package that only one of the two has is ignored: a login node does not need torch.
    """
    yield from _named("the harness differs", wanted.harness, harness_files())
    here = {}
    for name in wanted.sources:
        path = kernels / name
        if path.is_file():
            here[name] = source_text.sha256(path.read_bytes())
    if not kernels.is_dir():
        yield f"it has no folder {wanted.kernels}, and none of that name where it was started"
    else:
        yield from _named(f"the problems in {kernels} differ", wanted.sources, here)
    ours = packages()
    for name, version in wanted.packages.items():
        if name in ours and ours[name] != version:
            yield f"it has {name} {ours[name]}; the client has {version}"


def _named(what: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> Iterator[str]:
    names = [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
    if names:
        shown = ", ".join(
            f"{name} ({_short(ours.get(name))} there, {_short(theirs.get(name))} here)"
            for name in sorted(names)[:_MOST]
        )
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        yield f"{what}: {shown}{more}"


def _short(digest: str | None) -> str:
    return digest[:10] if digest else "missing"
