"""Renames and code actions of a server, as the whole new texts of the files they change.

Nothing is written here. The texts that the edits were made for are compared with those that the session has; if one
has changed meanwhile, or has unsaved text, the change is sent to the server and it is asked again.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Raw

from portico.domain.errors import LanguageServerFailed
from portico.domain.windows import CodeAction, CodeFileEdit, CodeLookup
from portico.editors.language_servers.answers import raw_items, read_item, read_items
from portico.editors.language_servers.diagnostics import read_diagnostics
from portico.editors.language_servers.documents import OpenDocument, uri_to_path
from portico.editors.language_servers.lookups import need, place_params
from portico.editors.language_servers.positions import PositionEncoding, TextLines
from portico.editors.language_servers.problems import current_diagnostics
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.tree_sync import TreeSync
from portico.editors.language_servers.wire import (
    LspCodeAction,
    LspCommand,
    LspPosition,
    LspRange,
    LspTextEdit,
    LspWorkspaceEdit,
)
from portico.sessions.code_servers import CodeTree

MOST_FILES = 200
_ROUNDS = 3
_PROBLEM_SECONDS = 5.0
_Offer = tuple[LspCodeAction, Raw]


class CodeEdits:
    """Edits of one server in one tree, for one request."""

    def __init__(self, server: LanguageServer, sync: TreeSync, tree: CodeTree) -> None:
        self._server = server
        self._sync = sync
        self._tree = tree

    async def rename(self, document: OpenDocument, place: CodeLookup, name: str) -> list[CodeFileEdit]:
        await need(self._server, "textDocument/rename", "renames")
        await self._server.become_ready()
        if not await self._server.progress.settle():
            doing = self._server.progress.describe()
            raise LanguageServerFailed(
                f"{self._server.name} is still {doing}; a rename now could miss uses. Try again later."
            )

        async def ask() -> LspWorkspaceEdit | None:
            params = {**place_params(self._server, document, place), "newName": name}
            answer = await self._server.request("textDocument/rename", params)
            return read_item(answer, LspWorkspaceEdit)

        return await self._agreed(ask)

    async def offers(self, document: OpenDocument, place: CodeLookup) -> list[_Offer]:
        """Actions at a line, and fixes for the problems on it."""
        await need(self._server, "textDocument/codeAction", "code actions")
        line = document.lines.line(place.line)
        end = document.lines.position(
            document.lines.offset(LspPosition(line=place.line, character=10**6), "utf-32"),
            self._server.capabilities.encoding,
        )
        start = LspPosition(line=place.line, character=0)
        known = await current_diagnostics(self._server, document, seconds=_PROBLEM_SECONDS)
        here = [
            raw
            for found, raw in read_diagnostics(known or [])
            if found.range.start.line <= place.line <= found.range.end.line
        ]
        params: dict[str, Any] = {
            "textDocument": {"uri": document.uri},
            "range": LspRange(start=start, end=end if line else start),
            "context": {"diagnostics": here, "triggerKind": 1},
        }
        answer = await self._server.request("textDocument/codeAction", params)
        offers = zip(read_items(answer, LspCodeAction), raw_items(answer), strict=True)
        return [offer for offer in offers if offer[0].disabled is None]

    async def act(self, document: OpenDocument, place: CodeLookup, title: str) -> list[CodeFileEdit]:
        async def ask() -> LspWorkspaceEdit | None:
            offers = await self.offers(document, place)
            chosen = next((offer for offer in offers if offer[0].title == title), None)
            if chosen is None:
                known = "; ".join(action.title for action, _ in offers) or "none"
                raise LanguageServerFailed(f"No action “{title}” is offered there. Offered: {known}.")
            return await self._edit_of(*chosen)

        return await self._agreed(ask)

    async def _edit_of(self, action: LspCodeAction, item: Raw) -> LspWorkspaceEdit | None:
        options = self._server.capabilities.options("textDocument/codeAction") or {}
        if action.edit is None and action.data is not None and options.get("resolveProvider"):
            resolved = await self._server.request("codeAction/resolve", item)
            action = read_item(resolved, LspCodeAction) or action
        if action.edit is not None:
            return action.edit
        command = action.command
        if isinstance(command, str):
            command = LspCommand(title=action.title, command=command, arguments=action.arguments)
        if command is None:
            return None
        self._server.take_edits()
        params: dict[str, Any] = {"command": command.command}
        if command.arguments is not None:
            params["arguments"] = command.arguments
        await self._server.request("workspace/executeCommand", params)
        return next(iter(self._server.take_edits()), None)

    async def _agreed(self, ask: Callable[[], Awaitable[LspWorkspaceEdit | None]]) -> list[CodeFileEdit]:
        """The changed files, once the server knows every text that its edit applies to."""
        for _ in range(_ROUNDS):
            edit = await ask()
            changes = _changes(edit)
            if not changes:
                return []
            paths = [self._checked(uri) for uri, _ in changes]
            if not await self._told_news(paths):
                encoding = self._server.capabilities.encoding
                return [
                    _changed_file(self._server.documents.get(path), path, edits, encoding)
                    for path, (_, edits) in zip(paths, changes, strict=True)
                ]
        raise LanguageServerFailed("The files keep changing while they are being edited. Try again.")

    def _checked(self, uri: str) -> Path:
        path = uri_to_path(uri)
        if path is None or not path.is_relative_to(self._server.tree):
            raise LanguageServerFailed(f"The edit would change {uri}, which is outside the workspace.")
        return path

    async def _told_news(self, paths: Sequence[Path]) -> bool:
        """Tell the server every text as the session has it; whether one was news to it."""
        before = self._server.changes
        async with self._sync.lock:
            for path in paths:
                await self._sync.open(self._tree, path)
        return self._server.changes != before


def describe_action(action: LspCodeAction) -> CodeAction:
    return CodeAction(title=action.title, kind=action.kind or "", preferred=action.is_preferred)


def _changes(edit: LspWorkspaceEdit | None) -> list[tuple[str, list[LspTextEdit]]]:
    """Edits by file. LanguageServerFailed for an edit that moves or removes files, or touches very many."""
    if edit is None:
        return []
    by_uri: dict[str, list[LspTextEdit]] = {uri: list(edits) for uri, edits in (edit.changes or {}).items()}
    for change in edit.document_changes or ():
        if change.kind or change.text_document is None:
            raise LanguageServerFailed("The edit creates, moves or deletes files, which is not supported.")
        by_uri.setdefault(change.text_document.uri, []).extend(change.edits)
    if len(by_uri) > MOST_FILES:
        raise LanguageServerFailed(f"The edit would change {len(by_uri)} files; the limit is {MOST_FILES}.")
    return [(uri, edits) for uri, edits in by_uri.items() if edits]


def _changed_file(
    document: OpenDocument | None, path: Path, edits: Sequence[LspTextEdit], encoding: PositionEncoding
) -> CodeFileEdit:
    if document is None:
        raise LanguageServerFailed(f"{path.name} was closed while it was being edited. Try again.")
    return CodeFileEdit(
        path=str(path), content=apply_edits(document.lines, edits, encoding), edits=len(edits)
    )


def apply_edits(lines: TextLines, edits: Sequence[LspTextEdit], encoding: PositionEncoding) -> str:
    """A text after edits that all refer to it as it is. LanguageServerFailed if they overlap."""
    places = [
        (lines.offset(edit.range.start, encoding), lines.offset(edit.range.end, encoding), edit.new_text)
        for edit in edits
    ]
    # Several insertions at one place keep their order.
    places.sort(key=lambda place: place[:2])
    parts, at = [], 0
    for start, end, new_text in places:
        if start < at or end < start:
            raise LanguageServerFailed("The language server sent edits that overlap.")
        parts += [lines.text[at:start], new_text]
        at = end
    return "".join((*parts, lines.text[at:]))
