"""Session on the user's server: prompts, events, permission requests, questions and proposals."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import msgspec

from portico.api.event_reader import from_event
from portico.api.fields import one_of, read_enum, to_enum
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.api.v1.agent_client import AgentServiceClient
from portico.api.value_reader import from_proposal, from_restored, from_state, from_time
from portico.client.attachments import to_attachments
from portico.client.server_calls import ServerCalls
from portico.domain import codecs
from portico.domain.components import ComponentStatus
from portico.domain.errors import InvalidInput, MalformedEvent, SessionNotFound
from portico.domain.events import Event, PermissionRequested, ProposalUpdated, QuestionAsked
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.domain.values import PermissionScope, QuestionValue, TodoItem
from portico.sessions.content.attachments import AttachedFile, read_attachments
from portico.sessions.review_actions import (
    ApplyReport,
    FinishReport,
    ProposalChoice,
    ProposalFileChoice,
    RestoreReport,
    ReviewEnding,
    UndoReport,
)
from portico.sessions.turn import TurnPrompt


class Session:
    """A session on the user's server, as returned by the methods of `Client`.

    The server keeps the session: this object holds no connection and needs no closing. Every method raises
    `ServerLost` if the server has ended, and `SessionNotFound` if the session was deleted.
    """

    def __init__(self, calls: ServerCalls, summary: SessionSummary) -> None:
        self.summary = summary
        """Title, folder, agent and state, as of the last `refresh`."""
        self._calls = calls

    @property
    def id(self) -> SessionId:
        """ID of the session."""
        return self.summary.session_id

    async def refresh(self) -> SessionSummary:
        """Update `summary` from the server, and return it."""
        detail = await self._detail()
        if detail.summary is not None:
            self.summary = from_summary(detail.summary)
        return self.summary

    async def is_open_elsewhere(self) -> bool:
        """Whether a process other than the server has the session open, so that it can only be watched."""
        return (await self._detail()).open_elsewhere

    async def prompt(
        self,
        prompt: str | TurnPrompt,
        *,
        attach: Sequence[str | PathLike[str]] = (),
        options: Mapping[str, str | bool] | None = None,
        wait: bool = False,
    ) -> AsyncGenerator[Event]:
        """Send a prompt and yield the events of its turn, up to its end.

        Files in `attach` go along with the prompt. `options` are options of the agent to set first, such as
        `{"model": "big"}`. While another turn is running, the prompt is refused with `SessionBusy`; with `wait`
        it is queued. Leaving the loop does not stop the turn: call `stop` for that.
        """
        if isinstance(prompt, str):
            blocks = await read_attachments(_attached_files(attach))
            prompt = TurnPrompt(text=prompt, blocks=blocks, options=dict(options or {}))
        prompt.require_content()
        attachments = await asyncio.to_thread(to_attachments, prompt, Path(self.summary.workspace))
        for name, value in prompt.options.items():
            await self.set_option(name, value)
        request = pb.InvokeRequest(
            session_id=self.id,
            text=prompt.text,
            attachments=attachments,
            when_busy=pb.WhenBusy.QUEUE if wait else pb.WhenBusy.REFUSE,
        )
        updates = self._calls.stream(AgentServiceClient.invoke, request)
        async with aclosing(_events(updates)) as events:
            async for event in events:
                yield event

    async def watch(self, *, after_seq: int = 0) -> AsyncGenerator[Event]:
        """Yield every event after `after_seq`, first those of the log and then new ones, until the server ends."""
        request = pb.WatchRequest(session_id=self.id, after_seq=after_seq)
        updates = self._calls.stream(AgentServiceClient.watch, request)
        async with aclosing(_events(updates)) as events:
            async for event in events:
                yield event

    async def decide(
        self,
        request: PermissionRequested | str,
        option: str | None,
        *,
        scope: PermissionScope = "once",
    ) -> None:
        """Answer a permission request, given as the event's payload or as its ID.

        `option` is the ID of one of the request's options or, for a payload, a kind of option such as
        `"allow_once"`; None denies. `scope` is how long the decision is kept. InvalidInput if the request is no
        longer open.
        """
        option_id = option if isinstance(request, str) else _find_option(request, option)
        decision = pb.PermissionDecision(
            request_id=request if isinstance(request, str) else request.request_id,
            option_id=option_id or "",
            scope=to_enum(events_pb.PermissionScope, scope),
        )
        await self._submit("permission_decisions", pb.PermissionDecisions(decisions=[decision]))

    async def answer(
        self,
        question: QuestionAsked | str,
        content: Mapping[str, QuestionValue] | None,
        *,
        action: Literal["accept", "decline", "cancel"] | None = None,
    ) -> None:
        """Answer a question, given as the event's payload or as its ID.

        `content` has a value for each field; None declines, unless `action` says otherwise. InvalidInput if the
        question is no longer open, or the answer does not fit it.
        """
        reply = pb.QuestionReply(
            request_id=question if isinstance(question, str) else question.request_id,
            action=to_enum(events_pb.QuestionAction, action or ("decline" if content is None else "accept")),
            content_json=msgspec.json.encode(content or {}).decode(),
        )
        await self._submit("question_reply", reply)

    async def stop(self, *, force: bool = False) -> bool:
        """Stop the running turn; with `force`, without waiting for the agent. False if no turn is running."""
        request = pb.StopTurnRequest(session_id=self.id, force=force)
        return (await self._calls.call(AgentServiceClient.stop_turn, request)).stopped

    async def stop_tool(self, tool_id: str) -> bool:
        """End one tool call that is `stoppable`, while the turn continues. False if it is not running."""
        request = pb.StopToolRequest(session_id=self.id, tool_id=tool_id)
        return (await self._calls.call(AgentServiceClient.stop_tool, request)).stopped

    async def set_option(self, name: str, value: str | bool) -> None:
        """Set one of the agent's options, by ID, category or name."""
        chosen = one_of("switched_on" if isinstance(value, bool) else "choice", value)
        request = pb.SetSessionConfigRequest(session_id=self.id, option_id=name, value=chosen)
        await self._calls.call(AgentServiceClient.set_session_config, request)

    async def write_todos(self, todos: Sequence[TodoItem]) -> None:
        """Replace the to-do list of the session, and tell an agent that takes it."""
        written = [
            events_pb.Todo(
                todo_id=todo.todo_id,
                content=todo.content,
                status=to_enum(events_pb.Progress, todo.status),
                priority=to_enum(events_pb.Priority, todo.priority),
            )
            for todo in todos
        ]
        request = pb.WriteTodosRequest(session_id=self.id, todos=written)
        await self._calls.call(AgentServiceClient.write_todos, request)

    async def components(self) -> list[ComponentStatus]:
        """The components that the chain of the session can have, with the state of each."""
        request = pb.ListComponentsRequest(session_id=self.id)
        found = await self._calls.call(AgentServiceClient.list_components, request)
        return [
            ComponentStatus(
                name=one.name,
                state=read_enum(one.state) or "off",
                reason=one.reason,
                origin=one.origin,
                summary=one.summary,
                fixed=one.fixed,
            )
            for one in found.components
        ]

    async def switch_components(self, *, on: Sequence[str] = (), off: Sequence[str] = ()) -> None:
        """Switch components on and off for this session, from the next prompt on."""
        request = pb.SwitchComponentsRequest(session_id=self.id, on=list(on), off=list(off))
        await self._calls.call(AgentServiceClient.switch_components, request)

    async def call_extension(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Call an extension method of the agent, such as `_vendor/method`, and return its result.

        Notifications of the agent are `notice` events, with the notification's name as `code`.
        """
        request = self._extension(method, params)
        answer = await self._calls.call(AgentServiceClient.call_extension, request)
        return codecs.decode_json(answer.result_json.encode(), Any)

    async def notify_extension(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send an extension notification to the agent."""
        request = self._extension(method, params)
        request.notification = True
        await self._calls.call(AgentServiceClient.call_extension, request)

    def _extension(self, method: str, params: dict[str, Any] | None) -> pb.CallExtensionRequest:
        given = msgspec.json.encode(params or {}).decode()
        return pb.CallExtensionRequest(session_id=self.id, method=method, params_json=given)

    async def set_mode(self, mode: ReviewMode) -> None:
        """Set how changes reach the files: directly, as a proposal, on a branch or in a worktree."""
        request = pb.SetReviewModeRequest(session_id=self.id, mode=to_enum(pb.ReviewMode, mode))
        await self._calls.call(AgentServiceClient.set_review_mode, request)

    async def hand_off(self, agent: str = "", *, mode: ReviewMode | None = None) -> "Session":
        """Continue with another agent, in a new session whose first prompt brings a summary of this one.

        Without a name it is the default agent, and without a mode the review mode of this session.
        """
        request = pb.HandOffSessionRequest(
            session_id=self.id,
            agent=agent,
            mode=pb.ReviewMode.UNSPECIFIED if mode is None else to_enum(pb.ReviewMode, mode),
        )
        started = await self._calls.call(AgentServiceClient.hand_off_session, request)
        if started.session is None or started.session.summary is None:
            raise SessionNotFound(f"Session {self.id} does not exist.")
        return Session(self._calls, from_summary(started.session.summary))

    async def proposals(self) -> list[ProposalUpdated]:
        """The open proposals, oldest first."""
        request = pb.GetProposalRequest(session_id=self.id)
        found = await self._calls.call(AgentServiceClient.get_proposal, request)
        return [from_proposal(one) for one in found.proposals]

    async def apply(self, proposal: ProposalUpdated, *, paths: Sequence[str] = ()) -> ApplyReport:
        """Apply a proposal, or only the files in `paths`. Nothing is written if `conflicted` has files."""
        return await self.apply_choice(_choose(proposal, paths))

    async def apply_choice(self, choice: ProposalChoice) -> ApplyReport:
        """Apply the selected files and hunks of a proposal, with sides for its conflicts."""
        request = pb.ApplyProposalRequest(
            session_id=self.id,
            proposal_id=choice.proposal_id,
            revision=choice.revision,
            files=_file_choices(choice.files),
        )
        answer = await self._calls.call(AgentServiceClient.apply_proposal, request)
        proposal = from_proposal(_require(answer.proposal))
        conflicted = () if answer.applied else tuple(file.path for file in proposal.files if file.conflict)
        refused = () if choice.files else tuple(file.path for file in proposal.files if file.denied)
        return ApplyReport(
            proposal=proposal, merged=tuple(answer.merged), conflicted=conflicted, refused=refused
        )

    async def discard(self, proposal: ProposalUpdated, *, paths: Sequence[str] = ()) -> ProposalUpdated:
        """Discard a proposal, or only the files in `paths`; the proposal after that."""
        return await self.discard_choice(_choose(proposal, paths))

    async def discard_choice(self, choice: ProposalChoice) -> ProposalUpdated:
        """Discard the selected files and hunks of a proposal; the proposal after that."""
        request = pb.DiscardProposalRequest(
            session_id=self.id,
            proposal_id=choice.proposal_id,
            revision=choice.revision,
            files=_file_choices(choice.files),
        )
        answer = await self._calls.call(AgentServiceClient.discard_proposal, request)
        return from_proposal(_require(answer.proposal))

    async def undo(self, proposal_id: str) -> UndoReport:
        """Undo the last apply of a proposal. Nothing is written unless `undone`."""
        request = pb.UndoApplyRequest(session_id=self.id, proposal_id=proposal_id)
        answer = await self._calls.call(AgentServiceClient.undo_apply, request)
        proposal = from_proposal(_require(answer.proposal))
        return UndoReport(proposal=proposal, undone=answer.undone, already=answer.already)

    async def restore(self, checkpoint_id: str) -> RestoreReport:
        """Restore the files of a checkpoint; own changes since then become a proposal."""
        request = pb.RestoreCheckpointRequest(session_id=self.id, checkpoint_id=checkpoint_id)
        answer = await self._calls.call(AgentServiceClient.restore_checkpoint, request)
        return RestoreReport(
            restored=from_restored(answer.restored or events_pb.CheckpointRestored()),
            proposal=None if answer.proposal is None else from_proposal(answer.proposal),
        )

    async def finish(self, ending: ReviewEnding, message: str | None = None) -> FinishReport:
        """End the branch or worktree of the session: merge, squash, keep or discard it."""
        request = pb.FinishReviewRequest(
            session_id=self.id, ending=to_enum(pb.ReviewEnding, ending), message=message or ""
        )
        answer = await self._calls.call(AgentServiceClient.finish_review, request)
        return FinishReport(commit=answer.commit, reference=answer.reference, notes=tuple(answer.notes))

    async def _detail(self) -> pb.SessionDetail:
        found = await self._calls.call(
            AgentServiceClient.get_session, pb.GetSessionRequest(session_id=self.id)
        )
        if found.session is None:
            raise SessionNotFound(f"Session {self.id} does not exist.")
        return found.session

    async def _submit(self, field: str, message: object) -> None:
        request = pb.SubmitClientEventRequest(session_id=self.id, event=one_of(field, message))
        await self._calls.call(AgentServiceClient.submit_client_event, request)


def from_summary(message: pb.SessionSummary) -> SessionSummary:
    return SessionSummary(
        session_id=SessionId(message.session_id),
        workspace=message.workspace,
        agent=message.agent,
        reads_only=message.reads_only,
        mode=read_enum(message.mode) or "direct",
        title=message.title,
        state=from_state(message.state),
        created_at=from_time(message.created_at),
        updated_at=from_time(message.updated_at),
        last_seq=message.last_seq,
    )


def _attached_files(paths: Sequence[str | PathLike[str]]) -> list[AttachedFile]:
    return [AttachedFile(Path(path).absolute()) for path in paths]


async def _events(updates: Any) -> AsyncGenerator[Event]:
    """The events in a stream. Kinds that this version does not know are left out."""
    async with aclosing(updates):
        async for message in updates:
            update = message.update
            if update is not None and update.field == "event":
                with suppress(MalformedEvent):
                    yield from_event(update.value)


def _find_option(request: PermissionRequested, option: str | None) -> str | None:
    if option is None:
        return None
    for one in request.options:
        if option in (one.option_id, one.kind):
            return one.option_id
    available = ", ".join(f"{one.option_id} ({one.kind})" for one in request.options)
    raise InvalidInput(f'Unknown option "{option}". Available: {available}.')


def _choose(proposal: ProposalUpdated, paths: Sequence[str]) -> ProposalChoice:
    files = tuple(ProposalFileChoice(path=path) for path in paths)
    return ProposalChoice(proposal_id=proposal.proposal_id, revision=proposal.revision, files=files)


def _file_choices(files: Sequence[ProposalFileChoice]) -> list[pb.FileChoice]:
    return [
        pb.FileChoice(
            path=one.path, hunk_ids=list(one.hunk_ids), resolve=to_enum(pb.ConflictSide, one.resolve)
        )
        for one in files
    ]


def _require(proposal: events_pb.ProposalUpdated | None) -> events_pb.ProposalUpdated:
    if proposal is None:
        raise MalformedEvent("The server did not return the proposal.")
    return proposal
