"""Base class of proxies that track open sessions and the folders they work in."""

import os
import re
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from portico.acp.extensions import placement_in
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.rpc.messages import Message, outcome

_NAMED_BY_AGENT = frozenset({"session/new", "session/fork"})
_NAMED_BY_CLIENT = frozenset({"session/load", "session/resume"})
_ENDING = frozenset({"session/close", "session/delete"})
_WINDOWS = re.compile(r"[A-Za-z]:|\\\\")


class SessionFolders(msgspec.Struct, frozen=True):
    """Where a session works, and whether it only reads: its own folder, and those it was given besides.

    If its folder stands for a workspace, as one does that a person has yet to review, that is `stands_for`.
    """

    cwd: str
    additional: tuple[str, ...] = ()
    copy_of: str | None = None
    reads_only: bool = False
    """Whether nothing may be changed or run in the session."""

    @property
    def workspace(self) -> str:
        return self.copy_of or self.cwd


class _Opening(msgspec.Struct, frozen=True, rename="camel"):
    cwd: str
    additional_directories: tuple[str, ...] | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


class _Session(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str


class SessionProxy(Proxy):
    """`folders` has the open sessions. A session is open once its agent says so, until it is closed."""

    client_methods = _NAMED_BY_AGENT | _NAMED_BY_CLIENT | _ENDING

    def __init__(self) -> None:
        super().__init__()
        self.folders: dict[str, SessionFolders] = {}

    def from_client(self, message: Message) -> None:
        if message.method in _ENDING:
            self.forward_right(message, lambda answer: self._ended(message, answer))
        elif message.method in SessionProxy.client_methods:
            self.forward_right(message, lambda answer: self._opened(message, answer))
        else:
            self.node.send_right(message)

    def session_ended(self, session_id: str) -> None:
        """Called when a session is no longer open, or no longer where it was."""

    def _opened(self, asked: Message, answer: Message) -> None:
        with suppress(msgspec.DecodeError):
            if succeeded(answer):
                opening = codecs.decode_json(asked.params, _Opening)
                naming = outcome(answer) if asked.method in _NAMED_BY_AGENT else asked.params
                session_id = codecs.decode_json(naming, _Session).session_id
                folders = _folders(opening)
                if self.folders.get(session_id, folders).cwd != folders.cwd:
                    self.session_ended(session_id)
                self.folders[session_id] = folders
        self.node.send_left(answer)

    def _ended(self, asked: Message, answer: Message) -> None:
        with suppress(msgspec.DecodeError):
            if succeeded(answer):
                session_id = codecs.decode_json(asked.params, _Session).session_id
                if self.folders.pop(session_id, None) is not None:
                    self.session_ended(session_id)
        self.node.send_left(answer)


def succeeded(answer: Message) -> bool:
    """Whether a response has a result and nothing that contradicts it."""
    return isinstance(answer.result, Raw) and isinstance(answer.error, UnsetType)


def _folders(opening: _Opening) -> SessionFolders:
    cwd, placed = _absolute(opening.cwd), placement_in(opening.meta)
    copy_of = _absolute(placed.workspace) if placed.workspace else cwd
    return SessionFolders(
        cwd,
        opening.additional_directories or (),
        None if copy_of == cwd else copy_of,
        reads_only=placed.reads_only is True,
    )


def _absolute(folder: str) -> str:
    return folder if _WINDOWS.match(folder) else os.path.abspath(folder)  # noqa: PTH100 - links stay as given
