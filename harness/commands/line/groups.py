"""Groups of options, each declared once as the fields of a class and shared by several commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

from harness.commands.line import options

if TYPE_CHECKING:
    from harness.commands.printed.results import OutputOptions
    from harness.matrix.filters import Choice


@dataclass(frozen=True)
class MatrixOptions:
    """Options that choose the matrix, its cases and the backend."""

    config_path: options.Config = None
    kernels: options.Kernels = None
    backend: options.Backend = "auto"
    only: options.Only = field(default_factory=list)
    size: options.Size = field(default_factory=list)
    dtype: options.Dtype = field(default_factory=list)
    launch: options.Launch = field(default_factory=list)
    quick: options.Quick = False
    arch: options.Arch = None

    @property
    def choice(self) -> Choice:
        from harness.matrix.filters import Choice

        return Choice(
            tuple(self.only), tuple(self.size), tuple(self.dtype), tuple(self.launch), self.quick
        )


@dataclass(frozen=True)
class RunOptions:
    """The options for a run's folder, its cores, and its final output."""

    out: options.Out = None
    jobs: options.Jobs = 0
    in_sandbox: options.Sandbox = False
    anew: options.Anew = False
    quiet: options.Quiet = False
    as_json: options.AsJson = None
    as_markdown: options.AsMarkdown = None
    baseline: options.SaveBaseline = None

    @property
    def told(self) -> OutputOptions:
        from harness.commands.printed.results import OutputOptions

        return OutputOptions(self.quiet, self.as_json, self.as_markdown)


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give the command an option for each field of each parameter that is an option group.

    Typer reads the returned function's signature; the command receives each group as one argument.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _options_of(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def expanded(**given: Any) -> None:
        taken = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        command(**taken, **given)

    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {each.name: each.annotation for each in parameters}
    return expanded


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            each.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=hints[each.name],
            default=each.default if each.default is not MISSING else [],
        )
        for each in fields(group)
    ]  # fmt: skip
