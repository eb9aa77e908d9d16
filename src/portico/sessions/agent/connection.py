"""ACP connection to one running agent, shared by its sessions; routes each message to its session.

A connection knows nothing of turns or logs. It also explains how an agent was lost.
"""

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.client import ClientSideConnection
from portico.acp.connection import AUTH_REQUIRED, PROTOCOL_VERSION, MethodHandler
from portico.domain import codecs
from portico.domain.errors import (
    AgentCrashed,
    AgentReported,
    AgentTimedOut,
    AuthRequired,
    ContextLimit,
    ErrorDetails,
    PorticoError,
)
from portico.domain.redaction import without_secrets
from portico.processes.tasks import cancel_and_wait, run_with_timeout
from portico.rpc.messages import INVALID_PARAMS, ConnectionLost, Fault, RpcError
from portico.rpc.tap import secrets_in
from portico.sessions.agent.errors import error_from_agent
from portico.sessions.ports import AgentProcess, AgentSpec, Ports

if TYPE_CHECKING:
    from portico.sessions.runtime import SessionRuntime

log = logging.getLogger(__name__)

EXIT_WAIT_SECONDS = 2.0


class AgentWorkspace(msgspec.Struct, frozen=True):
    """The folder that an agent works in: the person's workspace, or `folder` instead.

    Agents of `reads_only` sessions are not shared with others, since they may be confined further.
    """

    workspace: Path
    folder: Path | None = None
    reads_only: bool = False


class AgentConnection:
    """Routes messages by the agent's own session ids."""

    def __init__(self, ports: Ports, spec: AgentSpec, process: AgentProcess, methods: Iterable[str]) -> None:
        self.spec = spec
        self.info = acp.InitializeResponse(protocol_version=PROTOCOL_VERSION)
        self.sandbox = process.sandbox
        self._process = process
        self._clock = ports.clock
        self._sessions_by_id: dict[str, SessionRuntime] = {}
        self._pages: dict[str, SessionRuntime] = {}
        # Answers questions about no session, which only a login has.
        self.login_question_handler: MethodHandler = _decline_question
        serve = {method: self._serving(method) for method in methods}
        self.end = ClientSideConnection(process.stream, self, name=spec.name, serve=serve)
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        ports: Ports,
        spec: AgentSpec,
        place: AgentWorkspace,
        methods: Iterable[str],
        capabilities: acp.ClientCapabilities,
    ) -> "AgentConnection":
        """Start the agent and initialize the connection. A failure quotes the agent's last output."""
        connection = await cls.launch(ports, spec, place, methods)
        await connection.initialize(ports, capabilities)
        return connection

    @classmethod
    async def launch(
        cls, ports: Ports, spec: AgentSpec, place: AgentWorkspace, methods: Iterable[str]
    ) -> "AgentConnection":
        """Start the agent. Call `initialize` next."""
        process = await ports.agents.launch(
            spec, place.workspace, folder=place.folder, reads_only=place.reads_only
        )
        connection = cls(ports, spec, process, methods)
        connection._reading = asyncio.create_task(connection.end.run(), name=f"reading from {spec.name}")
        return connection

    async def initialize(self, ports: Ports, capabilities: acp.ClientCapabilities) -> None:
        """Exchange versions and capabilities. An agent that fails is ended."""
        request = acp.InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=capabilities,
            client_info=acp.Implementation(name="portico", title="Portico", version=ports.version),
        )
        failure: PorticoError
        try:
            self.info = await run_with_timeout(ports.clock, ports.limits.start, self.end.initialize(request))
        except TimeoutError as error:
            failure = self.timed_out(f"did not answer initialize within {ports.limits.start:g} s")
            await self.close(grace=0)
            raise failure from error
        except (RpcError, ConnectionLost) as error:
            failure = await self.explain(error)
            await self.close(grace=0)
            raise failure from error
        except BaseException:
            await self.close(grace=0)
            raise
        if self.info.protocol_version != PROTOCOL_VERSION:
            await self.close(grace=0)
            raise AgentReported(
                f"The agent {self.spec.name} speaks version {self.info.protocol_version} of ACP; "
                f"Portico speaks version {PROTOCOL_VERSION}.",
                suggestion="Install a version of the agent that speaks it.",
                details=self._details(),
            )

    async def new_session(
        self, session: "SessionRuntime", request: acp.NewSessionRequest
    ) -> acp.NewSessionResponse:
        def move_in(session_id: str) -> None:
            self._sessions_by_id[session_id] = session

        return await self.end.new_session(request, move_in)

    async def load_session(
        self, session: "SessionRuntime", request: acp.LoadSessionRequest
    ) -> acp.LoadSessionResponse:
        self._sessions_by_id[request.session_id] = session
        return await self.end.load_session(request)

    async def resume_session(
        self, session: "SessionRuntime", request: acp.ResumeSessionRequest
    ) -> acp.ResumeSessionResponse:
        self._sessions_by_id[request.session_id] = session
        return await self.end.resume_session(request)

    async def fork_session(
        self, session: "SessionRuntime", request: acp.ForkSessionRequest
    ) -> acp.ForkSessionResponse:
        def move_in(session_id: str) -> None:
            self._sessions_by_id[session_id] = session

        return await self.end.fork_session(request, move_in)

    async def end_session(self, session: "SessionRuntime", *, delete: bool) -> None:
        """Send session/close or session/delete, if the agent supports it, and wait briefly for the response."""
        offered = self.info.agent_capabilities.session_capabilities
        for session_id in [name for name, one in self._sessions_by_id.items() if one is session]:
            if delete and offered.delete is not None:
                last_word = self.end.delete_session(acp.DeleteSessionRequest(session_id=session_id))
            elif offered.close is not None:
                last_word = self.end.close_session(acp.CloseSessionRequest(session_id=session_id))
            else:
                continue
            try:
                await run_with_timeout(self._clock, EXIT_WAIT_SECONDS, last_word)
            except (RpcError, ConnectionLost, TimeoutError) as error:
                log.warning("%s did not close its session %s: %s", self.spec.name, session_id, error)

    def abandon(self, session_id: str) -> None:
        """Stop listening to one of the agent's sessions."""
        self._sessions_by_id.pop(session_id, None)
        self.end.leave(session_id)

    def remove_session(self, session: "SessionRuntime") -> bool:
        """Forget a session; returns whether the agent still has others."""
        for session_id in [name for name, one in self._sessions_by_id.items() if one is session]:
            del self._sessions_by_id[session_id]
            self.end.leave(session_id)
        self._pages = {name: one for name, one in self._pages.items() if one is not session}
        return bool(self._sessions_by_id)

    def update(self, session_id: str, update: acp.SessionUpdate) -> None:
        if (session := self._sessions_by_id.get(session_id)) is not None:
            session.update(update)

    def unknown_update(self, session_id: str, raw: Raw) -> None:
        if (session := self._sessions_by_id.get(session_id)) is not None:
            session.unknown_update(raw)

    def notified(self, method: str, params: Raw) -> None:
        about = _about(params)
        if about.elicitation_id in self._pages:
            self._pages.pop(about.elicitation_id).notified(method, params)
            return
        sessions_of = (
            self._all_sessions() if about.session_id is None else [self._sessions_by_id.get(about.session_id)]
        )
        for session in filter(None, sessions_of):
            session.notified(method, params)

    def fault(self, fault: Fault) -> None:
        for session in self._all_sessions():
            session.fault(fault)

    async def ready(self) -> None:
        for session in self._all_sessions():
            await session.ready()

    def clear_login_handler(self) -> None:
        """Decline questions about no session again."""
        self.login_question_handler = _decline_question

    @property
    def alive(self) -> bool:
        return self._reading is not None and not self._reading.done()

    async def close(self, *, grace: float) -> None:
        """End the agent and everything it started."""
        await self.end.close()
        await self._process.stop(grace=grace)
        if self._reading is not None:
            await cancel_and_wait(self._reading)

    def _all_sessions(self) -> list["SessionRuntime"]:
        return list(dict.fromkeys(self._sessions_by_id.values()))

    def _serving(self, method: str) -> MethodHandler:
        """Handles a request of the agent with the method of its session."""

        async def serve(request: Any) -> Any:
            if isinstance(request, acp.CreateElicitationRequest) and request.session_id is None:
                return await self.login_question_handler(request)
            session = self._sessions_by_id.get(request.session_id)
            if session is None:
                raise RpcError(INVALID_PARAMS, f"{method}: the session {request.session_id!r} is not open")
            if isinstance(request, acp.CreateElicitationRequest) and request.elicitation_id is not None:
                self._pages[request.elicitation_id] = session
            return await session.serve[method](request)

        return serve

    def timed_out(self, what: str) -> AgentTimedOut:
        return AgentTimedOut(
            f"The agent {self.spec.name} {what}.",
            suggestion="Try again. If it still does not respond, run the agent on its own to see what it is waiting for.",
            details=self._details(),
        )

    async def explain(self, error: RpcError | ConnectionLost) -> PorticoError:
        """The error for a failure of the agent, with the end of its error output."""
        if isinstance(error, ConnectionLost):
            return await self._crashed()
        if (reported := error_from_agent(error, self._details(), self._login_method_names())) is not None:
            return reported
        if error.code == AUTH_REQUIRED:
            return self._auth_required(error)
        reason = without_secrets(error.reason, secrets_in(self.spec.env))
        if "context" in reason.lower() and any(
            word in reason.lower() for word in ("length", "limit", "window", "exceed")
        ):
            return ContextLimit(
                f"The conversation no longer fits the model's context: {reason}",
                suggestion="Start a new session.",
            )
        return AgentReported(
            f"The agent {self.spec.name} reported an error: {reason}",
            suggestion=f"Try again. If it fails again, the agent's own log may say more.{self._sandbox_hint}",
            details=self._details(),
        )

    async def _crashed(self) -> AgentCrashed:
        try:
            status = await run_with_timeout(self._clock, EXIT_WAIT_SECONDS, self._process.wait())
            how = f"ended with {status}"
        except TimeoutError:
            status, how = None, "closed its output but is still running"
        return AgentCrashed(
            f"The agent {self.spec.name} {how}.",
            suggestion=f"Send the prompt again to restart it; the conversation is kept.{self._sandbox_hint}",
            details=self._details(status),
        )

    @property
    def _sandbox_hint(self) -> str:
        """Suggestion for an agent that may have failed because it is confined."""
        if self.sandbox is None or self.sandbox.level == "none":
            return ""
        return (
            " It runs in a sandbox: add paths that it has to write to the setting sandbox.write, "
            "or turn the sandbox off with --sandbox none."
        )

    def _auth_required(self, error: RpcError) -> AuthRequired:
        methods = self._login_method_names()
        if methods and self.spec.login_hint:
            what = f"Sign in ({' or '.join(methods)}): {self.spec.login_hint}"
        else:
            what = f"Sign in with {' or '.join(methods) or 'its own login command'}, then try again."
        return AuthRequired(
            f"The agent {self.spec.name} requires you to sign in: {error.reason}",
            suggestion=what,
            details=ErrorDetails(agent=self.spec.name, auth_methods=methods),
        )

    def _login_method_names(self) -> tuple[str, ...]:
        return tuple(method.name for method in self.info.auth_methods or ())

    def _details(self, exit_status: str | None = None) -> ErrorDetails:
        return ErrorDetails(
            agent=self.spec.name,
            stderr=without_secrets(self._process.stderr_tail(), secrets_in(self.spec.env)) or None,
            exit_status=exit_status,
        )


class _NotificationTarget(msgspec.Struct, frozen=True, rename="camel"):
    """The session or elicitation that a notification names."""

    session_id: str | None = None
    elicitation_id: str | None = None


def _about(params: Raw) -> _NotificationTarget:
    try:
        return codecs.decode_json(params, _NotificationTarget)
    except msgspec.DecodeError:
        return _NotificationTarget()


async def _decline_question(_: acp.CreateElicitationRequest) -> acp.CreateElicitationResponse:
    return acp.CreateElicitationResponse(action="decline")
