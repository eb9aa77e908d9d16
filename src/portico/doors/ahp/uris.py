"""Addresses of the Agent Host Protocol: channels of sessions, chats, terminals and changesets, and stored content.

A session has one chat. Both have the id of the session, or the one that the client chose which created it.
"""

from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

ROOT = "ahp-root://"
Side = Literal["before", "after"]

_SESSION, _CHAT, _TERMINAL = "ahp-session:/", "ahp-chat:/", "ahp-terminal:/"
_CHANGESET, _CONTENT = "ahp-changeset:/", "portico-content:/"


def session_uri(name: str) -> str:
    return _SESSION + quote(name, safe="")


def chat_uri(name: str) -> str:
    return _CHAT + quote(name, safe="")


def terminal_uri(name: str, terminal_id: str) -> str:
    return f"{_TERMINAL}{quote(name, safe='')}/{quote(terminal_id, safe='')}"


def changeset_uri(name: str, proposal_id: str) -> str:
    return f"{_CHANGESET}{quote(name, safe='')}/{quote(proposal_id, safe='')}"


def content_uri(name: str, owner: str, item: str, side: Side) -> str:
    """Text of one side of a change: of a proposal and its file, or of a tool call and its part."""
    return _CONTENT + "/".join(quote(part, safe="") for part in (name, owner, item, side))


def file_uri(path: str) -> str:
    return "file://" + quote(path)


def channel_name(uri: str) -> str | None:
    """The name of the session that a channel or content belongs to; None for other addresses."""
    parts = _parts(uri)
    return parts[0] if parts else None


def changeset_of(uri: str) -> str | None:
    """The proposal of a changeset channel."""
    parts = _parts(uri)
    return parts[1] if uri.startswith(_CHANGESET) and len(parts) == len(("name", "proposal")) else None


def content_of(uri: str) -> tuple[str, str, str, str] | None:
    """Session, owner, item and side of a content address."""
    if not uri.startswith(_CONTENT):
        return None
    match _parts(uri):
        case [name, owner, item, side]:
            return name, owner, item, side
        case _:
            return None


def file_path(uri: str) -> Path | None:
    """The path of a `file:` address on this machine."""
    found = urlsplit(uri)
    if found.scheme != "file" or found.netloc not in ("", "localhost"):
        return None
    return Path(unquote(found.path))


def _parts(uri: str) -> list[str]:
    for prefix in (_SESSION, _CHAT, _TERMINAL, _CHANGESET, _CONTENT):
        if uri.startswith(prefix):
            return [unquote(part) for part in uri[len(prefix) :].split("/")]
    return []
