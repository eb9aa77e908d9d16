"""Folders for state, configuration and cache.

`PORTICO_HOME` moves all three to one place; without it they are where the platform wants them.
The environment is handed in: nothing here looks it up.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from portico.domain.errors import InvalidInput


def state_folder(environ: Mapping[str, str]) -> Path:
    """The event log, leases, transcripts: what must not be lost."""
    return _folder(environ, "state", "XDG_STATE_HOME", ".local/state", "LOCALAPPDATA")


def config_folder(environ: Mapping[str, str]) -> Path:
    """The user's settings."""
    return _folder(environ, "config", "XDG_CONFIG_HOME", ".config", "APPDATA")


def cache_folder(environ: Mapping[str, str]) -> Path:
    """What can be fetched or made again."""
    return _folder(environ, "cache", "XDG_CACHE_HOME", ".cache", "LOCALAPPDATA")


def _folder(environ: Mapping[str, str], part: str, xdg: str, fallback: str, windows: str) -> Path:
    if home := environ.get("PORTICO_HOME"):
        return _home(home) / part
    user = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if sys.platform == "win32":
        return Path(environ.get(windows) or user / "AppData" / "Local") / "portico" / part
    if sys.platform == "darwin":
        return user / "Library" / ("Caches" if part == "cache" else "Application Support") / "portico" / part
    named = Path(environ.get(xdg, ""))
    # One that is not absolute does not count, as its specification says.
    return (named if named.is_absolute() else user / fallback) / "portico"


def expand_user_path(text: str) -> Path:
    """A path as people write it: `~` is their home. A user whom nobody knows is a name like any other."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def _home(text: str) -> Path:
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInput(
            f"PORTICO_HOME is {text}, and there is no such user.",
            suggestion="Set it to a folder, or unset it.",
        ) from error
