"""A run's config.toml and environment.json as people want to read them: what is unusual first, the rest in short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clarinet_tui.ui.snapshot.run_detail import Setting
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory
    from core.config import RunConfig

NAMES = frozenset({"method", "task", "seed", "preset", "name"})
"""Settings that are in the run's title already."""
VERSIONS = ("clarinet-tui", "torch", "numpy")
"""The packages that are named in short."""


def settings_of(config: RunConfig) -> tuple[Setting, ...]:
    """Every setting, those that differ from the preset first."""
    from operator import attrgetter

    from core.config import fields
    from core.resolve import changed_settings

    try:
        changed = changed_settings(config)
    except InputError:  # a method that is not installed here: what is usual for it is not known
        changed = {}
    listed = [
        Setting(
            field.name,
            plain(attrgetter(field.name)(config)),
            plain(changed[field.name][0]) if field.name in changed else None,
            field.sentence,
        )
        for field in fields()
        if field.name not in NAMES
    ]
    return tuple(sorted(listed, key=lambda setting: setting.usual is None))


def plain(value: Any) -> str:
    """A value as TOML would have it, without the quotation marks of plain words."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value != "" else '""'


def surroundings_of(run: RunDirectory, started: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """With what, where and from which code the run was made."""
    from clarinet_tui.runs.environment import read_environment

    environment = read_environment(run)
    lines = {
        "images": _images(started),
        "network": _counted(started.get("parameters"), "parameters"),
        "labels": str(started.get("label_hash") or ""),
        "device": str(environment.get("device") or ""),
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
    found = environment.get("versions")
    known = found if isinstance(found, dict) else {}
    python = [f"python {environment['python']}"] if environment.get("python") else []
    return ", ".join([*python, *(f"{name} {known[name]}" for name in VERSIONS if name in known)])


def _code(git: Any) -> str:
    if not isinstance(git, dict) or not git.get("commit"):
        return ""
    return f"commit {str(git['commit'])[:12]}{' with changes' if git.get('patch') else ''}"


def _command(command: Any) -> str:
    import shlex

    return shlex.join(map(str, command)) if isinstance(command, list) else ""
