"""The flag `--token-file`, which stands before a command: the server of another home, and its sessions."""

import os
from pathlib import Path

from portico.config.paths import TOKEN_FILE_VARIABLE, expand_user_path
from portico.config.server_files import ServerFiles
from portico.domain.errors import InvalidInput

_WHERE = "portico status --api shows it as tokenFile, in the environment of that server."


def use_token_file(text: str) -> None:
    """Let this process use the server with this token file. InvalidInput if it is not the file of a server."""
    if not text:
        raise InvalidInput("--token-file needs a file.", suggestion=_WHERE)
    path = expand_user_path(text).absolute()
    files = ServerFiles(path.parent)
    if path != files.token_file or not _exists(path):
        raise InvalidInput(f"{path} is not the token file of a server.", suggestion=_WHERE)
    if files.read_record() is None:
        raise InvalidInput(f"{files.record_file} is missing or invalid, so the server cannot be found.")
    if files.read_token() is None:
        raise InvalidInput(
            f"{path} has no token, or other users can read it.",
            suggestion="Use the file of a server of yours; it has mode 600.",
        )
    os.environ[TOKEN_FILE_VARIABLE] = str(path)


def _exists(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
