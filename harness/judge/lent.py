"""Reuse a problem's own folder for a submitted kernel: its problem.py and its launch."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from harness.errors import UsageError
from harness.files import includes, strict_yaml
from harness.files.strict_yaml import YamlLocation
from harness.judge.submissions import ProblemFolder, Text
from harness.matrix import merge, written
from harness.matrix.tensor_maps import WrittenTensorMap
from harness.matrix.variants import MergedStep, Problem, Variant
from harness.silicon.features import FEATURES, specific_in

_BESIDE = "common"
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tpp", ".def")
"""The folder, next to the problems' folders, with headers that all problems' kernels include."""


def copied(
    problem: ProblemFolder, texts: Iterable[Text], kernels: Path, own: Path
) -> dict[str, Any]:
    """Copy the folder's files, except kernels, to `own`; return the submission's bench.yaml.

    `kernels`: the parent folder. Raises UsageError if the folder is not a problem's.
    """
    source = Path(problem.folder)
    if not (source / "problem.py").is_file() or not (source / "bench.yaml").is_file():
        raise UsageError(f"{source} is no problem's folder: it needs a problem.py and a bench.yaml")
    found, requires = _read(source / "bench.yaml", (source / "bench.yaml").read_text())
    like = problem.like or found.baseline
    variant = found.variants.get(like)
    if variant is None or variant.kind != "kernel":
        kernel_names = [v.name for v in found.variants.values() if v.kind == "kernel"]
        raise UsageError(
            f"{source / 'bench.yaml'} has no kernel `{like}` whose launch could be taken\n"
            f"  it has {', '.join(kernel_names)}"
        )
    # Headers are copied, because other people's kernels include theirs; other variants are not.
    shutil.copytree(source, own, dirs_exist_ok=True, ignore=_left_out)
    for name in variant.sources:
        shutil.copy(source / name, own / name)
    if (source.parent / _BESIDE).is_dir():
        shutil.copytree(source.parent / _BESIDE, kernels / _BESIDE, dirs_exist_ok=True)
    for text in texts:  # headers of other problems too, but no problem's kernels
        for name in included(source.parent, text.source, source.name):
            path = PurePosixPath(name)
            if path.is_absolute() or path.suffix not in HEADERS or (kernels / name).exists():
                continue
            (kernels / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source.parent / name, kernels / name)
    sizes = {
        "test": problem.test or _axes(found.sizes.test),
        "bench": _axes(found.sizes.bench),
        "emulate": problem.counted or _axes(found.sizes.emulate),
    }
    written_out = {
        each.name: {**_variant(variant), **_requires(variant, each), "source": f"{each.name}.cu"}
        for each in texts
    }
    return {
        "dtypes": list(variant.dtypes),
        "sizes": {key: value for key, value in sizes.items() if value},
        "baseline": next(iter(written_out)),
        **({"requires": requires} if requires else {}),
        "variants": written_out,
    }


def included(folder: Path, text: str, place: str = ".") -> Iterator[str]:
    """List the files of a folder that a text in `place` includes, directly or through others."""
    found, todo = set[str](), [(PurePosixPath(place), text)]
    while todo:
        at, content = todo.pop()
        for named in filter(None, includes.named(content)):
            for name in {str(at / named), named}:
                file = folder / name
                if name in found or ".." in PurePosixPath(name).parts or not file.is_file():
                    continue
                found.add(name)
                if not PurePosixPath(name).is_absolute():
                    todo.append((PurePosixPath(name).parent, file.read_text()))
                yield name


@lru_cache(maxsize=64)
def _read(path: Path, text: str) -> tuple[Problem, Any]:
    """The merged problem of a bench.yaml, and its requirements; `text` is part of the cache key, so
    a changed file is read again."""
    document = strict_yaml.read(path)
    place = YamlLocation(document)
    found = merge.problem(
        path.parent.name, written.checked(written.Problem, document.data, place), place
    )
    return found, (document.data or {}).get("requires")


def _left_out(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(".cu") or name in ("__pycache__", "bench.yaml")]


def _axes(shapes: Iterable[Mapping[str, int]]) -> dict[str, Any]:
    """Sizes or launch shapes as rows under one key, as in bench.yaml."""
    rows = list(shapes)
    if not rows or not rows[0]:
        return {}
    return {", ".join(rows[0]): [list(row.values()) for row in rows]}


def _variant(variant: Variant) -> dict[str, Any]:
    """A variant with all values that it takes from its problem's defaults."""
    used = variant.used_names()
    lists = ("flags", "include", "sources", "overwrites")
    said = {
        "launch": _axes(variant.launch),
        "let": {name: str(value) for name, value in variant.let.items() if name in used},
        "when": "" if variant.when is None else str(variant.when),
        "defines": {name: str(value) for name, value in variant.defines.items()},
        **{key: list(getattr(variant, key)) for key in lists},
    }  # fmt: skip
    steps = [_step(step) for step in variant.steps]
    return {"steps": steps, **{key: value for key, value in said.items() if value}}


def _requires(variant: Variant, text: Text) -> dict[str, Any]:
    """The requirements of the variant whose launch is used, and the features that the submitted
    text uses."""
    lent = [name for name, feature in FEATURES.items() if feature in variant.needs.features]
    own = specific_in([text.source, *text.headers.values()])
    features = [*lent, *(name for name in own if name not in lent)]
    return {"requires": {"features": features}} if features else {}


def _step(step: MergedStep) -> dict[str, Any]:
    found: dict[str, Any] = {"kernel": str(step.kernel)}
    for key in ("grid", "block", "cluster"):
        if extents := getattr(step, key):
            found[key] = [str(each) for each in extents]
    args = [each.written() if isinstance(each, WrittenTensorMap) else each for each in step.args]
    return {**found, "shared": str(step.shared), "args": args}
