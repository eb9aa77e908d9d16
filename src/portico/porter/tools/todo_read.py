"""todo_read: the session's list of things to do."""

from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Parameters, Tool
from portico.porter.transcripts import Item


class TodoRead(Parameters, frozen=True, kw_only=True):
    """Takes nothing."""


async def run(bench: Bench, _wanted: TodoRead) -> str:
    return shown(bench.turn.todos)


def shown(todos: tuple[Item, ...]) -> str:
    if not todos:
        return "The list is empty."
    return "\n".join(f"{number}. [{_state(item)}] {item.text}" for number, item in enumerate(todos, 1))


def _state(item: Item) -> str:
    return "completed" if item.done else "in_progress" if item.active else "pending"


TOOL = Tool(
    name="todo_read",
    description="Read the list of things to do that you and the person keep. The person may have changed it.",
    parameters=TodoRead,
    run=run,
    together=True,
)
