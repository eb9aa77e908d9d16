"""Cases about sessions that exist already: load, resume, list, delete, close, and their life beyond a process."""

from msgspec import Raw

from portico.acp import _schema as schema
from portico.conformance.agent_cases.turns import cancel_running
from portico.conformance.agent_trial import AgentTrial, FinishedTurn, SubjectConnection, read_updates, require
from portico.conformance.case import CaseList, Level, NotExercised, Violation
from portico.conformance.dialogue import RecordedAnswer, RecordedFrame
from portico.conformance.trial import read_result

HISTORY: CaseList[AgentTrial] = CaseList()

_CONVERSATION = schema.UserMessageChunk | schema.AgentMessageChunk | schema.AgentThoughtChunk
_MOST_PAGES = 50


class _Spoken:
    """A connection with a session in which one turn has run."""

    def __init__(
        self, trial: AgentTrial, connection: SubjectConnection, session_id: str, turn: FinishedTurn
    ) -> None:
        self.connection = connection
        self.session_id = session_id
        self.turn = turn
        self._folder = str(trial.options.folder)

    async def load(
        self, connection: SubjectConnection | None = None
    ) -> tuple[RecordedAnswer, list[RecordedFrame]]:
        """Load the session; the answer, and what was received up to a barrier after it."""
        used = connection or self.connection
        first = len(used.dialogue.frames)
        request = schema.LoadSessionRequest(session_id=self.session_id, cwd=self._folder, mcp_servers=[])
        answer = await used.dialogue.request("session/load", request)
        await used.barrier()
        return answer, [frame for frame in used.dialogue.frames[first:] if frame.direction == "received"]


async def _speak(trial: AgentTrial) -> _Spoken:
    await trial.provoke("turn")
    connection = await trial.connect()
    session = await connection.new_session()
    turn = await connection.turn(session.session_id, trial.options.prompts["turn"])
    return _Spoken(trial, connection, session.session_id, turn)


@HISTORY.add("ACP-LOAD-001", Level.CAPABILITY, "session-setup#loading-a-session")
async def load_session(trial: AgentTrial) -> None:
    """An agent that announces `loadSession` loads a session of its own."""
    require((await trial.capabilities()).load_session, "loadSession")
    spoken = await _speak(trial)
    answer, _ = await spoken.load()
    read_result(answer, "session/load", schema.LoadSessionResponse)


@HISTORY.add("ACP-LOAD-002", Level.CAPABILITY, "session-setup#loading-a-session")
async def end_replay_first(trial: AgentTrial) -> None:
    """`session/load` is answered after the whole conversation was replayed."""
    answer, frames = await _loaded(trial)
    for frame in frames[frames.index(answer.frame) + 1 :]:
        for note in read_updates((frame,)):
            if isinstance(note.update, _CONVERSATION):
                raise Violation("A part of the conversation came after the answer.", (answer.frame, frame))


@HISTORY.add("ACP-LOAD-003", Level.ADVISORY, "session-setup#loading-a-session")
async def answer_load_with_object(trial: AgentTrial) -> None:
    """The result of `session/load` is an object, not null."""
    answer, _ = await _loaded(trial)
    if isinstance(answer.result, Raw) and bytes(answer.result) == b"null":
        raise Violation("The result is null.", (answer.frame,))


@HISTORY.add("PORTICO-LOAD-001", Level.CAPABILITY, "session-setup#loading-a-session")
async def replay_conversation(trial: AgentTrial) -> None:
    """`session/load` replays what was said, the prompts of the person included."""
    _, frames = await _loaded(trial)
    said = [note.update for note in read_updates(frames)]
    if not any(isinstance(update, schema.UserMessageChunk) for update in said):
        raise Violation("The replay does not have the prompt.", tuple(frames))


@HISTORY.add("PORTICO-LOAD-002", Level.ADVISORY, "session-setup#loading-sessions")
async def refuse_unknown_load(trial: AgentTrial) -> None:
    """`session/load` of a session that does not exist is answered with an error."""
    require((await trial.capabilities()).load_session, "loadSession")
    connection = await trial.connect()
    request = schema.LoadSessionRequest(
        session_id="00000000-0000-4000-8000-000000000000", cwd=str(trial.options.folder), mcp_servers=[]
    )
    answer = await connection.dialogue.request("session/load", request)
    if not answer.failure:
        raise Violation("The unknown session was loaded.", (answer.frame,))


@HISTORY.add("PORTICO-CRASH-001", Level.ADVISORY, "session-setup#loading-sessions")
async def outlive_process(trial: AgentTrial) -> None:
    """A session with a finished turn can be loaded after the agent was killed and started again."""
    require((await trial.capabilities()).load_session, "loadSession")
    await trial.provoke("turn")
    first = await trial.open()
    await first.initialize()
    session = await first.new_session()
    turn = await first.turn(session.session_id, trial.options.prompts["turn"])
    await first.end(kill=True)
    second = await trial.open()
    await second.initialize()
    answer, _ = await _Spoken(trial, second, session.session_id, turn).load()
    read_result(answer, "session/load", schema.LoadSessionResponse)


@HISTORY.add("ACP-RESUME-001", Level.CAPABILITY, "session-setup#resuming-sessions")
async def resume_session(trial: AgentTrial) -> None:
    """An agent that announces `resume` resumes a session of its own."""
    await _resumed(trial)


@HISTORY.add("ACP-RESUME-002", Level.CAPABILITY, "session-setup#resuming-sessions")
async def resume_silently(trial: AgentTrial) -> None:
    """`session/resume` does not replay the conversation."""
    spoken, frames = await _resumed(trial)
    for frame in frames:
        for note in read_updates((frame,)):
            if isinstance(note.update, _CONVERSATION) and note.session_id == spoken.session_id:
                raise Violation("A part of the conversation was sent again.", (frame,))


@HISTORY.add("PORTICO-RESUME-001", Level.CAPABILITY, "session-setup#resuming-sessions")
async def continue_resumed(trial: AgentTrial) -> None:
    """A session that was resumed takes a prompt."""
    spoken, _ = await _resumed(trial)
    answer = await spoken.connection.start_prompt(spoken.session_id, trial.options.prompts["turn"])
    read_result(answer, "session/prompt", schema.PromptResponse)


@HISTORY.add("ACP-LIST-001", Level.CAPABILITY, "session-list#listing-sessions")
async def list_sessions(trial: AgentTrial) -> None:
    """An agent that announces `list` answers `session/list` with a list of sessions."""
    await _list(trial, schema.ListSessionsRequest())


@HISTORY.add("ACP-LIST-002", Level.CAPABILITY, "session-list#listing-sessions")
async def list_nothing(trial: AgentTrial) -> None:
    """`session/list` for a folder without sessions answers with an empty list."""
    unused = trial.options.folder / "unused"
    unused.mkdir(exist_ok=True)
    listed = await _list(trial, schema.ListSessionsRequest(cwd=str(unused)))
    if listed.sessions:
        raise Violation(f"{len(listed.sessions)} sessions of other folders are listed.")


@HISTORY.add("PORTICO-LIST-001", Level.ADVISORY, "session-list#pagination")
async def list_pages(trial: AgentTrial) -> None:
    """Following `nextCursor` comes to an end, and no session is listed twice on the way."""
    listed = await _list(trial, schema.ListSessionsRequest())
    ids = [session.session_id for session in listed.sessions]
    pages = 1
    while listed.next_cursor:
        if pages == _MOST_PAGES:
            raise NotExercised(f"There are more than {_MOST_PAGES} pages.")
        listed = await _list(trial, schema.ListSessionsRequest(cursor=listed.next_cursor))
        ids += [session.session_id for session in listed.sessions]
        pages += 1
    if len(set(ids)) != len(ids):
        raise Violation("A session is listed twice.")


@HISTORY.add("PORTICO-LIST-002", Level.CAPABILITY, "session-list#sessioninfo-fields")
async def list_absolute_folders(trial: AgentTrial) -> None:
    """The folder of each listed session is an absolute path."""
    for session in (await _list(trial, schema.ListSessionsRequest())).sessions:
        if not session.cwd.startswith("/") and session.cwd[1:3] not in (":\\", ":/"):
            raise Violation(f"The folder of the session {session.session_id} is {session.cwd}.")


@HISTORY.add("ACP-DELETE-001", Level.CAPABILITY, "session-delete#deleting-a-session")
async def delete_session(trial: AgentTrial) -> None:
    """An agent that announces `delete` deletes a session of its own."""
    await _deleted(trial)


@HISTORY.add("ACP-DELETE-002", Level.ADVISORY, "session-delete#semantics")
async def delete_twice(trial: AgentTrial) -> None:
    """Deleting a session that is deleted already succeeds."""
    spoken = await _deleted(trial)
    request = schema.DeleteSessionRequest(session_id=spoken.session_id)
    await spoken.connection.call("session/delete", request, schema.DeleteSessionResponse)


@HISTORY.add("PORTICO-DELETE-001", Level.CAPABILITY, "session-delete#semantics")
async def hide_deleted(trial: AgentTrial) -> None:
    """A session that was deleted is no longer listed."""
    spoken = await _deleted(trial)
    listed = await _list(trial, schema.ListSessionsRequest(cwd=str(trial.options.folder)))
    if spoken.session_id in [session.session_id for session in listed.sessions]:
        raise Violation(f"The deleted session {spoken.session_id} is listed.")


@HISTORY.add("ACP-CLOSE-001", Level.CAPABILITY, "session-setup#closing-active-sessions")
async def close_session(trial: AgentTrial) -> None:
    """An agent that announces `close` closes an idle session."""
    require((await trial.capabilities()).session_capabilities.close is not None, "sessionCapabilities.close")
    connection = await trial.connect()
    session = await connection.new_session()
    request = schema.CloseSessionRequest(session_id=session.session_id)
    await connection.call("session/close", request, schema.CloseSessionResponse)


@HISTORY.add("ACP-CLOSE-002", Level.CAPABILITY, "session-setup#closing-active-sessions")
async def close_running(trial: AgentTrial) -> None:
    """`session/close` during a turn cancels it, so its prompt is answered with `cancelled`."""
    require((await trial.capabilities()).session_capabilities.close is not None, "sessionCapabilities.close")
    await trial.provoke("turn")
    connection = await trial.connect()
    session = await connection.new_session()
    await cancel_running(connection, session.session_id, trial.options.prompts["cancel"])
    prompt = connection.start_prompt(session.session_id, trial.options.prompts["cancel"])
    closed = connection.dialogue.start(
        "session/close", schema.CloseSessionRequest(session_id=session.session_id)
    )
    answer = await prompt
    read_result(await closed, "session/close", schema.CloseSessionResponse)
    stop_reason = read_result(answer, "session/prompt", schema.PromptResponse).stop_reason
    if stop_reason != "cancelled":
        raise Violation(f"The stop reason is {stop_reason}.", (answer.frame,))


async def _loaded(trial: AgentTrial) -> tuple[RecordedAnswer, list[RecordedFrame]]:
    require((await trial.capabilities()).load_session, "loadSession")
    spoken = await _speak(trial)
    answer, frames = await spoken.load()
    read_result(answer, "session/load", schema.LoadSessionResponse)
    return answer, frames


async def _resumed(trial: AgentTrial) -> tuple[_Spoken, list[RecordedFrame]]:
    announced = (await trial.capabilities()).session_capabilities.resume
    require(announced is not None, "sessionCapabilities.resume")
    spoken = await _speak(trial)
    first = len(spoken.connection.dialogue.frames)
    request = schema.ResumeSessionRequest(
        session_id=spoken.session_id, cwd=str(trial.options.folder), mcp_servers=[]
    )
    await spoken.connection.call("session/resume", request, schema.ResumeSessionResponse)
    return spoken, spoken.connection.dialogue.frames[first:]


async def _list(trial: AgentTrial, request: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
    require((await trial.capabilities()).session_capabilities.list is not None, "sessionCapabilities.list")
    return await (await trial.connect()).call("session/list", request, schema.ListSessionsResponse)


async def _deleted(trial: AgentTrial) -> _Spoken:
    announced = (await trial.capabilities()).session_capabilities.delete
    require(announced is not None, "sessionCapabilities.delete")
    spoken = await _speak(trial)
    request = schema.DeleteSessionRequest(session_id=spoken.session_id)
    await spoken.connection.call("session/delete", request, schema.DeleteSessionResponse)
    return spoken
