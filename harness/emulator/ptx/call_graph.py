"""The call graph of a module: callers, recursion, and the targets of function pointers."""

from __future__ import annotations

from collections.abc import Iterator

from harness.emulator.ptx.syntax import Function, Instruction, Module, Name, names_in, names_of

# Far from all memory, so that calling a pointer to data by mistake is recognised.
FUNCTION_WINDOW = 1 << 50
FUNCTION_SPACING = 16


def function_address(module: Module, name: str) -> int:
    """The value of a pointer to a function."""
    return FUNCTION_WINDOW + FUNCTION_SPACING * list(module.functions).index(name)


def call_target(call: Instruction) -> str:
    """The target of a call: a function, or the register that holds a pointer to one."""
    return next((o.text for o in call.operands if isinstance(o, Name)), "?")


class CallGraph:
    """The calls between the device functions of a module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.pointed_to = self._pointed_to()
        self._calls = {name: set(self._callees(f)) for name, f in module.functions.items()}
        self._reached: dict[str, set[str]] = {}

    def recursive(self, name: str) -> bool:
        """Return whether a function can be called again while it runs."""
        return name in self._reachable(name)

    def together(self, one: str, other: str) -> bool:
        """Return whether each of two functions can be called while the other runs."""
        return one in self._reachable(other) and other in self._reachable(one)

    def called_from(self, function: Function) -> set[str]:
        """Return the functions that may be called while this function or kernel runs."""
        direct = set(self._callees(function))
        return direct.union(*map(self._reachable, direct))

    def _callees(self, function: Function) -> Iterator[str]:
        for statement in function.body or ():
            if isinstance(statement, Instruction) and statement.opcode.split(".")[0] == "call":
                target = call_target(statement)
                if target in self.module.functions:
                    yield target
                else:
                    yield from self.pointed_to

    def _reachable(self, start: str) -> set[str]:
        """The functions that may be called while a given one runs."""
        found = self._reached.get(start)
        if found is None:
            found, todo = set(), [start]
            while todo:
                for callee in self._calls[todo.pop()] - found:
                    found.add(callee)
                    todo.append(callee)
            self._reached[start] = found
        return found

    def _pointed_to(self) -> tuple[str, ...]:
        """Functions whose address is taken, in code or in a table."""
        module = self.module
        if not module.functions:  # as in most modules
            return ()
        named: set[str] = set()
        for variable in module.globals.values():
            named.update(names_of(variable.initial))
        for function in (*module.functions.values(), *module.kernels.values()):
            for statement in function.body or ():
                if isinstance(statement, Instruction) and not statement.opcode.startswith("call"):
                    named.update(names_in(statement))
        return tuple(name for name in module.functions if name in named)
