"""Question form on the terminal: asks for each field of an agent's question.

The renderer shows the message; this reads the fields.
"""

from collections.abc import Callable

from portico.domain.events import QuestionAsked
from portico.domain.values import QuestionField, QuestionValue
from portico.doors.terminal.input.field_input import FieldInput
from portico.doors.terminal.input.field_value import choice_lines, field_prompt, parse_field_value
from portico.doors.terminal.sanitizer import clean_line
from portico.sessions.requests.questions import DECLINED, QuestionAnswer

_INDENT = "  "
_NO = ("n", "no")
_YES = ("y", "yes")


async def ask_question(
    question: QuestionAsked, entry: FieldInput, write: Callable[[str], None]
) -> QuestionAnswer:
    """The person's answer."""
    if question.mode == "url":
        typed = await entry.read(f"{_INDENT}Open the page, then press Enter (Esc to decline): ")
        return DECLINED if typed is None or typed.strip().lower() in _NO else QuestionAnswer(action="accept")
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
    return QuestionAnswer(action="accept", content=content)


async def _consent(entry: FieldInput) -> QuestionAnswer:
    """A form without fields asks for yes or no."""
    while (typed := await entry.read(f"{_INDENT}y/n: ")) is not None:
        if typed.strip().lower() in _YES:
            return QuestionAnswer(action="accept")
        if typed.strip().lower() in _NO:
            break
    return DECLINED


async def _fill_in(
    field: QuestionField, entry: FieldInput, write: Callable[[str], None]
) -> QuestionValue | None:
    """Ask until the answer is valid. Raises EOFError if the person declines."""
    if field.description:
        write(f"{_INDENT}{clean_line(field.description)}\n")
    for line in choice_lines(field):
        write(f"{_INDENT}{line}\n")
    while True:
        typed = await entry.read(f"{_INDENT}{field_prompt(field)}", secret=field.secret)
        if typed is None:
            raise EOFError
        try:
            return parse_field_value(field, typed)
        except ValueError as problem:
            write(f"{_INDENT}{problem}\n")
