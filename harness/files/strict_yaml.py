"""Strict YAML, with the line of every key.

A benchmark matrix decides what is measured, so nothing in it may be silently reinterpreted: a
duplicate key, an alias, a tag or a merge key is rejected, as is a number that is not finite or has
more than 64 bits. The result consists of plain dicts, lists, strings, integers, floats and
booleans, and a map from each value's path to its line.

A file may be untrusted, so its size, its depth and the number of its values are bounded: it is read
or rejected in about a second.
"""

from __future__ import annotations

import math
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.reader import ReaderError

from harness.errors import ConfigError

Key = str | int
_LARGEST_FILE = 1 << 17
_MOST_VALUES = 12_000
_LONGEST_KEY = 200
_LONGEST_NUMBER = 100
_DEEPEST = 20
_OLD_NUMBER = re.compile(r"[-+]?(0[0-7_]+\Z|[^:]*:)")
"""Numbers that YAML 1.1 reads in an unexpected base: 0777 in base 8, 1:30 in base 60."""


@dataclass(frozen=True)
class Document:
    """A file's plain data. `lines`: path of keys and indices → line number, counted from 1."""

    path: Path
    data: Any
    lines: dict[tuple[Key, ...], int]

    def where(self, path: tuple[Key, ...]) -> str:
        """Return `file:line` of the value at the path, or of its nearest ancestor in the file."""
        return f"{self.path}:{self.line(path)}"

    def line(self, path: tuple[Key, ...]) -> int:
        """Return the line of the value at the path, or of its nearest ancestor in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


@dataclass(frozen=True)
class YamlLocation:
    """The location of a value: a file, and the path of keys and indices in it."""

    document: Document
    path: tuple[Key, ...] = ()

    def at(self, *more: Key) -> YamlLocation:
        """Return the location of a nested value."""
        return YamlLocation(self.document, (*self.path, *more))

    def error(self, what: str, remedy: str = "") -> ConfigError:
        return ConfigError(what, str(self), self.key, remedy)

    @property
    def key(self) -> str:
        """The dotted path of the value."""
        return ".".join(map(str, self.path))

    @property
    def line(self) -> int:
        return self.document.line(self.path)

    def __str__(self) -> str:
        """Return `file:line`."""
        return self.document.where(self.path)


def read(path: Path) -> Document:
    """Read the document in a file. Raises ConfigError with the line of the first rejected value."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigError(f"cannot read {path}: it is not a file")
        with path.open("rb") as file:
            raw = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}", remedy="name another with --config"
        ) from None
    if len(raw) > _LARGEST_FILE:
        line = raw.count(b"\n") + 1
        raise ConfigError("too large", f"{path}:{line}", remedy=f"at most {_LARGEST_FILE} bytes")
    try:
        text = raw.decode()
        root = _composed(path, text)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError("not UTF-8 text", f"{path}:{line}") from None
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(path, text, error) from None
    except ReaderError as error:
        where = f"{path}:{text.count(chr(10), 0, error.position) + 1}"
        raise ConfigError(
            "a character that YAML does not allow", where, remedy="remove it"
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"not YAML: {error}", str(path)) from None
    except (ValueError, OverflowError):  # PyYAML raises these for "\U00110000"
        raise ConfigError(
            "not YAML: an escape for a character that does not exist", str(path)
        ) from None
    except RecursionError:
        raise ConfigError("nested too deeply", str(path)) from None
    lines: dict[tuple[Key, ...], int] = {}
    return Document(path, _plain(path, root, (), lines) if root else None, lines)


def _composed(path: Path, text: str) -> yaml.Node | None:
    """Parse YAML into a node tree, rejecting events that are not allowed.

    libyaml parses ten times as fast. Text that libyaml rejects is parsed again by PyYAML, which has
    better error messages and has the final say.
    """
    if yaml.__with_libyaml__:
        try:
            _refuse_events(path, yaml.parse(text, Loader=yaml.CSafeLoader))
            return yaml.compose(text, Loader=yaml.CSafeLoader)
        except yaml.YAMLError:
            pass
    _refuse_events(path, yaml.parse(text, Loader=yaml.SafeLoader))
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _not_yaml(path: Path, text: str, error: yaml.MarkedYAMLError) -> ConfigError:
    """PyYAML's error with its line and, for an indentation error, the expected indentation."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return ConfigError(f"not YAML: {error.problem or error.context}", str(path))
    where, problem = f"{path}:{mark.line + 1}", error.problem or error.context or ""
    line = text.splitlines()[mark.line] if mark.line < len(text.splitlines()) else ""
    own = _indent(line)
    open_blocks = _open_blocks(text.splitlines()[: mark.line])
    wanted = " or ".join(str(indent) for indent in open_blocks) or "0"
    if "\t" in line[: own + 1]:
        return ConfigError("not YAML: a tab in the indentation", where, remedy="indent by spaces")
    if "expected <block end>" in problem:
        what = f"this line is indented by {own} spaces; expected is {wanted}, as the lines above it"
        mixed = "a list's items (- …) and keys stand in one block"
        return ConfigError(f"not YAML: {mixed if own in open_blocks else what}", where)
    if problem.startswith("mapping values are not allowed"):
        if open_blocks and own > open_blocks[-1]:
            return ConfigError(
                f"not YAML: this line is indented by {own} spaces, below a value that is complete; "
                f"expected is {wanted}, as the lines above it", where,
            )  # fmt: skip
        return ConfigError(
            "not YAML: a second `: ` in one line", where, remedy="quote the value that holds it"
        )
    began = error.context_mark
    opened = f", {error.context} from line {began.line + 1} on" if began and error.context else ""
    return ConfigError(f"not YAML: {problem.removeprefix('but ')}{opened}", where)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _open_blocks(lines: Sequence[str]) -> list[int]:
    """The indentations of the blocks that the next line may continue, outermost first."""
    found: list[int] = []
    for line in lines:
        rest = line.strip()
        if not rest or rest.startswith(("#", "---")):
            continue
        indent = _indent(line)
        found = [other for other in found if other < indent] + [indent]
        while rest.startswith("- "):  # an item's block begins after its dash
            indent += 2 + _indent(rest[2:])
            rest = rest[2:].strip()
            found.append(indent)
    return found


def _refuse_events(path: Path, events: Iterable[yaml.Event]) -> None:
    """Reject forbidden constructs before any value of the document is built."""
    depth = 0
    for number, event in enumerate(events, 1):
        _refuse_event(path, event)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        where = _where(path, event)
        if depth > _DEEPEST:
            raise ConfigError("nested too deeply", where, remedy=f"at most {_DEEPEST} levels")
        if number > _MOST_VALUES:
            raise ConfigError("too many values", where, remedy=f"at most {_MOST_VALUES:,}")


def _where(path: Path, event: yaml.Event) -> str:
    return f"{path}:{event.start_mark.line + 1 if event.start_mark else 1}"


def _refuse_event(path: Path, event: yaml.Event) -> None:
    where = _where(path, event)
    anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
    if isinstance(event, yaml.AliasEvent):
        raise ConfigError(f"alias *{anchor}", where, remedy="write the value out")
    if anchor:
        raise ConfigError(f"anchor &{anchor}", where, remedy="remove it; write values out")
    if tag:
        raise ConfigError(f"tag {tag}", where, remedy="remove it; values are plain")
    if not all(c.isprintable() or c in "\n\t" for c in getattr(event, "value", None) or ""):
        raise ConfigError("a character that cannot be printed", where, remedy="remove it")


def _plain(
    path: Path, node: yaml.Node, at: tuple[Key, ...], lines: dict[tuple[Key, ...], int]
) -> Any:
    line = node.start_mark.line + 1
    lines.setdefault(at, line)
    key = ".".join(map(str, at))
    if isinstance(node, yaml.SequenceNode):
        return [_plain(path, item, (*at, i), lines) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(path, node, at, lines)
    is_number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    try:
        if is_number and len(node.value) > _LONGEST_NUMBER:  # reading it in base 60 is slow
            raise ValueError
        value = SafeConstructor().construct_object(node)
    except (yaml.YAMLError, ValueError, OverflowError):
        raise ConfigError(f"`{node.value[:40]}` cannot be read", f"{path}:{line}", key) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{node.value} is not a finite number", f"{path}:{line}", key)
    if isinstance(value, int | float) and _OLD_NUMBER.match(node.value):
        raise ConfigError(
            f"{node.value} would be read as {value}", f"{path}:{line}", key, "write it in decimal"
        )
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ConfigError(
            f"a number of {len(node.value)} digits", f"{path}:{line}", key, "at most 2^63 - 1"
        )
    if not isinstance(value, str | int | float | bool | None):
        return str(node.value)  # a date, for example, remains text
    return value


def _mapping(
    path: Path, node: yaml.MappingNode, at: tuple[Key, ...], lines: dict[tuple[Key, ...], int]
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise ConfigError("a key must be a word", f"{path}:{line}")
        key = key_node.value
        if len(key) > _LONGEST_KEY:
            raise ConfigError(
                f"a key of {len(key)} characters",
                f"{path}:{line}",
                remedy=f"at most {_LONGEST_KEY}",
            )
        here = (*at, key)
        dotted = ".".join(map(str, here))
        if key == "<<":
            raise ConfigError("merge key <<", f"{path}:{line}", remedy="write the values out")
        if key in result:
            raise ConfigError(
                f"written twice (first on line {lines[here]})",
                f"{path}:{line}",
                dotted,
                "keep one of them",
            )
        lines[here] = line
        result[key] = _plain(path, value_node, here, lines)
    return result
