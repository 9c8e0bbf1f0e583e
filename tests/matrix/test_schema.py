"""The JSON Schema of bench.yaml accepts and rejects the same files as the harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from harness.commands import new
from harness.errors import ConfigError
from harness.matrix import model

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "harness" / "schemas"
RIGHT = """\
dtypes: [float32]
sizes: {test: {n: [1, 33]}, bench: {n: [2**20]}}
launch: {block: [128]}
baseline: v0
defaults:
  let: {blocks: "ceil_div(n, block)"}
  steps: {twice: {grid: blocks, block: block, args: [x, y, n]}}
variants:
  v0: {}
  v1: {builds_on: v0, idea: coalescing, expect: {spills: none}}
"""


def mistakes(name: str, data: Any) -> list[str]:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    found = list(jsonschema.Draft202012Validator(schema).iter_errors(data))
    for error in found:
        found.extend(error.context)  # why none of the alternative forms matches
    return [f"{error.json_path}: {error.message}" for error in found]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "kernels").glob("*/bench.yaml")), ids=lambda path: path.parent.name
)
def test_every_matrix_of_a_problem_is_right_by_the_schema(path: Path) -> None:
    assert mistakes("problem", yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize("path", ["bench.yaml", "tests/faulty/bench.yaml"])
def test_the_matrix_at_the_top_is_right_by_the_schema(path: str) -> None:
    assert mistakes("matrix", yaml.safe_load((ROOT / path).read_text())) == []


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        (("baseline: v0", "baselin: v0"), "$: "),
        (("dtypes: [float32]", "dtypes: [flota32]"), "$.dtypes[0]"),
        (("dtypes: [float32]", "dtypes: float32"), "$.dtypes"),
        (("bench: {n: [2**20]}", "bench: {n: []}"), "$.sizes.bench.n"),
        (("sizes: {test: {n: [1, 33]}, ", "sizes: {"), "$.sizes"),
        (("block: block,", "blocks: block,"), "$.defaults.steps.twice"),
        (("idea: coalescing", "idea: coalesced"), "$.variants.v1.idea"),
        (("{spills: none}", "{spilled: none}"), "$.variants.v1.expect"),
        (("{spills: none}", "{spills: [1]}"), "$.variants.v1.expect.spills"),
        (("builds_on: v0", "builds_on: 0"), "$.variants.v1.builds_on"),
        (("launch: {block: [128]}", "launch: [128]"), "$.launch"),
        (("grid: blocks", "grid: [1, 1, 1, 1]"), "$.defaults.steps.twice.grid"),
        (("  v0: {}\n", "  v0: {source: v0.cpp}\n"), "$.variants.v0.source"),
        (("args: [x,", "args: [{tensor_map: x, shape: [n]},"), "$.defaults.steps.twice.args[0]"),
    ],
)
def test_a_wrong_matrix_is_wrong_by_the_schema_and_by_the_harness(
    wrong: tuple[str, str], where: str, tmp_path: Path
) -> None:
    assert mistakes("problem", yaml.safe_load(RIGHT)) == []
    assert wrong[0] in RIGHT
    text = RIGHT.replace(*wrong)
    assert any(found.startswith(where) for found in mistakes("problem", yaml.safe_load(text)))
    folder = tmp_path / "kernels" / "twice"
    folder.mkdir(parents=True)
    (folder / "bench.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"bench.yaml:\d+"):
        model.load(None, tmp_path / "kernels")


def test_a_problem_within_the_matrix_at_the_top_is_held_to_the_same() -> None:
    within = {"timing": {"rounds": 6}, "problems": {"twice": yaml.safe_load(RIGHT), "other": None}}
    assert mistakes("matrix", within) == []
    within["problems"]["twice"]["baselin"] = "v0"
    assert mistakes("matrix", within) != []
    assert mistakes("matrix", {"timing": {"rounds": 5}}) != []


def test_an_editor_is_told_what_a_key_is() -> None:
    schema = json.loads((SCHEMAS / "problem.schema.json").read_text())
    keys = schema["$defs"]["Variant"]["properties"]
    assert keys["builds_on"]["description"] == ("The variant that this one improves on by a step.")
    assert keys["let"]["description"] == "Names for expressions that other keys use."
    assert "default" not in keys["launch"], "in a file it has another form"


def test_the_schemas_are_up_to_date() -> None:
    import importlib.util  # a script outside the package

    found = importlib.util.spec_from_file_location("schemas", ROOT / "scripts/pages/schemas.py")
    assert found is not None
    assert found.loader is not None
    script = importlib.util.module_from_spec(found)
    found.loader.exec_module(script)
    assert script.main(["--check"]) == 0


@pytest.mark.parametrize("inside", [True, False], ids=["in the clone", "elsewhere"])
def test_what_new_writes_names_a_schema_that_is_there_and_by_which_it_is_right(
    inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if inside:
        monkeypatch.setattr(new, "SCHEMAS", tmp_path / "harness" / "schemas")
        (tmp_path / "harness" / "schemas").parent.mkdir()
        (tmp_path / "harness" / "schemas").symlink_to(SCHEMAS)
    folder = Path("kernels") / "mine"
    new.write(folder)
    text = (folder / "bench.yaml").read_text()
    named = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert named.startswith("../../harness/") == inside
    assert (folder / named).resolve() == SCHEMAS / "problem.schema.json"
    assert mistakes("problem", yaml.safe_load(text)) == []
