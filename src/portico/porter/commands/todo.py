"""/todo: the session's list of things to do."""

from portico.porter.commands.command import Command, misused
from portico.porter.lists import checklist, done, one_line, position, without
from portico.porter.markdown import count
from portico.porter.transcripts import Item
from portico.porter.turn import Turn


async def run(turn: Turn, argument: str) -> None:
    action, *rest = argument.split(maxsplit=1)[:2] or [""]
    todos, text = turn.todos, one_line(" ".join(rest))
    match action:
        case "" | "list":
            turn.show_plan()
        case "add":
            if not text:
                raise misused("/todo add <text>", "Say what there is to do.")
            turn.set_todos((*todos, Item(text)))
        case "done":
            turn.set_todos(done(todos, position(todos, text)))
        case "remove":
            turn.set_todos(without(todos, position(todos, text)))
        case "clear":
            turn.set_todos(())
        case _:
            raise misused(COMMAND.usage, f"/todo does not know {action!r}.")
    await turn.say(_shown(turn.todos))


def _shown(todos: tuple[Item, ...]) -> str:
    if not todos:
        return "Nothing to do. `/todo add <text>` adds something."
    left = sum(not item.done for item in todos)
    return f"**To do** — {count(left, 'item')} left of {len(todos)}\n\n{checklist(todos)}"


COMMAND = Command(
    name="todo",
    purpose="keep a list of things to do in this session",
    hint="[list | add <text> | done <n> | remove <n> | clear]",
    run=run,
)
