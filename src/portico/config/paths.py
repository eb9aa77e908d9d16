"""Where Portico keeps things: one folder each for state, configuration and cache.

`PORTICO_HOME` moves all three to one place; without it they are where the platform wants them.
The environment is handed in: nothing here looks it up.
"""

import sys
from collections.abc import Mapping
from pathlib import Path


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
        return Path(home).expanduser().absolute() / part
    user = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if sys.platform == "win32":
        return Path(environ.get(windows) or user / "AppData" / "Local") / "portico" / part
    if sys.platform == "darwin":
        return user / "Library" / ("Caches" if part == "cache" else "Application Support") / "portico" / part
    return Path(environ.get(xdg) or user / fallback) / "portico"
