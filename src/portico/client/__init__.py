"""Public API to the sessions of the user's server.

    from portico.client import TextDelta, connect

    async with connect(start=True) as client:
        session = await client.start_session("project", agent="porter")
        async for event in session.prompt("/help"):
            if isinstance(event.payload, TextDelta):
                print(event.payload.text, end="")

`connect` gives a `Client`, which lists, starts and finds sessions. A `Session` takes prompts and yields their
events. The payload of an `Event` is one of the classes below, for use in `match`. Errors are subclasses of
`PorticoError`. The rest of this package is not public.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portico.client.connection import Client, connect
    from portico.client.session import Session
    from portico.domain.components import ComponentStatus
    from portico.domain.errors import (
        InvalidInput,
        PorticoError,
        ServerLost,
        SessionBusy,
        SessionNotFound,
    )
    from portico.domain.events import (
        CheckpointCreated,
        CheckpointRestored,
        CommandsUpdated,
        ComponentsUpdated,
        ConfigUpdated,
        EditorReplied,
        EditorRequested,
        ErrorReported,
        Event,
        Notice,
        PermissionRequested,
        PermissionResolved,
        PlanUpdated,
        PromptSubmitted,
        ProposalUpdated,
        QuestionAnswered,
        QuestionAsked,
        SessionStarted,
        StateChanged,
        TextDelta,
        Thinking,
        TitleUpdated,
        TodosUpdated,
        ToolCompleted,
        ToolStarted,
        ToolUpdated,
        TurnEnded,
        UsageUpdated,
    )
    from portico.domain.session_summary import SessionSummary
    from portico.domain.values import TodoItem
    from portico.sessions.review_actions import ApplyReport

__all__ = [
    "ApplyReport",
    "CheckpointCreated",
    "CheckpointRestored",
    "Client",
    "CommandsUpdated",
    "ComponentStatus",
    "ComponentsUpdated",
    "ConfigUpdated",
    "EditorReplied",
    "EditorRequested",
    "ErrorReported",
    "Event",
    "InvalidInput",
    "Notice",
    "PermissionRequested",
    "PermissionResolved",
    "PlanUpdated",
    "PorticoError",
    "PromptSubmitted",
    "ProposalUpdated",
    "QuestionAnswered",
    "QuestionAsked",
    "ServerLost",
    "Session",
    "SessionBusy",
    "SessionNotFound",
    "SessionStarted",
    "SessionSummary",
    "StateChanged",
    "TextDelta",
    "Thinking",
    "TitleUpdated",
    "TodoItem",
    "TodosUpdated",
    "ToolCompleted",
    "ToolStarted",
    "ToolUpdated",
    "TurnEnded",
    "UsageUpdated",
    "connect",
]

_MODULES = {
    "ApplyReport": "portico.sessions.review_actions",
    "Client": "portico.client.connection",
    "ComponentStatus": "portico.domain.components",
    "InvalidInput": "portico.domain.errors",
    "PorticoError": "portico.domain.errors",
    "ServerLost": "portico.domain.errors",
    "Session": "portico.client.session",
    "SessionBusy": "portico.domain.errors",
    "SessionNotFound": "portico.domain.errors",
    "SessionSummary": "portico.domain.session_summary",
    "TodoItem": "portico.domain.values",
    "connect": "portico.client.connection",
}
"""Module of each name; all others are in `portico.domain.events`."""


# Late: commands use other modules of this package and must not pay for the HTTP client.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "portico.domain.events")), name)


def __dir__() -> list[str]:
    return __all__
