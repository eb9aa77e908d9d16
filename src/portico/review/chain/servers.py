"""Lets the tool servers of a session work where its agent does.

Editors and settings name the workspace to servers by its full path, as in the arguments of one that serves files.
Such a server would change the person's files while the agent believes that it works in its own folder.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.review.chain.spellings import Replacing

_SERVERS = "mcpServers"
_FOLDERS = "additionalDirectories"
_NONE = Raw(b"null")


def placed_servers(params: Raw, replacing: Replacing, folder: str) -> Raw:
    """The parameters of an opening in which servers are told of `folder`, wherever the place is there too.

    The programs of the servers stay the person's own.
    """
    if not replacing.is_in(bytes(params)):
        return params
    try:
        fields = codecs.decode_json(params, dict[str, Raw])
        servers = codecs.decode_json(fields.get(_SERVERS, _NONE), list[dict[str, Any]] | None)
        folders = codecs.decode_json(fields.get(_FOLDERS, _NONE), list[str] | None)
    except msgspec.DecodeError:
        return params

    def place(text: str) -> str:
        return os.pathsep.join(_placed(part, replacing, folder) for part in text.split(os.pathsep))

    if servers is not None:
        fields[_SERVERS] = Raw(msgspec.json.encode([_server(one, place) for one in servers]))
    if folders is not None:
        fields[_FOLDERS] = Raw(msgspec.json.encode([place(one) for one in folders]))
    return Raw(msgspec.json.encode(fields))


def _server(server: dict[str, Any], place: Callable[[str], str]) -> dict[str, Any]:
    """The server with other arguments and variables; whatever else it has stays as it is."""
    args, env = server.get("args"), server.get("env")
    if isinstance(args, list):
        server = {**server, "args": [place(one) if isinstance(one, str) else one for one in args]}
    if isinstance(env, list):
        server = {**server, "env": [_variable(one, place) for one in env]}
    return server


def _variable(variable: Any, place: Callable[[str], str]) -> Any:
    if not isinstance(variable, dict) or not isinstance(variable.get("value"), str):
        return variable
    return {**variable, "value": place(variable["value"])}


def _placed(text: str, replacing: Replacing, folder: str) -> str:
    """A text with the folder in the place of the workspace, if what it names is there."""
    moved = str(codecs.decode_json(replacing(msgspec.json.encode(text))))
    at = moved.find(folder)
    return moved if moved != text and at >= 0 and Path(moved[at:]).exists() else text
