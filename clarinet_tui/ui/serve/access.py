"""Who may come in: this page in a browser; not another site's page, and not another user of the machine."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""How a browser may call the loopback address; any other name was brought in through foreign DNS."""
SAFE_METHODS = ("GET", "HEAD")
DOWNLOADS = "/download/"
"""Below it each address is as hard to guess as the token, and works once."""


def new_token() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class AccessControl:
    """Looks at a request before anything answers it."""

    port: int
    token: str
    """The first part of each address; "" if anybody on this machine may come in."""

    @property
    def base_path(self) -> str:
        return f"/{self.token}" if self.token else ""

    def denial_reason(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        """Why the request is not answered, as a sentence for whoever sent it."""
        host = headers.get("Host", "").lower()
        if host not in self._hosts():
            return (
                f"This server answers only as {LOOPBACK_NAMES[0]}:{self.port}: forward the port under the same number."
            )
        origin = headers.get("Origin")
        acts = method not in SAFE_METHODS or "websocket" in headers.get("Upgrade", "").lower()
        if origin != f"http://{host}" and (acts or origin is not None):
            return "Only the page of this server may ask for that."
        if self.token and not path.startswith(DOWNLOADS) and not self._has_token(path):
            return "The address lacks its token: copy the whole line that `clarinet serve` has printed."
        return None

    def _hosts(self) -> set[str]:
        numbered = {f"{name}:{self.port}" for name in LOOPBACK_NAMES}
        return numbered | set(LOOPBACK_NAMES) if self.port == 80 else numbered

    def _has_token(self, path: str) -> bool:
        said = path.removeprefix("/").partition("/")[0]
        return hmac.compare_digest(said.encode(errors="replace"), self.token.encode())
