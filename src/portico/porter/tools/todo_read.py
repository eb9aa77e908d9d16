"""todo_read: reads the session's to-do list."""

from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolParameters
from portico.porter.transcript import ChecklistItem


class TodoReadParameters(ToolParameters, frozen=True, kw_only=True):
    """Takes nothing."""


async def run(context: ToolContext, _wanted: TodoReadParameters) -> str:
    return render_todos(context.turn.todos)


def render_todos(todos: tuple[ChecklistItem, ...]) -> str:
    if not todos:
        return "The list is empty."
    return "\n".join(f"{number}. [{_state(item)}] {item.text}" for number, item in enumerate(todos, 1))


def _state(item: ChecklistItem) -> str:
    return "completed" if item.done else "in_progress" if item.active else "pending"


TOOL = BuiltInTool(
    name="todo_read",
    description="Read the to-do list that you share with the user. The user may have changed it.",
    parameters=TodoReadParameters,
    run=run,
    parallel=True,
)
