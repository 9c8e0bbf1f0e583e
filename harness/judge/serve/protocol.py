"""The line protocol of `serve`: a request in, a reply out, each one line of JSON.

The models are published as harness/schemas/judge.schema.json. Fields are only ever added; `version`
changes if a field has to change its meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import from_json

from harness.console.suggestions import did_you_mean
from harness.judge.serve import unreadable
from harness.judge.submissions import CONFIG, Submission
from harness.judge.verdicts import VERSION, Verdict

Id = int | str | None
"""A request's id, chosen by the client; the answer has the same one."""

LONGEST = 4 << 20
"""The most bytes of a request."""

ErrorKind = Literal["not-json", "not-a-request", "refused", "no-gpu", "stopped"]
"""not-json: the line is not JSON, or is too long or too deep to be read. not-a-request: it does not
follow the schema. refused: it does not make a matrix that can be run. no-gpu: a time was requested,
and there is no GPU. stopped: the judge has ended meanwhile."""


@dataclass(config=CONFIG)
class Request(Submission):
    """A submission, and the name under which it is answered."""

    id: Id = None
    version: Annotated[int, Field(ge=1, le=VERSION)] = VERSION


@dataclass(config=CONFIG)
class Error:
    """The reason why a request has no verdict. at: the invalid field, such as `kernels.0.grid`."""

    kind: ErrorKind
    message: str
    at: str = ""


@dataclass(config=CONFIG)
class Answer:
    """A verdict for each kernel of a request, in order; or the reason for having none."""

    id: Id
    verdicts: list[Verdict] = Field(default_factory=list)
    error: Error | None = None
    version: int = VERSION


@dataclass(config=CONFIG)
class Ready:
    """The first line that `serve` writes."""

    ready: Literal[True]
    jobs: int
    sandbox: bool
    """True if submissions are judged inside a sandbox."""
    version: int = VERSION


REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
READY: TypeAdapter[Ready] = TypeAdapter(Ready)

EXCHANGE = TypeAdapter[Any](Request | Answer | Ready)
"""All messages, for the schema."""


class BadRequest(Exception):
    """Raised for a line that is not a valid request. answer: the reply to the sender."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error.message if answer.error else "")
        self.answer = answer


def read(line: bytes) -> Request:
    """Parse the request in a line. Raises BadRequest with a reply that names the error."""
    if len(line) > LONGEST:
        # A reader need not have kept the rest of the line, so its length is not known here.
        told = f"the line is too long: a request has at most {LONGEST:,} bytes"
        raise BadRequest(Answer(unreadable.id_in(line), error=Error("not-json", told)))
    try:
        data = from_json(line)  # it limits the nesting depth
    except ValueError as error:
        raise BadRequest(Answer(unreadable.id_in(line), error=_unread(line, str(error)))) from None
    if not isinstance(data, dict):
        told = f"a request is an object, and not {type(data).__name__}"
        raise BadRequest(Answer(None, error=Error("not-a-request", told)))
    name = data.get("id")
    try:
        return REQUEST.validate_python(data)
    except ValidationError as error:
        known = name if isinstance(name, int | str) and not isinstance(name, bool) else None
        raise BadRequest(Answer(known, error=_explained(error))) from None


def _unread(line: bytes, why: str) -> Error:
    if "recursion limit" in why:
        where = why.partition(" at ")[2]
        return Error("not-json", f"its values are nested too deeply, at {where}")
    if found := unreadable.lone_surrogate_in(line):
        at, half = found
        told = f"this field holds {half}, half of a surrogate pair, which is no character"
        return Error("not-a-request", told, at)
    return Error("not-json", f"no JSON: {why}")


_TAGS = {
    "kernels": ("kernel", "text"), "problem": ("problem", "folder"),
    "reference": ("Written", "Imported"), "draw": ("Written", "Imported"),
}  # fmt: skip
"""Field → the parts that follow it in pydantic's error locations but are not fields."""


def _path(loc: Sequence[int | str]) -> list[str]:
    found: list[str] = []
    for part in map(str, loc):
        above = next((each for each in reversed(found) if not each.isdigit()), "")
        if part not in _TAGS.get(above, ()):
            found.append(part)
    return found


def _explained(error: ValidationError) -> Error:
    """The first validation error in words, with its field."""
    found = error.errors(include_url=False)[0]
    loc = found["loc"]
    at = _path(loc)
    message = str(found["msg"]).removeprefix("Value error, ")
    if found["type"] == "unexpected_keyword_argument":
        message = f"there is no such field{did_you_mean(at[-1], _fields(loc))}"
    elif found["type"] in ("missing", "missing_argument"):
        message = "this field is missing"
    return Error("not-a-request", message, ".".join(at))


def _fields(loc: Sequence[int | str]) -> list[str]:
    """The fields that are allowed in place of an unknown one."""
    from harness.judge import submissions

    models = {
        "kernel": submissions.Kernel, "text": submissions.Text, "problem": submissions.Problem,
        "folder": submissions.ProblemFolder, "launches": submissions.Launch,
    }  # fmt: skip
    inner = [models[part] for part in loc[:-1] if isinstance(part, str) and part in models]
    model: Any = inner[-1] if inner else Request
    return [field.name for field in fields(model)]
