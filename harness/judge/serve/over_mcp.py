"""`serve --mcp`: the judge as a Model Context Protocol server, over standard input.

The server has one tool, `judge`, with the same requests and replies as a line of `serve`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from harness.errors import NotInstalled
from harness.judge.judge import Judge
from harness.judge.serve import answers
from harness.judge.serve.protocol import REQUEST, Answer, Request

TELLS = (
    "Judge CUDA kernels for a problem: right, wrong, fault, cheat or compile-error, each with its "
    "line, cause, smallest counterexample and exact counters. Nothing is timed without a GPU."
)


def over_stdio(judge: Judge, most_s: float) -> None:
    """Serve until standard input ends. Raises NotInstalled."""
    server(judge, most_s).run("stdio")


def server(judge: Judge, most_s: float) -> Any:
    """The server, with its tool. Raises NotInstalled if `mcp` is missing or too old."""
    try:
        from mcp.server import MCPServer
    except ImportError:
        raise NotInstalled(
            "--mcp needs mcp 2 or later, which is not installed\n"
            "  pip install 'kernel-harness[mcp]'"
        ) from None
    found = MCPServer("kernel-harness", instructions=TELLS)

    async def judged(request: Request) -> Answer:
        line = REQUEST.dump_json(request)
        return await asyncio.wrap_future(answers.begin(judge, line, most_s))

    # The library builds the schemas from annotations, which must be classes here.
    judged.__annotations__ = {"request": Request, "return": Answer}
    found.tool(name="judge", description=TELLS)(judged)
    return found
