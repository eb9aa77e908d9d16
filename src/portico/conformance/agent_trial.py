"""A trial of an agent: the connections that its cases share, with the steps that most of them begin with."""

import asyncio
from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UnsetType

from portico.acp import _schema as schema
from portico.conformance.case import Blocked, NotAnnounced, NotExercised, Violation
from portico.conformance.dialogue import Dialogue, RecordedAnswer, RecordedFrame, end_connection
from portico.conformance.simulated_client import FULL_CAPABILITIES, NO_CAPABILITIES, SimulatedClient
from portico.conformance.subject import RunningSubject, Subject
from portico.conformance.trial import Result, Trial, read_result
from portico.rpc.messages import ConnectionLost

AUTH_REQUIRED = -32000
PROMPT_NAMES = ("turn", "cancel", "read", "terminal", "permission", "question")
"""Turns that a case asks for. What provokes each depends on the agent, so each can be set."""
BARRIER = "_portico/conformance/barrier"
_BARRIER_SECONDS = 2.0
_TURN_FRAMES = 20
"""Number of frames shown of a turn that several cases judge."""
_CLIENT_INFO = schema.Implementation(name="portico-conformance", title="Portico", version="1")

ClientKind = Literal["full", "bare"]


class TrialOptions(msgspec.Struct, frozen=True):
    folder: Path
    """An absolute folder of the trial's own; sessions work in it."""
    prompts: Mapping[str, str]
    timeout: float
    """Seconds that a case may take, not counting the start of the agent."""
    start_timeout: float
    auth_method: str | None = None
    allow_logout: bool = False


class FinishedTurn(msgspec.Struct, frozen=True):
    """A turn that ended: its answer, and everything received from its prompt to a barrier after its answer."""

    answer: RecordedAnswer
    stop_reason: str
    frames: tuple[RecordedFrame, ...]

    @property
    def updates(self) -> list[schema.SessionNotification]:
        return read_updates(self.frames)

    @property
    def late(self) -> tuple[RecordedFrame, ...]:
        """Messages after the answer."""
        return self.frames[self.frames.index(self.answer.frame) + 1 :]


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an `initialize` result that all versions of the protocol have."""

    protocol_version: int


class SubjectConnection:
    """One connection with the agent, initialized or not."""

    def __init__(
        self, running: RunningSubject, client: SimulatedClient, number: int, trial: "AgentTrial"
    ) -> None:
        self.running = running
        self.client = client
        self.dialogue = Dialogue(running.stream, client.methods(), number=number)
        self.initialized = schema.InitializeResponse(protocol_version=0)
        self.sessions: list[schema.NewSessionResponse] = []
        """The sessions that were opened on it."""
        self.speaks_other_version = False
        self._folder = trial.options.folder
        self._deadline = trial.deadline
        self._is_ended = False
        self._no_session: Blocked | None = None
        self._reading = asyncio.create_task(self.dialogue.run(), name=f"dialogue {number}")

    async def initialize(self) -> schema.InitializeResponse:
        request = schema.InitializeRequest(
            protocol_version=1, client_capabilities=self.client.capabilities, client_info=_CLIENT_INFO
        )
        with self._deadline.starting():
            self.initialized = await self.call("initialize", request, schema.InitializeResponse)
        return self.initialized

    @property
    def greeting(self) -> tuple[RecordedFrame, ...]:
        """The frames of `initialize` and its answer."""
        return tuple(self.dialogue.frames[:2])

    async def negotiate(self, version: int) -> int:
        """The version that the agent answers with when it is asked for one that is not 1.

        The request has the fields of version 2 as well, and the connection is not judged by the types of version 1.
        """
        self.speaks_other_version = True
        request = {
            "protocolVersion": version,
            "clientInfo": _CLIENT_INFO,
            "info": _CLIENT_INFO,
            "capabilities": {},
        }
        with self._deadline.starting():
            answer = await self.dialogue.request("initialize", request)
        return read_result(answer, "initialize", _Version).protocol_version

    async def call(self, method: str, params: Any, expected: type[Result]) -> Result:
        """The result of a request that has to succeed. Blocked when the agent wants a sign-in."""
        answer = await self.dialogue.request(method, params)
        if not isinstance(answer.error, UnsetType) and answer.error.code == AUTH_REQUIRED:
            raise Blocked(f"The agent wants a sign-in: {answer.failure}")
        return read_result(answer, method, expected)

    async def new_session(self) -> schema.NewSessionResponse:
        """A session without extras. Blocked when the agent cannot open one, which it is not asked for again."""
        if self._no_session is not None:
            raise self._no_session
        answer = await self.dialogue.request("session/new", self.session_request())
        if answer.failure:
            self._no_session = Blocked(f"The agent could not open a session: {answer.failure}")
            raise self._no_session
        session = read_result(answer, "session/new", schema.NewSessionResponse)
        self.sessions.append(session)
        return session

    def session_request(
        self, servers: Sequence[schema.McpServer] = (), folders: Sequence[str] = ()
    ) -> schema.NewSessionRequest:
        return schema.NewSessionRequest(
            cwd=str(self._folder), mcp_servers=list(servers), additional_directories=list(folders)
        )

    def start_prompt(
        self, session_id: str, text: str, *more: schema.ContentBlock
    ) -> "asyncio.Future[RecordedAnswer]":
        blocks: list[schema.ContentBlock] = [schema.TextContent(text=text), *more]
        return self.dialogue.start(
            "session/prompt", schema.PromptRequest(session_id=session_id, prompt=blocks)
        )

    async def turn(self, session_id: str, text: str, *more: schema.ContentBlock) -> FinishedTurn:
        """A whole turn. Blocked when the agent cannot run one, which an error says."""
        first = len(self.dialogue.frames)
        return await self.finish_turn(self.start_prompt(session_id, text, *more), first)

    async def finish_turn(self, prompted: "asyncio.Future[RecordedAnswer]", first: int) -> FinishedTurn:
        """Wait for the end of a turn whose prompt is frame `first`."""
        answer = await prompted
        if not isinstance(answer.error, UnsetType):
            raise Blocked(f"The agent could not run a turn: {answer.failure}")
        response = read_result(answer, "session/prompt", schema.PromptResponse)
        await self.barrier()
        received = tuple(frame for frame in self.dialogue.frames[first:] if frame.direction == "received")
        return FinishedTurn(answer, response.stop_reason, received)

    async def barrier(self) -> None:
        """Wait until the agent has read everything sent so far, and everything it wrote before is received.

        An agent that answers no extension request is given a short time instead; another case reports that.
        """
        await asyncio.wait((self.dialogue.start(BARRIER, {}),), timeout=_BARRIER_SECONDS)

    async def end(self, *, kill: bool = False) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        await end_connection(self.running, self.dialogue, self._reading, kill=kill)


class AgentTrial(Trial[SubjectConnection]):
    """Cases share a connection for each kind of client."""

    def __init__(self, subject: Subject, options: TrialOptions) -> None:
        super().__init__(options.timeout, options.start_timeout)
        self.options = options
        self._subject = subject
        self._by_kind: dict[ClientKind, SubjectConnection] = {}
        self._turns: dict[tuple[str, ClientKind], FinishedTurn | Exception] = {}

    @property
    def judged_frames(self) -> list[RecordedFrame]:
        """Every frame but those of connections that speak another version of the protocol."""
        judged = [connection for connection in self.connections if not connection.speaks_other_version]
        return [frame for connection in judged for frame in connection.dialogue.frames]

    @property
    def unanswered(self) -> list[str]:
        """The methods of requests that wait for an answer, barriers aside."""
        return [method for method in super().unanswered if method != BARRIER]

    async def connect(self, kind: ClientKind = "full") -> SubjectConnection:
        """The connection that cases share, initialized and signed in if a method was named."""
        self._shared = self._by_kind.get(kind)
        if (shared := self._open_shared()) is not None:
            return shared
        connection = self._by_kind[kind] = await self.open(kind)
        try:
            await connection.initialize()
        except (Violation, ConnectionLost, CancelledError) as error:
            last = connection.running.stderr_tail().strip().splitlines()[-1:]
            reason = str(error) or "it did not answer in time"
            self._failure = Blocked("; ".join([f"The agent could not be initialized: {reason}", *last]))
            if isinstance(error, CancelledError):
                raise
            raise self._failure from error
        if self.options.auth_method is not None:
            request = schema.AuthenticateRequest(method_id=self.options.auth_method)
            answer = await connection.dialogue.request("authenticate", request)
            if answer.failure:
                raise Blocked(f"The agent refused to sign in: {answer.failure}")
        return connection

    async def open(self, kind: ClientKind = "full") -> SubjectConnection:
        """A connection of the case's own, not initialized."""
        capabilities = FULL_CAPABILITIES if kind == "full" else NO_CAPABILITIES
        client = SimulatedClient(capabilities, self.options.folder)
        number = len(self.connections) + 1
        connection = SubjectConnection(await self._subject.start(), client, number, self)
        self.connections.append(connection)
        return connection

    async def capabilities(self) -> schema.AgentCapabilities:
        return (await self.connect()).initialized.agent_capabilities

    async def provoke(self, name: str, kind: ClientKind = "full") -> FinishedTurn:
        """A turn with the prompt of that name in a session of its own, run once for all cases that judge it.

        Blocked when the agent cannot run a turn at all, NotExercised when it cannot run this one.
        """
        if (name, kind) not in self._turns:
            if (name, kind) != ("turn", "full"):
                await self.provoke("turn", "full" if name == "turn" else kind)
            try:
                connection = await self.connect(kind)
                session = await connection.new_session()
                self._turns[name, kind] = await connection.turn(
                    session.session_id, self.options.prompts[name]
                )
            except Blocked as error:
                self._turns[name, kind] = error if name == "turn" else NotExercised(str(error))
            except Violation as error:
                evidence = error.frames or tuple((await self.connect(kind)).dialogue.frames[-_TURN_FRAMES:])
                self._turns[name, kind] = Violation(str(error), evidence)
            except ConnectionLost as error:
                self._turns[name, kind] = error
            except CancelledError:
                # The case that waits fails for it; no other waits as long again.
                self._turns[name, kind] = Blocked(f"The turn of the prompt {name} did not end in time.")
                raise
        turn = self._turns[name, kind]
        if isinstance(turn, Exception):
            raise turn
        return turn

    async def end_case(self, *, healthy: bool) -> None:
        """Close what the case opened; a shared connection that a case may have harmed is not used again."""
        if not healthy:
            self._by_kind.clear()
        for connection in self.connections:
            if connection in self._by_kind.values():
                connection.client.permission = "reject"
                connection.client.released.set()
                connection.client.released = asyncio.Event()
            else:
                await connection.end(kill=not healthy)


def read_updates(frames: Sequence[RecordedFrame]) -> list[schema.SessionNotification]:
    """The session updates among frames; those that do not fit the protocol are left out."""
    found = []
    for frame in frames:
        if frame.direction == "received" and frame.calls("session/update"):
            with suppress(msgspec.ValidationError):
                found.append(frame.params(schema.SessionNotification))
    return found


def require(condition: object, capability: str) -> None:
    """NotAnnounced unless the agent announces a capability."""
    if not condition:
        raise NotAnnounced(f"The agent does not announce {capability}.")


def seen(frames: Sequence[RecordedFrame], what: str) -> Sequence[RecordedFrame]:
    """The same frames; NotExercised when there are none."""
    if not frames:
        raise NotExercised(f"The agent never {what}.")
    return frames
