"""Addresses of the Agent Host Protocol: channels of sessions, chats, terminals and changesets, and stored content.

The client that creates a session chooses its address. All others have the name of their agent as scheme, as editors
expect it. The name of a session is the last part of its address, and its chat, terminals and changesets have it too.
"""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

ROOT = "ahp-root://"
Side = Literal["before", "after"]

_CHAT, _TERMINAL, _CHANGESET, _CONTENT = (
    "ahp-chat:/",
    "ahp-terminal:/",
    "ahp-changeset:/",
    "portico-content:/",
)
_SCHEME = re.compile(r"[a-z][a-z0-9.-]*")
_OTHER_SCHEMES = frozenset(
    {"ahp-chat", "ahp-changeset", "ahp-root", "ahp-terminal", "file", "portico-content"}
)


def session_uri(agent: str, name: str) -> str:
    """The address of a session that no client has named."""
    scheme = agent if _SCHEME.fullmatch(agent) and agent not in _OTHER_SCHEMES else "ahp-session"
    return f"{scheme}:/{quote(name, safe='')}"


def session_name(uri: str) -> str | None:
    """The name of a session from its own address; None for other addresses."""
    found = urlsplit(uri)
    name = unquote(found.path.rpartition("/")[2])
    return name if found.scheme and found.scheme not in _OTHER_SCHEMES and name else None


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
    return parts[0] if parts else session_name(uri)


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
    for prefix in (_CHAT, _TERMINAL, _CHANGESET, _CONTENT):
        if uri.startswith(prefix):
            return [unquote(part) for part in uri[len(prefix) :].split("/")]
    return []
