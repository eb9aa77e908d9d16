"""Rich renderables for questions of the agent and their answers."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from portico.domain.events import QuestionAnswered, QuestionAsked
from portico.doors.terminal import labels
from portico.doors.terminal.layout import PrefixedLines, barred
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.doors.terminal.theme import ACCENT, CAUTION, DIM, GOOD, STRONG, Signs


def question(asked: QuestionAsked, signs: Signs) -> RenderableType:
    """A question. Its fields are asked for one by one below."""
    parts: list[RenderableType] = [Text(clean(asked.message).strip(), STRONG)]
    parts += [Text(clean(words).strip()) for words in (asked.title, asked.description) if words]
    if asked.url:
        parts.append(Text(clean_line(asked.url), ACCENT, overflow="fold"))
    parts.append(Text("Esc to decline", DIM))
    return barred(Group(*parts), signs.bar, CAUTION)


def answer(answered: QuestionAnswered, asked: QuestionAsked | None, signs: Signs) -> Iterator[RenderableType]:
    """Outcome and answers, without secrets."""
    accepted = answered.action == "accept"
    sign, style = (signs.done, GOOD) if accepted else (signs.failed, CAUTION)
    yield PrefixedLines(Text(labels.answer_words(answered, asked), DIM), f"{sign} ", style)
    for line in labels.answer_lines(answered, asked):
        yield PrefixedLines(Text(line, DIM), "    ")
