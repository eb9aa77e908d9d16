"""Cases about the first messages of a client: `initialize`, sign-in, `session/new` and the prompt."""

import asyncio
from pathlib import PurePosixPath, PureWindowsPath

import msgspec

from portico.acp import _schema as schema
from portico.conformance.case import Blocked, CaseList, Level, NotExercised, Violation
from portico.conformance.client_trial import (
    AUTH_METHOD,
    SESSION,
    AgentBehaviour,
    ClientConnection,
    ClientTrial,
    calls,
)
from portico.conformance.dialogue import RecordedFrame
from portico.rpc.messages import ConnectionLost, RpcError

INITIALIZATION: CaseList[ClientTrial] = CaseList()

_AUTH_REQUIRED = -32000
_UNKNOWN_VERSION = 65535
_QUIET_SECONDS = 0.3
# What an agent without capabilities can be asked for.
_BASELINE = {
    "initialize",
    "authenticate",
    "session/new",
    "session/prompt",
    "session/cancel",
    "$/cancel_request",
}


@INITIALIZATION.add("PORTICO-CLIENT-INIT-001", Level.MANDATORY, "initialization")
async def initialize_first(trial: ClientTrial) -> None:
    """The first message of a client is the request `initialize`, with a version and its capabilities."""
    connection = await trial.open()
    with trial.deadline.starting():
        try:
            first = await connection.dialogue.when(lambda _frame: True)
        except ConnectionLost as error:
            raise Blocked("The client ended the connection without a message.") from error
    if not first.calls("initialize") or first.is_notification:
        raise Violation("The first message is another one.", (first,))
    try:
        request: schema.InitializeRequest = first.params(schema.InitializeRequest)
    except msgspec.ValidationError as error:
        raise Violation(f"The parameters of initialize: {error}", (first,)) from error
    if request.protocol_version < 1:
        raise Violation(f"There is no version {request.protocol_version}.", (first,))


@INITIALIZATION.add("PORTICO-CLIENT-INIT-002", Level.MANDATORY, "initialization")
async def wait_for_greeting(trial: ClientTrial) -> None:
    """A client sends nothing else before `initialize` is answered."""
    connection = await trial.open(
        behaviour=AgentBehaviour(before_greeting=lambda: asyncio.sleep(_QUIET_SECONDS))
    )
    await connection.turn()
    for frame in connection.dialogue.frames[1:]:
        if frame.direction == "sent":
            return
        raise Violation("A message came before initialize was answered.", (frame,))


@INITIALIZATION.add("PORTICO-CLIENT-INIT-003", Level.ADVISORY, "initialization#implementation-information")
async def tell_name(trial: ClientTrial) -> str:
    """A client tells its name and version."""
    first = calls((await trial.connect()).dialogue.frames, "initialize")[0]
    info = first.params(schema.InitializeRequest).client_info
    if info is None:
        raise Violation("There is no clientInfo.", (first,))
    return f"{info.name} {info.version}"


@INITIALIZATION.add("PORTICO-CLIENT-INIT-004", Level.ADVISORY, "initialization#version-negotiation")
async def leave_unknown_version(trial: ClientTrial) -> None:
    """A client opens no session when the agent answers with a version that the client does not know."""
    greeting = schema.InitializeResponse(protocol_version=_UNKNOWN_VERSION)
    connection = await trial.open(behaviour=AgentBehaviour(greeting=greeting))
    await _decide(trial, connection, "session/new")
    if opened := calls(connection.dialogue.frames, "session/new"):
        raise Violation(f"A session was opened under version {_UNKNOWN_VERSION}.", (opened[0],))


@INITIALIZATION.add("PORTICO-CLIENT-AUTH-001", Level.MANDATORY, "authentication")
async def sign_in_as_offered(trial: ClientTrial) -> None:
    """A client signs in with a method that the agent offers."""
    greeting = schema.InitializeResponse(
        protocol_version=1, auth_methods=[schema.AuthMethod(id=AUTH_METHOD, name="Key")]
    )
    refusal = RpcError(_AUTH_REQUIRED, "Authentication required")
    connection = await trial.open(behaviour=AgentBehaviour(greeting=greeting, session_error=refusal))
    await _decide(trial, connection, "authenticate")
    signed = calls(connection.dialogue.frames, "authenticate")
    if not signed:
        raise NotExercised("The client did not sign in by itself.")
    if (found := signed[0].params(schema.AuthenticateRequest).method_id) != AUTH_METHOD:
        raise Violation(f"The method {found} was not offered.", (signed[0],))


@INITIALIZATION.add("PORTICO-CLIENT-SESSION-001", Level.MANDATORY, "session-setup#working-directory")
async def name_absolute_folder(trial: ClientTrial) -> None:
    """The working folder of a session is an absolute path."""
    for frame in await _opened(trial):
        cwd = frame.params(schema.NewSessionRequest).cwd
        if not PurePosixPath(cwd).is_absolute() and not PureWindowsPath(cwd).is_absolute():
            raise Violation(f"The folder {cwd!r} is not absolute.", (frame,))


@INITIALIZATION.add("PORTICO-CLIENT-SESSION-002", Level.MANDATORY, "session-setup#mcp-servers")
async def offer_supported_servers(trial: ClientTrial) -> None:
    """MCP servers over HTTP or SSE go only to an agent that announces them."""
    for frame in await _opened(trial):
        for server in frame.params(schema.NewSessionRequest).mcp_servers:
            if server.type is not None and server.type != "stdio":
                raise Violation("The agent does not announce such a server.", (frame,))


@INITIALIZATION.add("PORTICO-CLIENT-SESSION-003", Level.MANDATORY, "prompt-turn")
async def prompt_in_session(trial: ClientTrial) -> None:
    """A prompt names a session that the agent opened."""
    for frame in await _prompted(trial):
        if (found := frame.params(schema.PromptRequest).session_id) != SESSION:
            raise Violation(f"There is no session {found}.", (frame,))


@INITIALIZATION.add("PORTICO-CLIENT-PROMPT-001", Level.MANDATORY, "content")
async def send_supported_content(trial: ClientTrial) -> None:
    """A prompt has text and links only, unless the agent announces images, audio or embedded context."""
    for frame in await _prompted(trial):
        prompt = frame.params(schema.PromptRequest).prompt
        if not prompt:
            raise Violation("The prompt is empty.", (frame,))
        for block in prompt:
            if not isinstance(block, schema.TextContent | schema.ResourceLink):
                raise Violation("The agent does not announce such content.", (frame,))


@INITIALIZATION.add("PORTICO-CLIENT-METHODS-001", Level.MANDATORY, "initialization#agent-capabilities")
async def call_announced_methods(trial: ClientTrial) -> None:
    """Methods that an agent may lack are called only if it announces them."""
    for frame in (await trial.connect()).dialogue.received:
        method = frame.message.method if frame.message is not None else None
        if isinstance(method, str) and method not in _BASELINE and not method.startswith("_"):
            raise Violation(f"The agent does not announce {method}.", (frame,))


async def _decide(trial: ClientTrial, connection: ClientConnection, method: str) -> None:
    """Wait until the client calls a method, ends the connection, or has had time to do either."""
    called = connection.dialogue.when(lambda frame: frame.calls(method))
    await asyncio.wait({called}, timeout=trial.patience)


async def _opened(trial: ClientTrial) -> list[RecordedFrame]:
    return calls((await trial.connect()).dialogue.frames, "session/new")


async def _prompted(trial: ClientTrial) -> list[RecordedFrame]:
    return calls((await trial.connect()).dialogue.frames, "session/prompt")
