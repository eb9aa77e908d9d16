"""Folders for state, configuration and cache.

`PORTICO_HOME` moves all three to one folder; without it they follow the conventions of the platform.
`PORTICO_TOKEN_FILE` names the token file of another server, whose state is used instead. The environment is passed in,
never read here.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from portico.domain.errors import InvalidInput

TOKEN_FILE_VARIABLE = "PORTICO_TOKEN_FILE"


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the event log, leases and transcripts, which must not be lost."""
    if token_file := environ.get(TOKEN_FILE_VARIABLE):
        return Path(token_file).absolute().parent
    return _folder(environ, "state", "XDG_STATE_HOME", ".local/state", "LOCALAPPDATA")


def config_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's settings."""
    return _folder(environ, "config", "XDG_CONFIG_HOME", ".config", "APPDATA")


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of files that can be downloaded or built again."""
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
    # The specification says to ignore a path that is not absolute.
    return (named if named.is_absolute() else user / fallback) / "portico"


def expand_user_path(text: str) -> Path:
    """Expand `~` in a path. `~name` with an unknown user stays as it is."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def _home(text: str) -> Path:
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInput(
            f"PORTICO_HOME is {text}, but this user does not exist.",
            suggestion="Set it to a folder, or unset it.",
        ) from error
