"""Interceptor that refuses calls which the role or the workspaces of their caller do not allow."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from connectrpc.request import RequestContext

from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.domain.errors import PermissionDenied, SessionNotFound
from portico.domain.ids import SessionId
from portico.domain.people import Caller
from portico.doors.http.callers import calling
from portico.sessions.service import SessionService

Context = RequestContext[Any, Any]

_READING = frozenset(
    {
        *("GetServerInfo", "ListSessions", "SearchSessions", "WatchSessions", "WatchBoard", "GetCosts"),
        *("GetSession", "GetTimeline", "ExportSession", "GetConversationPreview", "Watch", "ListAgents"),
        *("ListScenarios", "ListComponents", "GetTodos", "GetProposal", "ListCheckpoints"),
        *("GetCheckpointDiff", "GetReviewStatus", "ListDecisions", "ListSuggestions", "FindFiles"),
        *("ListPrompts", "GetPrompt", "PreviewRule", "ListModels"),
    }
)
# What concerns the machine, its keys and its rules, and not a session.
_FOR_OWNERS = frozenset(
    {
        *("SetSecret", "SetSettings", "DecideSkill", "RevokeApproval", "CheckProvider", "FindModelServers"),
        *("PullModel", "CompleteModel", "AttachEditor", "AuthenticateAgent", "CallExtension"),
        *(
            "SaveSessionVariables",
            "ClearSession",
            "SwitchComponents",
            "SetReviewMode",
            "InitializeRepository",
        ),
    }
)
# Calls whose answers are filtered, and calls about no folder.
_FILTERED = frozenset({"ListSessions", "WatchSessions", "GetServerInfo", "ListAgents", "ListModels"})
_KEPT_SCOPES = (events_pb.PermissionScope.SESSION, events_pb.PermissionScope.ALWAYS)


class CallerRights:
    def __init__(self, service: SessionService) -> None:
        self._service = service

    async def intercept_unary(
        self, call_next: Callable[[Any, Context], Awaitable[Any]], request: Any, ctx: Context
    ) -> Any:
        caller = calling()
        await self._check(caller, request, ctx.method.name)
        answer = await call_next(request, ctx)
        if caller.workspaces and isinstance(answer, pb.ListSessionsResponse):
            answer.sessions = [one for one in answer.sessions if caller.may_see(one.workspace)]
        return answer

    async def intercept_server_stream(
        self, call_next: Callable[[Any, Context], AsyncIterator[Any]], request: Any, ctx: Context
    ) -> AsyncIterator[Any]:
        caller = calling()
        await self._check(caller, request, ctx.method.name)
        async for answer in call_next(request, ctx):
            if not _is_hidden(caller, answer):
                yield answer

    async def _check(self, caller: Caller, request: Any, method: str) -> None:
        if caller.role == "viewer" and method not in _READING:
            raise PermissionDenied(
                f"{caller.name} is a viewer, and can read sessions but not change them.",
                suggestion="Pair the device again as a collaborator: portico pair --role collaborator",
            )
        if caller.role == "collaborator" and (method in _FOR_OWNERS or _keeps_grant(request)):
            raise PermissionDenied(
                f"{caller.name} is a collaborator; this is for owners.",
                suggestion="Do it on the machine of the server, or answer once.",
            )
        if caller.workspaces:
            await self._check_workspace(caller, request, method)

    async def _check_workspace(self, caller: Caller, request: Any, method: str) -> None:
        if session_id := getattr(request, "session_id", ""):
            summary = await self._service.show(SessionId(session_id))
            if not caller.may_see(summary.workspace):
                # As if it were not there.
                raise SessionNotFound(f"There is no session {session_id}.")
        elif method not in _FILTERED and getattr(request, "workspace", "") not in caller.workspaces:
            folders = ", ".join(caller.workspaces)
            raise PermissionDenied(f"{caller.name} sees these folders only: {folders}.")


def _keeps_grant(request: Any) -> bool:
    """Whether a decision would allow more than the one request."""
    event: Any = getattr(request, "event", None)
    if not isinstance(request, pb.SubmitClientEventRequest) or event is None:
        return False
    if event.field != "permission_decisions":
        return bool(event.field.startswith("editor_"))
    return any(one.scope in _KEPT_SCOPES for one in event.value.decisions)


def _is_hidden(caller: Caller, answer: Any) -> bool:
    change: Any = getattr(answer, "change", None)
    return (
        bool(caller.workspaces)
        and isinstance(answer, pb.WatchSessionsResponse)
        and change is not None
        and change.field == "changed"
        and not caller.may_see(change.value.workspace)
    )
