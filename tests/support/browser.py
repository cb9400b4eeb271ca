"""A headless Chromium controlled through a pipe: evaluates scripts and records network requests and console errors."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PHONE, DESKTOP = (390, 844), (1280, 800)


def find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass
class Page:
    """One page of the browser; `requests` and `console_errors` accumulate from the start."""

    pipe_in: IO[bytes]
    pipe_out: IO[bytes]
    session: str = ""
    requests: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)
    _count: int = 0
    _loaded: bool = False

    def show(self, file: Path, size: tuple[int, int], *, dark: bool = False) -> None:
        """Load the file on a screen of this size."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        self._loaded = False
        self.call("Page.navigate", url=file.absolute().as_uri())
        while not self._loaded:
            self._receive()

    def evaluate(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def screenshot(self, file: Path, *, whole: bool = True) -> None:
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def call(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        request: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        self.pipe_in.write(json.dumps(request).encode() + b"\0")
        self.pipe_in.flush()
        while True:
            message = self._receive()
            if message.get("id") == self._count:
                assert "error" not in message, message
                return message["result"]

    def _receive(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self.pipe_out.read(1)) != b"\0":
            assert byte, "the browser has exited"
            data += byte
        message: dict[str, Any] = json.loads(data)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.console_errors.append(json.dumps(parameters))
        elif method == "Page.loadEventFired":
            self._loaded = True
        return message


@contextmanager
def open_page(program: str, folder: Path) -> Iterator[Page]:
    (child_reads, we_write), (we_read, child_writes) = os.pipe(), os.pipe()

    def pipes() -> None:
        """The browser reads from descriptor 3 and writes to 4."""
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 5) for end in (child_reads, child_writes)]  # they may be 3 and 4
        for end, place in zip(high, (3, 4), strict=True):
            os.dup2(end, place)

    command = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=pipes)
    os.close(child_reads)
    os.close(child_writes)
    try:
        with os.fdopen(we_write, "wb") as to, os.fdopen(we_read, "rb") as answers:
            page = Page(to, answers)
            target = page.call("Target.createTarget", url="about:blank")["targetId"]
            page.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.call(f"{domain}.enable")
            yield page
            page.session = ""
            page.call("Browser.close")
    finally:
        process.kill()
        process.wait(timeout=30)
