"""Cases about lines and JSON-RPC: ids, notifications, unknown methods, frames of unusual shape."""

import asyncio

from msgspec import UNSET, UnsetType

from portico.acp import _schema as schema
from portico.conformance.agent_trial import AgentTrial, SubjectConnection
from portico.conformance.case import CaseList, Level, Violation
from portico.rpc.messages import METHOD_NOT_FOUND, encode_request

WIRE: CaseList[AgentTrial] = CaseList()

_PROBE = "_portico/conformance/probe"
_LARGE = 1024 * 1024
# More than pipes and buffers hold: the ids come back with the answers.
_MANY = 600
_PADDING = 2000
_PAUSE_SECONDS = 0.2


@WIRE.add("ACP-JSONRPC-001", Level.MANDATORY, "https://www.jsonrpc.org/specification#response_object")
async def echo_ids(trial: AgentTrial) -> None:
    """A response has the id of its request, whether that is a number or a string."""
    connection = await trial.connect()
    for request_id in (70001, "portico-70001"):
        answer = await connection.dialogue.request(_PROBE, {}, request_id)
        message = answer.frame.message
        if message is None or message.id != request_id:
            raise Violation(f"The request {request_id!r} was answered under another id.", (answer.frame,))


@WIRE.add("ACP-JSONRPC-003", Level.MANDATORY, "overview#communication-model")
async def ignore_notifications(trial: AgentTrial) -> None:
    """A notification is never answered, neither with a result nor with an error."""
    connection = await trial.connect()
    first = len(connection.dialogue.frames)
    connection.dialogue.notify("_portico/conformance/notification", {})
    connection.dialogue.notify("session/cancel", schema.CancelNotification(session_id="portico-unknown"))
    await connection.barrier()
    asked = {
        frame.message.id
        for frame in connection.dialogue.frames
        if frame.direction == "sent" and frame.message is not None and frame.message.method is not UNSET
    }
    for frame in connection.dialogue.frames[first:]:
        message = frame.message
        if frame.direction == "received" and message is not None and message.method is UNSET:
            is_expected = not isinstance(message.id, UnsetType) and message.id in asked
            if not is_expected:
                raise Violation("A notification was answered.", (frame,))


@WIRE.add("ACP-JSONRPC-004", Level.ADVISORY, "extensibility#custom-requests")
async def refuse_unknown_methods(trial: AgentTrial) -> None:
    """A method that the agent does not know is answered with the error -32601."""
    connection = await trial.connect()
    answer = await connection.dialogue.request("portico_conformance/unknown", {})
    if isinstance(answer.error, UnsetType) or answer.error.code != METHOD_NOT_FOUND:
        raise Violation(f"The answer was {answer.failure or 'a result'}.", (answer.frame,))


@WIRE.add("ACP-JSONRPC-005", Level.ADVISORY, "overview#error-handling")
async def survive_errors(trial: AgentTrial) -> None:
    """After a request that failed, the connection can still be used."""
    connection = await trial.connect()
    await connection.dialogue.request("session/prompt", {"sessionId": 7})
    await _expect_answer(connection)


@WIRE.add("ACP-EXT-001", Level.MANDATORY, "extensibility#custom-requests")
async def answer_extensions(trial: AgentTrial) -> None:
    """A request whose method begins with _ is answered, if only with an error."""
    connection = await trial.connect()
    await connection.dialogue.request("_portico/conformance/extension", {"value": 1})


@WIRE.add("PORTICO-FRAMES-001", Level.MANDATORY, "transports#stdio")
async def join_parts(trial: AgentTrial) -> None:
    """A message ends at its newline: it may arrive in parts, and several may arrive at once."""
    connection = await trial.connect()
    answers = [
        connection.dialogue.start(_PROBE, {"part": number}, f"portico-part-{number}") for number in (1, 2)
    ]
    split = encode_request("portico-part-3", _PROBE, {"part": 3})
    last = connection.dialogue.expect("portico-part-3", _PROBE)
    connection.dialogue.write_part(split[:20])
    connection.dialogue.write_part(split[20:])
    for answer in (*answers, last):
        await answer


@WIRE.add("PORTICO-FRAMES-002", Level.MANDATORY, "transports#stdio")
async def read_unicode(trial: AgentTrial) -> None:
    """Messages are UTF-8; a line separator of Unicode inside a string does not end them."""
    connection = await trial.connect()
    text = "é 🏛 \u2028 \u0085 end"
    await connection.dialogue.request(_PROBE, {"text": text}, f"portico-{text}")


@WIRE.add("PORTICO-FRAMES-003", Level.ADVISORY, "transports#stdio")
async def read_large_messages(trial: AgentTrial) -> None:
    """A message of one MiB is read and answered."""
    connection = await trial.connect()
    await connection.dialogue.request(_PROBE, {"text": "x" * _LARGE})


@WIRE.add("PORTICO-BACKPRESSURE-001", Level.ADVISORY, "transports#stdio")
async def wait_for_reader(trial: AgentTrial) -> None:
    """A client that reads late gets every answer, each once: the agent waits, and loses nothing."""
    connection = await trial.connect()
    first = len(connection.dialogue.frames)
    connection.dialogue.pause()
    text = "x" * _PADDING
    try:
        answers = [
            connection.dialogue.start(_PROBE, {"text": text}, f"portico-{number}-{text}")
            for number in range(_MANY)
        ]
        await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        connection.dialogue.resume()
    for answer in answers:
        await answer
    await connection.barrier()
    found = sum(frame.direction == "received" for frame in connection.dialogue.frames[first:])
    if found > _MANY + 1:
        raise Violation(f"{_MANY} requests had {found - 1} answers.")


@WIRE.add("ACP-INFO-PARSE-001", Level.ADVISORY, "https://www.jsonrpc.org/specification#error_object")
async def survive_text(trial: AgentTrial) -> str:
    """A line that is no JSON does not end the connection."""
    return await _survive(trial, b"this is not JSON\n")


@WIRE.add("ACP-INFO-INVALIDREQ-001", Level.ADVISORY, "https://www.jsonrpc.org/specification#error_object")
async def survive_other_json(trial: AgentTrial) -> str:
    """A line of JSON that is no JSON-RPC message does not end the connection."""
    return await _survive(trial, b'{"foo":"bar"}\n')


async def _survive(trial: AgentTrial, line: bytes) -> str:
    connection = await trial.open()
    await connection.initialize()
    connection.dialogue.write(line)
    first = len(connection.dialogue.frames)
    await _expect_answer(connection)
    answered = [frame for frame in connection.dialogue.frames[first:] if frame.direction == "received"]
    errors = [frame for frame in answered if frame.message is not None and frame.message.id is None]
    return "The agent answered with an error." if errors else "The agent ignored it."


async def _expect_answer(connection: SubjectConnection) -> None:
    """Any answer shows that the connection works; what it says is the rule of another case."""
    request = schema.ListSessionsRequest()
    await connection.dialogue.request("session/list", request)
