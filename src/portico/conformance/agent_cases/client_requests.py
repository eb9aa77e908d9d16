"""Cases about what an agent asks of its client: files, terminals, permissions and questions."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath, PureWindowsPath

from msgspec import UnsetType

from portico.acp import _schema as schema
from portico.conformance.agent_trial import AgentTrial, read_updates, seen
from portico.conformance.case import Blocked, CaseList, Level, NotExercised, Violation
from portico.conformance.dialogue import RecordedFrame
from portico.conformance.simulated_client import NO_CAPABILITIES

CLIENT_REQUESTS: CaseList[AgentTrial] = CaseList()

_TERMINAL_USES = ("terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release")


@CLIENT_REQUESTS.add("ACP-CLIENTCAP-001", Level.MANDATORY, "file-system#checking-support")
async def use_files_if_supported(trial: AgentTrial) -> None:
    """`fs/` methods are called only if the client announces them."""
    await _refuse_calls(trial, "read", "fs/")


@CLIENT_REQUESTS.add("ACP-CLIENTCAP-002", Level.MANDATORY, "terminals#checking-support")
async def use_terminals_if_supported(trial: AgentTrial) -> None:
    """`terminal/` methods are called only if the client announces them."""
    await _refuse_calls(trial, "terminal", "terminal/")


@CLIENT_REQUESTS.add("ACP-CLIENTCAP-003", Level.MANDATORY, "elicitation#checking-support")
async def ask_if_supported(trial: AgentTrial) -> None:
    """`elicitation/create` is called only if the client announces it."""
    await _refuse_calls(trial, "question", "elicitation/")


@CLIENT_REQUESTS.add("PORTICO-FILES-001", Level.MANDATORY, "overview#argument-requirements")
async def use_absolute_paths(trial: AgentTrial) -> None:
    """The paths of files are absolute, and lines are counted from 1."""
    for frame in seen(_calls((await trial.provoke("read")).frames, "fs/"), "read a file through the client"):
        if frame.calls("fs/read_text_file"):
            request = frame.params(schema.ReadTextFileRequest)
            path, line = request.path, request.line
        else:
            path, line = frame.params(schema.WriteTextFileRequest).path, None
        if not PurePosixPath(path).is_absolute() and not PureWindowsPath(path).is_absolute():
            raise Violation(f"The path {path} is not absolute.", (frame,))
        if line is not None and line < 1:
            raise Violation(f"The line {line} does not exist.", (frame,))


@CLIENT_REQUESTS.add("PORTICO-TERMINALS-001", Level.MANDATORY, "terminals#releasing-terminals")
async def release_terminals(trial: AgentTrial) -> None:
    """The terminal of a command that has ended is released, at the latest with the turn."""
    turn = await trial.provoke("terminal")
    seen(_calls(turn.frames, "terminal/create"), "ran a command in a terminal of the client")
    created = await _created_terminals(trial)
    released = {
        frame.params(schema.ReleaseTerminalRequest).terminal_id
        for frame in _calls(turn.frames, "terminal/release")
    }
    if kept := sorted(created - released):
        raise Violation(f"The terminal {kept[0]} was never released.", turn.frames)


@CLIENT_REQUESTS.add("PORTICO-TERMINALS-002", Level.MANDATORY, "terminals#releasing-terminals")
async def leave_released_terminals(trial: AgentTrial) -> None:
    """A terminal is used only after it was created and before it is released."""
    turn = await trial.provoke("terminal")
    seen(_calls(turn.frames, "terminal/create"), "ran a command in a terminal of the client")
    created, released = await _created_terminals(trial), set[str]()
    for frame in _calls(turn.frames, "terminal/"):
        if not any(frame.calls(method) for method in _TERMINAL_USES):
            continue
        terminal_id = frame.params(schema.TerminalOutputRequest).terminal_id
        if terminal_id not in created or terminal_id in released:
            raise Violation(f"The terminal {terminal_id} does not exist at this time.", (frame,))
        if frame.calls("terminal/release"):
            released.add(terminal_id)


@CLIENT_REQUESTS.add("PORTICO-PERMISSIONS-001", Level.ADVISORY, "tool-calls#requesting-permission")
async def offer_distinct_options(trial: AgentTrial) -> None:
    """A permission request has options to choose from, each with an id of its own."""
    frames = seen(
        _calls((await trial.provoke("permission")).frames, "session/request_permission"),
        "asked for a permission",
    )
    for frame in frames:
        options = frame.params(schema.RequestPermissionRequest).options
        ids = [option.option_id for option in options]
        if not ids or len(set(ids)) != len(ids):
            raise Violation(f"The ids of the options are: {', '.join(ids) or 'none'}.", (frame,))


@CLIENT_REQUESTS.add("PORTICO-PERMISSIONS-002", Level.ADVISORY, "tool-calls#requesting-permission")
async def respect_rejection(trial: AgentTrial) -> None:
    """A tool call that the person rejected is not completed."""
    turn = await trial.provoke("permission")
    asked = seen(_calls(turn.frames, "session/request_permission"), "asked for a permission")
    rejected = {
        frame.params(schema.RequestPermissionRequest).tool_call.tool_call_id: frame for frame in asked
    }
    for frame in turn.frames:
        for note in read_updates((frame,)):
            update = note.update
            if (
                not isinstance(update, schema.ToolCallProgress | schema.ToolCall)
                or update.status != "completed"
            ):
                continue
            request = rejected.get(update.tool_call_id)
            if request is not None and request.number < frame.number:
                raise Violation("The rejected tool call was completed.", (request, frame))


@CLIENT_REQUESTS.add("PORTICO-PERMISSIONS-003", Level.MANDATORY, "prompt-turn#cancellation")
async def cancel_while_asking(trial: AgentTrial) -> None:
    """A turn that is cancelled while a permission is asked for ends with `cancelled`, not with an error."""
    asked = _calls((await trial.provoke("permission")).frames, "session/request_permission")
    seen(asked, "asked for a permission")
    connection = await trial.connect()
    session = await connection.new_session()
    connection.client.permission = "hold"
    first = len(connection.dialogue.frames)
    request = connection.dialogue.when(lambda frame: frame.calls("session/request_permission"))
    prompt = connection.start_prompt(session.session_id, trial.options.prompts["permission"])
    await request
    connection.dialogue.notify("session/cancel", schema.CancelNotification(session_id=session.session_id))
    connection.client.released.set()
    try:
        turn = await connection.finish_turn(prompt, first)
    except Blocked as error:
        raise Violation(str(error)) from error
    if turn.stop_reason != "cancelled":
        raise Violation(f"The stop reason is {turn.stop_reason}.", (turn.answer.frame,))


@CLIENT_REQUESTS.add("PORTICO-ELICITATION-001", Level.MANDATORY, "elicitation")
async def ask_completely(trial: AgentTrial) -> None:
    """A question says what it asks: a form has a schema, a page has an address and an id."""
    for frame in seen(
        _calls((await trial.provoke("question")).frames, "elicitation/create"), "asked a question"
    ):
        request = frame.params(schema.CreateElicitationRequest)
        if request.mode == "form" and request.requested_schema is None:
            raise Violation("The form has no requestedSchema.", (frame,))
        if request.mode == "url" and not (request.url and request.elicitation_id):
            raise Violation("The page has no address or no elicitationId.", (frame,))
        if request.session_id is None and isinstance(request.request_id, UnsetType):
            raise Violation("The question names neither a session nor a request.", (frame,))


@CLIENT_REQUESTS.add("PORTICO-TOOLS-001", Level.ADVISORY, "tool-calls#updating")
async def announce_tool_calls(trial: AgentTrial) -> None:
    """An update of a tool call refers to a tool call that was announced before."""
    await trial.provoke("permission")
    announced: set[tuple[str, str]] = set()
    updates = 0
    for frame in trial.frames:
        for note in read_updates((frame,)):
            if isinstance(note.update, schema.ToolCall):
                announced.add((note.session_id, note.update.tool_call_id))
            elif isinstance(note.update, schema.ToolCallProgress):
                updates += 1
                if (note.session_id, note.update.tool_call_id) not in announced:
                    raise Violation(f"The tool call {note.update.tool_call_id} is unknown.", (frame,))
    if not updates:
        raise NotExercised("The agent never updated a tool call.")


async def _refuse_calls(trial: AgentTrial, prompt: str, prefix: str) -> None:
    """Violation if the agent calls such a method of a client without capabilities, even in a turn that fails."""
    with suppress(NotExercised):
        await trial.provoke(prompt, "bare")
    bare = [one for one in trial.connections if one.client.capabilities is NO_CAPABILITIES]
    for connection in bare:
        if calls := _calls(connection.dialogue.received, prefix):
            raise Violation("The agent called a method that the client does not offer.", (calls[0],))


def _calls(frames: Sequence[RecordedFrame], prefix: str) -> Sequence[RecordedFrame]:
    """The frames that call a method which begins with a prefix."""
    return [
        frame
        for frame in frames
        if frame.message is not None
        and isinstance(frame.message.method, str)
        and frame.message.method.startswith(prefix)
    ]


async def _created_terminals(trial: AgentTrial) -> set[str]:
    """The terminals that the client has made."""
    return set((await trial.connect()).client.terminals)
