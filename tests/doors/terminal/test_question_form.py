"""Question forms in the terminal, and how questions and answers are shown."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from portico.domain.events import QuestionAnswered, QuestionAsked
from portico.domain.values import OptionChoice, QuestionField, QuestionValue
from portico.doors.terminal.input.field_value import choice_lines, field_prompt, parse_field_value
from portico.doors.terminal.input.question_form import ask_question
from portico.doors.terminal.render.plain_renderer import PlainRenderer
from portico.sessions.requests.questions import DECLINED, QuestionAnswer
from tests.doors.terminal.support import RUNNING, Stage, make_event

CHOICES = (OptionChoice(value="h", name="Ham"), OptionChoice(value="o", name="Olives", description="green"))
HOST = QuestionField(name="host", type="string", title="Host", default="localhost")
PORT = QuestionField(name="port", type="integer", title="Port", required=True, minimum=1, maximum=65535)
WORD = QuestionField(name="word", type="string", required=True, secret=True)
ONE = QuestionField(name="one", type="choice", choices=CHOICES)
SOME = QuestionField(name="some", type="choices", choices=CHOICES, default=("h",), maximum=1)
LOUD = QuestionField(name="loud", type="boolean", default=False)


def question(*fields: QuestionField, **more: str) -> QuestionAsked:
    return QuestionAsked(request_id="q1", message="Where to?", mode="form", fields=fields, **more)


class Typed:
    """A person who has decided beforehand what to type; None is Esc."""

    def __init__(self, lines: Sequence[str | None]) -> None:
        self._lines = list(lines)
        self.prompts: list[tuple[str, bool]] = []

    async def read(self, prompt: str, *, secret: bool = False) -> str | None:
        self.prompts.append((prompt.strip(), secret))
        return self._lines.pop(0)

    def close(self) -> None:
        assert self._lines == []


async def filled_in(asked: QuestionAsked, *lines: str | None) -> tuple[QuestionAnswer, str, Typed]:
    shown: list[str] = []
    typed = Typed(lines)
    reply = await ask_question(asked, typed, shown.append)
    typed.close()
    return reply, "".join(shown), typed


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        (HOST, "", "localhost"),
        (HOST, " example.org ", "example.org"),
        (HOST, "-", None),
        (PORT, "80", 80),
        (ONE, "2", "o"),
        (ONE, "olives", "o"),
        (ONE, "H", "h"),
        (ONE, "", None),
        (SOME, "", ("h",)),
        (SOME, "o", ("o",)),
        (LOUD, "Y", True),
        (LOUD, "no", False),
        (QuestionField(name="x", type="choices", choices=CHOICES), "1 2", ("h", "o")),
        (QuestionField(name="x", type="choices", choices=CHOICES), "ham, Olives", ("h", "o")),
        (QuestionField(name="x", type="number"), "2.5", 2.5),
        (QuestionField(name="x", type="number"), "3", 3),
        (QuestionField(name="x", type="string"), "-", "-"),
        (WORD, " with spaces ", " with spaces "),
    ],
)
def test_what_is_typed_becomes_the_value_that_it_means(
    field: QuestionField, typed: str, value: QuestionValue | None
) -> None:
    assert parse_field_value(field, typed) == value


@pytest.mark.parametrize(
    ("field", "typed", "complaint"),
    [
        (PORT, "", "Port is required."),
        (PORT, "0", "Port must be 1 to 65535."),
        (PORT, "1e3", "Port must be a whole number."),
        (PORT, "nan", "Port must be a number."),
        (ONE, "3", "one must be one of h, o."),
        (ONE, "0", "one must be one of h, o."),
        (SOME, "1,2", "some needs at most 1 of the choices."),
        (LOUD, "perhaps", "loud must be yes or no."),
        (WORD, "", "word is required."),
    ],
)
def test_what_does_not_fit_is_answered_in_a_sentence(
    field: QuestionField, typed: str, complaint: str
) -> None:
    with pytest.raises(ValueError, match="^" + complaint.replace(".", r"\.") + "$"):
        parse_field_value(field, typed)


def test_the_prompt_says_what_fits_and_what_an_empty_line_means() -> None:
    assert field_prompt(HOST) == "Host (Enter: localhost, -: skip): "
    assert field_prompt(PORT) == "Port (1 to 65535): "
    assert field_prompt(ONE) == "one (a number, Enter: skip): "
    assert field_prompt(SOME) == "some (comma-separated numbers, at most 1, Enter: Ham, -: skip): "
    assert field_prompt(LOUD) == "loud (y/n, Enter: no, -: skip): "
    assert field_prompt(WORD) == "word: "
    assert choice_lines(ONE) == ["1  Ham", "2  Olives  green"]


def test_what_an_agent_calls_things_cannot_move_the_cursor() -> None:
    bad = QuestionField(
        name="x",
        type="choice",
        title="\x1b[2JGone",
        choices=(OptionChoice(value="a", name="\x1b]0;t\x07A\nB"),),
    )
    shown = field_prompt(bad) + "".join(choice_lines(bad))
    assert "\x1b" not in shown
    assert "\n" not in shown


async def test_fields_are_asked_one_after_another_and_again_until_they_fit() -> None:
    reply, shown, typed = await filled_in(question(HOST, PORT, WORD), "", "x", "80", "s3cret")
    assert reply == QuestionAnswer(
        action="accept", content={"host": "localhost", "port": 80, "word": "s3cret"}
    )
    assert shown == "  Port must be a number.\n"
    assert [secret for _, secret in typed.prompts] == [False, False, False, True]


async def test_what_is_left_out_is_not_sent() -> None:
    reply, _, _ = await filled_in(question(HOST, ONE), "-", "")
    assert reply == QuestionAnswer(action="accept", content={})


@pytest.mark.parametrize("before", [0, 1])
async def test_escape_declines_the_whole_question(before: int) -> None:
    reply, _, _ = await filled_in(question(HOST, PORT), *["here"] * before, None)
    assert reply == DECLINED


@pytest.mark.parametrize(
    ("lines", "action"),
    [(["y"], "accept"), (["", "what", "yes"], "accept"), (["n"], "decline"), ([None], "decline")],
)
async def test_a_form_without_fields_is_a_yes_or_a_no(lines: list[str | None], action: str) -> None:
    reply, _, _ = await filled_in(question(), *lines)
    assert (reply.action, reply.content) == (action, {})


@pytest.mark.parametrize(("line", "action"), [("", "accept"), ("no", "decline"), (None, "decline")])
async def test_a_page_is_accepted_by_enter(line: str | None, action: str) -> None:
    page = QuestionAsked(request_id="q1", message="Agree", mode="url", url="https://example.org/")
    reply, _, _ = await filled_in(page, line)
    assert reply.action == action


ANSWERED = QuestionAnswered(
    request_id="q1", action="accept", by="person", content={"host": "here", "port": 80}, withheld=("word",)
)


class TestLooks:
    def test_a_question_that_is_asked_here_is_a_card(self) -> None:
        stage = Stage()
        asked = question(HOST, title="A server", description="For the page.")
        stage.show(RUNNING, asked)
        with stage.renderer.question(asked):
            shown = stage.screen.text
        assert shown.splitlines() == ["▌ Where to?", "▌ A server", "▌ For the page.", "▌ Esc to decline"]
        assert "Where to?" not in stage.show(ANSWERED).replace(shown, "")

    def test_one_that_was_answered_elsewhere_or_before_is_told_with_its_answers(self) -> None:
        stage = Stage()
        stage.show(RUNNING, question(HOST, PORT, WORD), ANSWERED)
        assert stage.end().splitlines() == [
            "✓ Answered: Where to?",
            "    Host: here",
            "    Port: 80",
            "    word: (not stored)",
        ]

    def test_one_that_is_answered_elsewhere_while_it_is_shown_is_told_with_its_answers(self) -> None:
        stage = Stage()
        asked = question(HOST, PORT, WORD)
        stage.show(RUNNING, asked)
        with suppress(asyncio.CancelledError), stage.renderer.question(asked):
            stage.show(ANSWERED)
            raise asyncio.CancelledError
        assert "✓ Answered: Where to?\n    Host: here\n" in stage.end()

    @pytest.mark.parametrize(
        ("action", "by", "line"),
        [
            ("decline", "person", "✗ Declined: Where to?"),
            ("decline", "nobody", "✗ Declined: Where to?, no one could be asked"),
            ("cancel", "nobody", "✗ Canceled: Where to?"),
        ],
    )
    def test_one_without_an_answer_says_why(self, action: str, by: str, line: str) -> None:
        stage = Stage()
        stage.show(RUNNING, question(), QuestionAnswered(request_id="q1", action=action, by=by))  # type: ignore[arg-type]
        assert stage.end().splitlines() == [line]

    def test_while_it_is_open_the_turn_waits_for_an_answer(self) -> None:
        assert "Waiting for you" in Stage().show(RUNNING, question())

    def test_in_plain_text_it_is_a_few_lines(self) -> None:
        notes: list[str] = []
        renderer = PlainRenderer(notes.append, notes.append)
        page = QuestionAsked(request_id="q1", message="Agree", mode="url", url="https://example.org/")
        accepted = QuestionAnswered(request_id="q1", action="accept", by="person")
        for payload in (page, accepted, question(PORT, WORD), ANSWERED):
            renderer.render(make_event(payload))
        assert "".join(notes).splitlines() == [
            "question: Agree",
            "  https://example.org/",
            "answered: Agree",
            "question: Where to?",
            "answered: Where to?",
            "  host: here",
            "  Port: 80",
            "  word: (not stored)",
        ]
