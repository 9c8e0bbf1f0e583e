"""Find loops that the lanes of a warp leave after different numbers of iterations.

ptxas unrolls loops. Lanes that leave an unrolled loop early run its last iterations separately from
the others, so their accesses become separate requests in machine code, but not in PTX: in
`sgemv/v0_k_of_32`, 32 lanes reading 1,021 columns make 140 requests in machine code and 128 in PTX.
"""

from __future__ import annotations

from harness.emulator.program.ir import Program, successors


def ways_out(program: Program) -> tuple[tuple[int, frozenset[int]], ...]:
    """The site of each branch that may leave a loop, with the sites in that loop.

    Blocks are in the order of execution, in which a loop's blocks are contiguous and begin at its
    head.
    """
    targets = [successors(block.terminator) for block in program.blocks]
    ends: dict[int, int] = {}
    for number, each in enumerate(targets):
        for head in each:
            if head <= number:
                ends[head] = max(ends.get(head, 0), number)
    found = []
    for number, each in enumerate(targets):
        left = [
            range(head, end + 1)
            for head, end in ends.items()
            if head <= number <= end and any(not head <= target <= end for target in each)
        ]
        if left and len(set(each)) > 1:
            inside = {op.site for n in max(left, key=len) for op in program.blocks[n].ops}
            site = getattr(program.blocks[number].terminator, "site", 0) or 0
            found.append((site, frozenset(inside)))
    return tuple(found)
