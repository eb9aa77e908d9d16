"""The memory component: notes that agents keep for later sessions, as a file that the person sees, edits and undoes.

Notes of the workspace are written through the client like any other file, so the permission broker asks, the review
mode of the session holds, and every door shows the difference and can take it back. Those of the user, which hold in
all workspaces, are written here after the person was asked, and shown with their difference too.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from portico.acp import _schema as acp
from portico.components.component import Component, ComponentContext
from portico.components.memory.notes import (
    FILE,
    LARGEST_FILE,
    LONGEST_NOTE,
    LONGEST_TOPIC,
    Note,
    Notes,
    read_notes,
)
from portico.components.memory.user_notes import UserNotes
from portico.components.permission import request_permission
from portico.components.session_lookup import SessionLookupProxy
from portico.components.text_page import page_of
from portico.components.tool_failure import tool_failure
from portico.conductor.mcp_bridge.server_list import SessionOpening
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.proxy import Proxy
from portico.config.paths import config_folder
from portico.domain.errors import InvalidInput, PorticoError
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
_RECALL = (
    "Reads the notes of this workspace and of the person: those that have all words of the query, or all."
)
_FORGET = "Deletes the note on a topic."

_Topic = Annotated[
    str, Meta(description="What the note is about, in a few words.", min_length=1, max_length=LONGEST_TOPIC)
]

_Scope = Annotated[
    Literal["workspace", "user"],
    Meta(
        description="Whose note it is: of this workspace, or of the person in all workspaces, such as how they work."
    ),
]
_ALLOW, _REJECT = "keep", "leave"
_OPTIONS = [
    acp.PermissionOption(option_id=_ALLOW, name="Change your notes", kind="allow_once"),
    acp.PermissionOption(option_id=_REJECT, name="Leave them as they are", kind="reject_once"),
]


class RememberQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    topic: _Topic
    text: Annotated[str, Meta(description="The note, as Markdown.", min_length=1, max_length=LONGEST_NOTE)]
    scope: _Scope = "workspace"


class RecallQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="Words to look for.", max_length=500)] = ""
    offset: Annotated[int, Meta(description="The line to begin with, counting from 1.", ge=1)] = 1


class ForgetQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    topic: _Topic
    scope: _Scope = "workspace"


class KnownNotes(msgspec.Struct, frozen=True):
    """The notes that a session begins with."""

    workspace: Notes
    user: Notes = Notes()


class MemoryComponent(Component):
    name = "memory"
    summary = "notes that agents keep for later sessions, in .portico/memory"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        return (MemoryProxy(UserNotes(config_folder(context.environ) / "memory")),)


class MemoryProxy(SessionLookupProxy[KnownNotes]):
    name = "memory"

    def __init__(self, user_notes: UserNotes) -> None:
        super().__init__()
        self._user_notes = user_notes
        self._writing = asyncio.Lock()

    def look_up(self, opening: SessionOpening) -> KnownNotes | None:
        return KnownNotes(read_notes(opening.cwd), self._user_notes.read())

    def describe(self, found: KnownNotes) -> str | None:
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
        notes, user = await within_deadline(lambda: (read_notes(call.cwd), self._user_notes.read()))
        found = [f"## {note.topic}\n\n{note.text}" for note in notes.search(asked.query)]
        found += [
            f"## {note.topic} (the person's, all workspaces)\n\n{note.text}"
            for note in user.search(asked.query)
        ]
        if not found:
            is_empty = not notes.notes and not user.notes
            return "There are no notes yet." if is_empty else "No note has these words."
        return page_of("\n\n".join(found).split("\n"), asked.offset)

    async def _remember(self, session: ChainSession, call: ToolCall) -> str:
        asked = call.read(RememberQuery)
        note = Note(asked.topic.strip(), asked.text.strip())
        await self._change(session, call, asked.scope, lambda notes: notes.with_note(note))
        return f"Kept under “{note.topic}” in {self._name(asked.scope)}."

    async def _forget(self, session: ChainSession, call: ToolCall) -> str:
        asked = call.read(ForgetQuery)
        await self._change(session, call, asked.scope, lambda notes: notes.without(asked.topic.strip()))
        return f"Deleted the note on “{asked.topic.strip()}” from {self._name(asked.scope)}."

    def _name(self, scope: str) -> str:
        return FILE if scope == "workspace" else str(self._user_notes.path)

    async def _change(
        self, session: ChainSession, call: ToolCall, scope: str, change: Callable[[Notes], Notes]
    ) -> None:
        """Change the file as it is now: a person may have edited it since the session began."""
        async with self._writing:
            if scope == "workspace":
                text = _render(change(await within_deadline(lambda: read_notes(call.cwd))), FILE)
                await self._write(session, str(Path(call.cwd) / FILE), text)
                return
            before = await within_deadline(self._user_notes.text)
            text = _render(
                change(Notes() if before is None else Notes.parse(before)), str(self._user_notes.path)
            )
            diff = acp.Diff(path=str(self._user_notes.path), old_text=before, new_text=text)
            await self._permit(session, diff)
            if await within_deadline(self._user_notes.text) != before:
                raise ToolFailure("The notes were changed meanwhile, so this was not kept. Call again.")
            await within_deadline(lambda: self._user_notes.write(text))
            self._show(session, diff)

    async def _write(self, session: ChainSession, path: str, text: str) -> None:
        request = acp.WriteTextFileRequest(session_id=session.session_id or "", path=path, content=text)
        try:
            await self.ask_client("fs/write_text_file", request)
        except RpcError as error:
            raise ToolFailure(f"The note was not written: {error.reason}") from error

    async def _permit(self, session: ChainSession, diff: acp.Diff) -> None:
        """Returns when the person agrees to a change of their own notes. ToolFailure if not."""
        asked = acp.ToolCallUpdate(
            tool_call_id=_call_id(),
            title=f"Change your notes for all workspaces, {diff.path}",
            kind="edit",
            content=[diff],
            locations=[acp.ToolCallLocation(path=diff.path)],
        )
        question = acp.RequestPermissionRequest(
            session_id=session.session_id or "", tool_call=asked, options=_OPTIONS
        )
        if await request_permission(self.node, question) != _ALLOW:
            raise ToolFailure("The note was not written: the person did not allow it.")

    def _show(self, session: ChainSession, diff: acp.Diff) -> None:
        """Let every door show the change, which the host does not see: it is outside of the workspace."""
        call_id, title = _call_id(), f"Write {diff.path} (undo with: portico memory undo)"
        places = [acp.ToolCallLocation(path=diff.path)]
        for update in (
            acp.ToolCall(tool_call_id=call_id, title=title, kind="edit", status="in_progress"),
            acp.ToolCallProgress(tool_call_id=call_id, status="completed", content=[diff], locations=places),
        ):
            notification = acp.SessionNotification(session_id=session.session_id or "", update=update)
            self.tell_client("session/update", notification)


def describe_notes(known: KnownNotes) -> str | None:
    """The digest: the beginning of each note, as many as fit; None without notes."""
    notes = [
        *known.workspace.notes,
        *(Note(f"{note.topic} (the person's)", note.text) for note in known.user.notes),
    ]
    if not notes:
        return None
    lines: list[str] = []
    size = 0
    for number, note in enumerate(notes):
        first = " ".join(note.text.split())
        text = first if len(first) <= _LONGEST_LINE else f"{first[: _LONGEST_LINE - 1]}…"
        line = f"- {note.topic}: {text}".replace("</notes", "<\\/notes")
        size += len(line.encode()) + 1
        if size > DIGEST_BYTES:
            lines.append(f"- and {len(notes) - number} more")
            break
        lines.append(line)
    return "\n".join(("<notes>", _OPENING, *lines, "</notes>"))


def _call_id() -> str:
    return f"portico-memory-{secrets.token_hex(8)}"


def _render(notes: Notes, name: str) -> str:
    text = notes.render()
    if len(text.encode()) > LARGEST_FILE:
        raise InvalidInput(f"{name} would be larger than {LARGEST_FILE >> 10} KB. Forget something first.")
    return text


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
