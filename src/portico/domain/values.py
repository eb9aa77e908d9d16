"""Values used inside events: tool content, options, questions, plans, locations."""

from typing import Literal

import msgspec
from msgspec import Raw

from portico.domain.ids import SessionId, TurnId

ToolKind = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]
PermissionScope = Literal["once", "session", "always"]
PermissionRisk = Literal["outside_workspace", "network"]
SandboxLevel = Literal["none", "workspace", "strict"]
AttachedBy = Literal["new", "resume", "load", "fork", "replay"]
RETOLD = "retold"
"""Stop reason of a turn that an agent had before Portico and replayed; the real one is unknown."""
FieldType = Literal["string", "number", "integer", "boolean", "choice", "choices"]
QuestionValue = str | int | float | bool | tuple[str, ...]


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base of everything that can stand inside an event."""


class TextPart(Value, frozen=True, tag="text", tag_field="type"):
    text: str


class DiffPart(Value, frozen=True, tag="diff", tag_field="type"):
    path: str
    new_text: str
    old_text: str | None = None


class TerminalPart(Value, frozen=True, tag="terminal", tag_field="type"):
    terminal_id: str


class BlockPart(Value, frozen=True, tag="block", tag_field="type"):
    """Content that is neither plain text, diff nor terminal, kept as the agent sent it."""

    block: Raw


ToolPart = TextPart | DiffPart | TerminalPart | BlockPart


class TextGrowth(Value, frozen=True):
    """A change at the end of a text: characters to drop from its end, and text to append.

    Dropped characters are all in the basic multilingual plane, so that Python and JavaScript count them alike.
    """

    text: str
    dropped: int = 0

    def of(self, parts: tuple[ToolPart, ...]) -> tuple[ToolPart, ...]:
        """The content after the change. If the text began before the known content, only its end is known."""
        match parts:
            case (*before, TextPart(text=text)):
                return (*before, TextPart(text=text[: len(text) - self.dropped] + self.text))
            case _:
                return (*parts, TextPart(text=self.text))


class Location(Value, frozen=True):
    path: str
    line: int | None = None


class TerminalOutput(Value, frozen=True):
    """Output of a command since the last such event, and its exit if it has ended.

    `left_out` counts the characters that a command printed beyond what is kept of it.
    """

    terminal_id: str
    text: str = ""
    exit_code: int | None = None
    signal: str | None = None
    ended: bool = False
    left_out: int = 0


class PlanEntry(Value, frozen=True):
    content: str
    priority: Literal["high", "medium", "low"] = "medium"
    status: Literal["pending", "in_progress", "completed"] = "pending"


class TodoItem(Value, frozen=True):
    """One line of the list that the person and the agent keep together."""

    todo_id: str
    content: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


class PermissionOption(Value, frozen=True):
    option_id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class AgentCommand(Value, frozen=True):
    name: str
    description: str
    hint: str | None = None


class OptionChoice(Value, frozen=True):
    value: str
    name: str
    description: str | None = None


class ConfigOption(Value, frozen=True):
    """One thing about the agent that a person may set: its mode, its model, a switch.

    One that is `open` takes other values than its choices.
    """

    option_id: str
    name: str
    value: str | bool
    category: str | None = None
    choices: tuple[OptionChoice, ...] = ()
    description: str | None = None
    open: bool = False


class QuestionField(Value, frozen=True):
    """One thing that a question asks for.

    `minimum` and `maximum` bound a number, the length of a text, or how many are chosen. What a
    person enters into a `secret` field is written down nowhere.
    """

    name: str
    type: FieldType
    title: str | None = None
    description: str | None = None
    required: bool = False
    default: QuestionValue | None = None
    choices: tuple[OptionChoice, ...] = ()
    format: str | None = None
    pattern: str | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    secret: bool = False


class SandboxStatus(Value, frozen=True):
    """The confinement of an agent by the kernel: its backend, and notes for the person."""

    level: SandboxLevel = "none"
    backend: str = ""
    note: str = ""


class AgentSession(Value, frozen=True):
    """The agent's own name for this conversation, how it was reached, and its sandbox unless it has none."""

    agent_session_id: str
    attached_by: AttachedBy
    replayed_updates: int = 0
    sandbox: SandboxStatus | None = None


class PromptReference(Value, frozen=True):
    """A prompt file, as it was when it was used. `fingerprint` is the SHA-256 of the file."""

    name: str
    fingerprint: str
    version: str | None = None


class ForkedFrom(Value, frozen=True):
    """The origin of a fork's events, and the id that the agent used for it then.

    A fork with `before_seq` has only the events before a prompt, which was edited.
    """

    session_id: SessionId
    agent_session_id: str | None = None
    last_turn: TurnId | None = None
    before_seq: int | None = None
