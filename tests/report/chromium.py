"""A headless Chromium, controlled through its DevTools protocol over a pipe: one process for all
pages.

Debian's package is `chromium`.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")
DEADLINE_S = 60.0


def found() -> str | None:
    """The path of the browser, if it is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser with one page; a context manager. `profile`: an empty folder for its files."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def hand_over() -> None:  # the browser reads from 3 and writes to 4
            read, write = (fcntl.fcntl(x, fcntl.F_DUPFD, 10) for x in (to_browser, from_browser))
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=hand_over, close_fds=False,  # noqa: PLW1509 no threads here
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.said: list[str] = []
        """Errors and warnings of the page: exceptions, its console, the browser's own log."""
        self._loaded = False
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, url: str, width: int, height: int = 900, dark: bool = False) -> float:
        """Load a page at a window's width; return how long it took, in seconds."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._go("about:blank")
        self.said.clear()
        start = time.monotonic()
        self._go(url)
        return time.monotonic() - start

    def _go(self, url: str) -> None:
        self._loaded = False
        self._call("Page.navigate", url=url)
        while not self._loaded:
            self._take()

    def evaluate(self, script: str) -> Any:
        """Evaluate an expression, or a promise, in the page."""
        answer = self._call("Runtime.evaluate", expression=script, awaitPromise=True,
                            returnByValue=True)  # fmt: skip
        assert "exceptionDetails" not in answer, json.dumps(answer["exceptionDetails"])[:2000]
        return answer["result"].get("value")

    def scripts(self, allowed: bool) -> None:
        """Set whether pages may run scripts of their own."""
        self._call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def media(self, kind: str) -> None:
        """Set the medium: `print` or `screen`."""
        self._call("Emulation.setEmulatedMedia", media=kind)

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def _take(self) -> dict[str, Any]:
        """Read the next message; messages about the page are recorded."""
        deadline = time.monotonic() + DEADLINE_S
        while b"\0" not in self._buffer:
            assert time.monotonic() < deadline, "the browser does not answer"
            read = os.read(self._in, 1 << 20)
            assert read, "the browser has ended"
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        about = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.said.append(f"exception: {json.dumps(about['exceptionDetails'])[:300]}")
            case "Runtime.consoleAPICalled" if about["type"] in {"error", "warning", "assert"}:
                words = [str(a.get("value", a.get("description"))) for a in about["args"]]
                self.said.append(f"{about['type']}: {' '.join(words)}")
            case "Log.entryAdded" if about["entry"]["level"] in {"error", "warning"}:
                self.said.append(f"{about['entry']['level']}: {about['entry']['text']}")
        return message

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._out)
        os.close(self._in)
