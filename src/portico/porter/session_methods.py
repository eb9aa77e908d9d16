"""Serves ACP's session methods: new, load, resume, list, prompt, cancel and close."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from portico.acp import _schema as schema
from portico.acp.agent import AgentSideConnection
from portico.acp.connection import RESOURCE_NOT_FOUND
from portico.acp.extensions import VERSION, PorticoCapabilities, WrittenTodos, from_meta, placement_in
from portico.domain.errors import InvalidInput
from portico.domain.ids import make_session_id
from portico.porter.checklist import one_line
from portico.porter.commands.catalog import available_commands, run_prompt
from portico.porter.files import ClientFiles, DiskFiles, SessionFiles
from portico.porter.markdown import strip_surrogates
from portico.porter.model_option import DEFAULT as USUAL
from portico.porter.model_option import OPTION_ID, model_option
from portico.porter.model_preload import ModelPreload
from portico.porter.prompt import PorterPrompt, read_prompt
from portico.porter.replay import replay
from portico.porter.scenarios.scenario import ScenarioCatalog
from portico.porter.session import PorterSession, SessionParameters
from portico.porter.setup import SetupReader, empty_setup
from portico.porter.terminals import ClientCommandRunner, LocalCommandRunner
from portico.porter.transcript import (
    AnyEntry,
    ChecklistItem,
    SessionHeader,
    TranscriptFile,
    TranscriptStore,
    TranscriptSummary,
    TurnEndEntry,
    TurnStartEntry,
    iso_time,
)
from portico.porter.turn import PorterTurn
from portico.porter.workspace import Workspace, is_folder
from portico.rpc.messages import INVALID_PARAMS, INVALID_REQUEST, RpcError

if TYPE_CHECKING:
    from portico.porter.model_loop.model_session import ModelSession

PAGE = 50


class SessionMethods:
    """The sessions of one connection. The public methods handle ACP requests."""

    def __init__(
        self,
        end: AgentSideConnection,
        state: Path,
        environ: Mapping[str, str],
        client: schema.ClientCapabilities,
        setup_of: SetupReader,
    ) -> None:
        self._end = end
        self._transcripts = TranscriptStore(state)
        self._environ = environ
        self._client = client
        self._setup_of = setup_of
        self._open: dict[str, PorterSession] = {}
        self._model_sessions: dict[str, ModelSession] = {}
        self._preload = ModelPreload()

    async def new(self, request: schema.NewSessionRequest) -> schema.NewSessionResponse:
        workspace = _workspace(request.cwd, request.additional_directories)
        if not await asyncio.to_thread(is_folder, workspace.root):
            raise RpcError(INVALID_PARAMS, f"cwd {request.cwd!r} is not an existing folder")
        now = time.time_ns() // 1_000_000
        opened = SessionHeader(
            session_id=make_session_id(now, os.urandom(8)),
            cwd=request.cwd,
            additional_directories=tuple(request.additional_directories),
            created=iso_time(now),
        )
        parameters = self._session_parameters(request)
        scenarios = await self._scenarios(parameters, workspace)
        transcript = self._transcripts.create(opened)
        session = self._begin(opened.session_id, workspace, transcript, parameters)
        session.scenarios = scenarios
        self._announce(session)
        return schema.NewSessionResponse(
            session_id=session.id,
            modes=modes_of(session),
            config_options=await self._options(session),
        )

    async def load(self, request: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        session, entries = await self._reopen(request)
        for update in replay(entries):
            self._end.update(session.id, update)
            await self._end.drain()
        self._announce(session)
        return schema.LoadSessionResponse(
            modes=modes_of(session), config_options=await self._options(session)
        )

    async def resume(self, request: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        session, _ = await self._reopen(request)
        self._announce(session)
        return schema.ResumeSessionResponse(
            modes=modes_of(session), config_options=await self._options(session)
        )

    async def set_mode(self, request: schema.SetSessionModeRequest) -> schema.SetSessionModeResponse:
        """Select a scenario, which ACP calls a mode, from the next turn on."""
        session = self._opened(request.session_id)
        if session.scenarios.get(request.mode_id) is None:
            known = ", ".join(session.scenarios.by_name)
            raise RpcError(INVALID_PARAMS, f"unknown scenario {request.mode_id!r}; available: {known}")
        session.choose(request.mode_id)
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, request: schema.SetSessionConfigOptionRequest
    ) -> schema.SetSessionConfigOptionResponse:
        """Select the model, which is the only option, from the next turn on."""
        session = self._opened(request.session_id)
        if request.config_id != OPTION_ID or not isinstance(request.value, str):
            raise RpcError(INVALID_PARAMS, f"unknown option {request.config_id!r}, or invalid value")
        chosen = None if request.value == USUAL else request.value
        if chosen is not None:
            setup = await asyncio.to_thread(self._setup_of, session.parameters.home)
            setup.check(chosen)
        session.model = chosen
        return schema.SetSessionConfigOptionResponse(config_options=await self._options(session))

    async def list_all(self, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        found = await asyncio.to_thread(self._transcripts.newest_first)
        if request.cwd is not None:
            found = [listing for listing in found if Path(listing.opened.cwd) == Path(request.cwd)]
        if request.cursor is not None:
            after = _position(request.cursor)
            found = [listing for listing in found if listing.order < after]
        page = found[:PAGE]
        return schema.ListSessionsResponse(
            sessions=[_info(listing) for listing in page],
            next_cursor=_cursor(page[-1]) if len(found) > PAGE else None,
        )

    async def close(self, request: schema.CloseSessionRequest) -> schema.CloseSessionResponse:
        await self._close(self._opened(request.session_id))
        return schema.CloseSessionResponse()

    async def delete(self, request: schema.DeleteSessionRequest) -> schema.DeleteSessionResponse:
        if (session := self._open.get(request.session_id)) is not None:
            await self._close(session)
        await asyncio.to_thread(self._transcripts.delete, request.session_id)
        return schema.DeleteSessionResponse()

    def replace_todos(self, written: WrittenTodos) -> None:
        """Replace the to-do list of an open session by the user's."""
        if (session := self._open.get(written.session_id)) is not None:
            session.replace_todos(
                tuple(
                    ChecklistItem(
                        one_line(todo.content),
                        done=todo.status == "completed",
                        active=todo.status == "in_progress",
                    )
                    for todo in written.todos
                )
            )

    async def prompt(self, request: schema.PromptRequest) -> schema.PromptResponse:
        session = self._idle(self._opened(request.session_id))
        prompt = read_prompt(request.prompt)
        if session.title is None:
            self._end.update(session.id, session.set_title(prompt.summary()))
        session.transcript.append(TurnStartEntry(at=_now(), prompt=tuple(request.prompt)))
        turn = PorterTurn(self._end, session, prompt.attached, self._environ)
        self._preload.pause()
        reason = await session.take_turn(run_prompt(turn, prompt, self._answer))
        self._preload.resume()
        session.transcript.append(TurnEndEntry(at=_now(), stop_reason=reason))
        model_session = self._model_sessions.get(session.id) if prompt.command is None else None
        return schema.PromptResponse(
            stop_reason=reason, usage=None if model_session is None else model_session.usage
        )

    def cancel(self, session_id: str) -> None:
        if (session := self._open.get(session_id)) is not None:
            session.cancel()

    async def close_all(self) -> None:
        """Close all sessions."""
        self._preload.pause()
        for session in list(self._open.values()):
            await self._close(session)

    async def _close(self, session: PorterSession) -> None:
        """Close a session: stop its turn, its background commands and its MCP servers."""
        await session.stop()
        self._open.pop(session.id, None)
        await session.background.close()
        if (model_session := self._model_sessions.pop(session.id, None)) is not None:
            await model_session.close()

    async def _answer(self, turn: PorterTurn, prompt: PorterPrompt) -> schema.StopReason | None:
        """Answer free text with a model. The first call imports the model loop."""
        from portico.porter.model_loop.model_session import ModelSession

        session = turn.session
        model_session = self._model_sessions.get(session.id)
        if model_session is None:
            outputs = self._transcripts.outputs(session.id)
            model_session = self._model_sessions[session.id] = ModelSession(
                session, self._setup_of, self._environ, outputs
            )
        return await model_session.answer(turn, prompt)

    async def _reopen(
        self, request: schema.LoadSessionRequest | schema.ResumeSessionRequest
    ) -> tuple[PorterSession, list[AnyEntry]]:
        session_id = request.session_id
        workspace = _workspace(request.cwd, request.additional_directories)
        parameters = self._session_parameters(request)
        scenarios = await self._scenarios(parameters, workspace)
        if session_id in self._open:
            await self._close(self._idle(self._open[session_id]))
        transcript = self._transcripts.find(session_id)
        entries = [] if transcript is None else await asyncio.to_thread(transcript.read)
        if transcript is None or not entries or not isinstance(entries[0], SessionHeader):
            raise RpcError(RESOURCE_NOT_FOUND, f"unknown session {session_id!r}")
        session = self._begin(session_id, workspace, transcript, parameters)
        session.scenarios = scenarios
        session.restore(entries)
        return session, entries

    def _session_parameters(
        self, request: schema.NewSessionRequest | schema.LoadSessionRequest | schema.ResumeSessionRequest
    ) -> SessionParameters:
        placed = placement_in(request.meta)
        elicitation = self._client.elicitation
        portico = from_meta(self._client.meta, PorticoCapabilities)
        return SessionParameters(
            home=Path(placed.workspace or request.cwd),
            working_copy=placed.mode in ("proposal", "worktree") and placed.workspace != request.cwd,
            can_ask=elicitation is not None and elicitation.form is not None,
            has_broker=portico.broker >= VERSION,
            keeps_proposals=portico.proposals >= VERSION,
            reads_only=placed.reads_only is True,
            mcp_servers=tuple(request.mcp_servers or ()),
        )

    async def _scenarios(self, parameters: SessionParameters, workspace: Workspace) -> ScenarioCatalog:
        """Load the scenarios of a session. Broken settings are reported by the first turn that needs them."""

        def load() -> ScenarioCatalog:
            from portico.porter.scenarios.catalog import load_scenarios

            try:
                setup = self._setup_of(parameters.home)
            except InvalidInput:
                setup = empty_setup(parameters.home)
            return load_scenarios(setup.scenarios, workspace.root, trusted=setup.trusted)

        return await asyncio.to_thread(load)

    async def _options(self, session: PorterSession) -> list[schema.SessionConfigOption]:
        """Return the session's options, and preload the model that they select."""

        def find() -> tuple[list[schema.SessionConfigOption], Callable[[], None] | None]:
            try:
                setup = self._setup_of(session.parameters.home)
                default = session.scenario.model or setup.choose()
                options = model_option(session.model, default, setup.known())
            except InvalidInput:
                return model_option(session.model, None, ()), None
            name = session.model or default
            return options, None if name is None else partial(setup.preload, name)

        options, load = await asyncio.to_thread(find)
        if load is not None:
            self._preload.schedule(load)
        return options

    def _begin(
        self, session_id: str, workspace: Workspace, transcript: TranscriptFile, parameters: SessionParameters
    ) -> PorterSession:
        disk, client = DiskFiles(workspace), ClientFiles(self._end, session_id)
        files = SessionFiles(
            client if self._client.fs.read_text_file else disk,
            client if self._client.fs.write_text_file else disk,
        )
        terminals = (
            ClientCommandRunner(self._end, session_id)
            if self._client.terminal
            else LocalCommandRunner(self._environ)
        )
        session = PorterSession(session_id, workspace, transcript, files, terminals, parameters)
        self._open[session_id] = session
        return session

    def _announce(self, session: PorterSession) -> None:
        self._end.update(session.id, available_commands())
        for problem in session.scenarios.problems:
            title = "A scenario was ignored because its file is broken."
            notice = schema.Notice(
                severity="warning", title=title, description=strip_surrogates(str(problem))
            )
            self._end.update(session.id, notice)

    def _opened(self, session_id: str) -> PorterSession:
        if (session := self._open.get(session_id)) is not None:
            return session
        known = self._transcripts.find(session_id) is not None
        hint = "it is not open; load or resume it first" if known else "it does not exist"
        raise RpcError(RESOURCE_NOT_FOUND, f"session {session_id!r}: {hint}")

    def _idle(self, session: PorterSession) -> PorterSession:
        if session.is_busy:
            raise RpcError(INVALID_REQUEST, "a turn is running in this session; wait for it or cancel it")
        return session


def modes_of(session: PorterSession) -> schema.SessionModeState:
    """Return the scenarios as ACP session modes."""
    return schema.SessionModeState(
        current_mode_id=session.scenario.name,
        available_modes=[
            schema.SessionMode(id=one.name, name=one.title, description=one.description)
            for one in session.scenarios.by_name.values()
        ],
    )


def _workspace(cwd: str, directories: Sequence[str]) -> Workspace:
    for name, path in (("cwd", cwd), *(("additionalDirectories", path) for path in directories)):
        if not Path(path).is_absolute() or "\0" in path:
            raise RpcError(INVALID_PARAMS, f"{name} must be an absolute path, not {path!r}")
    return Workspace(Path(cwd), tuple(map(Path, directories)))


def _info(listing: TranscriptSummary) -> schema.SessionInfo:
    return schema.SessionInfo(
        session_id=listing.opened.session_id,
        cwd=listing.opened.cwd,
        additional_directories=list(listing.opened.additional_directories),
        title=listing.title,
        updated_at=listing.updated,
    )


def _cursor(last: TranscriptSummary) -> str:
    return f"{last.changed_ns}.{last.opened.session_id}"


def _position(cursor: str) -> tuple[int, str]:
    """Return the sort key of the session that a cursor names."""
    changed, _, session_id = cursor.partition(".")
    try:
        return int(changed), session_id
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"invalid cursor {cursor!r}") from error


def _now() -> str:
    return iso_time(time.time_ns() // 1_000_000)
