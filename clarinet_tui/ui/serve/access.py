"""Access control: only the served page may connect, not other sites and not other users of the machine."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Host names of the loopback address. Another name means DNS rebinding."""
SAFE_METHODS = ("GET", "HEAD")
DOWNLOADS = "/download/"
"""Below this path, each address works once and contains a key as long as the token."""


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
        if host not in self._hosts():
            return f"This server is only reachable as {LOOPBACK_NAMES[0]}:{self.port}. Forward it to the same port."
        origin = headers.get("Origin")
        has_effect = method not in SAFE_METHODS or "websocket" in headers.get("Upgrade", "").lower()
        if origin != f"http://{host}" and (has_effect or origin is not None):
            return "Only the page of this server may send this request."
        if self.token and not path.startswith(DOWNLOADS) and not self._has_token(path):
            return "The address has no token. Copy the whole address that `clarinet serve` printed."
        return None

    def _hosts(self) -> set[str]:
        with_port = {f"{name}:{self.port}" for name in LOOPBACK_NAMES}
        return with_port | set(LOOPBACK_NAMES) if self.port == 80 else with_port

    def _has_token(self, path: str) -> bool:
        token = path.removeprefix("/").partition("/")[0]
        return hmac.compare_digest(token.encode(errors="replace"), self.token.encode())
