"""Values of prompt variables kept in JSONC files: one of the workspace, one of the user.

Values that look like secrets are neither used nor saved: a variable becomes part of a text that is sent to a model.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.config.jsonc import to_json
from portico.config.jsonc_editor import with_member
from portico.config.settings import OwnedPaths
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.redaction import HIDDEN, without_secrets
from portico.files import real_path
from portico.files.regular import read_regular
from portico.prompts.template import VARIABLE_NAME

MAX_VARIABLES_BYTES = 1024 * 1024
_MEND = 'Fix the file: it has to be one object with texts, such as {"language": "French"}.'
_Values = dict[str, str | int | float | bool]


class SessionVariables(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the files. `path` is the file to save values in; None if the settings name none."""

    values: dict[str, str]
    path: Path | None = None
    warnings: tuple[str, ...] = ()


def read_variables(path: Path) -> dict[str, str]:
    """Read a file with values. Raises InvalidInput for a file that is missing or malformed."""
    try:
        text = read_regular(path, limit=MAX_VARIABLES_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 (byte {error.start + 1}).", suggestion=_MEND) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    plain = to_json(text) if text.strip() else "{}"
    try:
        found = codecs.decode_json(plain.encode(), _Values)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"{path} is invalid: {error}", suggestion=_MEND) from error
    return {name: _text(value) for name, value in found.items()}


def load_session_variables(files: OwnedPaths, workspace: Path, *, trusted: bool) -> SessionVariables:
    """Read the files of the settings; those of the workspace win. Raises InvalidInput for a broken file of the user.

    A broken file of the workspace is a warning, and so is a file outside a workspace that is not trusted.
    """
    values: dict[str, str] = {}
    warnings: list[str] = []
    for path in map(Path, files.user):
        if path.exists():
            values |= _safe(read_variables(path), path, warnings)
    for path in map(Path, files.workspace):
        if not trusted and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workspace)):
            warnings.append(f"{path} is outside the workspace, which is not trusted, and is ignored.")
        elif path.exists():
            try:
                values |= _safe(read_variables(path), path, warnings)
            except InvalidInput as error:
                warnings.append(f"{error.message} It is ignored.")
    named = [*files.workspace, *files.user]
    return SessionVariables(values=values, path=Path(named[0]) if named else None, warnings=tuple(warnings))


def looks_secret(name: str, value: str) -> bool:
    """Return whether a value looks like a key, a token or a password."""
    return HIDDEN in without_secrets(value) or HIDDEN in without_secrets(f"{name}={value}")


def savable(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values that may be saved: not the input, and no secrets."""
    return {
        name: value
        for name, value in values.items()
        if name != "input" and VARIABLE_NAME.fullmatch(name) and not looks_secret(name, value)
    }


def fresh_values(typed: Mapping[str, str], session: SessionVariables) -> dict[str, str]:
    """Return the values that were typed, may be saved, and are not saved yet."""
    return {name: value for name, value in savable(typed).items() if session.values.get(name) != value}


def save_variables(path: Path, values: Mapping[str, str]) -> None:
    """Set values in a file and keep its comments. Raises InvalidInput if it is malformed or cannot be written."""
    place = Path(os.path.realpath(path))
    text = ""
    if place.exists():
        read_variables(place)
        text = read_regular(place, limit=MAX_VARIABLES_BYTES).decode("utf-8-sig")
    for name, value in values.items():
        text = with_member(text, name, msgspec.json.encode(value).decode())
    try:
        real_path.replace_content(place, text.encode())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error


def _safe(found: dict[str, str], path: Path, warnings: list[str]) -> dict[str, str]:
    secret = [name for name, value in found.items() if looks_secret(name, value)]
    if secret:
        listed = ", ".join(sorted(secret))
        warnings.append(
            f"{path}: {listed} looks like a secret and is not used, because a model would see it."
        )
    return {name: value for name, value in found.items() if name not in secret}


def _text(value: str | float | bool) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
