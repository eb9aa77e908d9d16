"""File and terminal requests of an agent, described as tool calls so that deny rules apply to them.

Such a request asks for no permission, but a deny rule holds for it as well.
"""

from contextlib import suppress
from typing import Any, Literal

import msgspec

from portico.acp import _schema as acp
from portico.domain import codecs
from portico.rpc.messages import Message

_READ, _WRITE, _RUN = "fs/read_text_file", "fs/write_text_file", "terminal/create"
READ_METHODS = frozenset({_READ})
ACTION_METHODS = frozenset({_WRITE, _RUN})
CLIENT_REQUEST_METHODS = READ_METHODS | ACTION_METHODS


class ClientRequest(msgspec.Struct, frozen=True):
    session_id: str
    call: acp.ToolCallUpdate


class _File(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    path: str
    content: str | None = None


class _Command(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    command: str
    args: list[str] | None = None
    cwd: str | None = None
    env: list[Any] | None = None


def read_client_request(message: Message, call_id: str) -> ClientRequest | None:
    """A client request as a tool call with the given id; None if its parameters cannot be read."""
    with suppress(msgspec.DecodeError):
        if message.method == _RUN:
            wanted = codecs.decode_json(message.params, _Command)
            title = " ".join((wanted.command, *(wanted.args or ())))
            fields: dict[str, Any] = {"command": wanted.command, "args": wanted.args}
            fields |= {"cwd": wanted.cwd, "env": wanted.env}
            given = {name: value for name, value in fields.items() if value}
            call = acp.ToolCallUpdate(tool_call_id=call_id, kind="execute", title=title, raw_input=given)
            return ClientRequest(wanted.session_id, call)
        file = codecs.decode_json(message.params, _File)
        kind: Literal["read", "edit"] = "read" if message.method == _READ else "edit"
        diff: list[acp.ToolCallContent] | None = None
        if file.content is not None:
            diff = [acp.Diff(path=file.path, new_text=file.content)]
        call = acp.ToolCallUpdate(
            tool_call_id=call_id,
            kind=kind,
            content=diff,
            title=f"{'Read' if kind == 'read' else 'Write'} {file.path}",
            locations=[acp.ToolCallLocation(path=file.path)],
        )
        return ClientRequest(file.session_id, call)
    return None
