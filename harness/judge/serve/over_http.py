"""`serve --http`: the judge over HTTP, on this machine only, for clients with the token.

    GET  /        the first line of `serve`
    POST /judge   a request, as on a line; its answer

Every reply from the judge itself has status 200, even an error; 400 means an invalid request, 401
a missing token, 413 a body that is too long, and 503 an overloaded judge. The server listens on
127.0.0.1 and accepts no other host name, so that no page in a browser can reach it.
"""

from __future__ import annotations

import asyncio
import hmac
import importlib
import os
import secrets
import sys
from typing import Any

from harness.errors import NotInstalled
from harness.judge.judge import Judge
from harness.judge.serve import answers
from harness.judge.serve.protocol import ANSWER, LONGEST, READY, Ready

LOOPBACK = "127.0.0.1"
TOKEN = "KERNEL_HARNESS_TOKEN"
"""The environment variable with the token; if it is not set, a random token is generated."""
WAITING = 256
"""The most requests that may be unanswered at a time."""


def over_http(judge: Judge, ready: Ready, most_s: float, port: int) -> None:
    """Serve until told to stop. `port`: 0 for any free port. Raises NotInstalled."""
    uvicorn = _library("uvicorn")
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(32)
    if not os.environ.get(TOKEN):
        print(f"token {token}", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        application(judge, ready, most_s, token), host=LOOPBACK, port=port, log_level="warning",
        server_header=False, lifespan="off", timeout_graceful_shutdown=5,
    )  # fmt: skip
    listener = config.bind_socket()
    listener.listen()  # listen first: a client may connect as soon as the line is printed
    print(f"listening at http://{LOOPBACK}:{listener.getsockname()[1]}", file=sys.stderr,
          flush=True)  # fmt: skip
    uvicorn.Server(config).run([listener])


def application(judge: Judge, ready: Ready, most_s: float, token: str) -> Any:
    """The ASGI application. Raises NotInstalled without Starlette."""
    _library("starlette")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    waiting = asyncio.Semaphore(WAITING)

    def refusal(request: Any) -> Response | None:
        given = request.headers.get("authorization", "")
        if hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return None
        return PlainTextResponse(
            "no token, or another one: Authorization: Bearer TOKEN\n", 401,
            {"WWW-Authenticate": "Bearer"},
        )  # fmt: skip

    async def first(request: Any) -> Response:
        return refusal(request) or _json(READY.dump_json(ready))

    async def judged(request: Any) -> Response:
        if refused := refusal(request):
            return refused
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LONGEST:
                return PlainTextResponse(f"a request has at most {LONGEST:,} bytes\n", 413)
        if waiting.locked():
            return PlainTextResponse("too many requests wait already\n", 503, {"Retry-After": "5"})
        async with waiting:
            answer = await asyncio.wrap_future(answers.begin(judge, bytes(body), most_s))
        is_none = answer.error and answer.error.kind in ("not-json", "not-a-request")
        return _json(ANSWER.dump_json(answer), 400 if is_none else 200)

    def _json(text: bytes, status: int = 200) -> Response:
        return Response(text + b"\n", status, media_type="application/json")

    return Starlette(
        routes=[Route("/", first), Route("/judge", judged, methods=["POST"])],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[LOOPBACK, "localhost"])],
    )


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotInstalled(
            f"--http needs {name}, which is not installed\n  pip install 'kernel-harness[http]'"
        ) from None
