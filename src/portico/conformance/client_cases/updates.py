"""Cases about updates: all kinds, unknown ones, many of them, and in which order they are shown."""

from typing import Any

from portico.conformance.case import Blocked, CaseList, Level, NotExercised, Violation
from portico.conformance.client_trial import SESSION, AgentBehaviour, ClientConnection, ClientTrial, calls

UPDATES: CaseList[ClientTrial] = CaseList()

_TEXT = {"type": "text", "text": "Conformance."}
_TOOL = "portico-tool"
_KNOWN: tuple[dict[str, Any], ...] = (
    {"sessionUpdate": "user_message_chunk", "content": _TEXT},
    {"sessionUpdate": "agent_message_chunk", "content": _TEXT},
    {"sessionUpdate": "agent_thought_chunk", "content": _TEXT},
    {
        "sessionUpdate": "tool_call",
        "toolCallId": _TOOL,
        "title": "Look",
        "kind": "read",
        "status": "pending",
        "locations": [{"path": "/tmp/conformance.txt", "line": 1}],
        "rawInput": {"path": "/tmp/conformance.txt"},
    },
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": _TOOL,
        "status": "completed",
        "content": [
            {"type": "content", "content": _TEXT},
            {"type": "diff", "path": "/tmp/conformance.txt", "oldText": None, "newText": "new\n"},
        ],
        "rawOutput": {"ok": True},
    },
    {
        "sessionUpdate": "plan",
        "entries": [{"content": "Look", "priority": "high", "status": "in_progress"}],
    },
    {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "look", "description": "Looks", "input": {"hint": "where"}}],
    },
    {"sessionUpdate": "current_mode_update", "currentModeId": "ask"},
    {"sessionUpdate": "config_option_update", "configOptions": []},
    {"sessionUpdate": "session_info_update", "title": "Conformance"},
    {"sessionUpdate": "usage_update", "used": 10, "size": 1000},
)
_MANY = 2000
_PADDING = "x" * 500
_CHUNKS = 40


@UPDATES.add("PORTICO-CLIENT-UPDATES-001", Level.MANDATORY, "prompt-turn#3-agent-reports-output")
async def take_known_updates(trial: ClientTrial) -> None:
    """Every kind of update that the protocol has is taken, shown or not."""
    connection = await trial.connect()
    for update in _KNOWN:
        connection.update(**update)
    await connection.expect_alive()


@UPDATES.add("PORTICO-CLIENT-UPDATES-002", Level.ADVISORY, "extensibility")
async def take_unknown_updates(trial: ClientTrial) -> None:
    """An update of a kind that the client does not know, and of a session that it does not know, does no harm."""
    connection = await trial.connect()
    connection.update(sessionUpdate="_portico_unknown", value=1)
    connection.update(sessionUpdate="portico_unknown", content={"type": "portico"})
    elsewhere = {"sessionId": "portico-elsewhere", "update": _KNOWN[1]}
    connection.dialogue.notify("session/update", elsewhere)
    await connection.expect_alive()


@UPDATES.add("PORTICO-CLIENT-UPDATES-003", Level.ADVISORY, "session-setup#creating-a-session")
async def take_early_updates(trial: ClientTrial) -> None:
    """Updates of a session that come before `session/new` is answered do no harm."""
    opened: list[ClientConnection] = []

    async def announce() -> None:
        opened[0].update(**_KNOWN[6])

    opened.append(await trial.open(behaviour=AgentBehaviour(before_session=announce)))
    try:
        await opened[0].turn()
    except Blocked as error:
        raise Violation(str(error)) from error
    await opened[0].expect_alive()


@UPDATES.add("PORTICO-CLIENT-META-001", Level.MANDATORY, "extensibility#the-meta-field")
async def take_meta(trial: ClientTrial) -> None:
    """`_meta` and fields that the client does not know are taken in updates and in requests."""
    connection = await trial.connect()
    meta = {"_meta": {"traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01"}}
    update = {**_KNOWN[1], **meta, "porticoField": 1}
    connection.dialogue.notify("session/update", {"sessionId": SESSION, "update": update, **meta})
    options = [
        {"optionId": kind, "name": kind, "kind": kind, **meta} for kind in ("allow_once", "reject_once")
    ]
    tool_call = {"toolCallId": "portico-meta", "title": "Conformance", **meta}
    request = {"sessionId": SESSION, "toolCall": tool_call, "options": options, "porticoField": 1, **meta}
    answer = await connection.request("session/request_permission", request)
    if answer.failure:
        raise Violation(f"The request was answered with {answer.failure}.", (answer.frame,))


@UPDATES.add("PORTICO-CLIENT-BACKPRESSURE-001", Level.ADVISORY, "transports#stdio")
async def take_many_updates(trial: ClientTrial) -> None:
    """Updates that come faster than they can be shown are all taken: a request behind them is answered."""
    connection = await trial.connect()
    for number in range(_MANY):
        connection.say(f"{number}{_PADDING}\n")
    await connection.expect_alive()


@UPDATES.add("PORTICO-CLIENT-ORDER-002", Level.ADVISORY, "prompt-turn#3-agent-reports-output")
async def show_text_in_order(trial: ClientTrial) -> None:
    """A client prints an answer in the order in which it came, up to the end of the turn."""
    connection = await trial.open()
    turn = await connection.turn()
    words = [f"portico-{number:03}" for number in range(_CHUNKS)]
    for word in words:
        connection.say(f"{word} ")
    turn.set_result("end_turn")
    await connection.dialogue.ended.wait()
    await connection.running.wait()
    shown = connection.running.output()
    if words[0] not in shown:
        raise NotExercised("The client prints no answers.")
    places = [shown.find(word) for word in words]
    if -1 in places or places != sorted(places):
        raise Violation(f"Of {_CHUNKS} parts, {places.count(-1)} are missing, or their order is another.")


@UPDATES.add("PORTICO-CLIENT-PROMPT-002", Level.ADVISORY, "prompt-turn#the-prompt-turn-lifecycle")
async def wait_for_turn(trial: ClientTrial) -> None:
    """A client sends no second prompt to a session before the first is answered."""
    connection = await trial.connect()
    await connection.barrier()
    prompts = calls(connection.dialogue.frames, "session/prompt")
    if len(prompts) > 1:
        raise Violation("A second prompt came while a turn was open.", tuple(prompts[:2]))
