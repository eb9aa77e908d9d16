"""Workspace folders as a person names them: checked and resolved."""

import stat
from pathlib import Path

from portico.domain.errors import InvalidInput

_LONGEST_NAME = 200


def resolve_workspace(workspace: Path) -> str:
    """The real path of a workspace. InvalidInput if it is not a folder."""
    if not is_folder(workspace):
        raise _unusable(workspace, "is not a folder")
    return str(workspace.resolve())


def is_folder(path: Path) -> bool:
    """Whether the folder exists. InvalidInput for a path that cannot be one."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unusable(path, f"cannot be used: {error.strerror}") from error
    except ValueError as error:
        raise _unusable(path, f"cannot be used: {error}") from error
    if not stat.S_ISDIR(mode):
        raise _unusable(path, "is not a folder")
    return True


def _unusable(path: Path, what: str) -> InvalidInput:
    name = str(path) if str(path).isprintable() else ascii(str(path))
    shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return InvalidInput(f"{shown} {what}.", suggestion="Give a folder that exists and that you can open.")
