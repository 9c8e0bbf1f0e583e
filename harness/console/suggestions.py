"""Suggestions in messages: the nearest known name, and a command that works in this installation.

An installed package has no Makefile, constraints.txt or docs/, so advice must also work in an empty
folder.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from pathlib import Path

NAME = "kernel-harness"
CLONE = Path(__file__).resolve().parents[2]
"""The root of the clone; if this is not a clone, the folder in which packages are installed."""


def is_clone() -> bool:
    return (CLONE / "scripts" / "setup.py").exists()


def program() -> str:
    """The command that starts this program in this installation."""
    typed = Path(sys.argv[0]).name
    return "python -m harness" if is_clone() and typed != NAME else NAME


def command(words: str, target: str = "") -> str:
    """A command of this program or, in a clone, the corresponding make target."""
    return f"make {target}" if target and is_clone() and Path.cwd() == CLONE else (
        f"{program()} {words}"
    )  # fmt: skip


def install(package: str, extra: str = "") -> str:
    """The command that installs a missing package, or an extra of this package, for this Python."""
    pip = f"{sys.executable} -m pip install"
    if not is_clone():
        return f"{pip} '{NAME}[{extra}]'" if extra else f"{pip} {package}"
    wanted = f"'{CLONE}[{extra}]'" if extra else package
    return f"{pip} -c {CLONE / 'constraints.txt'} {wanted}"


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The nearest known names: those that begin with the given one, then those spelt
    similarly."""
    known = list(known)
    folded = {each.lower(): each for each in known}
    begun = [each for each in known if len(name) > 1 and each.lower().startswith(name.lower())]
    alike = difflib.get_close_matches(name.lower(), folded, most, cutoff=0.6)
    return list(dict.fromkeys([*begun, *(folded[each] for each in alike)]))[:most]


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """`; did you mean …?`, or an empty string if no known name is similar."""
    found = nearest(name, known, most)
    return f"; did you mean {' or '.join(found)}?" if found else ""
