"""Names of the chat commands, and those about the agent and its list: `/options`, `/model`, `/components`, `/todos`."""

import secrets

import msgspec

from portico.client.client_session import ClientSession
from portico.domain.errors import InvalidInput
from portico.domain.events import ConfigUpdated, TodosUpdated
from portico.domain.ids import SessionId
from portico.domain.values import ConfigOption, TodoItem
from portico.doors.terminal.render.component_list import component_lines
from portico.doors.terminal.render.option_list import option_lines
from portico.doors.terminal.sanitizer import clean_line
from portico.sessions.ports import Store

DESCRIPTION = """Chat with an agent in the terminal.

  portico chat
  portico chat --continue
  portico chat --agent claude --cwd ~/project

/model lists the models of the agent, /model NAME chooses one; /options does so for all its options.
/new starts another session, /clear does so on a clean screen, /agent NAME with another agent.
/sessions lists the sessions of this folder, /resume NUMBER continues one.
/compact shortens a long session: the agent does, or a new session begins with a summary of this one.
/components lists what the chain adds for the agent, /components memory on switches one for this session.
/todos lists the todos; /todos add TEXT, edit 1 TEXT, start 1, done 1, open 1 and rm 1 change them.
/proposal shows the proposal; /proposal diff, problems, apply, discard, undo and revise act on it.
/tour shows the last tour of the agent step by step, /tour keep keeps it as a CodeTour file.
/handoff AGENT continues with another agent, in a new session that gets a summary of this one.
/exit leaves the chat; the session is kept. Ctrl-C stops a turn, a second one ends the agent.
Ctrl-\\ stops one research in a package; the turn continues.
"""
OPTIONS, MODEL, COMPONENTS, TODOS = "/options", "/model", "/components", "/todos"
NEW, CLEAR, AGENT, RESUME, SESSIONS = "/new", "/clear", "/agent", "/resume", "/sessions"
COMPACT, HAND_OFF, PROPOSAL, TOUR = "/compact", "/handoff", "/proposal", "/tour"
MODEL_CATEGORY = "model"
_SWITCHES = {"on": True, "off": False}
_STATES = {"done": "completed", "start": "in_progress", "open": "pending"}
_MARKS = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}


async def run_options(
    words: str, conversation: ClientSession, store: Store, session_id: SessionId
) -> list[str]:
    """Show the options of the agent, or set one; returns the lines to print."""
    name, value = _split(words)
    if name and not value:
        raise InvalidInput(f"{OPTIONS} {name} needs a value.", suggestion=f"Example: {OPTIONS} mode plan")
    if name:
        await conversation.set_option(name, value)
    else:
        await conversation.connect()
    return option_lines(await _current(store, session_id)) or ["The agent has no options."]


async def run_model(name: str, conversation: ClientSession, store: Store, session_id: SessionId) -> list[str]:
    """Show the models of the agent, or choose one; returns the lines to print."""
    await conversation.connect()
    if not any(option.category == MODEL_CATEGORY for option in await _current(store, session_id)):
        raise InvalidInput("The agent offers no choice of model.", suggestion="It may have its own setting.")
    if name:
        await conversation.set_option(MODEL_CATEGORY, name)
    options = [one for one in await _current(store, session_id) if one.category == MODEL_CATEGORY]
    takes_any = any(option.open for option in options)
    more = [f"Any other: {MODEL} NAME. See them with: portico models list"] if takes_any else []
    return [*option_lines(options), *more]


async def run_components(words: str, conversation: ClientSession) -> list[str]:
    """Show the components of the session, or switch one; returns the lines to print."""
    name, value = _split(words)
    if not name:
        return component_lines(await conversation.components())
    if (on := _SWITCHES.get(value)) is None:
        example = f"Example: {COMPONENTS} {name} off"
        raise InvalidInput(f"{COMPONENTS} {name} needs on or off.", suggestion=example)
    await conversation.switch_component(name, on=on)
    lines = component_lines(one for one in await conversation.components() if one.name == name)
    return [*lines, "It is on from the next prompt on." if on else "It is off from the next prompt on."]


async def run_todos(
    words: str, conversation: ClientSession, store: Store, session_id: SessionId
) -> list[str]:
    """Show the to-do list, or change it; returns the lines to print."""
    verb, _, rest = words.strip().partition(" ")
    todos = await _todos(store, session_id)
    if verb:
        todos = _changed(todos, verb, rest.strip())
        await conversation.write_todos(todos)
    return [
        f"{number}. {_MARKS[todo.status]} {clean_line(todo.content)}" for number, todo in enumerate(todos, 1)
    ] or [f"There are no todos. Add one with: {TODOS} add Fix the tests"]


def _changed(todos: list[TodoItem], verb: str, rest: str) -> list[TodoItem]:
    if verb == "add" and rest:
        return [*todos, TodoItem(todo_id=f"todo-{secrets.token_hex(4)}", content=rest)]
    number, _, text = rest.partition(" ")
    if verb not in ("edit", "rm", *_STATES) or (verb == "edit" and not text.strip()):
        raise InvalidInput(
            f"{TODOS} has no {verb}, or it needs more words.",
            suggestion=f"Examples: {TODOS} add Fix the tests; {TODOS} done 1; {TODOS} edit 1 Fix all tests; {TODOS} rm 1",
        )
    if not number.isdecimal() or not 1 <= int(number) <= len(todos):
        raise InvalidInput(f"There is no todo {number or '?'}.", suggestion=f"List them with: {TODOS}")
    at = int(number) - 1
    if verb == "rm":
        return [*todos[:at], *todos[at + 1 :]]
    changes = {"content": text.strip()} if verb == "edit" else {"status": _STATES[verb]}
    return [*todos[:at], msgspec.structs.replace(todos[at], **changes), *todos[at + 1 :]]


async def _todos(store: Store, session_id: SessionId) -> list[TodoItem]:
    found = [event.payload for event in await store.standing(session_id)]
    return next((list(payload.todos) for payload in found if isinstance(payload, TodosUpdated)), [])


def _split(words: str) -> tuple[str, str]:
    """Name and value of `NAME VALUE` or `NAME=VALUE`; each may be empty."""
    name, _, value = words.replace("=", " ", 1).strip().partition(" ")
    return name, value.strip()


async def _current(store: Store, session_id: SessionId) -> tuple[ConfigOption, ...]:
    found = [event.payload for event in await store.standing(session_id)]
    return next((payload.options for payload in found if isinstance(payload, ConfigUpdated)), ())
