"""Status of a chat session for the toolbar and for completion, computed from events."""

from typing import Self

import msgspec

from portico.domain.events import (
    CommandsUpdated,
    Event,
    ProposalUpdated,
    SessionStarted,
    StateChanged,
    UsageUpdated,
)
from portico.domain.turns import TurnState
from portico.domain.values import AgentCommand, AgentSession, SandboxStatus
from portico.doors.terminal import labels


class ChatStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status after the events so far. `home` is for shorter paths."""

    agent: str
    session_id: str
    workspace: str
    home: str = ""
    state: TurnState = TurnState.IDLE
    usage: UsageUpdated | None = None
    commands: tuple[AgentCommand, ...] = ()
    sandbox: SandboxStatus | None = None
    proposed: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of files per open proposal."""

    def after(self, event: Event) -> Self:
        """The status after one more event."""
        match event.payload:
            case SessionStarted(agent=agent, workspace=workspace):
                return msgspec.structs.replace(
                    self, agent=agent, workspace=workspace, session_id=event.session_id
                )
            case StateChanged(state=state, agent_session=None):
                return msgspec.structs.replace(self, state=state)
            case StateChanged(state=state, agent_session=AgentSession(sandbox=sandbox)):
                return msgspec.structs.replace(self, state=state, sandbox=sandbox)
            case UsageUpdated() as usage:
                return msgspec.structs.replace(self, usage=usage)
            case CommandsUpdated(commands=commands):
                return msgspec.structs.replace(self, commands=commands)
            case ProposalUpdated(proposal_id=name, status=status, files=files, unlisted=unlisted):
                others = {known: count for known, count in self.proposed.items() if known != name}
                still = {name: len(files) + unlisted} if status == "open" else {}
                return msgspec.structs.replace(self, proposed={**others, **still})
            case _:
                return self

    def toolbar(self, width: int, separator: str = " · ") -> str:
        """The facts that fit into a width, in the order of importance."""
        settled = self.state in (TurnState.IDLE, TurnState.COMPLETED, TurnState.CANCELED)
        state = "" if settled else self.state.value
        files = sum(self.proposed.values())
        facts = [
            labels.title_text(self.agent),
            labels.sandbox_text(self.sandbox),
            f"{labels.pluralize(files, 'file')} proposed, see /proposal" if files else "",
            labels.short_path(self.workspace, home=self.home),
            state,
            *labels.usage_facts(self.usage),
            self.session_id,
        ]
        shown = ""
        for fact in filter(None, facts):
            longer = f"{shown}{separator}{fact}" if shown else fact
            if labels.display_width(longer) <= width:
                shown = longer
        return shown
