"""GitHub workflow commands, which show messages at the lines of a pull request.

A workflow command is a line that the job prints. Outside a GitHub job nothing is printed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from harness.files import in_repository


def error(title: str, text: str, kernels: Path = in_repository.PROBLEMS) -> None:
    """Print an annotation at the first source line that the text names, or for the whole job.

    `kernels`: the problems' folder, in which the named file is looked up.
    """
    if os.environ.get("GITHUB_ACTIONS") == "true":
        sys.stdout.write(command(title, text, kernels) + "\n")


def command(title: str, text: str, kernels: Path = in_repository.PROBLEMS) -> str:
    """Format `::error file=kernels/sgemm/v2.cu,line=23,title=worse sgemm/v2::…`."""
    found = in_repository.line_named(text, kernels)
    where = {"file": found.file, "line": str(found.line)} if found else {}
    properties = {**where, "title": title}
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {said}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
