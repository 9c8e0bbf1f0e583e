"""Litmus tests for PTX's memory model, in Dat3M's format, which has a column for each thread.

A test states which outcomes a memory model allows, not whether the test races; `litmus_races.py`
determines that. A test becomes a kernel in which each thread is the first lane of a warp of its
own, and each `cta` is a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fault_suites import litmus_races
from fault_suites.kernels import RACE, Kernel

FOLDERS = ("Manual", "Nvidia", "Memalloy", "Barrier")
_HEAD = re.compile(r"P(\d+)@cta\s*(\d+)\s*,\s*gpu\s*(\d+)")
_END = re.compile(r"^\s*(~?\s*exists|forall|filter)", re.MULTILINE)


class NotALaunch(Exception):
    """Raised for a test that cannot run as one launch on one card: it uses two cards or two
    proxies, or might never end."""


@dataclass(frozen=True)
class Instruction:
    """`verb`: st, ld, atom, fence, bar, move, add, beq, bne, goto or label.

    `order`: weak, relaxed, acquire, release, acq_rel or sc. `operands`: registers, numbers,
    locations and labels, as written.
    """

    verb: str
    operands: tuple[str, ...] = ()
    order: str = "weak"
    scope: str = "sys"
    operation: str = ""


@dataclass(frozen=True)
class Test:
    """`threads`: each thread's instructions. `blocks`: each thread's block. `initial`: the initial
    values by location."""

    name: str
    threads: tuple[tuple[Instruction, ...], ...]
    blocks: tuple[int, ...]
    initial: dict[str, int]


def kernels(clone: Path, racy: str) -> Iterator[Kernel]:
    """The kernels of one class of tests. `racy`: whether these race in all executions ("always"),
    in some ("sometimes") or in none ("never")."""
    for folder in FOLDERS:
        for path in sorted((clone / "litmus" / "PTX" / folder).rglob("*.litmus")):
            if "proxy" in path.parts:
                continue
            try:
                test = parse(path.stem, path.read_text())
                answer = litmus_races.answer(test)
            except NotALaunch:
                continue
            if answer == racy:
                yield _kernel(test, racy != "never")


def parse(name: str, text: str) -> Test:
    text = re.sub(r'"[^"]*"', "", text.replace("\r", ""))
    opening, closing = text.index("{"), text.index("}")
    initial = {}
    for each in filter(None, map(str.strip, text[opening + 1 : closing].split(";"))):
        found = re.fullmatch(r"(?:P\d+:)?(\w+)\s*=\s*(\d+)", each)
        if not found:
            raise NotALaunch(f"{name}: {each}")
        if ":" not in each:
            initial[found[1]] = int(found[2])
        elif found[2] != "0":
            raise NotALaunch(f"{name}: a register that is not 0 at first")
    body = text[closing + 1 :]
    end = _END.search(body)
    rows = [
        row.split("|") for row in body[: end.start() if end else None].split(";") if row.strip()
    ]
    heads = [_HEAD.search(cell) for cell in rows[0]]
    if not all(heads) or len({head[3] for head in heads if head}) > 1:
        raise NotALaunch(f"{name}: threads of more than one card")
    numbers = sorted({int(head[2]) for head in heads if head})
    threads = tuple(
        tuple(
            instruction
            for row in rows[1:]
            if n < len(row) and row[n].strip()
            for instruction in [_instruction(row[n].strip(), initial)]
        )
        for n in range(len(heads))
    )
    blocks = tuple(numbers.index(int(head[2])) for head in heads if head)
    return Test(name, threads, blocks, initial)


def _instruction(text: str, initial: dict[str, int]) -> Instruction:
    if text.endswith(":"):
        return Instruction("label", (text[:-1].strip(),))
    opcode, _, rest = text.partition(" ")
    operands = tuple(each.strip() for each in rest.split(",") if each.strip())
    verb, *words = opcode.split(".")
    if verb == "ld" and (not words or operands[1].isdigit()):
        return Instruction("move", operands)
    if verb == "bar":
        return Instruction("bar", operands, operation=words[-1])
    if verb in ("add", "beq", "bne", "goto"):
        return Instruction(verb, operands)
    if verb not in ("ld", "st", "atom", "red", "fence") or "proxy" in words:
        raise NotALaunch(text)
    scopes = [word for word in words if word in ("cta", "gpu", "sys")]
    operation = words[-1] if verb in ("atom", "red") else ""
    if verb == "red":
        verb, operands = "atom", ("unused", *operands)
    at = {"ld": 1, "st": 0, "atom": 1}.get(verb)
    if at is not None:
        initial.setdefault(operands[at], 0)
    return Instruction(verb, operands, words[0], scopes[0] if scopes else "sys", operation)


# --- as a kernel --------------------------------------------------------------------------------


def _kernel(test: Test, races: bool) -> Kernel:
    warps = max(test.blocks.count(block) for block in test.blocks)
    initial = np.array(list(test.initial.values()), np.uint32)

    def arguments() -> list[Any]:
        return [initial.copy(), np.zeros(len(test.threads) * 8, np.uint32)]

    # One test polls a flag with plain loads until it is set, and so may loop forever.
    faults = RACE | {"budget"} if races else frozenset()
    return Kernel(test.name, _ptx(test), faults, max(test.blocks) + 1, warps * 32, arguments)


def _ptx(test: Test) -> str:
    """Write the test as PTX. At its end, each thread stores its registers, so that the values it
    has read are used."""
    places = {location: 4 * n for n, location in enumerate(test.initial)}
    lines = [
        ".version 8.0", ".target sm_90", ".address_size 64",
        ".visible .entry test(.param .u64 memory, .param .u64 results)", "{",
        ".reg .pred %p<4>;", ".reg .b32 %t<8>;", ".reg .b64 %memory, %results;",
        "ld.param.u64 %memory, [memory];", "ld.param.u64 %results, [results];",
        "mov.u32 %t0, %tid.x;", "and.b32 %t1, %t0, 31;", "shr.u32 %t2, %t0, 5;",
        "mov.u32 %t3, %ctaid.x;", "setp.ne.u32 %p0, %t1, 0;", "@%p0 ret;",
    ]  # fmt: skip
    seen: dict[int, int] = {}
    for n, block in enumerate(test.blocks):
        warp = seen[block] = seen.get(block, -1) + 1
        lines += [
            f"setp.eq.u32 %p1, %t3, {block};", f"setp.eq.and.u32 %p2, %t2, {warp}, %p1;",
            f"@%p2 bra THREAD_{n};",
        ]  # fmt: skip
    lines.append("ret;")
    for n, thread in enumerate(test.threads):
        together = 32 * test.blocks.count(test.blocks[n])
        registers = sorted(
            {r for each in thread for r in each.operands if re.fullmatch(r"r\d+", r)}
        )
        lines += [f"THREAD_{n}: {{", f".reg .b32 {', '.join([*registers, 'unused'])};"]
        lines += [f"mov.u32 {register}, 0;" for register in registers]
        for instruction in thread:
            lines += _statements(instruction, places, n, together)
        lines += [
            f"st.global.u32 [%results+{4 * (8 * n + k)}], {register};"
            for k, register in enumerate(registers)
        ]
        lines += ["ret;", "}"]
    return "\n".join([*lines, "}", ""])


def _statements(each: Instruction, places: dict[str, int], thread: int, together: int) -> list[str]:
    def at(location: str) -> str:
        return f"[%memory+{places[location]}]"

    op, order = each.operands, each.order
    scoped = order if order == "weak" else f"{order}.{each.scope}"
    if each.verb == "st":
        return _stored(f"st.{scoped}.global.u32 {at(op[0])},", op[1])
    if each.verb == "ld":
        return [f"ld.{scoped}.global.u32 {op[0]}, {at(op[1])};"]
    if each.verb == "atom":
        values = [f"-{v}" if each.operation == "sub" else v for v in op[2:]]
        operation = {"sub": "add.u32", "add": "add.u32"}.get(
            each.operation, f"{each.operation}.b32"
        )
        return [f"atom.{scoped}.global.{operation} {op[0]}, {at(op[1])}, {', '.join(values)};"]
    if each.verb == "fence":
        return [f"fence.{order}.{each.scope};"]
    if each.verb == "bar":
        number = op[1] if len(op) > 1 else op[0]
        count = 32 * int(op[2]) if len(op) > 2 else together
        return [f"bar.{each.operation} {number}, {count};"]
    if each.verb == "move":
        return [f"mov.u32 {op[0]}, {op[1]};"]
    if each.verb == "add":
        return [f"add.u32 {op[0]}, {op[1]}, {op[2]};"]
    if each.verb in ("beq", "bne"):
        compare = each.verb[1:]
        return [f"setp.{compare}.u32 %p3, {op[0]}, {op[1]};", f"@%p3 bra T{thread}_{op[2]};"]
    if each.verb == "goto":
        return [f"bra.uni T{thread}_{op[0]};"]
    return [f"T{thread}_{op[0]}:"]


def _stored(store: str, value: str) -> list[str]:
    return [f"mov.u32 %t4, {value};", f"{store} %t4;"]
