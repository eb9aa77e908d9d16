"""Snapshot of a session for a door: summary, latest state, open requests and agent capabilities."""

import msgspec

from portico.domain.events import AnyPayload, PermissionRequested, QuestionAsked
from portico.domain.session_summary import SessionSummary
from portico.domain.values import SandboxStatus
from portico.sessions.runtime import SessionRuntime


class AcceptedContent(msgspec.Struct, frozen=True, kw_only=True):
    """Content that an agent accepts in a prompt besides text and links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """`standing` has the last payload of each kind in `domain.events.STATE_PAYLOADS`.

    Fields about the agent keep their defaults while none runs.
    """

    summary: SessionSummary
    standing: tuple[AnyPayload, ...] = ()
    permissions: tuple[PermissionRequested, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()
    takes: AcceptedContent = AcceptedContent()
    can_fork: bool = False
    open_elsewhere: bool = False
    sandbox: SandboxStatus | None = None


def with_agent_state(view: SessionView, session: SessionRuntime) -> SessionView:
    """The view with the open requests and the agent's capabilities of a session that is open here."""
    known = msgspec.structs.replace(
        view, permissions=session.requests.permissions.open, questions=session.requests.questions.open
    )
    if session.connection is None:
        return known
    offered = session.connection.info.agent_capabilities
    prompts = offered.prompt_capabilities
    return msgspec.structs.replace(
        known,
        takes=AcceptedContent(
            image=prompts.image, audio=prompts.audio, embedded_context=prompts.embedded_context
        ),
        can_fork=offered.session_capabilities.fork is not None,
        sandbox=session.connection.sandbox,
    )
