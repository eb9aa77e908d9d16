"""Proxy that translates paths between the working copy of an agent and the workspace of the person.

An agent that works in a working copy names files there; the person knows them in the workspace. Messages of the
agent are translated on their way to the client; prompts and the paths given to MCP servers are translated on their
way to the agent. fs/* and terminal/* requests pass unchanged. A chain without such a session costs nothing.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from portico.acp.extensions import PERMISSION_DECIDED, SESSION_LEFT, placement_in
from portico.acp.session_id import read_session_id
from portico.acp.session_methods import CLOSING_METHODS, OPENING_METHODS, REOPENING_METHODS
from portico.conductor.proxy import Proxy
from portico.conductor.session_folders import succeeded
from portico.domain import codecs
from portico.processes.relocation import matching_roots
from portico.review.acp.path_chunks import PathChunkBuffer
from portico.review.acp.path_rewriter import PathRewriter
from portico.rpc.messages import ErrorObject, Message, RpcError, failure, response

_SERVERS = "mcpServers"
_FOLDERS = "additionalDirectories"
_NONE = Raw(b"null")


def relocate_servers(params: Raw, replacing: PathRewriter, folder: str) -> Raw:
    """Parameters of a session request in which MCP servers get `folder` instead of the workspace, where the
    path exists there too.

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


def _placed(text: str, replacing: PathRewriter, folder: str) -> str:
    """A text with the folder in the place of the workspace, if what it names is there."""
    moved = str(codecs.decode_json(replacing(msgspec.json.encode(text))))
    at = moved.find(folder)
    return moved if moved != text and at >= 0 and Path(moved[at:]).exists() else text


_PROMPT = "session/prompt"
_ELICIT = "elicitation/create"
_UPDATE = "session/update"
_HEARD = CLOSING_METHODS | {_PROMPT, SESSION_LEFT}
_SAID = frozenset({_UPDATE, "session/request_permission", _ELICIT, PERMISSION_DECIDED})


class _Opening(msgspec.Struct, frozen=True, rename="camel"):
    cwd: str = ""
    session_id: str | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


class FolderPair:
    """Folder in which an agent works, and the workspace that it replaces.

    Both may be parts of larger trees, such as repositories, whose paths correspond in the same way.
    """

    def __init__(self, folder: str, workspace: str) -> None:
        workspace, folder = map(str, matching_roots(Path(workspace), Path(folder)))
        self.folders = tuple(dict.fromkeys((folder, os.path.realpath(folder))))
        self.for_person = PathRewriter(self.folders, workspace)
        self.for_agent = PathRewriter((workspace, os.path.realpath(workspace)), folder)


class PathTranslation(Proxy):
    """Sees sessions being opened, and nothing else until one has a folder of its own."""

    name = "translation"
    client_methods = OPENING_METHODS

    def __init__(self) -> None:
        super().__init__()
        self._opening: list[FolderPair] = []
        self._open: dict[str, FolderPair] = {}
        self._pairs: tuple[FolderPair, ...] = ()
        self._pieces = PathChunkBuffer()

    def from_client(self, message: Message) -> None:
        if message.method in OPENING_METHODS:
            self._begin(message)
        elif message.method == _PROMPT:
            self._prompt(message)
        elif message.method == SESSION_LEFT:
            self._forget(read_session_id(message.params))
            self.node.send_right(message)
        else:
            self.forward_right(message, lambda answer: self._ended(message, answer))

    def from_agent(self, message: Message) -> None:
        if message.method == _UPDATE:
            for piece in self._pieces.taken(message):
                self.node.send_left(self._translated(piece))
            return
        self._say_the_rest()
        translated = self._translated(message)
        pair = self._open.get(read_session_id(message.params) or "") if message.method == _ELICIT else None
        if pair is None:
            self.node.send_left(translated)
        else:
            self.forward_left(
                translated, lambda answer: self.node.send_right(_changed(answer, pair.for_agent))
            )

    def _begin(self, message: Message) -> None:
        asked = _read_opening(message.params)
        pair = None if asked is None else _pair_of(asked)
        if pair is None:
            # A session may come back to the workspace itself.
            named = asked.session_id if asked is not None and message.method in REOPENING_METHODS else None
            self._forget(named)
            self.node.send_right(message)
            return
        # From the question on: a session that is loaded speaks before it is there.
        self._opening.append(pair)
        self._count()
        placed = relocate_servers(message.params, pair.for_agent, pair.folders[0])
        asked_there = message if placed is message.params else message.with_params(placed)
        self.forward_right(asked_there, lambda answer: self._opened(message, answer, pair))

    def _opened(self, asked: Message, answer: Message, pair: FolderPair) -> None:
        self._opening.remove(pair)
        if succeeded(answer):
            naming = asked.params if asked.method in REOPENING_METHODS else answer.result
            session_id = read_session_id(naming) if isinstance(naming, Raw) else None
            if session_id is not None:
                self._open[session_id] = pair
        self.node.send_left(_changed(answer, pair.for_person))
        self._count()

    def _ended(self, asked: Message, answer: Message) -> None:
        if succeeded(answer):
            self._forget(read_session_id(asked.params))
        self.node.send_left(answer)

    def _prompt(self, message: Message) -> None:
        pair = self._open.get(read_session_id(message.params) or "") if self._open else None
        if pair is None:
            self.node.send_right(message)
        else:
            translated = _changed(message, pair.for_agent)
            self.forward_right(translated, self._prompted)

    def _prompted(self, answer: Message) -> None:
        self._say_the_rest()
        self.node.send_left(self._translated(answer))

    def _say_the_rest(self) -> None:
        for piece in self._pieces.released():
            self.node.send_left(self._translated(piece))

    def _translated(self, message: Message) -> Message:
        """A message as the person is to read it. Folders are the sessions' own, so it need not say whose it is."""
        for pair in self._pairs:
            if pair.for_person.is_in(message.line):
                message = _changed(message, pair.for_person)
        return message

    def _forget(self, session_id: str | None) -> None:
        if session_id is not None and self._open.pop(session_id, None) is not None:
            self._count()

    def _count(self) -> None:
        self._say_the_rest()
        self._pairs = (*self._opening, *self._open.values())
        self._pieces.folders = tuple(folder for pair in self._pairs for folder in pair.folders)
        self.client_methods = OPENING_METHODS | _HEARD if self._pairs else OPENING_METHODS
        self.agent_methods = _SAID if self._pairs else frozenset()


def _pair_of(asked: _Opening) -> FolderPair | None:
    workspace = placement_in(asked.meta).workspace
    both_absolute = os.path.isabs(workspace) and os.path.isabs(asked.cwd)  # noqa: PTH117 - words of a peer
    return FolderPair(asked.cwd, workspace) if both_absolute and workspace != asked.cwd else None


def _changed(message: Message, replacing: PathRewriter) -> Message:
    """The message with its paths translated; the same object if it has none."""
    if message.method is not None:
        params = bytes(message.params)
        other = replacing(params)
        return message if other == params else message.with_params(Raw(other))
    if isinstance(message.id, UnsetType):
        return message
    if isinstance(message.error, ErrorObject):
        error = msgspec.json.encode(message.error)
        changed = codecs.decode_json(replacing(error), ErrorObject)
        return failure(message.id, RpcError(changed.code, changed.message, changed.data))
    result = bytes(message.result) if isinstance(message.result, Raw) else b""
    other = replacing(result)
    return message if other == result else response(message.id, Raw(other))


def _read_opening(params: Raw) -> _Opening | None:
    try:
        return codecs.decode_json(params, _Opening)
    except msgspec.DecodeError:
        return None
