"""Every failure Portico can name, who must act on it, and its exit code.

    PorticoError
    ├── PersonMustAct                the person at the keyboard can put it right
    │   ├── InvalidInput             INVALID_INPUT       a flag, an argument, an empty prompt
    │   │   └── FileMissing          INVALID_INPUT       a file that is not there
    │   ├── SessionNotFound          SESSION_NOT_FOUND
    │   ├── SessionBusy              SESSION_BUSY        another writer holds the session or the tree
    │   ├── PermissionDenied         PERMISSION_DENIED
    │   ├── BudgetExceeded           BUDGET_EXCEEDED
    │   ├── AuthRequired             AUTH_REQUIRED
    │   └── AgentNotFound            AGENT_NOT_FOUND     missing, or not executable
    ├── PeerFailed                   the agent, or the editor, at the other end broke its part
    │   ├── AgentCrashed             AGENT_CRASHED       gone, with its last words
    │   ├── AgentTimedOut            NETWORK_TIMEOUT     silent beyond a deadline
    │   ├── AgentReported            INTERNAL            answered with an error of its own
    │   ├── MalformedEvent           MALFORMED_EVENT     not what the protocol says
    │   ├── WindowLost               NETWORK_TIMEOUT     an attached editor that was closed, or is silent
    │   ├── WindowRefused            INTERNAL            an attached editor that would not, or could not
    │   └── LanguageServerFailed     INTERNAL            missing, crashed, silent, or without an answer
    ├── ModelFailed                  the model behind the agent
    │   ├── ContextLimit             CONTEXT_LIMIT       the conversation no longer fits
    │   ├── ModelTimedOut            NETWORK_TIMEOUT     silent, unreachable, or broke off
    │   ├── ModelBusy                INTERNAL            too many requests, or overloaded
    │   ├── ModelRefused             INTERNAL            would not answer that
    │   └── ModelReported            INTERNAL            answered with an error of its own
    └── DeveloperMustAct             a fault of ours, or of the machine
        ├── StoreFailed              INTERNAL            disk full, locked, or from a newer version
        └── ServerLost               INTERNAL            the user's server ended while it was needed

Foreign errors are translated where they enter, `from` their cause. What a person reads is
`message` and `suggestion`; no traceback leaves the process.
"""

from enum import IntEnum, StrEnum
from typing import ClassVar, Literal, get_args

import msgspec


class ErrorCode(StrEnum):
    AGENT_NOT_FOUND = "AGENT_NOT_FOUND"
    AGENT_CRASHED = "AGENT_CRASHED"
    AUTH_REQUIRED = "AUTH_REQUIRED"
    NETWORK_TIMEOUT = "NETWORK_TIMEOUT"
    CONTEXT_LIMIT = "CONTEXT_LIMIT"
    MALFORMED_EVENT = "MALFORMED_EVENT"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    SESSION_BUSY = "SESSION_BUSY"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    INVALID_INPUT = "INVALID_INPUT"
    INTERNAL = "INTERNAL"


class ExitCode(IntEnum):
    OK = 0
    POLICY = 1
    TRANSPORT = 2
    PROVIDER = 3
    FORMAT = 4
    INPUT = 5


EXIT_CODES: dict[ErrorCode, ExitCode] = {
    ErrorCode.AGENT_NOT_FOUND: ExitCode.TRANSPORT,
    ErrorCode.AGENT_CRASHED: ExitCode.TRANSPORT,
    ErrorCode.AUTH_REQUIRED: ExitCode.PROVIDER,
    ErrorCode.NETWORK_TIMEOUT: ExitCode.TRANSPORT,
    ErrorCode.CONTEXT_LIMIT: ExitCode.PROVIDER,
    ErrorCode.MALFORMED_EVENT: ExitCode.FORMAT,
    ErrorCode.SESSION_NOT_FOUND: ExitCode.INPUT,
    ErrorCode.SESSION_BUSY: ExitCode.POLICY,
    ErrorCode.BUDGET_EXCEEDED: ExitCode.POLICY,
    ErrorCode.PERMISSION_DENIED: ExitCode.POLICY,
    ErrorCode.INVALID_INPUT: ExitCode.INPUT,
    ErrorCode.INTERNAL: ExitCode.TRANSPORT,
}


ModelFailure = Literal["full", "silent", "busy", "refused", "failed"]
"""Failures of the model behind an agent that the error code alone does not tell apart."""
MODEL_FAILURES: dict[str, ModelFailure] = {name: name for name in get_args(ModelFailure)}


class ErrorDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Details of an error card, beyond its one sentence."""

    suggestion: str | None = None
    agent: str | None = None
    stderr: str | None = None
    exit_status: str | None = None
    auth_methods: tuple[str, ...] = ()
    model_failure: ModelFailure | None = None


def exit_code_of(code: ErrorCode, details: ErrorDetails) -> ExitCode:
    """The exit code for an error; a refusal or failure of a model is the provider's."""
    by_model = code is ErrorCode.INTERNAL and details.model_failure is not None
    return ExitCode.PROVIDER if by_model else EXIT_CODES[code]


class PorticoError(Exception):
    """Base of all failures that have a name, a code and something to be done about them."""

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    recoverable: ClassVar[bool] = True

    def __init__(self, message: str, *, suggestion: str | None = None, details: ErrorDetails | None = None):
        super().__init__(message)
        self.message = message
        facts = details or ErrorDetails()
        self.details = msgspec.structs.replace(facts, suggestion=suggestion or facts.suggestion)

    @property
    def suggestion(self) -> str | None:
        return self.details.suggestion

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_of(self.code, self.details)


class PersonMustAct(PorticoError):
    """The person at the keyboard can put it right."""


class InvalidInput(PersonMustAct):
    code = ErrorCode.INVALID_INPUT


class FileMissing(InvalidInput):
    """A requested file does not exist."""


class SessionNotFound(PersonMustAct):
    code = ErrorCode.SESSION_NOT_FOUND


class SessionBusy(PersonMustAct):
    code = ErrorCode.SESSION_BUSY

    @classmethod
    def in_turn(cls, session_id: str, *, suggestion: str | None = None) -> "SessionBusy":
        return cls(
            f"Session {session_id} is in the middle of a turn.",
            suggestion=suggestion or "Wait for it, or stop it first.",
        )

    @classmethod
    def open_elsewhere(cls, session_id: str, *, suggestion: str | None = None) -> "SessionBusy":
        return cls(
            f"Session {session_id} is open in another Portico process.",
            suggestion=suggestion or "Close it there first, or start a new session.",
        )

    @classmethod
    def folder_in_use(
        cls, holder: str | None, folder: object, *, suggestion: str | None = None
    ) -> "SessionBusy":
        """`holder` is the session that is working in the folder, if known."""
        return cls(
            f"{f'Session {holder}' if holder else 'Another session'} is working in {folder}.",
            suggestion=suggestion or "Wait for it, or stop it first.",
        )


class PermissionDenied(PersonMustAct):
    code = ErrorCode.PERMISSION_DENIED


class BudgetExceeded(PersonMustAct):
    code = ErrorCode.BUDGET_EXCEEDED


class AuthRequired(PersonMustAct):
    code = ErrorCode.AUTH_REQUIRED


class AgentNotFound(PersonMustAct):
    code = ErrorCode.AGENT_NOT_FOUND


class PeerFailed(PorticoError):
    """The agent, or the editor, at the other end broke its part."""


class AgentCrashed(PeerFailed):
    code = ErrorCode.AGENT_CRASHED


class AgentTimedOut(PeerFailed):
    code = ErrorCode.NETWORK_TIMEOUT


class AgentReported(PeerFailed):
    code = ErrorCode.INTERNAL


class MalformedEvent(PeerFailed):
    code = ErrorCode.MALFORMED_EVENT


class WindowLost(PeerFailed):
    """An attached editor was closed or is silent. It may or may not have done what was asked."""

    code = ErrorCode.NETWORK_TIMEOUT


class WindowRefused(PeerFailed):
    """An attached editor has not done what it was asked to, and will not."""

    code = ErrorCode.INTERNAL


class LanguageServerFailed(PeerFailed):
    """A language server could not be started, has ended, or did not answer."""

    code = ErrorCode.INTERNAL


class ModelFailed(PorticoError):
    """The model behind the agent could not go on."""

    failure: ClassVar[ModelFailure] = "failed"

    def __init__(self, message: str, *, suggestion: str | None = None, details: ErrorDetails | None = None):
        super().__init__(message, suggestion=suggestion, details=details)
        self.details = msgspec.structs.replace(self.details, model_failure=self.failure)


class ContextLimit(ModelFailed):
    code = ErrorCode.CONTEXT_LIMIT
    failure = "full"
    recoverable = False


class ModelTimedOut(ModelFailed):
    code = ErrorCode.NETWORK_TIMEOUT
    failure = "silent"


class ModelBusy(ModelFailed):
    """Too many requests, or too many people: it may work later."""

    failure = "busy"


class ModelRefused(ModelFailed):
    """The model, or its provider's filter, would not answer."""

    failure = "refused"


class ModelReported(ModelFailed):
    """The provider answered with an error of its own."""


class DeveloperMustAct(PorticoError):
    """A fault of ours, or of the machine."""

    recoverable = False


class StoreFailed(DeveloperMustAct):
    code = ErrorCode.INTERNAL


class ServerLost(DeveloperMustAct):
    recoverable = True
