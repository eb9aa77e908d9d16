"""Cases about lines and JSON-RPC: ids, notifications, unknown methods, frames of unusual shape, and the end."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from portico.acp import _schema as schema
from portico.conformance.case import CaseList, Level, NotExercised, Violation
from portico.conformance.client_trial import BARRIER, SESSION, ClientTrial
from portico.rpc.messages import METHOD_NOT_FOUND, encode_request

WIRE: CaseList[ClientTrial] = CaseList()

_JSON_RPC = "https://www.jsonrpc.org/specification"
_LARGE = 1024 * 1024


@WIRE.add("PORTICO-CLIENT-JSONRPC-001", Level.MANDATORY, f"{_JSON_RPC}#response_object")
async def echo_ids(trial: ClientTrial) -> None:
    """A response has the id of its request, whether that is a number or a string."""
    connection = await trial.connect()
    for request_id in (70001, "portico-70001"):
        answer = await connection.dialogue.request(BARRIER, {}, request_id)
        message = answer.frame.message
        if message is None or message.id != request_id:
            raise Violation(f"The request {request_id!r} was answered under another id.", (answer.frame,))


@WIRE.add("PORTICO-CLIENT-JSONRPC-002", Level.MANDATORY, "overview#communication-model")
async def ignore_notifications(trial: ClientTrial) -> None:
    """A notification is never answered, whether the client knows it or not."""
    connection = await trial.connect()
    first = len(connection.dialogue.frames)
    connection.dialogue.notify("_portico/conformance/notification", {})
    unknown = schema.CancelRequestNotification(request_id="portico-unknown")
    connection.dialogue.notify("$/cancel_request", unknown)
    await connection.barrier()
    for frame in connection.dialogue.frames[first:]:
        message = frame.message
        is_answer = frame.direction == "received" and message is not None and message.method is UNSET
        if is_answer and message is not None and (isinstance(message.id, UnsetType) or message.id is None):
            raise Violation("A notification was answered.", (frame,))


@WIRE.add("PORTICO-CLIENT-JSONRPC-003", Level.ADVISORY, "extensibility#custom-requests")
async def refuse_unknown_methods(trial: ClientTrial) -> None:
    """A method that the client does not know is answered with the error -32601."""
    connection = await trial.connect()
    answer = await connection.request("portico_conformance/unknown", {})
    if isinstance(answer.error, UnsetType) or answer.error.code != METHOD_NOT_FOUND:
        raise Violation(f"The answer was {answer.failure or 'a result'}.", (answer.frame,))


@WIRE.add("PORTICO-CLIENT-JSONRPC-004", Level.ADVISORY, f"{_JSON_RPC}#response_object")
async def ignore_stray_answers(trial: ClientTrial) -> None:
    """An answer to a request that was never made, or that has been answered, does no harm."""
    connection = await trial.connect()
    asked = next(frame for frame in connection.dialogue.received if frame.calls("initialize"))
    again = asked.message.id if asked.message is not None else None
    connection.dialogue.write(b'{"jsonrpc":"2.0","id":"portico-stray","result":{}}\n')
    if not isinstance(again, UnsetType):
        connection.dialogue.write(b'{"jsonrpc":"2.0","id":%s,"result":{}}\n' % msgspec.json.encode(again))
    await connection.expect_alive()


@WIRE.add("PORTICO-CLIENT-JSONRPC-005", Level.ADVISORY, "overview#error-handling")
async def survive_invalid_requests(trial: ClientTrial) -> None:
    """A request with parameters of the wrong type is answered with an error, and the connection stays open."""
    connection = await trial.connect()
    answer = await connection.request("session/request_permission", {"sessionId": 7, "options": "none"})
    if not answer.failure:
        raise Violation("The request succeeded.", (answer.frame,))
    await connection.expect_alive()


@WIRE.add("PORTICO-CLIENT-EXT-001", Level.MANDATORY, "extensibility#custom-requests")
async def answer_extensions(trial: ClientTrial) -> None:
    """A request whose method begins with _ is answered, if only with an error."""
    await (await trial.connect()).request("_portico/conformance/extension", {"value": 1})


@WIRE.add("PORTICO-CLIENT-FRAMES-001", Level.MANDATORY, "transports#stdio")
async def join_parts(trial: ClientTrial) -> None:
    """A message ends at its newline: it may arrive in parts, and several may arrive at once."""
    connection = await trial.connect()
    answers = [
        connection.dialogue.start(BARRIER, {"part": number}, f"portico-part-{number}") for number in (1, 2)
    ]
    split = encode_request("portico-part-3", BARRIER, {"part": 3})
    last = connection.dialogue.expect("portico-part-3", BARRIER)
    connection.dialogue.write_part(split[:20])
    connection.dialogue.write_part(split[20:])
    for answer in (*answers, last):
        await answer


@WIRE.add("PORTICO-CLIENT-FRAMES-002", Level.MANDATORY, "transports#stdio")
async def read_unicode(trial: ClientTrial) -> None:
    """Messages are UTF-8; a line separator of Unicode inside a string does not end them."""
    text = "é 🏛 \u2028 \u0085 end"
    await (await trial.connect()).dialogue.request(BARRIER, {"text": text}, f"portico-{text}")


@WIRE.add("PORTICO-CLIENT-FRAMES-003", Level.ADVISORY, "transports#stdio")
async def read_large_messages(trial: ClientTrial) -> None:
    """An update of one MiB is taken."""
    connection = await trial.connect()
    connection.say("x" * _LARGE)
    await connection.expect_alive()


@WIRE.add("PORTICO-CLIENT-FRAMES-004", Level.ADVISORY, f"{_JSON_RPC}#error_object")
async def survive_text(trial: ClientTrial) -> None:
    """A line that is no JSON does not end the connection."""
    await _survive(trial, b"Listening on standard input\n")


@WIRE.add("PORTICO-CLIENT-FRAMES-005", Level.ADVISORY, f"{_JSON_RPC}#error_object")
async def survive_other_json(trial: ClientTrial) -> None:
    """A line of JSON that is no JSON-RPC message does not end the connection."""
    await _survive(trial, b'{"foo":"bar"}\n')


@WIRE.add("PORTICO-CLIENT-SHUTDOWN-001", Level.ADVISORY, "transports#stdio")
async def close_connection(trial: ClientTrial) -> None:
    """A client that has no more prompts closes the connection and ends."""
    connection = await trial.open()
    (await connection.turn()).set_result("end_turn")
    if not await _ends(trial, connection.running.wait()):
        raise NotExercised("The client continues without a prompt.")
    if not connection.dialogue.ended.is_set() and not await _ends(trial, connection.dialogue.ended.wait()):
        raise Violation("The client ended, and the connection is still open.")


@WIRE.add("PORTICO-CLIENT-CRASH-001", Level.ADVISORY, "transports#stdio")
async def notice_end_of_agent(trial: ClientTrial) -> str:
    """A client whose agent ends in the middle of a turn notices it, and does not wait for the answer."""
    connection = await trial.open()
    await connection.turn()
    connection.say("One moment")
    await connection.dialogue.close()
    if not await _ends(trial, connection.running.wait()):
        raise Violation("The client still waits.")
    return f"It ended with {await connection.running.wait()}."


async def _ends(trial: ClientTrial, waiting: Coroutine[Any, Any, object]) -> bool:
    """Whether something ends in time."""
    try:
        async with asyncio.timeout(trial.patience):
            await waiting
    except TimeoutError:
        return False
    return True


async def _survive(trial: ClientTrial, line: bytes) -> None:
    connection = await trial.open()
    await connection.turn()
    connection.dialogue.write(line)
    permission = {
        "sessionId": SESSION,
        "toolCall": {"toolCallId": "portico-after", "title": "After"},
        "options": [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")],
    }
    await connection.request("session/request_permission", permission)
