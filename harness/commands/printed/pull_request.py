"""What a job of GitHub's shows at the lines of a pull request: its workflow commands.

They are lines that the job prints. Nothing is printed where no such job runs.
"""

from __future__ import annotations

import os
import re
import sys

_PLACE = re.compile(r"(?P<file>[\w./+-]+\.cuh?):(?P<line>\d+)")


def error(title: str, text: str) -> None:
    """An annotation at the first line of source that the text names, or of the job."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        sys.stdout.write(command(title, text) + "\n")


def command(title: str, text: str) -> str:
    """`::error file=kernels/sgemm/v2.cu,line=23,title=worse sgemm/v2::…`."""
    found = _PLACE.search(text)
    where = {"file": found["file"], "line": found["line"]} if found else {}
    properties = {**where, "title": title}
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {said}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
