"""Lets a person and an agent speak of the same file, each by the path that it has for them.

An agent that works in a folder of its own names files there; the person knows them in the workspace. What the
agent says or asks is translated on its way to the client, and prompts are on their way to the agent, as are the
places that tool servers are told of. Files and commands are no words: fs/* and terminal/* pass as they are. A chain
without such a session costs nothing.
"""

import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from portico.acp.extensions import DECIDED, LEFT, placed_by
from portico.conductor.mcp.sessions import CLOSING, OPENING
from portico.conductor.message import Message, failure, response
from portico.conductor.proxy import Proxy
from portico.conductor.session_proxy import succeeded
from portico.domain import codecs
from portico.review.chain.pieces import Pieces
from portico.review.chain.servers import placed_servers
from portico.review.chain.spellings import Replacing
from portico.rpc.messages import ErrorObject, RpcError
from portico.rpc.placing import corresponding_tops

_PROMPT = "session/prompt"
_ELICIT = "elicitation/create"
_NAMED_BY_CLIENT = frozenset({"session/load", "session/resume"})
_UPDATE = "session/update"
_HEARD = CLOSING | {_PROMPT, LEFT}
_SAID = frozenset({_UPDATE, "session/request_permission", _ELICIT, DECIDED})


class _Opening(msgspec.Struct, frozen=True, rename="camel"):
    cwd: str = ""
    session_id: str | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


class _Session(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str | None = None


class Pair:
    """A folder in which an agent works, and the workspace that it stands for.

    Both may be parts of larger trees that stand for each other in the same way, as a repository does.
    """

    def __init__(self, folder: str, workspace: str) -> None:
        workspace, folder = map(str, corresponding_tops(Path(workspace), Path(folder)))
        self.folders = tuple(dict.fromkeys((folder, os.path.realpath(folder))))
        self.for_person = Replacing(self.folders, workspace)
        self.for_agent = Replacing((workspace, os.path.realpath(workspace)), folder)


class Translation(Proxy):
    """Sees sessions being opened, and nothing else until one has a folder of its own."""

    name = "translation"
    client_methods = OPENING

    def __init__(self) -> None:
        super().__init__()
        self._opening: list[Pair] = []
        self._open: dict[str, Pair] = {}
        self._pairs: tuple[Pair, ...] = ()
        self._pieces = Pieces()

    def from_client(self, message: Message) -> None:
        if message.method in OPENING:
            self._begin(message)
        elif message.method == _PROMPT:
            self._prompt(message)
        elif message.method == LEFT:
            self._forget(_session_of(message.params))
            self.place.send_right(message)
        else:
            self.forward_right(message, lambda answer: self._ended(message, answer))

    def from_agent(self, message: Message) -> None:
        if message.method == _UPDATE:
            for piece in self._pieces.taken(message):
                self.place.send_left(self._told(piece))
            return
        self._say_the_rest()
        told = self._told(message)
        pair = self._open.get(_session_of(message.params) or "") if message.method == _ELICIT else None
        if pair is None:
            self.place.send_left(told)
        else:
            self.forward_left(told, lambda answer: self.place.send_right(_changed(answer, pair.for_agent)))

    def _begin(self, message: Message) -> None:
        asked = _read_opening(message.params)
        pair = None if asked is None else _pair_of(asked)
        if pair is None:
            # A session may come back to the workspace itself.
            named = asked.session_id if asked is not None and message.method in _NAMED_BY_CLIENT else None
            self._forget(named)
            self.place.send_right(message)
            return
        # From the question on: a session that is loaded speaks before it is there.
        self._opening.append(pair)
        self._count()
        placed = placed_servers(message.params, pair.for_agent, pair.folders[0])
        asked_there = message if placed is message.params else message.with_params(placed)
        self.forward_right(asked_there, lambda answer: self._opened(message, answer, pair))

    def _opened(self, asked: Message, answer: Message, pair: Pair) -> None:
        self._opening.remove(pair)
        if succeeded(answer):
            naming = asked.params if asked.method in _NAMED_BY_CLIENT else answer.result
            session_id = _session_of(naming) if isinstance(naming, Raw) else None
            if session_id is not None:
                self._open[session_id] = pair
        self.place.send_left(_changed(answer, pair.for_person))
        self._count()

    def _ended(self, asked: Message, answer: Message) -> None:
        if succeeded(answer):
            self._forget(_session_of(asked.params))
        self.place.send_left(answer)

    def _prompt(self, message: Message) -> None:
        pair = self._open.get(_session_of(message.params) or "") if self._open else None
        if pair is None:
            self.place.send_right(message)
        else:
            told = _changed(message, pair.for_agent)
            self.forward_right(told, self._prompted)

    def _prompted(self, answer: Message) -> None:
        self._say_the_rest()
        self.place.send_left(self._told(answer))

    def _say_the_rest(self) -> None:
        for piece in self._pieces.released():
            self.place.send_left(self._told(piece))

    def _told(self, message: Message) -> Message:
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
        self.client_methods = OPENING | _HEARD if self._pairs else OPENING
        self.agent_methods = _SAID if self._pairs else frozenset()


def _pair_of(asked: _Opening) -> Pair | None:
    workspace = placed_by(asked.meta).workspace
    both_absolute = os.path.isabs(workspace) and os.path.isabs(asked.cwd)  # noqa: PTH117 - words of a peer
    return Pair(asked.cwd, workspace) if both_absolute and workspace != asked.cwd else None


def _changed(message: Message, replacing: Replacing) -> Message:
    """The message with other paths in it, and the very same one if there are none."""
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


def _session_of(params: Raw) -> str | None:
    try:
        return codecs.decode_json(params, _Session).session_id
    except msgspec.DecodeError:
        return None
