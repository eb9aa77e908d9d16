"""todo_write: replaces the session's list of things to do."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from portico.porter.lists import one_line
from portico.porter.tools.bench import Bench
from portico.porter.tools.todo_read import shown
from portico.porter.tools.tool import Parameters, Tool, ToolFailure
from portico.porter.transcripts import Item

_MOST = 100


class Todo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=500)]
    status: Literal["pending", "in_progress", "completed"] = "pending"


class TodoWrite(Parameters, frozen=True, kw_only=True):
    todos: Annotated[
        tuple[Todo, ...], Meta(description="The whole list, in order. It replaces the one before.")
    ]


async def run(bench: Bench, wanted: TodoWrite) -> str:
    if len(wanted.todos) > _MOST:
        raise ToolFailure(f"A list of more than {_MOST} helps nobody: put some together.")
    bench.turn.set_todos(
        tuple(
            Item(one_line(todo.text), done=todo.status == "completed", active=todo.status == "in_progress")
            for todo in wanted.todos
        )
    )
    return f"The list is now:\n{shown(bench.turn.todos)}"


TOOL = Tool(
    name="todo_write",
    description=(
        "Write the list of things to do, which the person sees. Use it for work of more than three steps: at most "
        "one item is in_progress, and an item is completed as soon as it is. Not for simple questions."
    ),
    parameters=TodoWrite,
    run=run,
    changes=True,
)
