"""todo_write: replaces the session's to-do list."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from portico.porter.checklist import one_line
from portico.porter.tool_call import ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.todo_read import render_todos
from portico.porter.tools.tool import BuiltInTool, ToolParameters
from portico.porter.transcript import ChecklistItem


class TodoArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=500)]
    status: Literal["pending", "in_progress", "completed"] = "pending"


class TodoWriteParameters(ToolParameters, frozen=True, kw_only=True):
    todos: Annotated[
        tuple[TodoArgument, ...], Meta(description="The whole list, in order. It replaces the current one.")
    ]


async def run(context: ToolContext, parameters: TodoWriteParameters) -> str:
    most = context.profile.limits.plan_steps
    if len(parameters.todos) > most:
        raise ToolError(f"A list can have at most {most} items: combine some of them.")
    context.turn.set_todos(
        tuple(
            ChecklistItem(
                one_line(todo.text), done=todo.status == "completed", active=todo.status == "in_progress"
            )
            for todo in parameters.todos
        )
    )
    return f"The list is now:\n{render_todos(context.turn.todos)}"


TOOL = BuiltInTool(
    name="todo_write",
    description=(
        "Write the to-do list, which the user sees. Use it for work of more than three steps: at most "
        "one item is in_progress, and each item is marked completed as soon as it is done. Not for simple questions."
    ),
    parameters=TodoWriteParameters,
    run=run,
    changes=True,
)
