"""`clarinet serve` as a process, with requests and tabs of a browser."""

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cli import CLARINET

TIMEOUT = 60.0
AWKWARD = 'it\'s; echo "$HOME" `id` & 💾'
"""The name of the runs directory."""
MASK = bytes(4)
"""Browsers mask what they send; this mask changes nothing."""


@dataclass
class Served:
    process: "subprocess.Popen[str]"
    port: int
    base: str
    output: str

    def request(self, path: str, method: str = "GET", **headers: str) -> tuple[int, socket.socket]:
        """Send a request; return the status and the connection."""
        sent = {"Host": f"127.0.0.1:{self.port}", "Connection": "close"} | headers
        lines = [f"{method} {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {text}" for name, text in sent.items())]
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(connection.recv(12).split()[1]), connection

    def open_tab(self, path: str, **headers: str) -> tuple[int, socket.socket]:
        """Send the request with which a browser opens a websocket."""
        key = {"Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Version": "13"}
        return self.request(path, Connection="Upgrade", Upgrade="websocket", **key, **headers)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def serving(folder: Path, *options: str) -> AbstractContextManager[Served]:
    return serving_command(folder, "serve", "--port", "0", "--runs-dir", AWKWARD, *options)


@contextmanager
def serving_command(folder: Path, *arguments: str) -> Iterator[Served]:
    """Run a command that prints the address of a page, until the block ends or it ends itself."""
    environment = os.environ | {"XDG_CONFIG_HOME": str(folder / "c"), "XDG_STATE_HOME": str(folder / "s")}
    options: dict[str, Any] = {"cwd": folder, "env": environment, "text": True, "start_new_session": True}
    with (folder / "err").open("w") as errors:
        process = subprocess.Popen([*CLARINET, *arguments], stdout=subprocess.PIPE, stderr=errors, **options)
    assert process.stdout is not None
    try:
        output = "".join(process.stdout.readline() for _ in range(3))
        address = re.search(r"http://127\.0\.0\.1:(\d+)(/\S*)", output)
        assert address, (folder / "err").read_text()
        yield Served(process, int(address[1]), address[2], output)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=TIMEOUT)
        process.stdout.close()


def read_until(connection: socket.socket, expected: bytes) -> bytes:
    read = b""
    while expected not in read:
        chunk = connection.recv(65536)
        assert chunk, f"the connection ended before {expected!r}"
        read += chunk
    return read


def press(connection: socket.socket, keys: str) -> None:
    """Send keys to the app of a tab."""
    content = json.dumps(["stdin", keys]).encode()
    assert len(content) < 126
    connection.sendall(bytes([0x81, 0x80 | len(content)]) + MASK + content)
