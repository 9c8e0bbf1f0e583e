"""The order in which blocks run, so that diverged lanes reconverge.

All lanes of a chunk of thread blocks advance together; the lowest-numbered basic block runs first.
For lanes to reconverge where they would on a GPU, a block must come after every block that leads to
it, and a loop's blocks must be contiguous, before the blocks that follow the loop. Reverse
post-order satisfies the first condition; applied loop by loop, it also satisfies the second, even
for loops that are not natural.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def execution_order(successors: Sequence[Sequence[int]]) -> list[int]:
    """Blocks reachable from block 0, in execution order. Ties are broken by the order of the
    text."""
    reachable, todo = {0}, [0]
    while todo:
        for target in successors[todo.pop()]:
            if target not in reachable:
                reachable.add(target)
                todo.append(target)
    entered_from: dict[int, list[int]] = {n: [] for n in reachable}
    for n in reachable:
        for target in successors[n]:
            entered_from[target].append(n)
    return _order(sorted(reachable), successors, entered_from)


def _order(
    nodes: list[int], successors: Sequence[Sequence[int]], entered_from: Mapping[int, list[int]]
) -> list[int]:
    """Order the strongly connected components topologically, and the blocks inside each loop.

    `entered_from`: the predecessors in the whole program, because the block that leads into a loop
    may be the entry of the loop around it, which is not among `nodes`."""
    inside = set(nodes)
    edges = {n: [t for t in successors[n] if t in inside] for n in nodes}
    components = _components(nodes, edges)
    owner = {n: i for i, component in enumerate(components) for n in component}
    waiting = [0] * len(components)
    for n in nodes:
        for t in edges[n]:
            waiting[owner[t]] += owner[n] != owner[t]
    ready = [i for i, count in enumerate(waiting) if count == 0]
    out: list[int] = []
    while ready:
        chosen = min(ready, key=lambda i: min(components[i]))
        ready.remove(chosen)
        out += _loop(components[chosen], edges, entered_from)
        for n in components[chosen]:
            for t in edges[n]:
                if owner[t] != chosen:
                    waiting[owner[t]] -= 1
                    if waiting[owner[t]] == 0:
                        ready.append(owner[t])
    return out


def _loop(
    component: list[int], edges: dict[int, list[int]], entered_from: Mapping[int, list[int]]
) -> list[int]:
    """Order a component: its entry first, then the rest without the edges back to the entry."""
    if len(component) == 1:
        return component
    members = set(component)
    entries = [n for n in component if not members.issuperset(entered_from[n])]
    entry = min(entries, default=min(component))
    rest = sorted(members - {entry})
    without_entry: list[list[int]] = [[] for _ in range(max(component) + 1)]
    for n in rest:
        without_entry[n] = [t for t in edges[n] if t in members and t != entry]
    return [entry, *_order(rest, without_entry, entered_from)]


def _components(nodes: list[int], edges: dict[int, list[int]]) -> list[list[int]]:
    """Strongly connected components (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    out: list[list[int]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            else:
                low[node] = min(low[node], low[edges[node][at - 1]])
            for i in range(at, len(edges[node])):
                target = edges[node][i]
                if target not in index:
                    work += [(node, i + 1), (target, 0)]
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                if low[node] == index[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    out.append(sorted(component))
    return out
