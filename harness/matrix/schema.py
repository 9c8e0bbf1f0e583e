"""The JSON Schema of a matrix, generated from the models that read it.

`problem`: for a bench.yaml in a problem's folder. `matrix`: for the top-level one. Keys that are
valid alone but not together, and invalid expressions, are found only by the harness.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from harness.matrix import written
from harness.matrix.values import Name

DIALECT = GenerateJsonSchema.schema_dialect


class _Matrix(written.Top):
    """The top-level bench.yaml: the settings common to all problems."""

    problems: dict[Name, written.Problem | None] | list[Name] | None = None
    """The problems of the run; by default, every folder of kernels/ that has a bench.yaml."""


class _Schema(GenerateJsonSchema):
    ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """Leave out defaults whose form in the schema is not valid in a file, because editors would
        insert them."""
        found = super().default_schema(schema)
        if not isinstance(found.get("default"), str | int | float) or found["default"] == "":
            found.pop("default", None)
        return found


def problem() -> dict[str, Any]:
    return _of(written.Problem, "bench.yaml of a problem")


def matrix() -> dict[str, Any]:
    return _of(_Matrix, "bench.yaml at the top")


def _of(model: type[BaseModel], title: str) -> dict[str, Any]:
    found = model.model_json_schema(schema_generator=_Schema)
    told = {
        **_told(inspect.getsource(written)),
        model.__name__: _told(inspect.getsource(model)).get(model.__name__, {}),
    }
    for name, each in [(model.__name__, found), *found.get("$defs", {}).items()]:
        for key, value in each.get("properties", {}).items():
            if text := _inherited(name, key, told):
                value["description"] = text
    return {"$schema": DIALECT, **found, "title": title}


def _inherited(model: str, key: str, told: dict[str, dict[str, str]]) -> str:
    kinds = getattr(written, model, _Matrix).__mro__
    return next((told[k.__name__][key] for k in kinds if key in told.get(k.__name__, {})), "")


def _told(source: str) -> dict[str, dict[str, str]]:
    """Class → key → the docstring that follows it."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            own = found[node.name] = {}
            for key, below in zip(node.body, node.body[1:], strict=False):
                match key, below:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        own[name] = inspect.cleandoc(text)
    return found
