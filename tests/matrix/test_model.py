"""A matrix is accepted as a whole, or rejected with file, line, key and a correction."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import V0, Edited, line_of, refusal

from harness.errors import ConfigError
from harness.matrix import model


def test_the_tiny_matrix_is_read_as_written(folder: Path) -> None:
    bench = model.load(folder / "bench.yaml")
    problem = bench.problems["double"]
    assert problem.dtypes == ("float32",)
    assert problem.sizes.test == ({"n": 1}, {"n": 33})
    assert problem.sizes.bench == ({"n": 1024},)
    assert problem.variants["v0"].launch == ({"block": 64}, {"block": 128})
    assert problem.baseline == "v0"
    assert problem.library == ()
    [step] = problem.variants["v0"].steps
    assert (str(step.kernel), step.args) == ("twice", ("input", "output", "n"))
    assert [str(extent) for extent in step.grid] == ["ceil_div(n, block)"]
    assert str(step.shared) == "0"
    assert bench.timing.rounds == 6
    assert bench.timing.confidence == 0.95
    assert bench.kernels == folder / "kernels"


def test_the_matrix_that_is_shipped_is_accepted() -> None:
    bench = model.load(Path(__file__).parents[2] / "bench.yaml")
    assert bench.problems["reduce_sum"].baseline in bench.problems["reduce_sum"].variants


@pytest.mark.parametrize(
    ("old", "new", "passage", "key", "known"),
    [
        ("timing:", "tming: 1\ntiming:", "tming", "tming", "problems, timing, limits"),
        ("timing:", "kernels: x\ntiming:", "kernels: x", "kernels", ""),
        ("timing:", "document: x\ntiming:", "document", "document", ""),
        ("  rounds: 6", "  rounds: 6\n  bach: 1", "  bach", "timing.bach", "rounds, rounds_per"),
        ("  rounds: 6", "  round: 6", "  round", "timing.round", "rounds, rounds_per_placement"),
        ("  qualify_s: 60", "  qualify: 60", "  qualify", "limits.qualify", "qualify_s, launch_s"),
        ("    dtypes", "    dtype: x\n    dtypes", "    dtype:", "problems.double.dtype", "dtypes"),
        ("      bench:", "      tests:\n        n: 1\n      bench:", "      tests",
         "problems.double.sizes.tests", "test, bench"),
        ("        source", "        sauce: x\n        source", "        sauce", f"{V0}.sauce",
         "let, when, fits, dtypes, defines"),
        ("            grid", "            grids: 1\n            grid", "            grids",
         f"{V0}.steps.0.grids", "did you mean grid?; known here: kernel, grid, block, shared"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_refused_with_its_line(
    edited: Edited, old: str, new: str, passage: str, key: str, known: str
) -> None:
    path = edited(old, new)
    message = refusal(path)
    assert message.startswith(f"{path}:{line_of(path, passage)}: {key}: unknown key")
    assert known in message


@pytest.mark.parametrize(
    ("old", "new", "passage", "key", "words"),
    [
        # --- missing
        ("            block: block\n", "", "          - kernel", f"{V0}.steps.0.block", "missing"),
        ("    baseline: v0\n", "", "  double:", "problems.double.baseline", "missing"),
        ("      test:\n        n: [1, 33]\n", "", "    sizes", "problems.double.sizes.test",
         "missing"),
        # --- written twice
        ("  rounds: 6", "  rounds: 6\n  rounds: 7", "  rounds: 7", "timing.rounds",
         "first on line"),
        # --- of the wrong type
        ("rounds: 6", 'rounds: "6"', "  rounds", "timing.rounds", "integer"),
        ("rounds: 6", "rounds: 6.0", "  rounds", "timing.rounds", "integer"),
        ("rounds: 6", "rounds: on", "  rounds", "timing.rounds", "integer"),
        ("rounds: 6", "rounds:", "  rounds", "timing.rounds", "integer"),
        ("timing:\n  rounds: 6", "timing: [1]", "timing", "timing", "dictionary"),
        ("dtypes: [float32]", "dtypes: float32", "    dtypes", "problems.double.dtypes", "list"),
        ("dtypes: [float32]", "dtypes: [float8]", "    dtypes", "problems.double.dtypes.0",
         "`float8` is not a dtype; there are float32, float64, float16, bfloat16"),
        ("dtypes: [float32]", "dtypes: [bfloat6]", "    dtypes", "problems.double.dtypes.0",
         "did you mean bfloat16?"),
        ("baseline: v0", "baseline: on", "    baseline", "problems.double.baseline", "string"),
        ("kernel: twice", "kernel: no", "          - kernel", f"{V0}.steps.0.kernel", "string"),
        ("kernel: twice", 'kernel: ""', "          - kernel", f"{V0}.steps.0.kernel",
         "the name of a kernel"),
        ("kernel: twice", "kernel: twice;", "          - kernel", f"{V0}.steps.0.kernel",
         "not the name of a kernel"),
        ("kernel: twice", "kernel: twice<{block //}>", "          - kernel",
         f"{V0}.steps.0.kernel", "`block //` is not an expression"),
        ("kernel: twice", "kernel: twice<{block>", "          - kernel", f"{V0}.steps.0.kernel",
         "cut short: quote it"),
        ("args: [input, output, n]", "args: [yes]", "            args", f"{V0}.steps.0.args.0",
         "name of a buffer, a number or an expression"),
        ("args: [input, output, n]", "args: input", "            args", f"{V0}.steps.0.args",
         "list"),
        ("block: block", "block: on", "            block", f"{V0}.steps.0.block",
         "integer expression such as"),
        ("block: block", "block: 1.5", "            block", f"{V0}.steps.0.block",
         "integer expression such as"),
        # --- out of range
        ("rounds: 6", "rounds: 5", "  rounds", "timing.rounds", "greater than or equal to 6"),
        ("rounds: 6", "rounds: 6\n  confidence: 1.0", "  confidence", "timing.confidence",
         "equal to 0.9999"),
        ("rounds: 6", "rounds: 6\n  seed: -1", "  seed", "timing.seed", "greater than or equal"),
        ("qualify_s: 60", "qualify_s: 0", "  qualify_s", "limits.qualify_s", "greater than"),
        ("rounds: 6", "rounds: .inf", "  rounds", "timing.rounds", "not a finite number"),
        ("rounds: 6", "rounds: .nan", "  rounds", "timing.rounds", "not a finite number"),
        ("rounds: 6", f"rounds: {2**64}", "  rounds", "timing.rounds", "2^63 - 1"),
        ("rounds: 6", "rounds: 1:30", "  rounds", "timing.rounds", "decimal"),
        # --- expressions
        ("grid: ceil_div(n, block)", "grid: ceil_div(n block)", "            grid",
         f"{V0}.steps.0.grid", "not an expression"),
        ("grid: ceil_div(n, block)", "grid: n / block", "            grid", f"{V0}.steps.0.grid",
         "write //"),
        ("grid: ceil_div(n, block)", "grid: open(n)", "            grid", f"{V0}.steps.0.grid",
         "`open(n)` is not allowed"),
        ("grid: ceil_div(n, block)", "grid: [1, 1, 1, 1]", "            grid",
         f"{V0}.steps.0.grid", "one to three"),
        ("grid: ceil_div(n, block)", "grid: []", "            grid", f"{V0}.steps.0.grid",
         "one to three"),
        ("source: v0.cu", "source: v0.cu\n        when: block >", "        when", f"{V0}.when",
         "not an expression"),
        ("source: v0.cu", 'source: v0.cu\n        defines: {A: "1 +"}', "        defines",
         f"{V0}.defines.A", "not an expression"),
        ("qualify_s: 60", "emulate_bytes: 1.5", "  emulate_bytes", "limits.emulate_bytes",
         "integer"),
        # --- names
        ("      v0:", "      0v:", "      0v", "problems.double.variants.0v", "a letter, then"),
        ("      v0:", '      "v/0":', '      "v/0"', "problems.double.variants.v/0",
         "a letter, then"),
        ("  double:", '  "..":', '  ".."', "problems...", "a letter, then"),
        ("source: v0.cu", "source: v0.cu\n        let: {a b: 1}", "        let", f"{V0}.let.a b",
         "a letter, then"),
        ("source: v0.cu", "source: v0.cu\n        defines: {A-B: 1}", "        defines",
         f"{V0}.defines", "`A-B` is not the name of a macro"),
        # --- contradictions
        ("baseline: v0", "baseline: v9", "    baseline", "problems.double.baseline",
         "`v9` is not a variant; there are v0"),
        ("baseline: v0", "baseline: v0\n    library: cublas", "    library",
         "problems.double.library", "'torch'"),
        ("dtypes: [float32]", "dtypes: [float32, float32]", "    dtypes", "problems.double.dtypes",
         "twice"),
        ("n: [2**10]", "m: [2**10]", "    sizes", "problems.double.sizes", "same names"),
        ("block: [64, 128]", "n: [64]", "    launch", "problems.double.launch", "name of a size"),
        # --- sources
        ("source: v0.cu", "source: /etc/v0.cu", "        source", f"{V0}.source", "no absolute"),
        ("source: v0.cu", "source: ../double/v0.cu", "        source", f"{V0}.source", "no .."),
        ("source: v0.cu", "source: a/../../v0.cu", "        source", f"{V0}.source", "no .."),
        ("source: v0.cu", r"source: a\v0.cu", "        source", f"{V0}.source", "lies in its"),
        ("source: v0.cu", "source: v0.txt", "        source", f"{V0}.source", ".cu or .ptx file"),
        ("source: v0.cu", 'source: ""', "        source", f"{V0}.source", ".cu or .ptx file"),
        ("source: v0.cu", "source: " + "a" * 5000 + ".cu", "        source", f"{V0}.source",
         "up to 200 printable"),
        ("source: v0.cu", "source: v1.cu", "        source", f"{V0}.source",
         "the folder holds v0.cu"),
        ("  double:", "  triple:", "  triple", "problems.triple", "problem.py does not exist"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_file_line_key_and_what_would_be_right(
    edited: Edited, old: str, new: str, passage: str, key: str, words: str
) -> None:
    path = edited(old, new)
    message = refusal(path)
    text = path.read_text()
    line = text[: text.rindex(passage)].count("\n") + 1
    assert message.startswith(f"{path}:{line}: {key}: ")
    assert words in message


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("rounds: &x 6", "anchor &x"),
        ("rounds: *x", "alias *x"),
        ("rounds: !!int 6", "tag"),
        ("<<: {rounds: 6}", "merge key"),
    ],
)
def test_what_hides_a_value_behind_another_is_refused_with_its_line(
    edited: Edited, new: str, words: str
) -> None:
    path = edited("rounds: 6", new)
    message = refusal(path)
    assert message.startswith(f"{path}:{line_of(path, new)}: ")
    assert words in message


@pytest.mark.parametrize("text", ["", "{}", "# nothing\n", "[]", "- problems\n", "hello\n"])
def test_an_empty_matrix_is_refused_with_what_it_needs(folder: Path, text: str) -> None:
    path = folder / "bench.yaml"
    path.write_text(text)
    message = refusal(path)
    assert str(path) in message
    assert "`problems:`" in message


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("problems: {}\n", "problems"),
        ("problems: []\n", "problems"),
        ("problems:\n", "problems"),
        ("problems: {double: }\n", "problems.double"),
        ("problems: {double: hello}\n", "problems.double"),
    ],
)
def test_a_matrix_with_nothing_to_run_is_refused(folder: Path, text: str, key: str) -> None:
    path = folder / "bench.yaml"
    path.write_text(text)
    assert refusal(path).startswith(f"{path}:1: {key}: ")


def test_a_problem_with_no_variants_is_refused(folder: Path) -> None:
    path = folder / "bench.yaml"
    text = path.read_text()
    path.write_text(text[: text.index("    variants:")] + "    variants: {}\n")
    assert f"{path}:{line_of(path, '    variants')}: problems.double.variants" in refusal(path)


def test_a_variant_with_no_steps_is_refused(folder: Path) -> None:
    path = folder / "bench.yaml"
    text = path.read_text()
    path.write_text(text[: text.index("        steps:")] + "        steps: []\n")
    assert f"{path}:{line_of(path, '        steps')}: {V0}.steps" in refusal(path)


def test_a_variant_called_torch_is_refused(edited: Edited) -> None:
    edited("baseline: v0", "baseline: torch")
    path = edited("      v0:", "      torch:")
    message = refusal(path)
    assert message.startswith(f"{path}:{line_of(path, '      torch:')}: problems.double.variants")
    assert "choose another" in message


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("grid: ceil_div(n, block)", "grid: [ceil_div(n, 32), 1]", "steps.0.grid"),
        ("args: [input, output, n]", "args: [input, min(n, 3)]", "steps.0.args.1"),
        ("source: v0.cu", "let: {blocks: ceil_div(n, block)}", "let.blocks"),
        ("source: v0.cu", "defines: {B: max(n, 2)}", "defines"),
    ],
)
def test_an_expression_that_yaml_cut_at_its_comma_is_to_be_quoted(
    edited: Edited, old: str, new: str, key: str
) -> None:
    message = refusal(edited(old, new))
    first, _, more = message.partition("\n")
    assert f": {V0}.{key}: " in first
    assert more.startswith("  quote it: inside [ ] and { } a comma ends a YAML value")


def test_a_key_that_is_the_rest_of_a_cut_value_is_called_so(edited: Edited) -> None:
    path = edited("source: v0.cu", "let: {a: 1, block): 2}")
    assert f"{V0}.let.block): `block)` is the rest of a value that a comma split" in refusal(path)
    path = edited("let: {a: 1, block): 2}", "source: v0.cu")
    path = edited("          - kernel: twice\n            grid: ceil_div(n, block)\n",
                  "          - {kernel: twice<float, 4>, grid: 1, block: 1, args: []}\n"
                  "          - kernel: twice\n            grid: 1\n")  # fmt: skip
    message = refusal(path)
    assert f"{V0}.steps.0.kernel: `twice<float` is cut short: quote it" in message
    assert f"{V0}.steps.0.4>: the rest of a value that a comma cut" in message


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("-O1", ""),
        ("--use_fast_math", ""),
        ("-Xptxas=-dlcm=cg", ""),
        ("-std=c++20", ""),
        ("-dlto", ""),
        ("-DX=1", "write it under defines:"),
        ("-Ifolder", "write it under include:"),
        ("--include=x.h", "write it under sources:"),
        ("--options-file=x.txt", "write its options here"),
        ("-optf=x.txt", "write its options here"),
        ("-arch=sm_80", "give --arch"),
        ("--gencode=arch=compute_80", "give --arch"),
        ("-o", "the harness says what nvcc makes"),
        ("--ptx", "the harness says what nvcc makes"),
        ("-rdc=true", "one unit is compiled at a time"),
        ("32", "is not an nvcc option; join an option and its value with ="),
        ("other.cu", "is not an nvcc option"),
        ("-", "is not an nvcc option"),
    ],
)
def test_a_flag_that_changes_what_is_made_is_refused_with_what_to_do(
    edited: Edited, flag: str, words: str
) -> None:
    path = edited("source: v0.cu", f"source: v0.cu\n        flags: ['{flag}']")
    if words:
        assert words in refusal(path)
        assert f"{V0}.flags.0: `{flag}` is " in refusal(path)
    else:
        assert model.load(path).problems["double"].variants["v0"].flags == (flag,)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("include: [nowhere]", "include.0", "kernels/double/nowhere and no"),
        ("include: [../double]", "include.0", "no absolute path, no .."),
        ('include: ["package:vendor/../.."]', "include.0", "no absolute path, no .."),
        ("sources: [more.cu]", "sources.0", "more.cu does not exist"),
        ("sources: [more.h]", "sources.0", "a source is a .cu file"),
        ("sources: ['a\"b.cu']", "sources.0", "no quotation mark"),
    ],
)
def test_a_file_for_the_compiler_that_is_not_there_is_refused(
    edited: Edited, text: str, key: str, words: str
) -> None:
    message = refusal(edited("source: v0.cu", f"source: v0.cu\n        {text}"))
    assert f"{V0}.{key}: " in message
    assert words in message


@pytest.mark.parametrize("key", ["<a", "[key]", "<list>", "<"])
def test_a_key_that_looks_like_a_mark_of_pydantics_is_named(edited: Edited, key: str) -> None:
    path = edited("        source: v0.cu\n", f"        source: v0.cu\n        '{key}': 1\n")
    line = line_of(path, f"        '{key}'")
    assert refusal(path).startswith(f"{path}:{line}: {V0}.{key}: ")


@pytest.mark.fault(
    "a name of over 100 letters in a matrix", outcome="refused with the file, the line and the key"
)
def test_a_name_that_no_file_can_have_is_refused(edited: Edited) -> None:
    path = edited("      v0:\n", f"      {'v' * 101}:\n")
    assert "a name of 101 letters; at most 100" in refusal(path)


def test_several_mistakes_are_all_named(edited: Edited) -> None:
    path = edited(
        "        source: v0.cu\n", "        source: v0.cu\n        bad: 1\n        bade: 2\n"
    )
    message = refusal(path)
    assert f"{path}:{line_of(path, '        bad:')}: {V0}.bad: unknown key" in message
    assert f"{path}:{line_of(path, '        bade')}: {V0}.bade: unknown key" in message


def test_a_missing_problem_py_is_refused_with_where_to_read_on(folder: Path) -> None:
    (folder / "kernels" / "double" / "problem.py").unlink()
    message = refusal(folder / "bench.yaml")
    assert message.startswith(f"{folder / 'bench.yaml'}:2: problems.double: ")
    assert "new my_problem" in message


@pytest.mark.parametrize(
    ("text", "looks"),
    [("rounds: 6", (3,)), ("rounds: 20", (7,)), ("rounds: auto", (8, 16, 24)),
     ("placements: [4, 9]", (4, 9)), ("rounds: 20\n  rounds_per_placement: 1", (20,))],
)  # fmt: skip
def test_rounds_are_spread_over_placements(
    edited: Edited, text: str, looks: tuple[int, ...]
) -> None:
    assert model.load(edited("rounds: 6", text)).timing.looks == looks


@pytest.mark.parametrize("text", ["placements: [2, 8]", "placements: [8, 8]", "placements: []",
                                  "placements: [8, 4]", "placements: [on]"])  # fmt: skip
def test_looks_that_do_not_rise_from_three_are_refused(edited: Edited, text: str) -> None:
    assert "timing.placements" in refusal(edited("rounds: 6", text))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None
)
@given(data=st.data())
def test_any_value_anywhere_is_accepted_or_refused_as_a_configuration_error(
    folder: Path, data: st.DataObject
) -> None:
    lines = (folder / "bench.yaml").read_text().splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    value = data.draw(
        st.sampled_from(["~", "[]", "{}", "-1", "1.5", "on", "no", "''", "{a: 1}", "[[1]]", "2**63",
                         "1//0", "0x10", "x" * 300, "'\\'", "torch", "1e9", "[on, no]", "|"])
    )  # fmt: skip
    path = folder / "changed.yaml"
    changed = [*lines[:at], f"{lines[at].partition(':')[0]}: {value}", *lines[at + 1 :]]
    path.write_text("\n".join(changed) + "\n")
    said = ""
    try:
        model.load(path)
    except ConfigError as error:
        said = str(error)
    assert said == "" or "changed.yaml" in said
