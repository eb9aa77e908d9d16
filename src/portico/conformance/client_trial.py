"""A trial of a client: the kit is the agent that the client starts, and most cases share one turn that stays open."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from portico.acp import _schema as schema
from portico.conformance.case import Blocked, NotAnnounced, NotExercised
from portico.conformance.client_program import ClientSubject, DrivenTurn, RunningClient
from portico.conformance.dialogue import Dialogue, RecordedAnswer, RecordedFrame
from portico.conformance.trial import Deadline, Result, Trial, read_result
from portico.domain import codecs
from portico.rpc.messages import RpcError

Step = Callable[[], Awaitable[None]]

BARRIER = "_portico/conformance/barrier"
SESSION = "portico-conformance-session"
PROMPT = "Portico conformance: say hello."
AUTH_METHOD = "portico-conformance-key"
_BARRIER_SECONDS = 2.0
_PATIENCE_SECONDS = 5.0
_AGENT_INFO = schema.Implementation(name="portico-conformance", title="Portico", version="1")
_GREETING = schema.InitializeResponse(protocol_version=1, agent_info=_AGENT_INFO)


class AgentBehaviour(msgspec.Struct, frozen=True):
    """Handler of the kit as the agent, besides keeping every turn open."""

    greeting: schema.InitializeResponse = _GREETING
    before_greeting: Step | None = None
    before_session: Step | None = None
    session_error: RpcError | None = None
    """The error that `session/new` is answered with until the client has signed in."""


class ClientConnection:
    """One run of the client. Its turns stay open until a case ends them."""

    def __init__(
        self, running: RunningClient, number: int, behaviour: AgentBehaviour, deadline: Deadline
    ) -> None:
        self.running = running
        self.folder = running.folder
        """The folder that the client works in, for files and commands of cases."""
        self.behaviour = behaviour
        served = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._open_session,
            "session/prompt": self._run_turn,
        }
        self.dialogue = Dialogue(running.stream, served, number=number)
        self.is_signed_in = False
        self._deadline = deadline
        self._turns: asyncio.Queue[asyncio.Future[schema.StopReason]] = asyncio.Queue()
        self._open: list[asyncio.Future[schema.StopReason]] = []
        self._is_ended = False
        self._reading = asyncio.create_task(self._read(), name=f"dialogue {number}")

    async def turn(self) -> "asyncio.Future[schema.StopReason]":
        """The next turn that the client begins: a future that ends it with a stop reason.

        Blocked when the client ends before that.
        """
        begun = asyncio.create_task(self._turns.get(), name="next turn")
        ended = asyncio.create_task(self.dialogue.ended.wait(), name="end of the connection")
        try:
            with self._deadline.starting():
                await asyncio.wait({begun, ended}, return_when=asyncio.FIRST_COMPLETED)
            if begun.done():
                return begun.result()
            last = self.running.stderr_tail().strip().splitlines()[-1:]
            raise Blocked("; ".join(["The client ended the connection without a prompt", *last]))
        finally:
            begun.cancel()
            ended.cancel()

    @property
    def capabilities(self) -> schema.ClientCapabilities:
        """Capabilities of the client. Blocked if it never sent `initialize`."""
        for frame in self.dialogue.received:
            if frame.calls("initialize"):
                request: schema.InitializeRequest = frame.params(schema.InitializeRequest)
                return request.client_capabilities
        raise Blocked("The client never sent initialize.")

    async def request(self, method: str, params: Any) -> RecordedAnswer:
        return await self.dialogue.request(method, params)

    async def call(self, method: str, params: Any, expected: type[Result]) -> Result:
        """The result of a request that has to succeed, decoded strictly."""
        return read_result(await self.request(method, params), method, expected)

    def update(self, **update: Any) -> None:
        """Send an update of the session, with the fields as the protocol spells them."""
        self.dialogue.notify("session/update", {"sessionId": SESSION, "update": update})

    def say(self, text: str) -> None:
        self.update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})

    async def barrier(self) -> None:
        """Wait until the client has read everything sent so far, and everything it wrote before is received.

        A client that answers no extension request is given a short time instead; another case reports that.
        """
        await asyncio.wait((self.dialogue.start(BARRIER, {}),), timeout=_BARRIER_SECONDS)

    async def expect_alive(self) -> None:
        """Any answer shows that the connection works. ConnectionLost or a time limit show that it does not."""
        await self.dialogue.request(BARRIER, {})

    async def end(self, *, kill: bool = False) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        for turn in self._open:
            if not turn.done():
                turn.set_result("end_turn")
        if not kill:
            await asyncio.sleep(0)  # The answers of open turns are written first.
            await self.dialogue.close()
        await self.running.stop(kill=kill)
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        """Read until the client closes the connection; then the agent ends."""
        await self.dialogue.run()
        await self.dialogue.close()

    async def _initialize(self, params: Raw) -> schema.InitializeResponse:
        codecs.decode_json(params, schema.InitializeRequest)
        if self.behaviour.before_greeting is not None:
            await self.behaviour.before_greeting()
        return self.behaviour.greeting

    async def _authenticate(self, params: Raw) -> schema.AuthenticateResponse:
        codecs.decode_json(params, schema.AuthenticateRequest)
        self.is_signed_in = True
        return schema.AuthenticateResponse()

    async def _open_session(self, params: Raw) -> schema.NewSessionResponse:
        codecs.decode_json(params, schema.NewSessionRequest)
        if self.behaviour.session_error is not None and not self.is_signed_in:
            raise self.behaviour.session_error
        if self.behaviour.before_session is not None:
            await self.behaviour.before_session()
        return schema.NewSessionResponse(session_id=SESSION)

    async def _run_turn(self, _params: Raw) -> schema.PromptResponse:
        turn: asyncio.Future[schema.StopReason] = asyncio.get_running_loop().create_future()
        self._open.append(turn)
        self._turns.put_nowait(turn)
        return schema.PromptResponse(stop_reason=await turn)


class ClientTrial(Trial[ClientConnection]):
    def __init__(
        self,
        subject: ClientSubject,
        *,
        timeout: float,
        start_timeout: float,
        patience: float = _PATIENCE_SECONDS,
    ) -> None:
        super().__init__(timeout, start_timeout)
        self.patience = patience
        """Seconds that a client has for its own actions, such as exiting."""
        self._subject = subject

    async def connect(self) -> ClientConnection:
        """The connection that cases share, with an open turn."""
        if (shared := self._open_shared()) is not None:
            return shared
        try:
            self._shared = await self.open()
            await self._shared.turn()
        except Blocked as error:
            self._failure = error
            raise
        except asyncio.CancelledError:
            self._failure = Blocked("The client did not begin a turn in time.")
            raise
        return self._shared

    async def open(self, *turns: DrivenTurn, behaviour: AgentBehaviour | None = None) -> ClientConnection:
        """A run of the client for the case alone."""
        with self.deadline.starting():
            running = await self._subject.start(turns or (DrivenTurn(PROMPT),))
        number = len(self.connections) + 1
        connection = ClientConnection(running, number, behaviour or AgentBehaviour(), self.deadline)
        self.connections.append(connection)
        return connection

    async def open_cancelled(self) -> ClientConnection:
        """A run whose turn the client is going to cancel. NotExercised when it cannot be told to."""
        if not self._subject.can_cancel:
            raise NotExercised("Nothing tells the client to cancel: use {script} or --cancel-signal.")
        connection = await self.open(DrivenTurn(PROMPT, cancel=True))
        await connection.turn()
        return connection

    async def cancel(self, connection: ClientConnection) -> RecordedFrame:
        """Have the client cancel its turn; the frame of its `session/cancel`."""
        cancelled = connection.dialogue.when(lambda frame: frame.calls("session/cancel"))
        connection.say("One moment.")
        connection.running.cancel()
        return await cancelled


def require(condition: object, capability: str) -> None:
    """NotAnnounced unless the client announces a capability."""
    if not condition:
        raise NotAnnounced(f"The client does not announce {capability}.")


def calls(frames: Sequence[RecordedFrame], method: str) -> list[RecordedFrame]:
    """The calls of a method that the client made."""
    return [frame for frame in frames if frame.direction == "received" and frame.calls(method)]
