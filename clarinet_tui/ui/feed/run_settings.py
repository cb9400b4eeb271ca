"""Formats a run's config.toml and environment.json for the panes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clarinet_tui.ui.snapshot.run_detail import Setting
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory
    from core.config import RunConfig

TITLE_SETTINGS = frozenset({"method", "task", "seed", "preset", "name"})
"""Settings that the run's title already shows."""
VERSIONS = ("clarinet-tui", "torch", "numpy")
"""Packages whose versions are shown."""


def list_run_settings(config: RunConfig) -> tuple[Setting, ...]:
    """Return every setting; those that differ from the preset come first."""
    from operator import attrgetter

    from core.config import setting_specs
    from core.resolve import changed_settings

    try:
        changed = changed_settings(config)
    except InputError:  # the method is not installed here, so that its defaults are unknown
        changed = {}
    listed = [
        Setting(
            field.name,
            format_setting(attrgetter(field.name)(config)),
            format_setting(changed[field.name][0]) if field.name in changed else None,
            field.description,
        )
        for field in setting_specs()
        if field.name not in TITLE_SETTINGS
    ]
    return tuple(sorted(listed, key=lambda setting: setting.default is None))


def format_setting(value: Any) -> str:
    """Format a value as in TOML, without quotation marks around text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value != "" else '""'


def format_environment(run: RunDirectory, started: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return name and text of the run's data, machine, versions and code."""
    from clarinet_tui.runs.environment import format_hardware, read_environment

    environment = read_environment(run)
    lines = {
        "images": _images(started),
        "network": _counted(started.get("parameters"), "parameters"),
        "labels": str(started.get("label_hash") or ""),
        "device": str(environment.get("device") or ""),
        "hardware": format_hardware(environment),
        "host": str(environment.get("host") or ""),
        "versions": _versions(environment),
        "code": _code(environment.get("git")),
        "command": _command(environment.get("command")),
        "directory": str(run.path),
    }
    return tuple((name, text) for name, text in lines.items() if text)


def _images(started: dict[str, Any]) -> str:
    sizes = [_counted(started.get(f"{side}_size"), side) for side in ("source", "target", "test")]
    return ", ".join(filter(None, sizes))


def _counted(number: Any, of: str) -> str:
    return f"{number:,} {of}".replace(",", " ") if isinstance(number, int) else ""


def _versions(environment: dict[str, Any]) -> str:
    versions = environment.get("versions")
    known = versions if isinstance(versions, dict) else {}
    python = [f"python {environment['python']}"] if environment.get("python") else []
    return ", ".join([*python, *(f"{name} {known[name]}" for name in VERSIONS if name in known)])


def _code(git: Any) -> str:
    if not isinstance(git, dict) or not git.get("commit"):
        return ""
    return f"commit {str(git['commit'])[:12]}{' with changes' if git.get('patch') else ''}"


def _command(command: Any) -> str:
    import shlex

    return shlex.join(map(str, command)) if isinstance(command, list) else ""
