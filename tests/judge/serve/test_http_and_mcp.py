"""The judge over HTTP and MCP: the same requests and replies, for authorised clients."""

from __future__ import annotations

import asyncio
import json
import socket
from concurrent.futures import Future
from typing import Any

import affine
import pytest

from harness.errors import UsageError
from harness.judge.judge import Judged
from harness.judge.serve import over_http, over_mcp
from harness.judge.serve.protocol import LONGEST, Ready
from harness.judge.submissions import SUBMISSION, Submission
from harness.judge.verdicts import Verdict

TOKEN = "a-token-of-the-tests"
ALLOWED = {"Authorization": f"Bearer {TOKEN}"}


class JudgeOfTests:
    """A judge that immediately finds every kernel correct."""

    def submit(self, submission: Submission) -> Future[Judged]:
        done: Future[Judged] = Future()
        done.set_result(Judged([Verdict("affine", "right", "affine: right")]))
        return done


def request(**more: Any) -> dict[str, Any]:
    said = json.loads(SUBMISSION.dump_json(affine.submission("right")))
    return {**said, "id": 7, **more}


@pytest.fixture
def client() -> Any:
    pytest.importorskip("starlette")
    pytest.importorskip("httpx2")  # required by starlette's test client; installed with `mcp`
    from starlette.testclient import TestClient

    made = over_http.application(JudgeOfTests(), Ready(True, 1, False), 60.0, TOKEN)  # type: ignore[arg-type]
    return TestClient(made, base_url="http://127.0.0.1")


def test_a_request_over_http_has_the_answer_of_a_line(client: Any) -> None:
    answer = client.post("/judge", json=request(), headers=ALLOWED)
    assert answer.status_code == 200
    assert answer.json()["id"] == 7
    assert answer.json()["verdicts"][0]["verdict"] == "right"


def test_http_says_first_what_serve_says(client: Any) -> None:
    assert client.get("/", headers=ALLOWED).json()["ready"] is True


@pytest.mark.parametrize("given", [{}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}])
def test_without_the_token_nothing_is_judged(client: Any, given: dict[str, str]) -> None:
    assert client.get("/", headers=given).status_code == 401
    assert client.post("/judge", json=request(), headers=given).status_code == 401


def test_a_name_that_is_not_of_this_machine_is_refused(client: Any) -> None:
    answer = client.get("/", headers={**ALLOWED, "Host": "a-page-in-a-browser.example"})
    assert answer.status_code == 400


def test_what_is_no_request_is_400_and_says_what_is_wrong(client: Any) -> None:
    answer = client.post("/judge", content=b"{", headers=ALLOWED)
    assert (answer.status_code, answer.json()["error"]["kind"]) == (400, "not-json")
    answer = client.post("/judge", json=request(kernals=1), headers=ALLOWED)
    assert (answer.status_code, answer.json()["error"]["at"]) == (400, "kernals")


def test_a_body_that_is_too_long_is_413(client: Any) -> None:
    assert client.post("/judge", content=b" " * (LONGEST + 1), headers=ALLOWED).status_code == 413


def test_a_deadline_beyond_the_judges_own_is_refused(client: Any) -> None:
    answer = client.post("/judge", json=request(seconds=61), headers=ALLOWED).json()
    assert (answer["error"]["kind"], answer["error"]["at"]) == ("refused", "seconds")


def test_the_tool_of_mcp_takes_a_request_and_gives_its_answer() -> None:
    mcp = pytest.importorskip("mcp")

    async def asked() -> Any:
        server = over_mcp.server(JudgeOfTests(), 60.0)  # type: ignore[arg-type]
        async with mcp.Client(server) as client:
            (tool,) = (await client.list_tools()).tools
            return tool, await client.call_tool("judge", {"request": request()})

    tool, result = asyncio.run(asked())
    assert tool.name == "judge"
    assert "kernels" in json.dumps(tool.input_schema)
    assert not result.is_error
    assert result.structured_content["verdicts"][0]["verdict"] == "right"


def test_two_ways_to_listen_are_refused() -> None:
    from harness.commands.serve import serve

    with pytest.raises(UsageError, match="give one of them"):
        serve(1, None, False, None, 60.0, 0, True)


def test_whoever_reads_where_it_listens_can_connect_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")

    class Server:
        """A server that has not begun to serve."""

        def __init__(self, config: Any) -> None: ...

        def run(self, sockets: list[socket.socket]) -> None:
            assert f":{sockets[0].getsockname()[1]}" in capsys.readouterr().err
            socket.create_connection(sockets[0].getsockname(), timeout=5).close()

    monkeypatch.setattr(uvicorn, "Server", Server)
    over_http.over_http(JudgeOfTests(), Ready(True, 1, False), 60.0, 0)  # type: ignore[arg-type]
