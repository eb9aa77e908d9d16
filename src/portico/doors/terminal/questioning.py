"""Asks the person at the terminal what an agent wants to know, field by field.

The renderer has shown what it is about; here are only the fields and the answer.
"""

from collections.abc import Callable

from portico.domain.events import QuestionAsked
from portico.domain.values import QuestionField, QuestionValue
from portico.doors.terminal.entries import Entry
from portico.doors.terminal.field_entry import choice_lines, entered, entry_prompt
from portico.doors.terminal.sanitize import clean_line
from portico.sessions.questions import DECLINED, Reply

_INDENT = "  "
_NO = ("n", "no")
_YES = ("y", "yes")


async def ask_question(question: QuestionAsked, entry: Entry, write: Callable[[str], None]) -> Reply:
    """What the person answered. Cancelling it withdraws the question."""
    if question.mode == "url":
        typed = await entry.read(f"{_INDENT}Open the page, then press Enter (Esc declines): ")
        return DECLINED if typed is None or typed.strip().lower() in _NO else Reply(action="accept")
    if not question.fields:
        return await _consent(entry)
    content: dict[str, QuestionValue] = {}
    for field in question.fields:
        try:
            value = await _fill_in(field, entry, write)
        except EOFError:
            return DECLINED
        if value is not None:
            content[field.name] = value
    return Reply(action="accept", content=content)


async def _consent(entry: Entry) -> Reply:
    """A form without fields asks for a yes or a no; nothing else counts."""
    while (typed := await entry.read(f"{_INDENT}y/n: ")) is not None:
        if typed.strip().lower() in _YES:
            return Reply(action="accept")
        if typed.strip().lower() in _NO:
            break
    return DECLINED


async def _fill_in(field: QuestionField, entry: Entry, write: Callable[[str], None]) -> QuestionValue | None:
    """Ask until the answer fits; EOFError when the person will not answer."""
    if field.description:
        write(f"{_INDENT}{clean_line(field.description)}\n")
    for line in choice_lines(field):
        write(f"{_INDENT}{line}\n")
    while True:
        typed = await entry.read(f"{_INDENT}{entry_prompt(field)}", secret=field.secret)
        if typed is None:
            raise EOFError
        try:
            return entered(field, typed)
        except ValueError as problem:
            write(f"{_INDENT}{problem}\n")
