"""A reply to a line that cannot be read has the line's id, and names what is wrong with it."""

from __future__ import annotations

import json
import time
from typing import Any

import affine
import pytest

from harness.judge.serve import protocol
from harness.judge.submissions import SUBMISSION


def refused(line: bytes | str) -> tuple[Any, protocol.Error]:
    with pytest.raises(protocol.BadRequest) as caught:
        protocol.read(line.encode() if isinstance(line, str) else line)
    answer = caught.value.answer
    assert answer.error
    assert protocol.ANSWER.dump_json(answer)
    return answer.id, answer.error


@pytest.mark.fault(
    "a request with half of a surrogate pair in a text, which JSON's grammar allows",
    "the reply has the request's id and names the field",
)
@pytest.mark.parametrize(
    ("line", "id_", "at"),
    [
        (r'{"id": 7, "kernels": [{"source": "// \ud800"}]}', 7, "kernels.0.source"),
        (r'{"kernels": [{"source": "\ud800 \"id\": 3", "id": 4}], "id": "a\"b"}', 'a"b',
         "kernels.0.source"),
        (r'{"kernels": [{"headers": {"\udc00.cuh": ""}}], "id": -8}', -8,
         "kernels.0.headers.�.cuh"),
        (r'{"id": "\ud800"}', None, "id"),
    ],
)  # fmt: skip
def test_a_lone_surrogate_is_refused_with_its_field_and_the_lines_id(
    line: str, id_: object, at: str
) -> None:
    found, error = refused(line)
    assert (found, error.kind, error.at) == (id_, "not-a-request", at)
    assert "half of a surrogate pair" in error.message


def test_a_line_that_is_too_deep_or_too_long_is_refused_with_its_id() -> None:
    deep = "[" * 300 + "]" * 300
    for line in (f'{{"id": "x", "kernels": {deep}}}', f'{{"kernels": {deep}, "id": "x"}}'):
        found, error = refused(line)
        assert found == "x"
        assert "nested too deeply" in error.message
    found, error = refused('{"id": 5, "kernels": "' + "x" * protocol.LONGEST)
    assert found == 5
    assert "too long: a request has at most 4,194,304 bytes" in error.message


@pytest.mark.parametrize(
    ("line", "id_"),
    [('{"id": 1, ', 1), ('{"id": 12', None), ('{"id": 1.5, ', None), ('{"id": true, ', None),
     ('[{"id": 1}, ', None), ('{"a": {"id": 1}, ', None), ('{"a": "id", "id" : "b" ', "b")],
)  # fmt: skip
def test_a_broken_line_has_the_id_of_its_top_level_alone(line: str, id_: object) -> None:
    assert refused(line)[0] == id_


@pytest.mark.parametrize("part", [b"{", b'\\"', b'""', b'"x" ', b'"id":1', b"\\", b'{"id":'])
def test_no_line_takes_long_to_be_searched_for_an_id(part: bytes) -> None:
    began = time.process_time()
    refused(b'{"' + part * (protocol.LONGEST // len(part)))
    assert time.process_time() - began < 5


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize(
    ("at", "of"),
    [
        ("problem.tolerance", lambda value: {"tolerance": value}),
        ("problem.tolerance", lambda value: {"tolerance": [1e-3, value]}),
        ("problem.scalars.a", lambda value: {"scalars": {"a": value}}),
        ("problem.limits.x", lambda value: {"limits": {"x": [0, value]}}),
        ("problem.test", lambda value: {"test": {"n": [1, value]}}),
        ("problem.timed", lambda value: {"timed": {"n": value}}),
        ("problem.counted", lambda value: {"counted": {"n": [value]}}),
    ],
)  # fmt: skip
def test_a_number_that_is_not_finite_is_refused_with_its_field(
    at: str, of: Any, value: float
) -> None:
    good = json.loads(SUBMISSION.dump_json(affine.submission("right")))
    problem = {**good["problem"], **of(value)}
    found, error = refused(json.dumps({**good, "id": 3, "problem": problem}))
    assert (found, error.kind, error.at) == (3, "not-a-request", at)
    assert error.message == f"{value} is not finite"


def test_a_negative_tolerance_is_refused_with_its_field() -> None:
    good = json.loads(SUBMISSION.dump_json(affine.submission("right")))
    problem = {**good["problem"], "tolerance": [1e-3, -1]}
    _, error = refused(json.dumps({**good, "problem": problem}))
    assert error.at == "problem.tolerance"
    assert "-1 is negative" in error.message
