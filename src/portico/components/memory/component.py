"""The memory component: notes that agents keep for later sessions, as a file that the person sees, edits and undoes.

Notes are written through the client like any other file, so the permission broker asks, the review mode of the session
holds, and every door shows the difference and can take it back.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from portico.acp import _schema as acp
from portico.components.component import Component, ComponentContext
from portico.components.memory.notes import FILE, LARGEST_FILE, LONGEST_NOTE, LONGEST_TOPIC, Note, Notes
from portico.components.session_lookup import SessionLookupProxy
from portico.components.text_page import page_of
from portico.components.tool_failure import tool_failure
from portico.conductor.mcp_bridge.server_list import SessionOpening
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.proxy import Proxy
from portico.domain.errors import InvalidInput, PorticoError
from portico.files import real_path
from portico.files.deadline import within_deadline
from portico.mcp.server import InProcessServer, ToolServer
from portico.mcp.tools import Tool, ToolCall, ToolFailure, schema_of
from portico.rpc.messages import RpcError

SERVER_NAME = "portico-memory"
DIGEST_BYTES = 3000
_LONGEST_LINE = 200
_INSTRUCTIONS = (
    "Notes of earlier sessions in this workspace. Keep what will matter later, and nothing secret."
)
_OPENING = (
    "Notes from earlier sessions in this workspace. They are texts, and may be out of date: what you see in the files "
    "and what the person says goes before them. recall reads them whole."
)
_REMEMBER = """Keeps a note for later sessions, in the place of the note on the same topic. Keep decisions and facts \
that cannot be seen in the code. Never keep passwords, keys or tokens. The person sees the change."""
_RECALL = "Reads the notes of this workspace: those that have all words of the query, or all."
_FORGET = "Deletes the note on a topic."

_Topic = Annotated[
    str, Meta(description="What the note is about, in a few words.", min_length=1, max_length=LONGEST_TOPIC)
]


class RememberQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    topic: _Topic
    text: Annotated[str, Meta(description="The note, as Markdown.", min_length=1, max_length=LONGEST_NOTE)]


class RecallQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="Words to look for.", max_length=500)] = ""
    offset: Annotated[int, Meta(description="The line to begin with, counting from 1.", ge=1)] = 1


class ForgetQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    topic: _Topic


class MemoryComponent(Component):
    name = "memory"
    summary = "notes that agents keep for later sessions, in .portico/memory"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        return (MemoryProxy(),)


class MemoryProxy(SessionLookupProxy[Notes]):
    name = "memory"

    def __init__(self) -> None:
        super().__init__()
        self._writing = asyncio.Lock()

    def look_up(self, opening: SessionOpening) -> Notes | None:
        return _read(opening.cwd)

    def describe(self, found: Notes) -> str | None:
        return describe_notes(found)

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        tools = [_tool("recall", "Read notes", _RECALL, RecallQuery, self._recall, read_only=True)]
        if session.placed.reads_only is not True:
            keep, drop = partial(self._remember, session), partial(self._forget, session)
            tools.append(_tool("remember", "Keep note", _REMEMBER, RememberQuery, keep))
            tools.append(_tool("forget", "Delete note", _FORGET, ForgetQuery, drop))
        return (ToolServer(SERVER_NAME, tools, instructions=_INSTRUCTIONS),)

    async def _recall(self, call: ToolCall) -> str:
        asked = call.read(RecallQuery)
        notes = await within_deadline(lambda: _read(call.cwd))
        found = notes.search(asked.query)
        if not found:
            return "There are no notes yet." if not notes.notes else "No note has these words."
        return page_of(
            "\n\n".join(f"## {note.topic}\n\n{note.text}" for note in found).split("\n"), asked.offset
        )

    async def _remember(self, session: ChainSession, call: ToolCall) -> str:
        asked = call.read(RememberQuery)
        note = Note(asked.topic.strip(), asked.text.strip())
        await self._change(session, call, lambda notes: notes.with_note(note))
        return f"Kept under “{note.topic}” in {FILE}."

    async def _forget(self, session: ChainSession, call: ToolCall) -> str:
        asked = call.read(ForgetQuery)
        await self._change(session, call, lambda notes: notes.without(asked.topic.strip()))
        return f"Deleted the note on “{asked.topic.strip()}” from {FILE}."

    async def _change(self, session: ChainSession, call: ToolCall, change: Callable[[Notes], Notes]) -> None:
        """Change the file as it is now: a person may have edited it since the session began."""
        async with self._writing:
            text = change(await within_deadline(lambda: _read(call.cwd))).render()
            if len(text.encode()) > LARGEST_FILE:
                raise InvalidInput(
                    f"{FILE} would be larger than {LARGEST_FILE >> 10} KB. Forget something first."
                )
            request = acp.WriteTextFileRequest(
                session_id=session.session_id or "", path=str(Path(call.cwd) / FILE), content=text
            )
            try:
                await self.ask_client("fs/write_text_file", request)
            except RpcError as error:
                raise ToolFailure(f"The note was not written: {error.reason}") from error


def describe_notes(notes: Notes) -> str | None:
    """The digest: the beginning of each note, as many as fit; None without notes."""
    if not notes.notes:
        return None
    lines: list[str] = []
    size = 0
    for number, note in enumerate(notes.notes):
        first = " ".join(note.text.split())
        text = first if len(first) <= _LONGEST_LINE else f"{first[: _LONGEST_LINE - 1]}…"
        line = f"- {note.topic}: {text}".replace("</notes", "<\\/notes")
        size += len(line.encode()) + 1
        if size > DIGEST_BYTES:
            lines.append(f"- and {len(notes.notes) - number} more")
            break
        lines.append(line)
    return "\n".join(("<notes>", _OPENING, *lines, "</notes>"))


def _read(cwd: str) -> Notes:
    """The notes in a folder. InvalidInput if there is something else where the file belongs."""
    path = Path(os.path.realpath(cwd)) / FILE
    try:
        return Notes.parse(real_path.read(path, limit=LARGEST_FILE).decode(errors="replace"))
    except FileNotFoundError:
        return Notes()
    except OSError as error:
        raise InvalidInput(f"{FILE} cannot be read: {error.strerror}.") from error


_Run = Callable[[ToolCall], Awaitable[str]]


def _tool(
    name: str, title: str, text: str, query: type[msgspec.Struct], run: _Run, *, read_only: bool = False
) -> Tool:
    return Tool(name, text, schema_of(query), partial(_translated, run), title=title, read_only=read_only)


async def _translated(run: _Run, call: ToolCall) -> str:
    try:
        return await run(call)
    except PorticoError as error:
        raise tool_failure(error) from error
