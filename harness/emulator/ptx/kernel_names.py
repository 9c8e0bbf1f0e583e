"""Find a kernel or a variable by its mangled name or its source name."""

from __future__ import annotations

from collections.abc import Collection

from harness.emulator.errors import LaunchError
from harness.emulator.ptx.syntax import Kernel, Module


def find_kernel(module: Module, name: str) -> Kernel:
    """The kernel with exactly that name, or else the only one with that source name.

    `ns::sum` finds a kernel in a namespace; so does `sum`. Raises LaunchError if there is none, or
    more than one, such as the instantiations of a template.
    """
    return module.kernels[find_name("kernel", name, module.kernels)]


def find_name(what: str, name: str, names: Collection[str]) -> str:
    """Resolve a name among several, as `find_kernel` does; `what` is used in messages."""
    if name in names:
        return name
    known = sorted(names)
    wanted = name.split("::")
    found = [each for each in known if plain_name(each)[-len(wanted) :] == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise LaunchError(f"`{name}` is the name of several {what}s: {', '.join(found)}")
    there = ", ".join(known) or "none"
    raise LaunchError(f"no {what} `{name}` in this module; it has: {there}")


def plain_name(mangled: str) -> list[str]:
    """`_ZN2ns3sumIfEEvPT_` → ["ns", "sum"]: the parts of a name without template arguments.

    This reads the part of the Itanium C++ ABI's <encoding> that applies to kernels.
    """
    if not mangled.startswith("_Z"):
        return [mangled]
    at = 2
    nested = mangled[at : at + 1] == "N"
    at += nested
    parts: list[str] = []
    while at < len(mangled):
        if mangled[at] == "L":  # internal linkage
            at += 1
        digits = at
        while digits < len(mangled) and mangled[digits].isdigit():
            digits += 1
        if digits == at:
            if nested and mangled[at] == "I":  # arguments of a class template in the path
                at = _after_arguments(mangled, at)
                continue
            break
        length = int(mangled[at:digits])
        parts.append(mangled[digits : digits + length])
        at = digits + length
        if not nested:
            break
    return parts or [mangled]


def _after_arguments(mangled: str, at: int) -> int:
    """The position after template arguments, `I` … `E`."""
    depth = 0
    while at < len(mangled):
        letter = mangled[at]
        if letter.isdigit() and mangled[at - 1] not in "ijlmxytsabchTSLP_":
            digits = at
            while digits < len(mangled) and mangled[digits].isdigit():
                digits += 1
            at = digits + int(mangled[at:digits])
            continue
        depth += letter in "INXJ"
        if letter == "L":  # a literal: up to its own E
            at = mangled.index("E", at)
        elif letter == "E":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return at
