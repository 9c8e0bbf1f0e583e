"""Lower accesses to textures and surfaces."""

from __future__ import annotations

from harness.emulator.engine.lowering.register_rows import Emitter
from harness.emulator.program.decode.textures import BEYOND, SHAPES
from harness.emulator.program.ir import Op

_SHAPES = tuple(SHAPES)
_BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


class TextureEncoder(Emitter):
    """Encodes accesses to textures and surfaces. In these operations, the field `space` holds the
    shape, `kind` is 1 for surfaces, and `cost` is the index of the first value among the operands.
    """

    def _op_tex(self, op: Op) -> None:
        shape, coordinates = op.variant
        rows = [self.result(op, n, optional=True) for n in range(len(op.results))]
        self.emit(
            f"tex/{coordinates}", rows, self.sources(op), site=op.site, space=_SHAPES.index(shape)
        )

    def _op_suld(self, op: Op) -> None:
        rows = [self.widened(op, n, optional=True) for n in range(len(op.results))]
        self._of_surface(op, "suld", rows, len(rows))

    def _op_sust(self, op: Op) -> None:
        self.only_judged("stores to surfaces")
        self._of_surface(op, "sust", [], len(op.sources) - 1 - SHAPES[op.variant[0]])

    def _of_surface(self, op: Op, name: str, rows: list[int], count: int) -> None:
        shape, type_, beyond = op.variant
        self.emit(
            f"{name}/{_BYTES[type_]}", rows, self.sources(op), site=op.site, width=_BYTES[type_],
            count=count, space=_SHAPES.index(shape), kind=1, cost=1 + SHAPES[shape],
            immediate=BEYOND.index(beyond),
        )  # fmt: skip
