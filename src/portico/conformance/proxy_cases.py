"""Cases for proxies: what passes through them, both ways, and in which order."""

import asyncio
from typing import Any

from msgspec import Raw, UnsetType

from portico.acp import _schema as schema
from portico.conformance.case import Case, CaseList, Level, Violation
from portico.conformance.dialogue import RecordedAnswer
from portico.conformance.proxy_trial import AGENT, Forwarded, ProxyTrial, expect_equal
from portico.domain import codecs
from portico.rpc.messages import RpcError

_PROXY: CaseList[ProxyTrial] = CaseList()
_CHAINS = "https://agentclientprotocol.com/rfds/proxy-chains"
# No proxy has a reason to change a message that it cannot know.
_REQUEST = "_portico/conformance/request"
_NOTE = "_portico/conformance/note"
_LARGE = 1024 * 1024
# More than pipes and buffers hold.
_MANY = 600
_PADDING = 2000
_PAUSE_SECONDS = 0.2


@_PROXY.add("PORTICO-PROXY-INIT-001", Level.MANDATORY, _CHAINS)
async def initialize_successor_first(trial: ProxyTrial) -> None:
    """A proxy that is initialized initializes its successor first, and answers afterwards."""
    connection = await trial.open()
    answer = await connection.initialize()
    _read(answer, "proxy/initialize")
    forwarded = connection.for_agent(connection.dialogue.frames, "initialize")
    if not forwarded or forwarded[0].number > answer.frame.number:
        raise Violation("The agent was not initialized before the answer.", (answer.frame,))


@_PROXY.add("PORTICO-PROXY-INIT-002", Level.MANDATORY, _CHAINS)
async def keep_version(trial: ProxyTrial) -> None:
    """A proxy changes the version of the protocol neither in the request nor in the answer."""
    connection = await trial.open()
    answer = await connection.initialize()
    result = codecs.decode_json(_read(answer, "proxy/initialize"), schema.InitializeResponse)
    expect_equal(result.protocol_version, AGENT.protocol_version, "The version in the answer")
    for frame in connection.for_agent(connection.dialogue.frames, "initialize"):
        params = frame.params(Forwarded).params
        request = codecs.decode_json(
            b"{}" if isinstance(params, UnsetType) else params, schema.InitializeRequest
        )
        expect_equal(request.protocol_version, 1, "The version for the agent")


@_PROXY.add("PORTICO-PROXY-REQUEST-001", Level.MANDATORY, _CHAINS)
async def pass_requests_on(trial: ProxyTrial) -> None:
    """A request that a proxy does not know reaches the agent as it is, and its result is returned unchanged."""
    connection = await trial.connect()
    connection.agent[_REQUEST] = _echo
    params = {"text": "é 🏛", "number": 1.5, "list": [None, True], "_meta": {"traceparent": "00-1"}}
    answer = await connection.dialogue.request(_REQUEST, params)
    expect_equal(codecs.decode_json(_read(answer, _REQUEST)), params, "The result")


@_PROXY.add("PORTICO-PROXY-REQUEST-002", Level.MANDATORY, _CHAINS)
async def pass_errors_back(trial: ProxyTrial) -> None:
    """An error of the agent is returned with its code, its message and its data."""

    async def fail(_params: Raw) -> None:
        raise RpcError(-32042, "No such thing", {"thing": 7})

    connection = await trial.connect()
    connection.agent[_REQUEST] = fail
    answer = await connection.dialogue.request(_REQUEST, {})
    _expect_error(answer)


@_PROXY.add("PORTICO-PROXY-REQUEST-003", Level.MANDATORY, _CHAINS)
async def match_answers(trial: ProxyTrial) -> None:
    """Requests may be answered in any order; each answer goes to the request it is for."""
    gate = asyncio.Event()

    async def answer_late(params: Raw) -> Any:
        if b"first" in bytes(params):
            await gate.wait()
        return await _echo(params)

    connection = await trial.connect()
    connection.agent[_REQUEST] = answer_late
    first = connection.dialogue.start(_REQUEST, {"name": "first"}, "portico-first")
    second = await connection.dialogue.request(_REQUEST, {"name": "second"}, "portico-second")
    gate.set()
    expect_equal(codecs.decode_json(_read(second, _REQUEST)), {"name": "second"}, "The second result")
    expect_equal(codecs.decode_json(_read(await first, _REQUEST)), {"name": "first"}, "The first result")


@_PROXY.add("PORTICO-PROXY-REQUEST-004", Level.MANDATORY, _CHAINS)
async def pass_agent_requests_on(trial: ProxyTrial) -> None:
    """A request of the agent reaches the client, and the client's answer is returned unchanged."""
    connection = await trial.connect()
    params = {"value": ["a", 1]}
    answer = await connection.ask_client(_REQUEST, params)
    expect_equal(codecs.decode_json(_read(answer, _REQUEST)), params, "The result")


@_PROXY.add("PORTICO-PROXY-NOTIFICATION-001", Level.MANDATORY, _CHAINS)
async def pass_notifications_on(trial: ProxyTrial) -> None:
    """A notification of the client reaches the agent as a notification."""
    connection = await trial.connect()
    arrived = connection.dialogue.when(
        lambda frame: frame.calls(connection.successor) and _NOTE in frame.text
    )
    connection.dialogue.notify(_NOTE, {"value": 1})
    frame = await arrived
    if not frame.is_notification:
        raise Violation("The notification became a request.", (frame,))
    params = frame.params(Forwarded).params
    expect_equal(
        None if isinstance(params, UnsetType) else codecs.decode_json(params), {"value": 1}, "The value"
    )


@_PROXY.add("PORTICO-PROXY-ORDER-001", Level.MANDATORY, "prompt-turn#4-check-for-completion")
async def keep_order(trial: ProxyTrial) -> None:
    """Updates of the agent reach the client in their order, and before the answer that follows them."""
    connection = await trial.connect()

    async def speak(_params: Raw) -> dict[str, Any]:
        for number in range(100):
            connection.notify_client(_NOTE, {"number": number})
        return {}

    connection.agent[_REQUEST] = speak
    first = len(connection.dialogue.frames)
    answer = await connection.dialogue.request(_REQUEST, {})
    _read(answer, _REQUEST)
    frames = connection.dialogue.frames[first : answer.frame.number]
    notes = [frame for frame in frames if frame.direction == "received" and frame.calls(_NOTE)]
    numbers = [frame.params(dict)["number"] for frame in notes]
    if numbers != list(range(100)):
        raise Violation(
            f"{len(numbers)} of 100 updates came before the answer, or not in order.", tuple(notes[-5:])
        )


@_PROXY.add("PORTICO-PROXY-BACKPRESSURE-001", Level.ADVISORY, "transports#stdio")
async def wait_for_reader(trial: ProxyTrial) -> None:
    """Updates that the client reads late arrive all the same, each once and in order."""
    connection = await trial.connect()
    first = len(connection.dialogue.frames)
    connection.dialogue.pause()
    try:
        for number in range(_MANY):
            connection.notify_client(_NOTE, {"number": number, "text": "x" * _PADDING})
        await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        connection.dialogue.resume()
    # A request of the agent comes after what the agent said.
    await connection.ask_client(_REQUEST, {})
    notes = [frame for frame in connection.dialogue.frames[first:] if frame.calls(_NOTE)]
    if [frame.params(dict)["number"] for frame in notes] != list(range(_MANY)):
        raise Violation(f"{len(notes)} of {_MANY} updates arrived, or not in order.", tuple(notes[-5:]))


@_PROXY.add("PORTICO-PROXY-CANCEL-001", Level.MANDATORY, _CHAINS)
async def keep_cancellation_to_hop(trial: ProxyTrial) -> None:
    """`$/cancel_request` is about ids of one connection, so it is not passed on inside `proxy/successor`."""
    connection = await trial.connect()
    gate = asyncio.Event()

    async def wait(_params: Raw) -> dict[str, Any]:
        await gate.wait()
        return {}

    connection.agent[_REQUEST] = wait
    arrived = connection.dialogue.when(
        lambda frame: frame.calls(connection.successor) and _REQUEST in frame.text
    )
    first = len(connection.dialogue.frames)
    asked = connection.dialogue.start(_REQUEST, {}, "portico-cancelled")
    await arrived
    connection.dialogue.notify("$/cancel_request", {"requestId": "portico-cancelled"})
    gate.set()
    await asked
    if wrapped := connection.for_agent(connection.dialogue.frames[first:], "$/cancel_request"):
        raise Violation(
            "The cancellation was passed on with an id that the agent does not know.", (wrapped[0],)
        )


@_PROXY.add("PORTICO-PROXY-SESSION-001", Level.MANDATORY, _CHAINS)
async def keep_session(trial: ProxyTrial) -> None:
    """The id that the agent gives to a session is the one that the client gets."""
    connection = await trial.connect()

    async def open_session(_params: Raw) -> schema.NewSessionResponse:
        return schema.NewSessionResponse(session_id="portico-session")

    connection.agent["session/new"] = open_session
    request = schema.NewSessionRequest(cwd="/", mcp_servers=[])
    answer = await connection.dialogue.request("session/new", request)
    session = codecs.decode_json(_read(answer, "session/new"), schema.NewSessionResponse)
    expect_equal(session.session_id, "portico-session", "The id")


@_PROXY.add("PORTICO-PROXY-FRAMES-001", Level.ADVISORY, "transports#stdio")
async def pass_large_messages_on(trial: ProxyTrial) -> None:
    """A message of one MiB passes both ways."""
    connection = await trial.connect()
    connection.agent[_REQUEST] = _echo
    answer = await connection.dialogue.request(_REQUEST, {"text": "x" * _LARGE})
    expect_equal(len(_read(answer, _REQUEST)) > _LARGE, True, "Whether the result is whole")


@_PROXY.add("PORTICO-PROXY-FRAMES-002", Level.ADVISORY, "https://www.jsonrpc.org/specification#error_object")
async def survive_text(trial: ProxyTrial) -> None:
    """A line that is no JSON does not end the connection."""
    connection = await trial.open()
    await connection.initialize()
    connection.agent[_REQUEST] = _echo
    connection.dialogue.write(b"this is not JSON\n")
    await connection.dialogue.request(_REQUEST, {})


@_PROXY.add("PORTICO-PROXY-SHUTDOWN-001", Level.ADVISORY, "transports#stdio")
async def exit_at_end_of_input(trial: ProxyTrial) -> str:
    """The proxy exits by itself when its input is closed."""
    connection = await trial.open()
    await connection.initialize()
    await connection.dialogue.close()
    return f"It ended with {await connection.running.wait()}."


PROXY_CASES: tuple[Case[ProxyTrial], ...] = tuple(_PROXY.cases)


async def _echo(params: Raw) -> Any:
    return Raw(bytes(params))


def _read(answer: RecordedAnswer, method: str) -> bytes:
    if isinstance(answer.result, UnsetType):
        raise Violation(
            f"{method} was answered with {answer.failure or 'neither result nor error'}", (answer.frame,)
        )
    return bytes(answer.result)


def _expect_error(answer: RecordedAnswer) -> None:
    if isinstance(answer.error, UnsetType):
        raise Violation("The error became a result.", (answer.frame,))
    expect_equal(answer.error.code, -32042, "The code")
    expect_equal(answer.error.message, "No such thing", "The message")
    data = None if isinstance(answer.error.data, UnsetType) else codecs.decode_json(answer.error.data)
    expect_equal(data, {"thing": 7}, "The data")
