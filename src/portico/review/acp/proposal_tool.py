"""MCP tool `propose_changes`, by which an agent proposes changes without writing files.

The tool is an MCP server of the chain. What is proposed waits for the person like the changes of a turn, and
no file is touched. A client that knows Portico hears of it at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from portico.acp.extensions import PROPOSAL_UPDATED
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.permissions.wire_format import knows_portico
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import ProposalUpdated
from portico.domain.reviews import ProposedFile
from portico.mcp.server import InProcessServer, ToolServer
from portico.mcp.tools import (
    McpText,
    Tool,
    ToolCall,
    ToolFailure,
    ToolResult,
    schema_of,
)
from portico.review.acp.change_request import AskedChanges, ChangeReader
from portico.review.text.change_set import ChangeSet
from portico.rpc.messages import Message

SERVER_NAME = "portico-review"
_DESCRIPTION = """Proposes changes to files of the workspace without writing them.

The person sees one proposal with all files, and applies or discards it, whole or in parts. Prepare the complete \
set of changes first and call this once with it. Give the complete new text of each file that is created or \
updated. Files that you have written in this session are proposed at the end of the turn anyway: do not propose \
those here."""

Propose = Callable[[str, Path, ChangeSet], Awaitable[ProposalUpdated | None]]
"""Keeps changes as a proposal of a session for its workspace; None if nothing is left of them."""


class ProposedChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of one change. If the file is refused, the warning says why."""

    path: str
    operation: str
    unified_diff: str
    conflict: bool
    warning: str | None = None


class ProposedChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the tool: the proposal as the person sees it."""

    proposal_id: str
    changes: tuple[ProposedChange, ...]
    has_conflicts: bool
    warnings: tuple[str, ...]


class ProposalToolProxy(McpProxy):
    """Offers the tool to sessions that Portico has a name for."""

    name = "proposing"

    def __init__(self, propose: Propose) -> None:
        super().__init__()
        self._propose = propose
        self._client_knows_portico = False

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self._client_knows_portico = knows_portico(message.params)
        super().from_client(message)

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        # An agent may have to start a program for each server: only where changes are reviewed anyway.
        if not session.placed.session or session.placed.mode == "direct":
            return ()
        tool = Tool(
            "propose_changes",
            _DESCRIPTION,
            schema_of(AskedChanges),
            partial(self._called, session),
            title="Propose changes",
            read_only=True,
        )
        return (ToolServer(SERVER_NAME, [tool]),)

    async def _called(self, session: ChainSession, call: ToolCall) -> ToolResult:
        asked = call.read(AskedChanges)
        workspace = Path(session.placed.workspace or session.cwd)
        propose = partial(self._propose, session.placed.session, workspace)
        try:
            proposal, warnings = await keep_asked(asked, workspace, Path(session.cwd), propose)
        except PorticoError as error:
            hint = f" {error.suggestion}" if error.suggestion else ""
            raise ToolFailure(error.message + hint) from error
        if self._client_knows_portico and session.session_id is not None:
            self.tell_client(PROPOSAL_UPDATED, update_of(proposal, session.session_id))
        return _result(proposal, warnings)


async def keep_asked(
    asked: AskedChanges,
    workspace: Path,
    folder: Path,
    propose: Callable[[ChangeSet], Awaitable[ProposalUpdated | None]],
) -> tuple[ProposalUpdated, tuple[str, ...]]:
    """Keep changes as a proposal; also returns warnings. InvalidInput if one of them cannot be proposed."""
    reader = await asyncio.to_thread(ChangeReader, workspace, folder)
    understood = await asyncio.to_thread(reader.read, asked.changes)
    proposal = await propose(understood.changes) if understood.changes.changes else None
    if proposal is None:
        raise InvalidInput("Nothing was proposed: the files have these contents already.")
    return proposal, understood.warnings


def update_of(proposal: ProposalUpdated, session_id: str) -> dict[str, Any]:
    """The parameters of `_portico/proposal_updated`."""
    fields: dict[str, Any] = msgspec.to_builtins(proposal)
    return {**fields, "sessionId": session_id}


def _result(proposal: ProposalUpdated, warnings: Sequence[str]) -> ToolResult:
    changes = tuple(
        ProposedChange(
            path=file.path,
            operation=file.operation,
            unified_diff=file.diff,
            conflict=file.conflict,
            warning=file.warning,
        )
        for file in proposal.files
    )
    conflicted = any(file.conflict for file in proposal.files)
    value = ProposedChanges(
        proposal_id=proposal.proposal_id, changes=changes, has_conflicts=conflicted, warnings=tuple(warnings)
    )
    count = len(proposal.files) + proposal.unlisted
    seen = f"the person sees {count} {'file' if count == 1 else 'files'} and decides"
    lines = [
        f"Proposed as {proposal.proposal_id}: {seen}. Nothing has been written.",
        *(_line(file) for file in proposal.files),
        *warnings,
    ]
    return ToolResult((McpText("\n".join(lines)),), structured=value)


def _line(file: ProposedFile) -> str:
    refused = " (refused; it can never be applied)" if file.denied else ""
    conflict = " (conflict: the person has changed the same lines)" if file.conflict else ""
    warning = f" {file.warning}" if file.warning else ""
    return f"- {file.operation} {file.path} +{file.added} -{file.removed}{refused}{conflict}{warning}"
