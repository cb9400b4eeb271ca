"""A headless Chromium, spoken to through a pipe: what a page shows, asks the network for, and complains about."""

import base64
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


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass
class Page:
    """One page of the browser; `requests` and `complaints` are all since it was opened."""

    to: IO[bytes]
    answers: IO[bytes]
    session: str = ""
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    _count: int = 0
    _loaded: bool = False

    def show(self, file: Path, size: tuple[int, int], *, dark: bool = False) -> None:
        """Loads the file as on a screen of this size."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=scheme)
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.ask("Emulation.setDeviceMetricsOverride", **metrics)
        self._loaded = False
        self.ask("Page.navigate", url=file.absolute().as_uri())
        while not self._loaded:
            self._hear()

    def evaluate(self, expression: str) -> Any:
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def screenshot(self, file: Path, *, whole: bool = True) -> None:
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        return base64.b64decode(self.ask("Page.printToPDF")["data"])

    def ask(self, method: str, **parameters: Any) -> Any:
        self._count += 1
        question: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        self.to.write(json.dumps(question).encode() + b"\0")
        self.to.flush()
        while True:
            said = self._hear()
            if said.get("id") == self._count:
                assert "error" not in said, said
                return said["result"]

    def _hear(self) -> dict[str, Any]:
        letters = bytearray()
        while (letter := self.answers.read(1)) != b"\0":
            assert letter, "the browser has gone"
            letters += letter
        said: dict[str, Any] = json.loads(letters)
        told, what = said.get("method"), said.get("params", {})
        if told == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif told in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(what))
        elif told == "Page.loadEventFired":
            self._loaded = True
        return said


@contextmanager
def opened(program: str, folder: Path) -> Iterator[Page]:
    (child_reads, we_write), (we_read, child_writes) = os.pipe(), os.pipe()

    def pipes() -> None:
        """The browser reads at 3 and writes at 4."""
        high = [os.dup2(end, place) for end, place in ((child_reads, 50), (child_writes, 51))]
        for end, place in zip(high, (3, 4), strict=True):
            os.dup2(end, place)

    words = [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=pipes)
    os.close(child_reads)
    os.close(child_writes)
    try:
        with os.fdopen(we_write, "wb") as to, os.fdopen(we_read, "rb") as answers:
            page = Page(to, answers)
            target = page.ask("Target.createTarget", url="about:blank")["targetId"]
            page.session = page.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for room in ("Page", "Runtime", "Log", "Network"):
                page.ask(f"{room}.enable")
            yield page
            page.session = ""
            page.ask("Browser.close")
    finally:
        process.kill()
        process.wait(timeout=30)
