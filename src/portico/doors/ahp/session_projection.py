"""A session as channels: its own state, its chat, the terminals of its commands and a changeset for each proposal."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from portico.domain.drafts import QueuedPrompt, SessionDraft
from portico.domain.events import Event, PromptSubmitted, ProposalUpdated, TitleUpdated, ToolUpdated
from portico.domain.session_summary import SessionSummary, fold
from portico.domain.timestamps import format_time
from portico.domain.values import TerminalOutput
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.changesets import ChangesetProjection
from portico.doors.ahp.chat_projection import ChatProjection
from portico.doors.ahp.uris import chat_uri, file_uri, terminal_uri

ChannelState = ahp.SessionState | ahp.ChatState | ahp.TerminalState | ahp.ChangesetState
Change = tuple[str, ahp.StateAction]
"""A channel, and an action on it."""


class _Terminal:
    def __init__(self) -> None:
        self.chunks: list[str] = []
        self.lifecycle: ahp.TerminalLifecycleState = ahp.TerminalRunningLifecycleState()


class SessionProjection:
    """`take` follows the log and `take_draft` the draft; both return what changed. `state` is a channel's snapshot."""

    def __init__(self, name: str, uri: str) -> None:
        self.name = name
        self.uri, self.chat = uri, chat_uri(name)
        self.turns = ChatProjection(name)
        self.changesets: dict[str, ChangesetProjection] = {}
        self.summary: SessionSummary | None = None
        self.active_clients: dict[str, ahp.SessionActiveClient] = {}
        self._terminals: dict[str, _Terminal] = {}
        self.draft = ""
        self._queue: tuple[QueuedPrompt, ...] = ()
        self._queue_names: dict[str, str] = {}
        """Names that clients gave to queued prompts, by the id of the prompt."""
        self._announced = 0

    def channels(self) -> list[str]:
        return [
            self.uri,
            self.chat,
            *(terminal_uri(self.name, one) for one in self._terminals),
            *(one.uri for one in self.changesets.values()),
        ]

    def take(self, event: Event, turn_id: str | None = None, queued: str | None = None) -> list[Change]:
        """Changes by an event. A client may have named the turn of its prompt, or the message it queued."""
        payload = event.payload
        before = {one.id for one in self._input_needed()}
        self.summary = fold(self.summary, event)
        changes: list[Change] = []
        if isinstance(payload, PromptSubmitted):
            if payload.prompt_id is not None:
                queued = self._queue_names.get(payload.prompt_id, payload.prompt_id)
                self._queue = tuple(one for one in self._queue if one.prompt_id != payload.prompt_id)
            name = turn_id or f"{event.turn_id}"
            changes += self._on_chat(self.turns.begin(event, payload, name, queued))
        else:
            changes += self._on_chat(self.turns.take(event))
        match payload:
            case TitleUpdated(title=title):
                changes.append((self.uri, ahp.SessionTitleChangedAction(title=title)))
            case ToolUpdated(terminal=TerminalOutput() as output):
                changes += self._print(output)
            case ProposalUpdated():
                changes += self._propose(payload)
            case _:
                pass
        return changes + self._input_changes(before) + self._summary_changes()

    def write_draft(self, text: str) -> None:
        """A client has changed the draft, and all clients know."""
        self.draft = text

    def name_queued(self, prompt_id: str, name: str) -> None:
        """A client has queued a prompt under a name of its own, and all clients know."""
        self._queue_names[prompt_id] = name

    def queued_id(self, name: str) -> str:
        """The id of a queued prompt that clients know by a name."""
        return next((one for one, known in self._queue_names.items() if known == name), name)

    def is_queued(self, prompt_id: str) -> bool:
        return any(one.prompt_id == prompt_id for one in self._queue)

    @property
    def workspace(self) -> Path:
        return Path(self._known_summary.workspace)

    def take_draft(self, draft: SessionDraft) -> list[Change]:
        """Changes for clients by a new draft or queue."""
        changes: list[ahp.StateAction] = []
        if draft.draft != self.draft:
            self.draft = draft.draft
            changes.append(ahp.ChatDraftChangedAction(draft=_message(draft.draft) if draft.draft else None))
        known = {one.prompt_id: one.text for one in self._queue}
        for queued in draft.queue:
            is_told = queued.prompt_id in self._queue_names and queued.prompt_id not in known
            if known.get(queued.prompt_id) != queued.text and not is_told:
                pending = self._pending(queued)
                changes.append(
                    ahp.ChatPendingMessageSetAction(kind="queued", id=pending.id, message=pending.message)
                )
        left = {one.prompt_id for one in draft.queue}
        changes += [
            ahp.ChatPendingMessageRemovedAction(kind="queued", id=self._queue_names.get(gone, gone))
            for gone in known
            if gone not in left
        ]
        order = [one.prompt_id for one in draft.queue]
        if [one for one in known if one in left] != [one for one in order if one in known]:
            names = [self._queue_names.get(one, one) for one in order]
            changes.append(ahp.ChatQueuedMessagesReorderedAction(order=names))
        self._queue = draft.queue
        return self._on_chat(changes)

    def state(self, channel: str) -> ChannelState | None:
        if channel == self.uri:
            return self._session_state()
        if channel == self.chat:
            return self._chat_state()
        for changeset in self.changesets.values():
            if changeset.uri == channel:
                return changeset.state()
        for terminal_id, terminal in self._terminals.items():
            if terminal_uri(self.name, terminal_id) == channel:
                return self._terminal_state(terminal_id, terminal)
        return None

    def _on_chat(self, actions: Sequence[ahp.StateAction]) -> list[Change]:
        return [(self.chat, action) for action in actions]

    def _print(self, output: TerminalOutput) -> list[Change]:
        terminal = self._terminals.setdefault(output.terminal_id, _Terminal())
        terminal.chunks.append(output.text)
        channel = terminal_uri(self.name, output.terminal_id)
        changes: list[Change] = []
        if output.text:
            changes.append((channel, ahp.TerminalDataAction(data=output.text)))
        if output.ended:
            terminal.lifecycle = ahp.TerminalExitedLifecycleState(exit_code=output.exit_code)
            changes.append((channel, ahp.TerminalExitedAction(exit_code=output.exit_code)))
        return changes

    def _propose(self, proposal: ProposalUpdated) -> list[Change]:
        changeset = self.changesets.get(proposal.proposal_id)
        if changeset is None:
            assert self.summary is not None
            changeset = ChangesetProjection(self.name, self.summary.workspace, proposal)
            self.changesets[proposal.proposal_id] = changeset
            listed = ahp.SessionChangesetsChangedAction(changesets=self._catalog())
            return [(self.uri, listed)]
        changes: list[Change] = [(changeset.uri, action) for action in changeset.take(proposal)]
        return [*changes, (self.uri, ahp.SessionChangesetsChangedAction(changesets=self._catalog()))]

    def _catalog(self) -> list[ahp.Changeset]:
        return [one.entry() for one in self.changesets.values() if one.is_open]

    def _input_needed(self) -> Iterator[ahp.SessionInputRequest]:
        turn_id = self.turns.turn_id
        for call in self.turns.pending_calls():
            yield ahp.SessionToolConfirmationRequest(
                id=f"{call.request_id}", chat=self.chat, turn_id=turn_id or "", tool_call=call.pending_state()
            )
        for request in self.turns.open_questions():
            yield ahp.SessionChatInputRequest(id=request.id, chat=self.chat, request=request)

    def _input_changes(self, before: set[str]) -> list[Change]:
        now = {one.id: one for one in self._input_needed()}
        changes: list[Change] = [
            (self.uri, ahp.SessionInputNeededSetAction(request=one))
            for name, one in now.items()
            if name not in before
        ]
        gone = [name for name in before if name not in now]
        return changes + [(self.uri, ahp.SessionInputNeededRemovedAction(id=name)) for name in gone]

    def _summary_changes(self) -> list[Change]:
        if self.turns.status == self._announced:
            return []
        self._announced = self.turns.status
        assert self.summary is not None
        partial = ahp.PartialChatSummary(
            status=self._announced, modified_at=format_time(self.summary.updated_at), title=self.summary.title
        )
        return [(self.uri, ahp.SessionChatUpdatedAction(chat=self.chat, changes=partial))]

    def _session_state(self) -> ahp.SessionState:
        summary = self._known_summary
        return ahp.SessionState(
            provider=summary.agent,
            title=summary.title,
            status=self.turns.status,
            project=_project(summary.workspace),
            working_directories=[file_uri(summary.workspace)],
            lifecycle="ready",
            active_clients=list(self.active_clients.values()),
            chats=[
                ahp.ChatSummary(
                    resource=self.chat,
                    title=summary.title,
                    status=self.turns.status,
                    modified_at=format_time(summary.updated_at),
                )
            ],
            default_chat=self.chat,
            changesets=self._catalog() or None,
            input_needed=list(self._input_needed()) or None,
        )

    def _chat_state(self) -> ahp.ChatState:
        summary = self._known_summary
        queued = [self._pending(one) for one in self._queue]
        return ahp.ChatState(
            resource=self.chat,
            title=summary.title,
            status=self.turns.status,
            modified_at=format_time(summary.updated_at),
            turns=list(self.turns.turns),
            active_turn=self.turns.active_turn(),
            queued_messages=queued or None,
            draft=_message(self.draft) if self.draft else None,
        )

    def _pending(self, queued: QueuedPrompt) -> ahp.PendingMessage:
        name = self._queue_names.get(queued.prompt_id, queued.prompt_id)
        return ahp.PendingMessage(id=name, message=_message(queued.text))

    def _terminal_state(self, terminal_id: str, terminal: _Terminal) -> ahp.TerminalState:
        return ahp.TerminalState(
            title=terminal_id,
            cwd=file_uri(self._known_summary.workspace),
            content=[ahp.TerminalUnclassifiedPart(value="".join(terminal.chunks))],
            lifecycle=terminal.lifecycle,
            claim=ahp.TerminalSessionClaim(session=self.uri, chat=self.chat),
            is_pty=False,
        )

    @property
    def _known_summary(self) -> SessionSummary:
        if self.summary is None:
            raise RuntimeError("the session has no events yet")
        return self.summary


def to_summary(name: str, uri: str, summary: SessionSummary, status: int) -> ahp.SessionSummary:
    """An entry of the list of sessions."""
    return ahp.SessionSummary(
        resource=uri,
        provider=summary.agent,
        title=summary.title,
        status=status,
        project=_project(summary.workspace),
        working_directories=[file_uri(summary.workspace)],
        created_at=format_time(summary.created_at),
        modified_at=format_time(summary.updated_at),
        chats=[ahp.SessionChatSummary(resource=chat_uri(name), title=summary.title, status=status)],
        default_chat=chat_uri(name),
    )


def _project(workspace: str) -> ahp.ProjectInfo:
    return ahp.ProjectInfo(uri=file_uri(workspace), display_name=PurePosixPath(workspace).name or workspace)


def _message(text: str) -> ahp.Message:
    return ahp.Message(text=text, origin=ahp.MessageOrigin(kind="user"))
