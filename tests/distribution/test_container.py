"""The container file, tested as far as possible without building a container."""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatch
from pathlib import PurePath

import checkout
import pytest

TEXT = (checkout.ROOT / "Containerfile").read_text()
INSTRUCTIONS = [
    line.split(maxsplit=1)
    for line in re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE)).splitlines()
    if line
]
KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD"}


def test_it_is_made_of_known_instructions_and_begins_with_an_image() -> None:
    assert {name for name, _ in INSTRUCTIONS} <= KNOWN
    assert INSTRUCTIONS[0][0] == "FROM"
    images = [words.split()[0] for name, words in INSTRUCTIONS if name == "FROM"]
    assert set(images) == {"python:3.12-slim"}


@pytest.mark.parametrize(
    "source",
    [source for name, words in INSTRUCTIONS if name == "COPY" for source in words.split()[:-1]],
)
def test_what_is_copied_is_in_the_repository_and_is_not_ignored(source: str) -> None:
    ignored = (checkout.ROOT / ".dockerignore").read_text().split()
    assert any(name == source or name.startswith(f"{source}/") for name in checkout.files())
    assert not any(fnmatch(source, pattern.removeprefix("**/")) for pattern in ignored)


def test_all_that_the_wheel_is_made_from_is_copied() -> None:
    copied = {PurePath(source).name for name, words in INSTRUCTIONS if name == "COPY"
              for source in words.split()[:-1]}  # fmt: skip
    assert copied == {*checkout.MADE_FROM} - {"action.yml"}


def test_each_command_of_a_step_is_one_that_the_image_or_an_earlier_step_has() -> None:
    there = {"pip", "apt-get", "rm", "ls"}  # of python:3.12-slim, a Debian
    comes_with = {"g++": {"g++"}, "git": {"git"}, "make": {"make"}, "bubblewrap": {"bwrap"}}
    for _, words in [each for each in INSTRUCTIONS if each[0] == "RUN"]:
        for command in re.sub(r"--mount=\S+\s*", "", words).split("&&"):
            program, *arguments = shlex.split(command)
            assert program in there, program
            for package in arguments if program == "apt-get" else ():
                there |= comes_with.get(package, set())
            if program == "pip" and "install" in arguments:
                there.add("kernel-harness")
    assert {"g++", "git", "make", "bwrap", "kernel-harness"} <= there
