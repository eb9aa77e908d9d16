"""Base class of proxies that track open sessions and the folders they work in."""

import os
import re
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from portico.acp.extensions import placement_in
from portico.acp.session_id import read_session_id
from portico.acp.session_methods import CLOSING_METHODS, CREATING_METHODS, OPENING_METHODS
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.rpc.messages import Message, outcome

_WINDOWS = re.compile(r"[A-Za-z]:|\\\\")


class SessionFolders(msgspec.Struct, frozen=True):
    """The folders of a session: its own, and additional ones.

    If its own folder is a working copy, `copy_of` is the workspace it was copied from.
    """

    cwd: str
    additional: tuple[str, ...] = ()
    copy_of: str | None = None
    reads_only: bool = False
    """Whether nothing may be changed or run in the session."""
    session: str = ""
    """The session's id in Portico; empty if an ACP editor opened it by itself."""

    @property
    def workspace(self) -> str:
        return self.copy_of or self.cwd


class _Opening(msgspec.Struct, frozen=True, rename="camel"):
    cwd: str
    additional_directories: tuple[str, ...] | None = None
    meta: Any = msgspec.field(default=None, name="_meta")


class SessionFoldersProxy(Proxy):
    """`folders` has the open sessions. A session is open from the agent's response until it is closed."""

    client_methods = OPENING_METHODS | CLOSING_METHODS

    def __init__(self) -> None:
        super().__init__()
        self.folders: dict[str, SessionFolders] = {}

    def from_client(self, message: Message) -> None:
        if message.method in CLOSING_METHODS:
            self.forward_right(message, lambda answer: self._ended(message, answer))
        elif message.method in OPENING_METHODS:
            self.forward_right(message, lambda answer: self._opened(message, answer))
        else:
            self.node.send_right(message)

    def session_opened(self, session_id: str) -> None:
        """Called when a session is open, and again when it is opened again."""

    def session_ended(self, session_id: str) -> None:
        """Called when a session is no longer open, or no longer where it was."""

    def _opened(self, asked: Message, answer: Message) -> None:
        if succeeded(answer):
            naming = outcome(answer) if asked.method in CREATING_METHODS else asked.params
            session_id, folders = read_session_id(naming), _read_folders(asked.params)
            if session_id is not None and folders is not None:
                if self.folders.get(session_id, folders).cwd != folders.cwd:
                    self.session_ended(session_id)
                self.folders[session_id] = folders
                self.session_opened(session_id)
        self.node.send_left(answer)

    def _ended(self, asked: Message, answer: Message) -> None:
        session_id = read_session_id(asked.params) if succeeded(answer) else None
        if session_id is not None and self.folders.pop(session_id, None) is not None:
            self.session_ended(session_id)
        self.node.send_left(answer)


def succeeded(answer: Message) -> bool:
    """Whether a response has a result and nothing that contradicts it."""
    return isinstance(answer.result, Raw) and isinstance(answer.error, UnsetType)


def _read_folders(params: Raw) -> SessionFolders | None:
    try:
        opening = codecs.decode_json(params, _Opening)
    except msgspec.DecodeError:
        return None
    cwd, placed = _absolute(opening.cwd), placement_in(opening.meta)
    copy_of = _absolute(placed.workspace) if placed.workspace else cwd
    return SessionFolders(
        cwd,
        opening.additional_directories or (),
        None if copy_of == cwd else copy_of,
        reads_only=placed.reads_only is True,
        session=placed.session,
    )


def _absolute(folder: str) -> str:
    return folder if _WINDOWS.match(folder) else os.path.abspath(folder)  # noqa: PTH100 - links stay as given
