"""Turn the text of a request into a reply, for lines, HTTP and MCP alike."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future

from harness.errors import BackendUnavailable, HarnessError
from harness.judge.judge import Judge, Judged
from harness.judge.serve import protocol
from harness.judge.serve.protocol import Answer, BadRequest, Error, Request


def begin(judge: Judge, line: bytes, most_s: float) -> Future[Answer]:
    """Judge a request as soon as a slot is free. The future always yields a reply.

    `most_s`: the longest deadline, in seconds, that a request may have.
    """
    answer: Future[Answer] = Future()
    try:
        request = protocol.read(line)
    except BadRequest as error:
        answer.set_result(error.answer)
        return answer
    if request.seconds > most_s:
        told = f"{request.seconds:g} s are asked for; this judge takes at most {most_s:g}"
        answer.set_result(Answer(request.id, error=Error("refused", told, "seconds")))
        return answer
    judge.submit(request).add_done_callback(lambda done: answer.set_result(_of(request, done)))
    return answer


def _of(request: Request, done: Future[Judged]) -> Answer:
    try:
        return Answer(request.id, done.result().verdicts)
    except BackendUnavailable as error:
        return Answer(request.id, error=Error("no-gpu", str(error)))
    except HarnessError as error:
        return Answer(request.id, error=Error("refused", str(error)))
    except CancelledError:
        return Answer(request.id, error=Error("stopped", "the judge has ended"))
    except Exception as error:
        told = f"a fault of the judge's own: {type(error).__name__}: {error}"
        return Answer(request.id, error=Error("refused", told))
