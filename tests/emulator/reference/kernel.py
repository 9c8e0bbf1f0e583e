"""A structured kernel that prints itself as PTX.

Control flow is stored as a tree, and becomes labels and branches only when printed: the reference
interpreter walks the tree, so the interpreter and the emulator do not share a notion of a branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property

from reference.semantics import OPCODES

PARAMETERS = (
    ("u64", "input"), ("u32", "input_words"), ("u64", "output"), ("u64", "totals"),
    ("u64", "own"), ("u32", "scalar"),
)  # fmt: skip
SHARED = "words"  # 8 bytes per thread, followed by the block's totals
LOCAL, LOCAL_BYTES = "mine", 32


@dataclass(frozen=True)
class Reg:
    """A register; the letter after % gives its kind."""

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name


Operand = Reg | int | str  # a string is a special register, a parameter or the shared array


@dataclass(frozen=True)
class Guard:
    """A guard: `@p` or `@!p`."""

    register: Reg
    negated: bool = False

    def __str__(self) -> str:
        return f"@{'!' * self.negated}{self.register}"

    @property
    def inverse(self) -> Guard:
        return Guard(self.register, not self.negated)


@dataclass(frozen=True)
class Instr:
    """An instruction on registers, by its name in `semantics.OPCODES`."""

    name: str
    result: Reg
    sources: tuple[Operand, ...]
    guard: Guard | None = None

    @cached_property
    def text(self) -> str:
        definition = OPCODES[self.name]
        template = definition.template
        if not template:
            places = ", ".join(f"{{{n}}}" for n in range(len(self.sources)))
            template = f"{definition.opcode} {{d}}, {places}"
        return template.format(*self.sources, d=self.result)

    @cached_property
    def opcode(self) -> str:
        return self.text.split()[0]


@dataclass(frozen=True)
class Load:
    """A load; `second` is the second element of a vector."""

    space: str
    type: str
    result: Reg
    address: Operand
    offset: int = 0
    guard: Guard | None = None
    second: Reg | None = None

    @property
    def opcode(self) -> str:
        return f"ld.{self.space}.{'v2.' * (self.second is not None)}{self.type}"

    @property
    def text(self) -> str:
        results = _vector(self.result, self.second)
        return f"{self.opcode} {results}, [{self.address}{_plus(self.offset)}]"


@dataclass(frozen=True)
class Store:
    """A store instruction; `second` is the second element if it stores a vector."""

    space: str
    type: str
    address: Reg
    source: Reg
    offset: int = 0
    guard: Guard | None = None
    second: Reg | None = None

    @property
    def opcode(self) -> str:
        return f"st.{self.space}.{'v2.' * (self.second is not None)}{self.type}"

    @property
    def text(self) -> str:
        sources = _vector(self.source, self.second)
        return f"{self.opcode} [{self.address}{_plus(self.offset)}], {sources}"


@dataclass(frozen=True)
class Atomic:
    """`atom`, or `red` if there is no result; `compared` is set for cas."""

    space: str
    operation: str
    type: str
    result: Reg | None
    address: Reg
    source: Operand
    compared: Operand | None = None
    guard: Guard | None = None

    @property
    def opcode(self) -> str:
        name = "red" if self.result is None else "atom"
        return f"{name}.{self.space}.{self.operation}.{self.type}"

    @property
    def text(self) -> str:
        result = "" if self.result is None else f"{self.result}, "
        compared = "" if self.compared is None else f"{self.compared}, "
        return f"{self.opcode} {result}[{self.address}], {compared}{self.source}"


@dataclass(frozen=True)
class Collective:
    """An instruction of a whole warp or block: shfl, vote, redux, match, bar.red, bar.sync.

    `sources` are in PTX order, `second` is the predicate after `|`.
    """

    opcode: str
    result: Reg | None
    sources: tuple[Operand | Guard, ...]
    second: Reg | None = None
    guard: None = None

    @property
    def text(self) -> str:
        results = [] if self.result is None else [str(self.result)]
        if self.second is not None:
            results[0] += f"|{self.second}"
        sources = [str(s).lstrip("@") for s in self.sources]
        return f"{self.opcode} {', '.join([*results, *sources])}"


@dataclass(frozen=True)
class If:
    condition: Guard
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Loop:
    """`for (counter = start; counter < limit; counter += step)`, or do … while with `bottom`."""

    counter: Reg
    test: Reg
    start: Operand
    limit: Operand
    step: Operand
    body: tuple[Statement, ...]
    bottom: bool = False


@dataclass(frozen=True)
class Leave:
    """`break` or `continue` in the innermost loop, or an exit from the kernel: `ret`, `exit`."""

    what: str
    condition: Guard


@dataclass(frozen=True)
class Switch:
    """`brx.idx`: the register, whose value is below the number of cases, selects a case; no case
    falls through."""

    index: Reg
    cases: tuple[tuple[Statement, ...], ...]


Statement = Instr | Load | Store | Atomic | Collective | If | Loop | Switch | Leave
Nested = If | Loop | Switch


def statements(body: Sequence[Statement], depth: int = 0) -> Iterator[tuple[Statement, int]]:
    """Yield every statement with the number of ifs around it within its innermost loop."""
    for each in body:
        yield each, depth
        if isinstance(each, If):
            yield from statements(each.then, depth + 1)
            yield from statements(each.otherwise, depth + 1)
        elif isinstance(each, Switch):
            for case in each.cases:
                yield from statements(case, depth + 1)
        elif isinstance(each, Loop):
            yield from statements(each.body)


def registers(body: Sequence[Statement]) -> set[Reg]:
    """Every register that a body mentions."""
    return {r for each, _ in statements(body) for r in _registers(each)}


def _registers(value: object) -> Iterator[Reg]:
    if isinstance(value, Reg):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _registers(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _registers(getattr(value, field.name))


@dataclass(frozen=True)
class Kernel:
    """The body of a kernel `k` with the parameters above, and its dynamic shared memory."""

    body: tuple[Statement, ...]

    @property
    def reconvergence_is_plain(self) -> bool:
        """Return whether all schemes of reconvergence agree on where the lanes of every divergent
        branch meet.

        A break, continue or exit inside an `if`, and an exit inside a loop, moves the immediate
        post-dominator of the branches around it beyond the point at which lanes could already meet;
        schemes differ in whether the lanes meet there.
        """
        every = list(statements(self.body))
        looped = [e for s, _ in every if isinstance(s, Loop) for e in s.body]
        leaves_in_loops = [s for s, _ in statements(looped) if isinstance(s, Leave)]
        nested = any(isinstance(s, Leave) and depth for s, depth in every)
        return not nested and all(s.what in ("break", "continue") for s in leaves_in_loops)

    def ptx(self) -> str:
        printer = _Printer()
        printer.body(self.body, "", "")
        names: dict[str, set[str]] = {}
        for register in registers(self.body):
            names.setdefault(register.kind, set()).add(register.name)
        names.setdefault("b32", set()).add("%rz")
        declared = [f"    .local .align 8 .b8 {LOCAL}[{LOCAL_BYTES}];"]
        declared += [f"    .reg .{k} {', '.join(sorted(n))};" for k, n in sorted(names.items())]
        parameters = ",\n".join(f"    .param .{t} {n}" for t, n in PARAMETERS)
        head = [
            ".version 8.0", ".target sm_90", ".address_size 64",
            f".extern .shared .align 8 .b8 {SHARED}[];", ".visible .entry k(", parameters, ")", "{",
        ]  # fmt: skip
        return "\n".join([*head, *declared, *printer.lines, "    ret;", "}", ""])


class _Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.labels = 0

    def put(self, text: str, guard: Guard | None = None) -> None:
        self.lines.append(f"    {f'{guard} ' if guard else ''}{text};")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def body(self, body: Sequence[Statement], leave: str, again: str) -> None:
        """`leave` and `again` are the labels for break and continue."""
        for each in body:
            if isinstance(each, If):
                self.branch(each, leave, again)
            elif isinstance(each, Loop):
                self.loop(each)
            elif isinstance(each, Switch):
                self.switch(each, leave, again)
            elif isinstance(each, Leave):
                targets = {"break": f"bra {leave}", "continue": f"bra {again}"}
                self.put(targets.get(each.what, each.what), each.condition)
            else:
                self.put(each.text, each.guard)

    def branch(self, each: If, leave: str, again: str) -> None:
        self.labels += 1
        other, join = f"Lelse{self.labels}", f"Ljoin{self.labels}"
        self.put(f"bra {other if each.otherwise else join}", each.condition.inverse)
        self.body(each.then, leave, again)
        if each.otherwise:
            self.put(f"bra {join}")
            self.label(other)
            self.body(each.otherwise, leave, again)
        self.label(join)

    def switch(self, each: Switch, leave: str, again: str) -> None:
        self.labels += 1
        join = f"Ljoin{self.labels}"
        targets = [f"Lcase{self.labels}_{n}" for n in range(len(each.cases))]
        self.put(f"Ltable{self.labels}: .branchtargets {', '.join(targets)}")
        self.put(f"brx.idx {each.index}, Ltable{self.labels}")
        for target, case in zip(targets, each.cases, strict=True):
            self.label(target)
            self.body(case, leave, again)
            self.put(f"bra {join}")
        self.label(join)

    def loop(self, each: Loop) -> None:
        self.labels += 1
        head, again, leave = (f"L{n}{self.labels}" for n in ("loop", "next", "done"))
        self.put(f"mov.b32 {each.counter}, {each.start}")
        self.label(head)
        if not each.bottom:
            self.put(f"setp.ge.u32 {each.test}, {each.counter}, {each.limit}")
            self.put(f"bra {leave}", Guard(each.test))
        self.body(each.body, leave, again)
        self.label(again)
        self.put(f"add.u32 {each.counter}, {each.counter}, {each.step}")
        if each.bottom:
            self.put(f"setp.lt.u32 {each.test}, {each.counter}, {each.limit}")
            self.put(f"bra {head}", Guard(each.test))
        else:
            self.put(f"bra {head}")
        self.label(leave)


def _vector(first: Reg, second: Reg | None) -> str:
    return str(first) if second is None else f"{{{first}, {second}}}"


def _plus(offset: int) -> str:
    return f"+{offset}" if offset else ""
