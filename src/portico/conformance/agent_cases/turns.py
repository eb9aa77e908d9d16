"""Cases about prompts and their cancellation."""

import asyncio
import base64
import struct
import zlib

from msgspec import UnsetType

from portico.acp import _schema as schema
from portico.conformance.agent_trial import AgentTrial, FinishedTurn, SubjectConnection, read_updates, require
from portico.conformance.case import Blocked, CaseList, Level, NotExercised, Violation
from portico.conformance.trial import read_result
from portico.rpc.messages import REQUEST_CANCELLED

TURNS: CaseList[AgentTrial] = CaseList()

_SILENT_SECONDS = 1.0
"""Time without an update after which a turn is cancelled anyway."""
_SETTLE_SECONDS = 0.2
"""Time after which a turn is cancelled, so that a short one is not mistaken for one that ignores it."""
_STREAMED = schema.AgentMessageChunk | schema.AgentThoughtChunk | schema.ToolCall | schema.ToolCallProgress


@TURNS.add("ACP-PROMPT-001", Level.MANDATORY, "prompt-turn#stop-reasons")
async def answer_prompt(trial: AgentTrial) -> str:
    """A prompt of text is answered with one of the stop reasons of the protocol."""
    turn = await trial.provoke("turn")
    return f"The turn ended with {turn.stop_reason}."


@TURNS.add("ACP-PROMPT-002", Level.MANDATORY, "prompt-turn#3-agent-reports-output")
async def name_session_in_updates(trial: AgentTrial) -> None:
    """Every update of a turn names the session that was prompted."""
    await trial.provoke("turn")
    connection = await trial.connect()
    session = await connection.new_session()
    turn = await connection.turn(session.session_id, trial.options.prompts["turn"])
    if not turn.updates:
        raise NotExercised("The agent sent no updates.")
    known = {one.session_id for one in connection.sessions}
    for frame in turn.frames:
        for note in read_updates((frame,)):
            wrong = note.session_id not in known
            if wrong or (isinstance(note.update, _STREAMED) and note.session_id != session.session_id):
                raise Violation(f"An update names the session {note.session_id}.", (frame,))


@TURNS.add("ACP-PROMPT-003", Level.ADVISORY, "content#resource-link")
async def accept_resource_link(trial: AgentTrial) -> None:
    """A prompt may refer to a resource by a link."""
    file = trial.options.folder / "conformance.txt"
    await _turn_with(trial, schema.ResourceLink(name=file.name, uri=file.as_uri()))


@TURNS.add("ACP-PROMPTCAP-001", Level.CAPABILITY, "content#image-content")
async def accept_image(trial: AgentTrial) -> None:
    """An agent that announces `image` takes an image in a prompt."""
    require((await trial.capabilities()).prompt_capabilities.image, "promptCapabilities.image")
    await _turn_with(trial, schema.ImageContent(data=_png(), mime_type="image/png"))


@TURNS.add("ACP-PROMPTCAP-002", Level.CAPABILITY, "content#audio-content")
async def accept_audio(trial: AgentTrial) -> None:
    """An agent that announces `audio` takes a sound in a prompt."""
    require((await trial.capabilities()).prompt_capabilities.audio, "promptCapabilities.audio")
    await _turn_with(trial, schema.AudioContent(data=_wave(), mime_type="audio/wav"))


@TURNS.add("ACP-PROMPTCAP-003", Level.CAPABILITY, "content#embedded-resource")
async def accept_embedded_resource(trial: AgentTrial) -> None:
    """An agent that announces `embeddedContext` takes a file in a prompt."""
    require(
        (await trial.capabilities()).prompt_capabilities.embedded_context,
        "promptCapabilities.embeddedContext",
    )
    uri = (trial.options.folder / "conformance.txt").as_uri()
    text = schema.EmbeddedResourceResource(uri=uri, text="conformance", mime_type="text/plain")
    await _turn_with(trial, schema.EmbeddedResource(resource=text))


@TURNS.add("ACP-META-001", Level.ADVISORY, "extensibility#the-meta-field")
async def accept_meta(trial: AgentTrial) -> None:
    """A prompt with `_meta` is accepted like any other."""
    await trial.provoke("turn")
    connection = await trial.connect()
    session = await connection.new_session()
    trace = {"traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01"}
    request = schema.PromptRequest(
        session_id=session.session_id,
        prompt=[schema.TextContent(text=trial.options.prompts["turn"])],
        meta=trace,
    )
    first = len(connection.dialogue.frames)
    await connection.finish_turn(connection.dialogue.start("session/prompt", request), first)


@TURNS.add("ACP-INFO-UNKNOWNSESSION-001", Level.ADVISORY, "error")
async def refuse_unknown_session(trial: AgentTrial) -> str:
    """A prompt for a session that does not exist is answered with an error."""
    connection = await trial.connect()
    answer = await connection.start_prompt("portico-unknown", trial.options.prompts["turn"])
    if isinstance(answer.error, UnsetType):
        raise Violation("The prompt was accepted.", (answer.frame,))
    return f"The agent answered with {answer.failure}."


@TURNS.add("PORTICO-ORDER-002", Level.ADVISORY, "prompt-turn#4-check-for-completion")
async def end_turn_last(trial: AgentTrial) -> None:
    """Messages, thoughts and tool calls of a turn come before the answer to its prompt."""
    turn = await trial.provoke("turn")
    _refuse_late(turn)


@TURNS.add("PORTICO-ORDER-003", Level.ADVISORY, "https://agentclientprotocol.com/get-started/architecture")
async def keep_sessions_apart(trial: AgentTrial) -> None:
    """Two sessions of one connection can run a turn at the same time."""
    await trial.provoke("turn")
    connection = await trial.connect()
    sessions = [await connection.new_session(), await connection.new_session()]
    first = len(connection.dialogue.frames)
    text = trial.options.prompts["turn"]
    prompts = [connection.start_prompt(session.session_id, text) for session in sessions]
    for prompt in prompts:
        await connection.finish_turn(prompt, first)


@TURNS.add("ACP-CANCEL-001", Level.MANDATORY, "prompt-turn#cancellation")
async def cancel_turn(trial: AgentTrial) -> None:
    """After `session/cancel` the prompt is answered with the stop reason `cancelled`, not with an error."""
    await _cancelled(trial)


@TURNS.add("ACP-CANCEL-002", Level.MANDATORY, "prompt-turn#cancellation")
async def end_cancelled_turn_last(trial: AgentTrial) -> None:
    """After a cancelled prompt is answered, no more updates of that turn arrive."""
    _refuse_late(await _cancelled(trial))


@TURNS.add("PORTICO-CANCEL-001", Level.ADVISORY, "prompt-turn#cancellation")
async def ignore_idle_cancel(trial: AgentTrial) -> None:
    """`session/cancel` without a running turn does not cancel the next one."""
    await trial.provoke("turn")
    connection = await trial.connect()
    session = await connection.new_session()
    connection.dialogue.notify("session/cancel", schema.CancelNotification(session_id=session.session_id))
    await connection.barrier()
    turn = await connection.turn(session.session_id, trial.options.prompts["turn"])
    if turn.stop_reason == "cancelled":
        raise Violation("The turn that began after it was cancelled.", (turn.answer.frame,))


@TURNS.add("PORTICO-CANCEL-002", Level.MANDATORY, "cancellation")
async def answer_cancelled_request(trial: AgentTrial) -> None:
    """A request that `$/cancel_request` names is still answered: with a result, or with the error -32800."""
    await trial.provoke("turn")
    connection = await trial.connect()
    session = await connection.new_session()
    prompt = connection.start_prompt(session.session_id, trial.options.prompts["cancel"])
    request_id = connection.dialogue.frames[-1].message
    assert request_id is not None
    connection.dialogue.notify("$/cancel_request", {"requestId": request_id.id})
    await connection.barrier()
    # An agent may ignore the notification, and then continues the turn.
    connection.dialogue.notify("session/cancel", schema.CancelNotification(session_id=session.session_id))
    answer = await prompt
    if not isinstance(answer.error, UnsetType) and answer.error.code != REQUEST_CANCELLED:
        raise Violation(f"The prompt was answered with {answer.failure}.", (answer.frame,))


async def _turn_with(trial: AgentTrial, block: schema.ContentBlock) -> None:
    """Run a turn with one more block. A refusal is a violation if the agent can run a turn without the block."""
    await trial.provoke("turn")
    connection = await trial.connect()
    session = await connection.new_session()
    answer = await connection.start_prompt(session.session_id, trial.options.prompts["turn"], block)
    read_result(answer, "session/prompt", schema.PromptResponse)


async def _cancelled(trial: AgentTrial) -> FinishedTurn:
    await trial.provoke("turn")
    connection = await trial.connect()
    session = await connection.new_session()
    try:
        turn = await cancel_running(connection, session.session_id, trial.options.prompts["cancel"])
    except Blocked as error:
        raise Violation(str(error)) from error
    if turn.stop_reason != "cancelled":
        raise Violation(f"The stop reason is {turn.stop_reason}.", (turn.answer.frame,))
    return turn


async def cancel_running(connection: SubjectConnection, session_id: str, text: str) -> FinishedTurn:
    """Prompt, and cancel a moment after the first sign of life. NotExercised when the turn has ended by then."""
    first = len(connection.dialogue.frames)
    begun = connection.dialogue.when(lambda frame: frame.calls("session/update") and session_id in frame.text)
    prompt = connection.start_prompt(session_id, text)
    await asyncio.wait((begun, prompt), timeout=_SILENT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait((prompt,), timeout=_SETTLE_SECONDS)
    await connection.barrier()
    if prompt.done() and not prompt.result().failure:
        raise NotExercised("The turn ended before it could be cancelled.")
    connection.dialogue.notify("session/cancel", schema.CancelNotification(session_id=session_id))
    return await connection.finish_turn(prompt, first)


def _refuse_late(turn: FinishedTurn) -> None:
    for frame in turn.late:
        for note in read_updates((frame,)):
            if isinstance(note.update, _STREAMED):
                raise Violation("An update of the turn came after its answer.", (turn.answer.frame, frame))


def _png() -> str:
    """An image of one white pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">2I5B", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\x00\xff"))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + head + pixels + chunk(b"IEND", b"")).decode()


def _wave() -> str:
    """A sound of one silent sample."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", 1) + b"\x80\x00"
    return base64.b64encode(struct.pack("<4sI", b"RIFF", len(body)) + body).decode()
