"""Ready-made notifications of alarms and ends: a bell, the desktop, ntfy or a webhook, as the user has chosen.

The choice is the user's: CLARINET_NOTIFY, or `notify` in ~/.config/clarinet/config.toml; never a setting of a run.
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit

from clarinet_tui.runs.directory import read_toml
from clarinet_tui.streams import FALLBACK
from core.errors import InputError

VARIABLE = "CLARINET_NOTIFY"
EXPECTED = "expected bell, desktop, ntfy://HOST/TOPIC or https://…"
SECONDS = 10.0
"""The time limit of one notification."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def user_config_path(environ: Mapping[str, str] = os.environ) -> Path:
    return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "clarinet" / "config.toml"


def read_targets(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return where this user wants notifications, from the environment or the user's own file."""
    if environ.get(VARIABLE):
        return tuple(_check(target, VARIABLE) for target in environ[VARIABLE].split())
    path = user_config_path(environ)
    if not path.is_file():
        return ()
    notify = read_toml(path).get("notify", [])
    targets = [notify] if isinstance(notify, str) else notify
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise InputError(f"{path}: notify: {EXPECTED}, or a list of these")
    return tuple(_check(target, f"{path}: notify") for target in targets)


def _check(target: str, place: str) -> str:
    """Return the target; the error does not quote an address, which may be secret."""
    try:
        parts = urlsplit(target)
        is_address = bool(parts.hostname) and (parts.scheme == "https" or bool(parts.path.strip("/")))
    except ValueError:
        is_address, parts = False, urlsplit("")
    if target in ("bell", "desktop") or (is_address and parts.scheme in ("https", "ntfy")):
        return target
    raise InputError(f"{place}: {EXPECTED}, got {parts.scheme or target[:20]!a}")


def send(target: str, title: str, message: str, fields: Mapping[str, str]) -> str | None:
    """Send one notification; return why it could not be sent, without the target's secrets."""
    try:
        if target == "bell":
            _ring()
        elif target == "desktop":
            return _show_on_desktop(title, message)
        else:
            _post(target, title, message, fields)
    except (OSError, URLError, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error.strerror if isinstance(error, OSError) else None
        return f"notify {describe_target(target)}: {reason or type(error).__name__}"
    return None


def describe_target(target: str) -> str:
    """Return the target without its path, which may be secret."""
    parts = urlsplit(target)
    return f"{parts.scheme}://{parts.hostname}" if parts.scheme else target


def _ring() -> None:
    """Ring the terminal's bell; a queued run has no terminal.

    A progress bar replaces `sys.stdout` and writes whole lines only, so the bell is written to the terminal itself.
    """
    terminal = sys.__stdout__
    if terminal is not None and terminal.isatty():
        os.write(terminal.fileno(), b"\a")


def _show_on_desktop(title: str, message: str) -> str | None:
    if (program := shutil.which("notify-send")) is None:
        return "notify desktop: there is no program notify-send"
    command = [program, "--app-name=Clarinet", "--", title, message]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    return f"notify desktop: notify-send ended with exit code {ended.returncode}" if ended.returncode else None


def _post(target: str, title: str, message: str, fields: Mapping[str, str]) -> None:
    parts = urlsplit(target)
    if parts.scheme == "ntfy":
        scheme = "http" if parts.hostname in LOCAL_HOSTS else "https"
        headers = {"Title": title.encode("ascii", FALLBACK).decode()}
        request = urllib.request.Request(parts._replace(scheme=scheme).geturl(), message.encode(), headers)
    else:
        content = json.dumps({"title": title, "message": message, **fields}).encode()
        request = urllib.request.Request(target, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        response.read(1)


def send_all(targets: Sequence[str], title: str, message: str, fields: Mapping[str, str]) -> list[str]:
    """Send to every target; return what failed."""
    return [problem for target in targets if (problem := send(target, title, message, fields)) is not None]
