"""Records every frame of a connection to a file, with secrets removed.

Values that look like secrets in the environment are taken out on the way.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from portico.files.private import make_private_folder, open_private
from portico.rpc.frames import Direction

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
SHORTEST_SECRET = 8
_HIDDEN = b"[hidden]"


class TappedFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a tap file. `role` is what the tapped side is in ACP."""

    connection: str
    role: Literal["client", "agent"]
    direction: Direction
    frame: str


class FileTap:
    """Appends to `<folder>/<process>-<connection>.ndjson`; call it with each frame."""

    def __init__(
        self, path: Path, *, connection: str, role: Literal["client", "agent"], environ: Mapping[str, str]
    ) -> None:
        make_private_folder(path.parent)
        self._file = os.fdopen(open_private(path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0)
        self._connection = connection
        self._role: Literal["client", "agent"] = role
        self._hide = hide_secrets(environ)

    def __call__(self, direction: Direction, data: bytes) -> None:
        frame = self._hide(data).decode("utf-8", "replace").rstrip("\n")
        line = TappedFrame(connection=self._connection, role=self._role, direction=direction, frame=frame)
        self._file.write(msgspec.json.encode(line) + b"\n")


def hide_secrets(environ: Mapping[str, str]) -> Callable[[bytes], bytes]:
    """A function that replaces every secret value of an environment."""
    secrets = {value.encode() for value in secrets_in(environ)}
    if not secrets:
        return lambda data: data
    longest_first = sorted(secrets, key=lambda secret: (-len(secret), secret))
    pattern = re.compile(b"|".join(re.escape(secret) for secret in longest_first))
    return lambda data: pattern.sub(_HIDDEN, data)


def secrets_in(environ: Mapping[str, str]) -> set[str]:
    """The values of an environment that look like secrets by their names."""
    return {
        value for name, value in environ.items() if SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET
    }
