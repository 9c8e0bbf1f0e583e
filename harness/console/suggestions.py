"""What a message tells to type: the known name that is nearest, and a command that exists here.

Without a clone there is no Makefile, no constraints.txt and no docs/: what an installed package
tells to do has to work in an empty folder.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from pathlib import Path

NAME = "kernel-harness"
CLONE = Path(__file__).resolve().parents[2]
"""Where this is a clone; else the folder that packages are installed in."""


def is_clone() -> bool:
    return (CLONE / "scripts" / "setup.py").exists()


def program() -> str:
    """How this program is started here, for a command to type."""
    typed = Path(sys.argv[0]).name
    return "python -m harness" if is_clone() and typed != NAME else NAME


def command(words: str, target: str = "") -> str:
    """A command of this program; where one stands in a clone, the target of make that does it."""
    return f"make {target}" if target and is_clone() and Path.cwd() == CLONE else (
        f"{program()} {words}"
    )  # fmt: skip


def install(package: str, extra: str = "") -> str:
    """How to install what is missing for this Python: a package, or an extra of this one."""
    pip = f"{sys.executable} -m pip install"
    if not is_clone():
        return f"{pip} '{NAME}[{extra}]'" if extra else f"{pip} {package}"
    wanted = f"'{CLONE}[{extra}]'" if extra else package
    return f"{pip} -c {CLONE / 'constraints.txt'} {wanted}"


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that are near: those that it begins or ends, then those spelt alike."""
    known = list(known)
    folded = {each.lower(): each for each in known}
    begun = [each for each in known if len(name) > 1 and each.lower().startswith(name.lower())]
    alike = difflib.get_close_matches(name.lower(), folded, most, cutoff=0.6)
    return list(dict.fromkeys([*begun, *(folded[each] for each in alike)]))[:most]


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """`; did you mean …?`, or nothing where no known name is near."""
    found = nearest(name, known, most)
    return f"; did you mean {' or '.join(found)}?" if found else ""
