"""One row of the table of machine instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.emulator.sass import layout
from harness.emulator.sass.instructions.harmless import Reasons

Flags = Mapping[str, int]
Groups = tuple[Flags, ...]


@dataclass(frozen=True)
class Row:
    """One row of the table.

    `groups`: the modifiers with an effect, and their flags; the modifiers of a group exclude each
    other. `harmless`: the modifiers that change no result, with the reason. `always`: flags that
    need no modifier. `space`: a memory access's state space.
    """

    name: str
    shape: tuple[str, ...]
    handler: str
    groups: Groups
    harmless: Reasons
    control: int = layout.PLAIN
    always: int = 0
    space: int = layout.GLOBAL
    is_uniform: bool = False
    defaults: Flags | None = None


def row(
    name: str, shape: str, handler: str = "", groups: Groups | Flags = (),
    control: int = layout.PLAIN, *, harmless: Reasons | None = None, **more: object,
) -> Row:  # fmt: skip
    alone = (groups,) if isinstance(groups, Mapping) else groups
    return Row(name, tuple(shape.split()), handler or name, alone, harmless or {}, control, **more)  # type: ignore[arg-type]
