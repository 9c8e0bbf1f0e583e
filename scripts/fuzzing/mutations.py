"""Turn a good input into a broken one by changing some of its bytes, words, lines or values."""

from __future__ import annotations

import json
import random
import re

NASTY = [
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\t", b"\x1b[31m", b"\xe2\x80\xae", b"\xed\xa0\x80",
    b"9223372036854775808", b"-1", b"0", b"1e999", b"NaN", b"nan", b"Infinity", b"9" * 400,
    b"0x" + b"f" * 40, b"[" * 300, b"{" * 300, b"(" * 300, b"-" * 300, b"null", b"true", b'"', b"'",
    b"..", b"../../etc/passwd", b"/dev/zero", b"</script>", b"=1+1", b"%s%n", b"$(id)", b"**",
    b"__import__", b"<<", b"&a", b"*a", b"!!python/object:os.system", b": ", b"- ", b"\n", b"\n\n",
    b",", b" ",
]  # fmt: skip


def mutated(random: random.Random, seeds: list[bytes]) -> bytes:
    """Make one to six changes to one of the good inputs."""
    content = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        content = random.choice(_CHANGES)(random, content, seeds)
    return content


def _place(random: random.Random, content: bytes) -> tuple[int, int]:
    begin = random.randint(0, len(content))
    return begin, min(len(content), begin + int(random.expovariate(0.1)))


def _cut(random: random.Random, content: bytes, seeds: list[bytes]) -> bytes:
    return content[: random.randint(0, len(content))]


def _without(random: random.Random, content: bytes, seeds: list[bytes]) -> bytes:
    begin, end = _place(random, content)
    return content[:begin] + content[end:]


def _byte(random: random.Random, content: bytes, seeds: list[bytes]) -> bytes:
    begin, _ = _place(random, content)
    return content[:begin] + bytes((random.randrange(256),)) + content[begin + 1 :]


def _nasty(random: random.Random, content: bytes, seeds: list[bytes]) -> bytes:
    begin, end = _place(random, content)
    return content[:begin] + random.choice(NASTY) + content[random.choice((begin, end)) :]


def _spliced(random: random.Random, content: bytes, seeds: list[bytes]) -> bytes:
    other = random.choice(seeds)
    begin, _ = _place(random, content)
    start, stop = sorted((random.randint(0, len(other)), random.randint(0, len(other))))
    return content[:begin] + other[start : min(stop, start + 2000)] + content[begin:]


def _repeated(random: random.Random, content: bytes, seeds: list[bytes]) -> bytes:
    begin, end = _place(random, content)
    return content[:begin] + content[begin:end] * random.choice((2, 3, 200)) + content[end:]


def word_elsewhere(random: random.Random, content: bytes, seeds: list[bytes]) -> bytes:
    """Replace a word or number with another one from the text."""
    words = list(re.finditer(rb"[\w.%$]+", content))
    if not words:
        return content
    at = random.choice(words)
    other = random.choice([random.choice(words)[0], random.choice(NASTY)])
    return content[: at.start()] + other + content[at.end() :]


def _lines(random: random.Random, content: bytes, seeds: list[bytes]) -> bytes:
    """Move, duplicate or indent a line."""
    lines = content.split(b"\n")
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    line = lines[at] if random.random() < 0.5 else lines.pop(at)
    lines.insert(to, b" " * random.choice((0, 0, 1, 2, 4)) + line)
    return b"\n".join(lines)


_CHANGES = (
    _cut,
    _without,
    _byte,
    _nasty,
    _nasty,
    _spliced,
    _repeated,
    word_elsewhere,
    word_elsewhere,
    _lines,
)


_VALUES = (
    0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**400, 0.0, -0.5, 1e-300, 1e300, None, True, "", "x",
    "=1", "\x1b[2J", "a/b", "p" * 300, [], {}, [1.0], [0.0, 0.0], {"": 0}, {"n": 0},
)  # fmt: skip


def in_json(random: random.Random, body: bytes) -> bytes:
    """Change or remove a value of a JSON record; a line without one is returned unchanged."""
    try:
        record = json.loads(body)
    except ValueError:
        return body
    if not isinstance(record, dict) or not record:
        return body
    key = random.choice(list(record))
    if random.random() < 0.1:
        del record[key]
    elif isinstance(record[key], dict) and record[key] and random.random() < 0.7:
        record[key][random.choice(list(record[key]))] = random.choice(_VALUES)
    elif isinstance(record[key], list) and record[key] and random.random() < 0.7:
        record[key][random.randrange(len(record[key]))] = random.choice(_VALUES)
    else:
        record[key] = random.choice(_VALUES)
    return json.dumps(record).encode()
