"""A host in memory: a store, a clock that stands still, and an agent written in a few lines."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from portico.acp import _schema as acp
from portico.acp.agent import AgentSideConnection
from portico.domain.events import AnyPayload, Event, StateChanged
from portico.domain.ids import SessionId
from portico.domain.turns import TurnState
from portico.rpc.messages import RpcError
from portico.rpc.streams import ByteStream
from portico.sessions.log.watch import ends_turn
from portico.sessions.ports import AgentSpec, EditorProvider, IsConfined, Ports, SessionTimeouts
from portico.sessions.service import SessionService
from portico.sessions.turn import TurnPrompt
from portico.testing.clock import ManualClock
from portico.testing.memory_agent import MemoryAgentLauncher, NoEditorProvider
from portico.testing.reviews import MemoryReviewProvider
from portico.testing.store import MemoryStore

SPEC = AgentSpec(name="fake", command=("fake",))
LIMITS = SessionTimeouts(start=60, idle=900, stop_grace=5)
Result = TypeVar("Result")
Answer = Callable[["FakeAgent", acp.PromptRequest], Awaitable[acp.PromptResponse | None]]


def text(words: str) -> acp.AgentMessageChunk:
    return acp.AgentMessageChunk(content=acp.TextContent(text=words))


class FakeAgent:
    """Serves sessions over a stream; `answer` is what it does with a prompt."""

    def __init__(self, answer: Answer, *, capabilities: acp.AgentCapabilities | None = None) -> None:
        self.answer = answer
        self.capabilities = capabilities or acp.AgentCapabilities()
        self.prompts: list[acp.PromptRequest] = []
        self.methods: list[str] = []
        self.openings: list[acp.NewSessionRequest] = []
        self.canceled = asyncio.Event()
        self.talking_in = "a1"
        self._sessions = 0
        self._set_values: dict[str, str | bool] = {}
        self.on_new: Callable[[], Awaitable[None]] | None = None
        self.on_reopen: Callable[[str, str], Awaitable[None]] | None = None
        self.on_end: Callable[[], Awaitable[None]] | None = None
        self.config_options: list[acp.SessionConfigOption] = []
        self.resumed_as = acp.ResumeSessionResponse()
        self.modes: acp.SessionModeState | None = None
        self.auth_methods: list[acp.AuthMethod] = []
        self.protocol_version = 1
        self.on_authenticate: Callable[[str], Awaitable[None]] | None = None
        self.refuses_options: RpcError | None = None
        self.initialize_gate: asyncio.Event | None = None
        self.end: AgentSideConnection | None = None
        self.stream: ByteStream | None = None

    async def __call__(self, stream: ByteStream) -> None:
        self.stream = stream
        self._sessions = 0
        self._set_values = {}
        self.end = AgentSideConnection(
            stream,
            name="host",
            serve={
                "initialize": self._initialize,
                "session/new": self._new,
                "session/load": self._load,
                "session/resume": self._resume,
                "session/fork": self._fork,
                "session/close": self._close,
                "session/delete": self._delete,
                "session/prompt": self._prompt,
                "session/set_config_option": self._set_option,
                "session/set_mode": self._set_mode,
                "authenticate": self._authenticate,
                "logout": self._logout,
            },
            on_cancel=lambda _: self.canceled.set(),
        )
        await self.end.run()

    def say(self, words: str) -> None:
        self.update(text(words))

    def update(self, update: acp.SessionUpdate) -> None:
        assert self.end is not None
        self.end.update(self.talking_in, update)

    def write_raw(self, line: bytes) -> None:
        assert self.stream is not None
        self.stream.write(line + b"\n")

    async def _initialize(self, request: acp.InitializeRequest) -> acp.InitializeResponse:
        self.methods.append("initialize")
        if self.initialize_gate is not None:
            await self.initialize_gate.wait()
        return acp.InitializeResponse(
            protocol_version=self.protocol_version,
            agent_capabilities=self.capabilities,
            auth_methods=self.auth_methods,
        )

    async def _new(self, request: acp.NewSessionRequest) -> acp.NewSessionResponse:
        self.methods.append("session/new")
        self.openings.append(request)
        if self.on_new is not None:
            await self.on_new()
        self._sessions += 1
        return acp.NewSessionResponse(
            session_id=f"a{self._sessions}", config_options=self.config_options, modes=self.modes
        )

    async def _load(self, request: acp.LoadSessionRequest) -> acp.LoadSessionResponse:
        self.methods.append("session/load")
        if self.on_reopen is not None:
            await self.on_reopen("load", request.session_id)
        return acp.LoadSessionResponse()

    async def _resume(self, request: acp.ResumeSessionRequest) -> acp.ResumeSessionResponse:
        self.methods.append("session/resume")
        if self.on_reopen is not None:
            await self.on_reopen("resume", request.session_id)
        return self.resumed_as

    async def _fork(self, request: acp.ForkSessionRequest) -> acp.ForkSessionResponse:
        self.methods.append(f"session/fork {request.session_id}")
        if self.on_reopen is not None:
            await self.on_reopen("fork", request.session_id)
        self._sessions += 1
        return acp.ForkSessionResponse(session_id=f"f{self._sessions}")

    async def _close(self, request: acp.CloseSessionRequest) -> acp.CloseSessionResponse:
        self.methods.append(f"session/close {request.session_id}")
        if self.on_end is not None:
            await self.on_end()
        return acp.CloseSessionResponse()

    async def _delete(self, request: acp.DeleteSessionRequest) -> acp.DeleteSessionResponse:
        self.methods.append(f"session/delete {request.session_id}")
        if self.on_end is not None:
            await self.on_end()
        return acp.DeleteSessionResponse()

    async def _prompt(self, request: acp.PromptRequest) -> acp.PromptResponse:
        self.methods.append("session/prompt")
        self.prompts.append(request)
        self.talking_in = request.session_id
        self.canceled = asyncio.Event()
        return await self.answer(self, request) or acp.PromptResponse(stop_reason="end_turn")

    async def _set_option(
        self, request: acp.SetSessionConfigOptionRequest
    ) -> acp.SetSessionConfigOptionResponse:
        if self.refuses_options is not None:
            raise self.refuses_options
        self.methods.append(f"set {request.config_id}={request.value}")
        self._set_values[request.config_id] = request.value
        changed = [
            msgspec.structs.replace(
                option, current_value=self._set_values.get(option.id, option.current_value)
            )
            for option in self.config_options
        ]
        return acp.SetSessionConfigOptionResponse(config_options=changed)

    async def _set_mode(self, request: acp.SetSessionModeRequest) -> acp.SetSessionModeResponse:
        self.methods.append(f"set mode {request.mode_id}")
        return acp.SetSessionModeResponse()

    async def _authenticate(self, request: acp.AuthenticateRequest) -> acp.AuthenticateResponse:
        self.methods.append(f"authenticate {request.method_id}")
        if self.on_authenticate is not None:
            await self.on_authenticate(request.method_id)
        return acp.AuthenticateResponse()

    async def _logout(self, request: acp.LogoutRequest) -> acp.LogoutResponse:
        self.methods.append("logout")
        return acp.LogoutResponse()


class World:
    def __init__(
        self,
        agent: FakeAgent,
        folder: Path,
        *,
        store: MemoryStore,
        editors: EditorProvider,
        confined: IsConfined = lambda *_: False,
    ) -> None:
        self.agent = agent
        self.folder = folder
        self.store = store
        self.clock = ManualClock()
        self.agents = MemoryAgentLauncher(agent)
        self.reviews = MemoryReviewProvider()
        self.ports = Ports(
            store=store,
            agents=self.agents,
            editors=editors,
            reviews=self.reviews,
            clock=self.clock,
            confined=confined,
            limits=LIMITS,
        )
        self.service = SessionService(self.ports)
        self.session_id = SessionId("")

    async def start(self) -> SessionId:
        self.session_id = await self.service.start(self.folder, SPEC)
        return self.session_id

    async def prompt(self, words: str = "hello", **options: object) -> list[Event]:
        """Run a turn to its end; the events it made."""
        if not self.session_id:
            await self.start()
        before = (await self.events())[-1].seq
        prompt = TurnPrompt(text=words, **options)  # type: ignore[arg-type]
        await self._ticking(self.service.session(self.session_id).prompt(prompt))
        return [event for event in await self.events() if event.seq > before]

    def prompting(self, words: str = "hello") -> "asyncio.Task[object]":
        return asyncio.create_task(self.service.session(self.session_id).prompt(TurnPrompt(text=words)))

    async def events(self) -> list[Event]:
        return await self.store.read(self.session_id, after_seq=0, limit=100_000)

    async def until(self, matches: Callable[[AnyPayload], bool]) -> Event:
        """The first event, old or new, whose payload matches; time passes while it is waited for."""
        return await self._ticking(self._find(matches))

    async def lose_agent(self) -> None:
        """Let the agent go away between two turns, and the host see it."""
        assert self.agent.end is not None
        await self.agent.end.close()
        await self.clock.advance(1)

    async def _ticking(self, work: Coroutine[Any, Any, Result]) -> Result:
        task = asyncio.create_task(work)
        async with asyncio.timeout(10):
            while not task.done():
                await self.clock.advance(0.017)
        return await task

    async def _find(self, matches: Callable[[AnyPayload], bool]) -> Event:
        async for event in self.service.watch(self.session_id, after_seq=0):
            if matches(event.payload):
                return event
        raise AssertionError("the session closed without such an event")

    async def until_state(self, state: TurnState) -> Event:
        return await self.until(lambda payload: isinstance(payload, StateChanged) and payload.state is state)


@asynccontextmanager
async def world(
    answer: Answer,
    folder: Path,
    *,
    store: MemoryStore | None = None,
    capabilities: acp.AgentCapabilities | None = None,
    editors: EditorProvider | None = None,
    confined: IsConfined = lambda *_: False,
) -> AsyncIterator[World]:
    agent = FakeAgent(answer, capabilities=capabilities)
    made = World(
        agent, folder, store=store or MemoryStore(), editors=editors or NoEditorProvider(), confined=confined
    )
    try:
        yield made
    finally:
        async with asyncio.timeout(10):
            await made.service.close()
        problems = await made.store.verify()
        assert problems == [], problems


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def states(events: list[Event]) -> list[str]:
    return [event.payload.state.value for event in events if isinstance(event.payload, StateChanged)]


__all__ = ["LIMITS", "SPEC", "FakeAgent", "World", "ends_turn", "kinds", "states", "text", "world"]
