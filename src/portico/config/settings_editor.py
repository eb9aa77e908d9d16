"""Changes settings files by name, and keeps their comments."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from portico.config.jsonc_editor import with_path
from portico.config.setting_descriptions import SETTINGS
from portico.config.settings import (
    MAX_SETTINGS_BYTES,
    SETTINGS_ENCODING,
    WORKSPACE_FILE,
    decode_settings,
)
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.files import real_path
from portico.files.locks import locked
from portico.files.private import make_private_folder
from portico.files.regular import read_regular

SettingChange = tuple[str, str]
"""The name of a setting, or of a part such as `review.mode`, and its JSON value; an empty value removes it."""


def change_user_settings(config_folder: Path, changes: Sequence[SettingChange]) -> None:
    """Set user settings. All or none are written."""
    path = config_folder / "settings.json"
    try:
        make_private_folder(config_folder)
        with locked(path.with_suffix(".lock")):
            text = ""
            if path.exists():
                text = read_regular(path, limit=MAX_SETTINGS_BYTES).decode(SETTINGS_ENCODING)
            _write(path, _changed(text, changes, path))
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror}.",
            suggestion="Check that its folder exists and is writable, or set PORTICO_HOME to another folder.",
        ) from error


def change_workspace_settings(workspace: Path, changes: Sequence[SettingChange]) -> None:
    """Set settings of a workspace. Raises InvalidInput for one that belongs to the user."""
    for name, _ in changes:
        _require_project(name)
    path = Path(os.path.realpath(workspace)) / WORKSPACE_FILE
    try:
        text = ""
        if real_path.exists(path):
            text = real_path.read(path, limit=MAX_SETTINGS_BYTES).decode(SETTINGS_ENCODING)
        real_path.replace_content(path, _changed(text, changes, path).encode())
    except OSError as error:
        why = "it is behind a link" if error.errno == errno.ELOOP else error.strerror
        raise InvalidInput(
            f"{path} cannot be written: {why}.", suggestion="Check that its folder is writable."
        ) from error


def _require_project(name: str) -> None:
    facts = SETTINGS.get(name.partition(".")[0])
    if facts is None or facts.owner == "project":
        return
    if not any(name == part or name.startswith(f"{part}.") for part in facts.narrowing):
        narrowing = f", and can only restrict it with {', '.join(facts.narrowing)}" if facts.narrowing else ""
        raise InvalidInput(
            f"{name} belongs to the user: a workspace cannot set it{narrowing}.",
            suggestion="Leave out --workspace to set it for yourself, in every folder.",
        )


def _changed(text: str, changes: Sequence[SettingChange], path: Path) -> str:
    for name, value in changes:
        parts = name.split(".")
        if parts[0] not in SETTINGS or "" in parts:
            known = ", ".join(SETTINGS)
            raise InvalidInput(f'Unknown setting "{name}".', suggestion=f"Settings: {known}.")
        _check_value(name, value)
        text = with_path(text, parts, value or None)
    decode_settings(text, path)
    return text


def _write(path: Path, text: str) -> None:
    """Replace the file atomically. If it is a link, its target is replaced."""
    place = Path(os.path.realpath(path))
    fresh = place.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(place)


def _check_value(name: str, value: str) -> None:
    """Parse one JSON value. Raises InvalidInput for invalid JSON."""
    try:
        codecs.decode_json(value or "null")
    except msgspec.DecodeError as error:
        raise InvalidInput(f"The value of {name} is not JSON: {error}") from error
