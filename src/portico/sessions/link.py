"""A live agent: its process, its end of the protocol, and what it said it can do.

A link knows nothing of turns or logs. It tells its owner what the agent says, and says plainly
how the agent was lost.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from portico.acp import _schema as acp
from portico.acp.client import ClientEnd, Listener
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
from portico.rpc.messages import ConnectionLost, RpcError
from portico.sessions.deadlines import put_down, within
from portico.sessions.ports import AgentProcess, AgentSpec, Ports

LAST_WORDS_SECONDS = 2.0


class AgentLink:
    def __init__(
        self,
        ports: Ports,
        spec: AgentSpec,
        process: AgentProcess,
        listener: Listener,
        serve: Mapping[str, Serve],
    ) -> None:
        self.spec = spec
        self.info = acp.InitializeResponse(protocol_version=PROTOCOL_VERSION)
        self._process = process
        self._clock = ports.clock
        tap = ports.tap(spec.name) if ports.tap else None
        self.end = ClientEnd(process.stream, listener, name=spec.name, serve=serve, tap=tap)
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        ports: Ports,
        spec: AgentSpec,
        workspace: Path,
        listener: Listener,
        serve: Mapping[str, Serve],
        capabilities: acp.ClientCapabilities,
    ) -> "AgentLink":
        """Start the agent and shake hands. A failure says why, with the agent's last words."""
        process = await ports.agents.launch(spec, workspace)
        link = cls(ports, spec, process, listener, serve)
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

    @property
    def alive(self) -> bool:
        return self._reading is not None and not self._reading.done()

    async def close(self, *, grace: float) -> None:
        """End the agent and everything it started."""
        await self.end.close()
        await self._process.stop(grace=grace)
        if self._reading is not None:
            await put_down(self._reading)

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
