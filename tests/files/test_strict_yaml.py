"""YAML is read strictly: an error names the line, and accepted values are unambiguous."""

from __future__ import annotations

import gc
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import ConfigError
from harness.files import strict_yaml


def read(folder: Path, text: str | bytes) -> strict_yaml.Document:
    path = folder / "m.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return strict_yaml.read(path)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, ["a", "written twice", "first on line 1"]),
        ("x:\n  b: 2\n  b: 3\n", 3, ["x.b", "written twice", "first on line 2"]),
        ("1: a\n'1': b\n", 2, ["written twice"]),
        ("a: 1\nb: &x 2\n", 2, ["anchor &x"]),
        ("a: 1\nb: *x\n", 2, ["alias *x"]),
        ("a: 1\nb: !!str 2\n", 2, ["tag"]),
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", 2, ["tag"]),
        ("a: 1\n!!str b: 2\n", 2, ["tag"]),
        ("a:\n  <<: {b: 1}\n", 2, ["merge key <<"]),
        ("a: 1\nb: .inf\n", 2, ["b", ".inf", "not a finite number"]),
        ("a: 1\nb: -.INF\n", 2, ["b", "not a finite number"]),
        ("a: 1\nb: .nan\n", 2, ["b", ".nan", "not a finite number"]),
        ("a: 1\nb: 1.0e+400\n", 2, ["b", "not a finite number"]),
        (f"a: 1\nb: {2**64}\n", 2, ["b", "20 digits", "2^63 - 1"]),
        (f"a: 1\nb: {2**63}\n", 2, ["b", "2^63 - 1"]),
        (f"a: 1\nb: -{2**64}\n", 2, ["b", "2^63 - 1"]),
        ("a: 1\nb: 0x" + "f" * 17 + "\n", 2, ["b", "2^63 - 1"]),
        ("a: 1\nb: " + "9" * 5000 + "\n", 2, ["b", "cannot be read"]),
        ("a: 1\nb: 0777\n", 2, ["b", "would be read as 511", "decimal"]),
        ("a: 1\nb: 1:30\n", 2, ["b", "would be read as 90", "decimal"]),
        ("a: 1\nb: 1:30.5\n", 2, ["b", "would be read as 90.5"]),
        ("a: 1\nb: 2001-99-99\n", 2, ["b", "cannot be read"]),
        ("a: 1\n? [1, 2]\n: 3\n", 2, ["a key must be a word"]),
        ("a: 1\n{b: 1}: 2\n", 2, ["a key must be a word"]),
        ('a: 1\nb: "\\0"\n', 2, ["cannot be printed"]),
        ('a: 1\nb: "\\ud800"\n', 2, ["cannot be printed"]),
        ('a: 1\n"\\e[31m": 2\n', 2, ["cannot be printed"]),
        ("a: 1\n---\nb: 2\n", 2, ["not YAML"]),
        ("a: 1\n\tb: 2\n", 2, ["not YAML"]),
        ("a: [1, 2\nb: 3\n", 2, ["not YAML"]),
        (b"a: 1\nb: \xff\n", 2, ["not UTF-8"]),
        ("a: 1\nb: " + "[" * 30 + "]" * 30 + "\n", 2, ["nested too deeply"]),
    ],
)
def test_what_is_refused_is_named_with_its_line(
    tmp_path: Path, text: str | bytes, line: int, words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'm.yaml'}:{line}: ")
    for word in words:
        assert word in message
    assert len(message) < 500


@pytest.mark.parametrize(
    "text", ["[" * 5000 + "]" * 5000, "a: \x07", 'a: "\\U00110000"', "[" * 9999]
)
def test_what_the_parser_itself_gives_up_on_is_still_refused_by_name(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(ConfigError, match=r"m\.yaml"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "a:\n    b: 1\n  c: 2\n",
            3,
            "indented by 2 spaces; expected is 0 or 4, as the lines above",
        ),
        (
            "a: 1\n  b: 2\n",
            2,
            "indented by 2 spaces, below a value that is complete; expected is 0",
        ),
        ("a:\n  - k: 1\n    l: 2\n   m: 3\n", 4, "by 3 spaces; expected is 0 or 2 or 4"),
        ("# no\na:\n  b: 1\n\n    c: 2\n", 5, "by 4 spaces, below a value that is complete"),
        ("a:\n  - x\n  b: 1\n", 3, "a list's items (- …) and keys stand in one block"),
        ("a:\n\tb: 1\n", 2, "a tab in the indentation\n  indent by spaces"),
        ("a: b: c\n", 1, "a second `: ` in one line\n  quote the value that holds it"),
        ("a: 'x\nb: 1\n", 3, "while scanning a quoted scalar from line 1 on"),
    ],
)
def test_a_wrong_indentation_says_what_was_expected(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'm.yaml'}:{line}: not YAML: ")
    assert words in str(caught.value)


def test_a_place_is_a_file_a_line_and_a_key(tmp_path: Path) -> None:
    place = strict_yaml.YamlLocation(read(tmp_path, "a: 1\nb:\n  c:\n    - x\n")).at("b", "c")
    assert (str(place), place.line, place.key) == (f"{tmp_path / 'm.yaml'}:3", 3, "b.c")
    assert place.at(0).line == 4
    error = place.at(0, "no").error("what", "do this")
    assert str(error) == f"{tmp_path / 'm.yaml'}:4: b.c.0.no: what\n  do this"


def test_a_file_that_is_not_there_is_told_about_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file.*\n.*--config"):
        strict_yaml.read(tmp_path / "none.yaml")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        strict_yaml.read(tmp_path)


LARGEST = 2**17
BOMBS: dict[str, tuple[bytes, int, str]] = {
    "a Python object": (b"a: 1\nb: !!python/object:os.system {}\n", 2, "tag"),
    "aliases": (b"a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n", 1, "anchor &a"),
    "merged aliases": (b"a: 1\nb: &b {c: 1}\nd:\n  <<: [*b, *b]\n", 2, "anchor &b"),
    "merges": (b"a: 1\nb:\n  <<: [{c: 1}, {c: 2}]\n", 3, "merge key <<"),
    "100 MB": (b"a: 1\n" + b"#" * 100_000_000, 2, f"at most {LARGEST} bytes"),
    "10,000 levels of brackets": (b"a: 1\nb: " + b"[" * 10_000, 2, "nested too deeply"),
    "10,000 levels of dashes": (b"a: 1\nb:\n" + b"- " * 10_000, 3, "nested too deeply"),
    "10,000 levels of braces": (b"a:\n " + b"{a: " * 10_000, 2, "nested too deeply"),
    "one key twice": (b"a: 1\n" * 5000, 2, "written twice"),
    "values without end": (b"a:\n" + b"- 1\n" * 30_000, 11_997, "too many values"),
    "a number in base 60": (b"a: 1" + b":1" * 60_000, 1, "cannot be read"),
    "a number without end": (b"a: " + b"1" * 120_000, 1, "cannot be read"),
    "a fraction without end": (b"a: 1_" + b"0_" * 60_000 + b".5", 1, "cannot be read"),
    "a key without end": (b"a: 1\n? " + b"k" * 120_000, 2, "a key of 120000 characters"),
    "a zero byte": (b"a: 1\nb: \0\n", 2, "a character that YAML does not allow"),
}


def within_a_second(path: Path) -> ConfigError | None:
    """Read the file; return the message. Reading takes less than a second of processor time.

    Objects of other tests are exempt from garbage collection, and the fastest of three attempts is
    used, because other load on the machine must not matter.
    """
    gc.collect()
    gc.freeze()
    spent, said = [], None
    for _ in range(3):
        begun = time.process_time()
        try:
            strict_yaml.read(path)
        except ConfigError as error:
            said = error
        spent.append(time.process_time() - begun)
        if spent[-1] < 1:
            break
    assert min(spent) < 1, f"{min(spent):.2f} s"
    return said


@pytest.mark.fault(
    "a YAML file with Python objects, alias or merge bombs, 100 MB, 10,000 levels, duplicate keys",
    outcome="refused in under a second, with the file, the line and the key",
)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_within_a_second_with_its_line(tmp_path: Path, bomb: str) -> None:
    content, line, words = BOMBS[bomb]
    path = tmp_path / "m.yaml"
    path.write_bytes(content)
    said = str(within_a_second(path))
    assert said.startswith(f"{path}:{line}: ")
    assert words in said
    assert len(said) < 500


@pytest.mark.parametrize("filling", ["#\n", " ", "\n", "%a\n", '"\\n" ', "x "])
def test_the_largest_file_is_read_or_refused_within_a_second(tmp_path: Path, filling: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(filling * (LARGEST // len(filling)))
    within_a_second(path)


@pytest.mark.fault("a matrix that is a device or a pipe", outcome="refused, and nothing waits")
def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ConfigError, match="it is not a file"):
            strict_yaml.read(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on: 1\nno: 2\ny: 3\n", {"on": 1, "no": 2, "y": 3}),  # keys are just words
        ("null: 1\n~: 2\n", {"null": 1, "~": 2}),
        ("1: a\n", {"1": "a"}),
        ("a: on\nb: no\nc: True\n", {"a": True, "b": False, "c": True}),
        ("a: 'on'\n", {"a": "on"}),
        ("a:\nb: ~\n", {"a": None, "b": None}),
        ("a: 100_003\nb: 0x10\nc: 0\nd: -7\n", {"a": 100_003, "b": 16, "c": 0, "d": -7}),
        (f"a: {2**63 - 1}\n", {"a": 2**63 - 1}),
        ("a: 0.95\nb: 1e5\n", {"a": 0.95, "b": "1e5"}),  # YAML 1.1 requires a point
        ("a: 2001-01-01\n", {"a": "2001-01-01"}),
        ("a: [1, {b: x}]\n", {"a": [1, {"b": "x"}]}),
        ("a: 2**20\n", {"a": "2**20"}),
        ("", None),
        ("# only a comment\n", None),
    ],
)
def test_what_is_accepted_is_plain_data(tmp_path: Path, text: str, value: Any) -> None:
    found = read(tmp_path, text).data
    assert found == value
    assert repr(found) == repr(value)  # True is not 1 here


def test_every_value_has_its_line_and_others_that_of_their_nearest_ancestor(tmp_path: Path) -> None:
    document = read(tmp_path, "a: 1\nb:\n  c:\n    - x\n    - d: 5\n")
    path = tmp_path / "m.yaml"
    assert document.where(("a",)) == f"{path}:1"
    assert document.where(("b", "c")) == f"{path}:3"
    assert document.where(("b", "c", 0)) == f"{path}:4"
    assert document.where(("b", "c", 1, "d")) == f"{path}:5"
    assert document.where(("b", "c", 1, "none", 7)) == f"{path}:5"
    assert document.where(("none",)) == f"{path}:1"


def is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(type(k) is str and is_plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | bool | int)


YAMLISH = st.lists(
    st.sampled_from(
        ["a", "b", ": ", ":", "\n", "  ", "- ", "[", "]", "{", "}", ", ", "? ", "&x ", "*x", "!t ",
         "!!int ", "<<", "'", '"', "\\", "|", ">", "#", "%", "---", "...", "0x", "1_0", ".inf",
         "1:2", "2001-01-01", "~", "=", "\t", "\r", "\ufeff", "\x85", "\\U00110000",
         "9999999999999999999"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400)
@given(YAMLISH.map(str.encode) | st.binary(max_size=80))
def test_garbage_is_either_plain_data_or_refused_by_name(tmp_path: Path, content: bytes) -> None:
    data, said = None, b""
    try:
        data = read(tmp_path, content).data
    except ConfigError as error:
        said = str(error).encode()  # the message can be printed
    assert said == b"" or b"m.yaml" in said
    assert is_plain(data)
