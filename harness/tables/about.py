"""Read run.json, which describes the run and its environment. The file may be untrusted, so each
key that is read is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.journal import run_files
from harness.journal.numbers import Confidence, Whole

_LARGEST_FILE = 1 << 24


class _Part(BaseModel):
    """A part of run.json that may have keys other than those declared."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Device(_Part):
    name: str | None = None
    arch: str | None = None
    sm_count: Whole | None = None
    l2_bytes: Whole | None = None
    memory_bytes: Whole | None = None


class _Timing(_Part):
    confidence: Confidence
    same_within: Annotated[float, Field(ge=0, lt=1)]
    looks: Annotated[int, Field(ge=1, le=1000)] = 1
    choosing: Annotated[int, Field(ge=0, le=1000)] = 0


class _Beside(_Part):
    base: str
    commit: str
    suffix: Annotated[str, Field(min_length=1)]


class _Cluster(_Part):
    attempt: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    """Names a folder on the workers' disks."""


class _Commit(_Part):
    id: str | None = None


class _About(_Part):
    backend: str
    timing: _Timing
    id: str | None = None
    command: str | None = None
    started: str | None = None
    driver: str | None = None
    warnings: list[str] | None = None
    card: dict[str, Any] | None = None
    device: _Device | None = None
    choice: dict[str, Any] | None = None
    machine: dict[str, Any] | None = None
    compiler: dict[str, Any] | None = None
    commit: _Commit | None = None
    versions: dict[str, Any] | None = None
    problems: dict[str, dict[str, Any] | None] | None = None
    sources: dict[str, str] | None = None
    code: dict[str, str] | None = None
    beside: _Beside | None = None
    cluster: _Cluster | None = None


def read(path: Path) -> dict[str, Any]:
    """Read the file. Raises OSError, or a ValueError that describes the error."""
    content = run_files.read(path.parent, path.name, _LARGEST_FILE)
    try:
        _About.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise ValueError(f"{key}: {first['msg']}" if key else first["msg"]) from None
    said: dict[str, Any] = json.loads(content)
    return said
