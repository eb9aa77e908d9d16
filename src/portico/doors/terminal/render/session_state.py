"""Facts of a session that renderers keep: its workspace, tool calls and requests that are open, and usage.

Does not import rich: the plain renderer is chosen where rich is not loaded.
"""

from portico.domain.events import (
    PermissionRequested,
    PermissionResolved,
    QuestionAnswered,
    QuestionAsked,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
    UsageUpdated,
)
from portico.doors.terminal import labels
from portico.doors.terminal.render.tool_view import ToolView


class SessionState:
    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self.usage: UsageUpdated | None = None
        self.tools: dict[str, ToolView] = {}
        self.permissions: dict[str, PermissionRequested] = {}
        self.questions: dict[str, QuestionAsked] = {}

    def update_tool(self, payload: ToolStarted | ToolUpdated | ToolCompleted, at: int) -> ToolView:
        """The view of a tool call after an event; a call that has ended is not open any more."""
        tool_id = payload.tool_id
        if isinstance(payload, ToolStarted):
            view = ToolView.started(payload, at, self.workspace)
        else:
            title = labels.title_text(tool_id)
            unknown = ToolView(tool_id=tool_id, title=title, started_at=at, workspace=self.workspace)
            view = self.tools.get(tool_id, unknown).updated(payload)
        if isinstance(payload, ToolCompleted):
            self.tools.pop(tool_id, None)
        elif tool_id in self.tools or isinstance(payload, ToolStarted) or payload.problems is None:
            self.tools[tool_id] = view
        return view

    def open_request(self, request: PermissionRequested | QuestionAsked) -> None:
        if isinstance(request, PermissionRequested):
            self.permissions[request.request_id] = request
        else:
            self.questions[request.request_id] = request

    def close_permission(self, resolved: PermissionResolved) -> PermissionRequested | None:
        return self.permissions.pop(resolved.request_id, None)

    def close_question(self, answered: QuestionAnswered) -> QuestionAsked | None:
        return self.questions.pop(answered.request_id, None)

    @property
    def is_waiting(self) -> bool:
        """Whether a permission request or a question is open."""
        return bool(self.permissions or self.questions)

    def close_requests(self) -> None:
        self.permissions.clear()
        self.questions.clear()
