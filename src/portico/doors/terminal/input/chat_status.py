"""Status of a chat session for the toolbar and for completion, computed from events."""

from typing import Self

import msgspec

from portico.domain.costs import merge_usage
from portico.domain.events import (
    CommandsUpdated,
    ConfigUpdated,
    Event,
    ProposalUpdated,
    SessionStarted,
    StateChanged,
    UsageUpdated,
)
from portico.domain.reviews import ReviewMode
from portico.domain.turns import TurnState
from portico.domain.values import AgentCommand, AgentSession, ConfigOption, SandboxStatus
from portico.doors.terminal import labels
from portico.doors.terminal.sanitizer import clean_line


class ChatStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status after the events so far. `home` is for shorter paths."""

    agent: str
    session_id: str
    workspace: str
    home: str = ""
    model: str = ""
    agent_mode: str = ""
    """Name of the mode that the agent itself is in."""
    review_mode: ReviewMode = "direct"
    state: TurnState = TurnState.IDLE
    usage: UsageUpdated | None = None
    commands: tuple[AgentCommand, ...] = ()
    sandbox: SandboxStatus | None = None
    proposed: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of files per open proposal."""

    def after(self, event: Event) -> Self:
        """The status after one more event."""
        match event.payload:
            case SessionStarted(agent=agent, workspace=workspace, mode=mode):
                return msgspec.structs.replace(
                    self, agent=agent, workspace=workspace, review_mode=mode, session_id=event.session_id
                )
            case StateChanged(state=state, agent_session=None):
                return msgspec.structs.replace(self, state=state)
            case StateChanged(state=state, agent_session=AgentSession(sandbox=sandbox)):
                return msgspec.structs.replace(self, state=state, sandbox=sandbox)
            case UsageUpdated() as usage:
                return msgspec.structs.replace(self, usage=merge_usage(self.usage, usage))
            case ConfigUpdated(options=options):
                return msgspec.structs.replace(
                    self, model=_current(options, "model"), agent_mode=_current(options, "mode")
                )
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
        state = "" if settled else self.state.label
        files = sum(self.proposed.values())
        facts = [
            labels.title_text(self.agent),
            clean_line(self.model),
            clean_line(self.agent_mode),
            "" if self.review_mode == "direct" else self.review_mode,
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


def _current(options: tuple[ConfigOption, ...], category: str) -> str:
    """Name of the value of the first option of a category; empty if there is none."""
    option = next((one for one in options if one.category == category), None)
    if option is None or isinstance(option.value, bool):
        return ""
    return next((one.name for one in option.choices if one.value == option.value), option.value)
