"""A live agent: its process, its end of the protocol, what it said it can do, and whose sessions it has.

A link knows nothing of turns or logs. It tells each session what the agent says about it, and
says plainly how the agent was lost.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.client import ClientEnd
from portico.acp.ends import AUTH_REQUIRED, PROTOCOL_VERSION, Serve
from portico.domain.errors import (
    AgentCrashed,
    AgentReported,
    AgentTimedOut,
    AuthRequired,
    ContextLimit,
    ErrorDetails,
    PorticoError,
)
from portico.rpc.messages import INVALID_PARAMS, ConnectionLost, Fault, RpcError
from portico.sessions.deadlines import put_down, within
from portico.sessions.ports import AgentProcess, AgentSpec, Ports

LAST_WORDS_SECONDS = 2.0


class Tenant(Protocol):
    """A session as its agent's link sees it."""

    @property
    def serve(self) -> Mapping[str, Serve]:
        """What the agent may call in this session's name."""
        ...

    def update(self, update: acp.SessionUpdate) -> None: ...

    def unknown_update(self, raw: Raw) -> None: ...

    def notified(self, method: str, params: Raw) -> None: ...

    def fault(self, fault: Fault) -> None: ...

    async def ready(self) -> None: ...


class AgentLink:
    """Passes what the agent says on to the session it is about, by the agent's own session ids."""

    def __init__(self, ports: Ports, spec: AgentSpec, process: AgentProcess, methods: Iterable[str]) -> None:
        self.spec = spec
        self.info = acp.InitializeResponse(protocol_version=PROTOCOL_VERSION)
        self._process = process
        self._clock = ports.clock
        self._tenants: dict[str, Tenant] = {}
        serve = {method: self._serving(method) for method in methods}
        self.end = ClientEnd(process.stream, self, name=spec.name, serve=serve)
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        ports: Ports,
        spec: AgentSpec,
        workspace: Path,
        methods: Iterable[str],
        capabilities: acp.ClientCapabilities,
    ) -> "AgentLink":
        """Start the agent and shake hands. A failure says why, with the agent's last words."""
        process = await ports.agents.launch(spec, workspace)
        link = cls(ports, spec, process, methods)
        link._reading = asyncio.create_task(link.end.run(), name=f"reading from {spec.name}")
        hello = acp.InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=capabilities,
            client_info=acp.Implementation(name="portico", title="Portico", version=ports.version),
        )
        try:
            link.info = await within(ports.clock, ports.limits.start, link.end.initialize(hello))
        except TimeoutError as error:
            failure: PorticoError = link.timed_out(
                f"did not answer initialize within {ports.limits.start:g} s"
            )
            await link.close(grace=0)
            raise failure from error
        except (RpcError, ConnectionLost) as error:
            failure = await link.explain(error)
            await link.close(grace=0)
            raise failure from error
        except BaseException:
            await link.close(grace=0)
            raise
        return link

    async def new_session(self, tenant: Tenant, request: acp.NewSessionRequest) -> acp.NewSessionResponse:
        def move_in(session_id: str) -> None:
            self._tenants[session_id] = tenant

        return await self.end.new_session(request, move_in)

    async def load_session(self, tenant: Tenant, request: acp.LoadSessionRequest) -> acp.LoadSessionResponse:
        self._tenants[request.session_id] = tenant
        return await self.end.load_session(request)

    async def resume_session(
        self, tenant: Tenant, request: acp.ResumeSessionRequest
    ) -> acp.ResumeSessionResponse:
        self._tenants[request.session_id] = tenant
        return await self.end.resume_session(request)

    def move_out(self, tenant: Tenant) -> bool:
        """Forget a session; whether the agent still has others."""
        self._tenants = {name: one for name, one in self._tenants.items() if one is not tenant}
        return bool(self._tenants)

    def update(self, session_id: str, update: acp.SessionUpdate) -> None:
        if (tenant := self._tenants.get(session_id)) is not None:
            tenant.update(update)

    def unknown_update(self, session_id: str, raw: Raw) -> None:
        if (tenant := self._tenants.get(session_id)) is not None:
            tenant.unknown_update(raw)

    def notified(self, method: str, params: Raw) -> None:
        about = _session_of(params)
        for tenant in self._everyone() if about is None else filter(None, [self._tenants.get(about)]):
            tenant.notified(method, params)

    def fault(self, fault: Fault) -> None:
        for tenant in self._everyone():
            tenant.fault(fault)

    async def ready(self) -> None:
        for tenant in self._everyone():
            await tenant.ready()

    @property
    def alive(self) -> bool:
        return self._reading is not None and not self._reading.done()

    async def close(self, *, grace: float) -> None:
        """End the agent and everything it started."""
        await self.end.close()
        await self._process.stop(grace=grace)
        if self._reading is not None:
            await put_down(self._reading)

    def _everyone(self) -> list[Tenant]:
        return list(dict.fromkeys(self._tenants.values()))

    def _serving(self, method: str) -> Serve:
        """Answers a request of the agent in the name of the session that it is about."""

        async def serve(request: Any) -> Any:
            tenant = self._tenants.get(request.session_id)
            if tenant is None:
                raise RpcError(INVALID_PARAMS, f"{method}: the session {request.session_id!r} is not open")
            return await tenant.serve[method](request)

        return serve

    def timed_out(self, what: str) -> AgentTimedOut:
        return AgentTimedOut(
            f"The agent {self.spec.name} {what}.",
            suggestion="Try again; if it stays silent, run the agent by itself to see what it waits for.",
            details=self._details(),
        )

    async def explain(self, error: RpcError | ConnectionLost) -> PorticoError:
        """A failure of the agent in words for a person, with what it said last."""
        if isinstance(error, ConnectionLost):
            return await self._crashed()
        if error.code == AUTH_REQUIRED:
            return self._auth_required(error)
        if "context" in error.message.lower() and any(
            word in error.message.lower() for word in ("length", "limit", "window", "exceed")
        ):
            return ContextLimit(
                f"The conversation no longer fits the model's context: {error.message}",
                suggestion="Start a new session.",
            )
        return AgentReported(
            f"The agent {self.spec.name} reported an error: {error.message}",
            suggestion="Try again, or look at the agent's own log.",
            details=self._details(),
        )

    async def _crashed(self) -> AgentCrashed:
        try:
            status = await within(self._clock, LAST_WORDS_SECONDS, self._process.wait())
            how = f"ended with {status}"
        except TimeoutError:
            status, how = None, "closed its output but is still running"
        return AgentCrashed(
            f"The agent {self.spec.name} {how}.",
            suggestion="Send the prompt again to start it anew; the conversation is kept.",
            details=self._details(status),
        )

    def _auth_required(self, error: RpcError) -> AuthRequired:
        methods = tuple(method.name for method in self.info.auth_methods or ())
        ways = " or ".join(methods) if methods else "its own login command"
        return AuthRequired(
            f"The agent {self.spec.name} wants you to sign in first: {error.message}",
            suggestion=f"Sign in with {ways}, then try again.",
            details=ErrorDetails(agent=self.spec.name, auth_methods=methods),
        )

    def _details(self, exit_status: str | None = None) -> ErrorDetails:
        return ErrorDetails(
            agent=self.spec.name, stderr=self._process.stderr_tail() or None, exit_status=exit_status
        )


class _About(msgspec.Struct, rename="camel"):
    session_id: str | None = None


def _session_of(params: Raw) -> str | None:
    """The session that a notification is about, if it says so."""
    try:
        return msgspec.json.decode(params, type=_About).session_id
    except msgspec.DecodeError:
        return None
