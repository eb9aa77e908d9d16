"""A trial of a proxy: the kit is its conductor, and so both the client before it and the agent behind it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.acp import _schema as schema
from portico.conformance.case import Blocked, Violation
from portico.conformance.dialogue import ANY_METHOD, Dialogue, RecordedAnswer, RecordedFrame, end_connection
from portico.conformance.subject import RunningSubject, Subject
from portico.conformance.trial import Deadline, Trial
from portico.domain import codecs
from portico.rpc.messages import METHOD_NOT_FOUND, ConnectionLost, RpcError

Dialect = Literal["proxy", "_proxy"]
"""Spelling of the proxy methods: the protocol's current or former one."""
DIALECTS: tuple[Dialect, ...] = ("proxy", "_proxy")
ServedByAgent = Callable[[Raw], Awaitable[Any]]

AGENT = schema.InitializeResponse(
    protocol_version=1,
    agent_capabilities=schema.AgentCapabilities(load_session=True),
    agent_info=schema.Implementation(name="portico-conformance", version="1"),
)


class Forwarded(msgspec.Struct, frozen=True):
    """Message inside `proxy/successor`: for the agent, or from it."""

    method: str
    params: Raw | UnsetType = UNSET


class ProxyConnection:
    """One connection with the proxy. What the agent does can be set by method."""

    def __init__(self, running: RunningSubject, number: int, dialect: Dialect, deadline: Deadline) -> None:
        self.running = running
        self.agent: dict[str, ServedByAgent] = {"initialize": self._greet}
        self.dialect: Dialect = dialect
        self._deadline = deadline
        self._is_ended = False
        served = {self.successor: self._serve_agent, ANY_METHOD: self._serve_client}
        self.dialogue = Dialogue(running.stream, served, number=number)
        self._reading = asyncio.create_task(self.dialogue.run(), name=f"dialogue {number}")

    @property
    def successor(self) -> str:
        return f"{self.dialect}/successor"

    async def initialize(self) -> RecordedAnswer:
        request = schema.InitializeRequest(
            protocol_version=1, client_capabilities=schema.ClientCapabilities()
        )
        with self._deadline.starting():
            return await self.dialogue.request(f"{self.dialect}/initialize", request)

    def notify_client(self, method: str, params: Any) -> None:
        """Send a notification as the agent."""
        self.dialogue.notify(self.successor, {"method": method, "params": params})

    async def ask_client(self, method: str, params: Any) -> RecordedAnswer:
        """Send a request as the agent."""
        return await self.dialogue.request(self.successor, {"method": method, "params": params})

    def for_agent(self, frames: Sequence[RecordedFrame], method: str) -> list[RecordedFrame]:
        """The frames that the proxy sent on to the agent by a method."""
        sent = [frame for frame in frames if frame.direction == "received" and frame.calls(self.successor)]
        return [frame for frame in sent if frame.params(Forwarded).method == method]

    async def end(self, *, kill: bool = False) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        await end_connection(self.running, self.dialogue, self._reading, kill=kill)

    async def _serve_agent(self, params: Raw) -> Any:
        message = codecs.decode_json(params, Forwarded)
        serve = self.agent.get(message.method)
        if serve is None:
            raise RpcError(METHOD_NOT_FOUND, f"{message.method} is not offered by this agent")
        return await serve(Raw(b"{}") if isinstance(message.params, UnsetType) else message.params)

    async def _serve_client(self, params: Raw) -> Any:
        return Raw(bytes(params))

    async def _greet(self, _params: Raw) -> schema.InitializeResponse:
        return AGENT


class ProxyTrial(Trial[ProxyConnection]):
    def __init__(self, subject: Subject, dialect: Dialect, *, timeout: float, start_timeout: float) -> None:
        super().__init__(timeout, start_timeout)
        self._subject = subject
        self._dialect: Dialect = dialect

    async def connect(self) -> ProxyConnection:
        """The connection that cases share, initialized."""
        if (shared := self._open_shared()) is not None:
            return shared
        self._shared = await self.open()
        try:
            failure = (await self._shared.initialize()).failure
        except ConnectionLost as error:
            failure = str(error)
        if failure:
            self._failure = Blocked(f"The proxy could not be initialized: {failure}")
            raise self._failure
        return self._shared

    async def open(self) -> ProxyConnection:
        """A connection of the case's own, not initialized."""
        number = len(self.connections) + 1
        connection = ProxyConnection(await self._subject.start(), number, self._dialect, self.deadline)
        self.connections.append(connection)
        return connection


def expect_equal(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise Violation(f"{what} is {found!r} and not {expected!r}.")
