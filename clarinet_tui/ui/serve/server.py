"""`clarinet serve`: the terminal app in a browser, on the loopback address only."""

import argparse
import asyncio
import errno
import getpass
import hmac
import secrets
import shlex
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Handler
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from textual_serve.app_service import AppService
from textual_serve.server import Server

from clarinet_tui.runs.lock import host_name
from clarinet_tui.runs.ownership import READ_ONLY_VARIABLE
from clarinet_tui.text import printable
from clarinet_tui.ui.feed.history_feed import FPS
from clarinet_tui.ui.main import PAINTS_PER_UPDATE
from core.errors import InputError

TEMPLATES = Path(__file__).parent / "templates"
MIN_FONT_SIZE, DEFAULT_FONT_SIZE, MAX_FONT_SIZE = 6, 14, 40
"""In pixels."""
LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "[::1]"}
"""Allowed values of --host, and how they are written in an address."""
SHUTDOWN_TIMEOUT = 5.0
"""Seconds until apps are killed after the server stops."""
APP_SECONDS = 5.0
"""Seconds until an app is killed after its tab was closed."""
FULL = "As many tabs are open as `clarinet serve --sessions` allows. Close one, then load this page again.\n"
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Host names of the loopback address. Another name means DNS rebinding."""
DOWNLOADS = "/download/"
"""Below this path, each address works once and contains a key as long as the token."""
page_templates = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
"""The pages load nothing from other hosts, and their policy forbids that."""


def render_terminal_page(base: str, host: str, font_size: str) -> str:
    """Render the page around the terminal for a browser that connected to `host`; all paths begin with `base`."""
    size = int(font_size) if font_size.isascii() and font_size.isdigit() else DEFAULT_FONT_SIZE
    size = min(max(size, MIN_FONT_SIZE), MAX_FONT_SIZE)
    return page_templates.get_template("terminal.html").render(base=base, socket=f"ws://{host}{base}/ws", size=size)


def security_headers(port: int) -> dict[str, str]:
    """Headers of every response: nothing from other hosts, only our scripts, no framing, no referrer."""
    policy = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # the terminal creates styles at run time
        "font-src 'self'",
        "img-src 'self' data:",
        f"connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


@dataclass(frozen=True)
class AccessControl:
    """Checks the host, origin and token of each request."""

    port: int
    token: str
    """The first part of each path; "" allows every user of this machine."""

    @property
    def base_path(self) -> str:
        return f"/{self.token}" if self.token else ""

    def denial_reason(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        """Return why the request is denied, or None if it is allowed."""
        host = headers.get("Host", "").lower()
        hosts = {f"{name}:{self.port}" for name in LOOPBACK_NAMES}
        if host not in (hosts | set(LOOPBACK_NAMES) if self.port == 80 else hosts):
            return f"This server is only reachable as {LOOPBACK_NAMES[0]}:{self.port}. Forward it to the same port."
        origin = headers.get("Origin")
        has_effect = method not in ("GET", "HEAD") or "websocket" in headers.get("Upgrade", "").lower()
        if origin != f"http://{host}" and (has_effect or origin is not None):
            return "Only the page of this server may send this request."
        token = path.removeprefix("/").partition("/")[0].encode(errors="replace")
        has_token = not self.token or hmac.compare_digest(token, self.token.encode())
        if not has_token and not path.startswith(DOWNLOADS):
            return "The address has no token. Copy the whole address that `clarinet serve` printed."
        return None


class PageServer(Server):
    """textual-serve with access control and its own page; each tab has its own app."""

    def __init__(self, command: Sequence[str], access: AccessControl, sessions: int) -> None:
        # Ctrl+C is for the server, which then ends the apps.
        super().__init__(f"trap '' INT; exec {shlex.join(command)}", port=access.port)
        self._access, self._free_sessions = access, sessions
        self._tabs: set[web.WebSocketResponse] = set()
        self._processes: list[Process] = []

    async def _make_app(self) -> web.Application:
        base = self._access.base_path
        routes = [
            web.get(f"{base}/", self._index),
            web.get(f"{base}/ws", self.handle_websocket),
            web.get("/download/{key}", self.handle_download),
            web.static(f"{base}/static", self.statics_path),
        ]
        app = make_protected_app(self._access, "terminal", routes, {})
        app.on_shutdown.append(self.on_shutdown)
        app.on_cleanup.append(self._stop_apps)
        return app

    async def _index(self, request: web.Request) -> web.Response:
        if not self._free_sessions:
            return web.Response(status=503, text=FULL)
        html = render_terminal_page(self._access.base_path, request.host, request.query.get("fontsize", ""))
        return web.Response(text=html, content_type="text/html", headers={"Cache-Control": "no-store"})

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:  # type: ignore[override]
        """Run an app for a tab, unless there are as many as the server may start."""
        if not self._free_sessions:
            return web.Response(status=503, text=FULL)
        self._free_sessions -= 1
        try:
            return await super().handle_websocket(request)
        finally:
            self._free_sessions += 1

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        process = app_service._process
        assert process is not None, "the service was started"
        self._processes = [*(other for other in self._processes if other.returncode is None), process]
        self._tabs.add(websocket)
        try:
            await super()._process_messages(websocket, app_service)
        finally:
            self._tabs.discard(websocket)
            asyncio.get_running_loop().call_later(APP_SECONDS, _kill, process)

    async def on_shutdown(self, app: web.Application) -> None:
        """Close the tabs, which would delay the shutdown by a minute."""
        await asyncio.gather(*(tab.close(code=WSCloseCode.GOING_AWAY) for tab in self._tabs))

    async def _stop_apps(self, app: web.Application) -> None:
        for process in self._processes:
            try:
                await asyncio.wait_for(process.wait(), SHUTDOWN_TIMEOUT)
            except TimeoutError:
                process.kill()


def make_protected_app(
    access: AccessControl, page: str, routes: Iterable[web.AbstractRouteDef], headers: Mapping[str, str], **options: Any
) -> web.Application:
    """Return an app with these routes and the script of a page: each request is checked, responses have `headers`."""

    @web.middleware
    async def check_access(request: web.Request, handler: Handler) -> web.StreamResponse:
        reason = access.denial_reason(request.method, request.path, request.headers)
        return await handler(request) if reason is None else web.Response(status=403, text=f"{reason}\n")

    async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update({**security_headers(access.port), **headers})

    async def send_script(request: web.Request) -> web.StreamResponse:
        return web.FileResponse(TEMPLATES / f"{page}.js")

    app = web.Application(middlewares=[check_access], **options)
    app.add_routes([*routes, web.get(f"{access.base_path}/page.js", send_script)])
    app.on_response_prepare.append(add_headers)
    return app


def _kill(process: Process) -> None:
    """Kill an app that does not end with its tab, such as a frozen one."""
    if process.returncode is None:
        process.kill()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until Ctrl+C; exit with 2 and an error message if that is not possible."""
    parser = argparse.ArgumentParser(prog="clarinet serve")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--no-token", action="store_true")
    parser.add_argument("--read-only", action="store_true")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    options = parser.parse_args(arguments)
    # The values of the page, not of the server's terminal. Textual reads the frame rate when it is imported.
    command = ["env", "TERM=xterm-256color", f"TEXTUAL_FPS={PAINTS_PER_UPDATE * FPS:.0f}"]
    command += [f"{READ_ONLY_VARIABLE}=1"] if options.read_only else []
    # -P ignores a package named `core` in the working directory.
    command += [sys.executable, "-P", "-m", "clarinet_tui.ui.serve.session"]
    command += [f"--runs-dir={options.runs_dir}", f"--data-dir={options.data_dir}"]
    token = "" if options.no_token else secrets.token_urlsafe(24)

    def make_app(access: AccessControl) -> Awaitable[web.Application]:
        return PageServer(command, access, options.sessions)._make_app()

    try:
        serve(make_app, options.host, options.port, token, "Ctrl+C stops the server; runs continue.")
    except InputError as error:
        print(f"clarinet: {printable(str(error))}", file=sys.stderr)
        sys.exit(2)


def serve(
    make_app: Callable[[AccessControl], web.Application | Awaitable[web.Application]],
    host: str,
    port: int,
    token: str,
    how_to_end: str,
) -> None:
    """Print the page's address and how to reach it from another machine; serve the app until Ctrl+C."""
    with listen(host, port) as listener:
        access, address = AccessControl(listener.getsockname()[1], token), LOOPBACK[host]
        print(f"Open:                 http://{address}:{access.port}{access.base_path}/")
        print(f"From another machine: {tunnel_command(address, access.port)}   then open the same address there")
        print(how_to_end, flush=True)
        web.run_app(make_app(access), sock=listener, access_log=None, print=None, shutdown_timeout=SHUTDOWN_TIMEOUT)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket that no other machine can reach."""
    if host not in LOOPBACK:
        command = tunnel_command("127.0.0.1", port)
        raise InputError(f"--host: expected 127.0.0.1, localhost or ::1; from another machine, run there: {command}")
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    try:
        return socket.create_server((LOOPBACK[host].strip("[]"), port), family=family)
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        reason = "is in use by another program" if in_use else f"cannot be used ({error.strerror})"
        raise InputError(f"--port: {port} {reason}; choose another port") from None


def tunnel_command(address: str, port: int) -> str:
    """The command that makes the page reachable from another machine."""
    try:
        user = printable(getpass.getuser())
    except (KeyError, OSError):  # the user id has no name, as in containers
        user = "user"
    return f"ssh -L {port}:{address}:{port} {user}@{printable(host_name())}"


if __name__ == "__main__":
    main()
