"""/todo: shows or changes the session's to-do list."""

from portico.porter.checklist import item_index, mark_done, one_line, remove_item, render_checklist
from portico.porter.commands.command import SlashCommand, usage_error
from portico.porter.markdown import count
from portico.porter.transcript import ChecklistItem
from portico.porter.turn import PorterTurn


async def run(turn: PorterTurn, argument: str) -> None:
    action, *rest = argument.split(maxsplit=1)[:2] or [""]
    todos, text = turn.todos, one_line(" ".join(rest))
    match action:
        case "" | "list":
            turn.show_plan()
        case "add":
            if not text:
                raise usage_error("/todo add <text>", "Add the text of the item.")
            turn.set_todos((*todos, ChecklistItem(text)))
        case "done":
            turn.set_todos(mark_done(todos, item_index(todos, text)))
        case "remove":
            turn.set_todos(remove_item(todos, item_index(todos, text)))
        case "clear":
            turn.set_todos(())
        case _:
            raise usage_error(COMMAND.usage, f"Unknown action {action!r}.")
    await turn.say(_shown(turn.todos))


def _shown(todos: tuple[ChecklistItem, ...]) -> str:
    if not todos:
        return "The to-do list is empty. `/todo add <text>` adds an item."
    left = sum(not item.done for item in todos)
    return f"**To do** — {count(left, 'item')} left of {len(todos)}\n\n{render_checklist(todos)}"


COMMAND = SlashCommand(
    name="todo",
    purpose="keep a list of things to do in this session",
    hint="[list | add <text> | done <n> | remove <n> | clear]",
    run=run,
)
