"""`list --resolved`: each variant with all its values, its own and the defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table

from harness.console.progress import console
from harness.files.strict_yaml import Key
from harness.matrix import model, selection
from harness.matrix.variants import MergedStep, Problem, Variant

Row = tuple[str, str, tuple[Key, ...]]
"""A key, its value, and its path in the variant."""


def show(bench: model.Bench, patterns: Sequence[str]) -> None:
    """Print the chosen variants and libraries, each value with the line that sets it."""
    for name, wanted in selection.rows(bench, patterns).items():
        problem = bench.problems[name]
        console.print(
            f"{name}, as {problem.place.document.path} has it",
            markup=False, style="bold", soft_wrap=False,
        )  # fmt: skip
        for variant in problem.everything():
            if variant.name in wanted:
                console.print(_table(problem, variant), soft_wrap=False)


def _table(problem: Problem, variant: Variant) -> Table:
    place = variant.place()
    file = place.document.path.name
    table = Table(
        "key", "value", "from", title=f"{problem.name}/{variant.name}", title_justify="left",
        box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False, title_style="bold",
    )  # fmt: skip
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    table.columns[1].overflow = "fold"
    for key, value, path in rows(problem, variant):
        known = path in variant.places
        table.add_row(
            f"  {key}", value, f"{file}:{variant.place(*path).line}" if known else "default"
        )
    return table


def rows(problem: Problem, variant: Variant) -> Iterator[Row]:
    """List a variant's settings: each key, its value, and its path in Variant.places."""
    role = "baseline" if variant.name == problem.baseline else ""
    role = "library" if variant.as_library else role
    how = ", compiled by torch.compile" if variant.compiled else ""
    yield "", f"{role or 'variant'}, {_KINDS[variant.kind]}{how}", ()
    yield from _in_the_ladder(variant)
    if variant.function:
        yield variant.kind, variant.function, ("function",)
    elif variant.source:
        yield "source", variant.source, ("source",)
    for key in ("dtypes", "overwrites", "flags", "include", "sources"):
        if values := getattr(variant, key):
            yield key, ", ".join(values), (key,)
    for name in variant.launch[0]:
        values = dict.fromkeys(str(shape[name]) for shape in variant.launch)
        yield f"launch.{name}", ", ".join(values), ("launch",)
    if variant.when is not None:
        yield "when", str(variant.when), ("when",)
    used = {*variant.used_names(), *variant.own_let}
    for name, value in variant.let.items():
        if name in used:
            yield f"let.{name}", str(value), ("let", name)
    for name, value in variant.defines.items():
        yield f"defines.{name}", str(value), ("defines", name)
    yield from (
        (f"expect.{name}", str(budget), ("expect", name)) for name, budget in variant.expect.items()
    )
    if variant.args:
        yield "args", ", ".join(map(str, variant.args)), ("args",)
    for index, step in enumerate(variant.steps):
        yield from _step(index, step)


def _in_the_ladder(variant: Variant) -> Iterator[Row]:
    """The variant's place in the ladder, and its purpose."""
    if variant.builds_on:
        yield "builds_on", variant.builds_on, ("builds_on",)
    if variant.idea:
        key = "trap" if variant.is_trap else "idea"
        yield key, variant.idea, (key,)


def _step(index: int, step: MergedStep) -> Iterator[Row]:
    at = ("steps", index)
    yield f"step {index + 1}", str(step.kernel), (*at, "kernel")
    for key in ("grid", "block", "cluster"):
        if extents := getattr(step, key):
            yield f"  {key}", ", ".join(map(str, extents)), (*at, key)
    yield "  shared", str(step.shared), (*at, "shared")
    yield "  args", ", ".join(map(str, step.args)), (*at, "args")


_KINDS = {
    "kernel": "kernels of a .cu file", "python": "a Python function",
    "host": "a host function of a .cu file", "library": "problem.py's library()",
}  # fmt: skip
