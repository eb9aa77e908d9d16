"""Questions of an agent: what a person is asked, what the log keeps, and what the agent gets as an answer."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from portico.acp import _schema as acp
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.events import Notice, QuestionAnswered, QuestionAsked
from portico.domain.turns import TurnState
from portico.domain.values import QuestionField, QuestionValue
from portico.sessions.requests.questions import QuestionAnswer
from tests.sessions.asking import PORT, elicit, form, page
from tests.sessions.support import FakeAgent, World, kinds, states, text, world

SCHEME = {"type": "string", "enum": ["http", "https"], "default": "https"}
PASSWORD = {"type": "string", "_meta": {"secret": True}, "default": "hunter2"}
TOPPINGS = {
    "type": "array",
    "minItems": 1,
    "maxItems": 2,
    "items": {"anyOf": [{"const": "h", "title": "Ham"}, {"const": "o", "title": "Olives"}]},
}

Answer = Callable[[FakeAgent, acp.PromptRequest], Awaitable[None]]


def asking(*requests: object) -> Answer:
    """An agent that asks one after another and says what it got."""

    async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
        for asked in requests:
            agent.say(await elicit(agent, asked))

    return ask


async def asked(host: World) -> QuestionAsked:
    event = await host.until(lambda payload: isinstance(payload, QuestionAsked))
    assert isinstance(event.payload, QuestionAsked)
    return event.payload


async def answered(host: World, reply: QuestionAnswer | None = None) -> tuple[QuestionAnswered, str]:
    """The end of a turn with one question: how the log has it, and what the agent said it got."""
    if reply is not None:
        host.service.session(host.session_id).answer((await asked(host)).request_id, reply)
    await host.until(lambda payload: payload.kind == "turn_ended")
    events = await host.events()
    (found,) = [event.payload for event in events if isinstance(event.payload, QuestionAnswered)]
    said = "".join(getattr(event.payload, "text", "") for event in events if event.kind == "text_delta")
    return found, said


async def begin(host: World) -> "asyncio.Task[object]":
    await host.start()
    return host.prompting()


async def test_a_form_is_asked_in_fields_and_the_agent_gets_the_values(tmp_path: Path) -> None:
    fields = {"port": PORT, "scheme": SCHEME, "toppings": TOPPINGS, "loud": {"type": "boolean"}}
    async with world(asking(form(fields, required=("port",))), tmp_path) as host:
        turn = await begin(host)
        question = await asked(host)
        assert (question.message, question.mode) == ("Where shall it listen?", "form")
        port, scheme, toppings, loud = question.fields
        assert port == QuestionField(
            name="port", type="integer", title="Port", required=True, minimum=1, maximum=65535
        )
        assert (scheme.type, scheme.default, [one.value for one in scheme.choices]) == (
            "choice",
            "https",
            ["http", "https"],
        )
        assert (toppings.type, toppings.minimum, [one.name for one in toppings.choices]) == (
            "choices",
            1,
            ["Ham", "Olives"],
        )
        assert loud == QuestionField(name="loud", type="boolean")
        content: dict[str, QuestionValue] = {"port": 80, "toppings": ("h",), "loud": False}
        found, said = await answered(host, QuestionAnswer(action="accept", content=content))
        await turn
    assert codecs.decode_json(said) == {
        "action": "accept",
        "content": {"port": 80, "toppings": ["h"], "loud": False},
    }
    assert (found.action, found.by, found.content) == ("accept", "person", content)


async def test_the_turn_awaits_while_a_question_is_open(tmp_path: Path) -> None:
    async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.say("hm")
        await elicit(agent, form({"port": PORT}))

    async with world(ask, tmp_path) as host:
        turn = await begin(host)
        await host.until_state(TurnState.AWAITING)
        await host.clock.advance(10_000)
        assert not turn.done()
        await answered(host, QuestionAnswer(action="decline"))
        await turn
        log = await host.events()
    assert states(log) == ["starting", "running", "streaming", "awaiting", "streaming", "completed"]
    assert kinds(log)[-6:] == [
        "question_asked",
        "state_changed",
        "question_answered",
        "state_changed",
        "turn_ended",
        "state_changed",
    ]


async def test_a_secret_reaches_the_agent_and_no_log(tmp_path: Path) -> None:
    fields = {"user": {"type": "string"}, "word": PASSWORD, "apiKey": {"type": "string"}}
    async with world(asking(form(fields)), tmp_path) as host:
        turn = await begin(host)
        question = await asked(host)
        assert [field.secret for field in question.fields] == [False, True, True]
        content = {"user": "ada", "word": "s3cr3t-word", "apiKey": "s3cr3t-key"}
        host.service.session(host.session_id).answer(
            question.request_id, QuestionAnswer(action="accept", content=content)
        )
        await host.until(lambda payload: isinstance(payload, QuestionAnswered))
        await host.until(lambda payload: payload.kind == "turn_ended")
        await turn
        log = await host.events()
    kept = [msgspec.json.encode(event.payload).decode() for event in log if event.kind != "text_delta"]
    assert not any("s3cr3t" in one or "hunter2" in one for one in kept)
    (found,) = [event.payload for event in log if isinstance(event.payload, QuestionAnswered)]
    assert (found.content, found.withheld) == ({"user": "ada"}, ("word", "apiKey"))
    assert "s3cr3t-word" in "".join(getattr(event.payload, "text", "") for event in log)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        (PORT, 0, "Port must be 1 to 65535."),
        (PORT, 70000, "Port must be 1 to 65535."),
        (PORT, "eighty", "Port must be a number."),
        (PORT, 80.5, "Port must be a whole number."),
        (PORT, True, "Port must be a number."),
        ({"type": "number", "minimum": 0.5}, 0, "x must be at least 0.5."),
        ({"type": "number"}, float("nan"), "x must be a number."),
        (SCHEME, "ftp", "x must be one of http, https."),
        (TOPPINGS, ("h", "cheese"), "x must be some of h, o."),
        (TOPPINGS, ("h", "h"), "x accepts each choice once."),
        (TOPPINGS, (), "x needs 1 to 2 of the choices."),
        ({"type": "boolean"}, "yes", "x must be yes or no."),
        ({"type": "string", "minLength": 3}, "ab", "x must have at least 3 characters."),
        ({"type": "string", "maxLength": 3}, "abcd", "x must have at most 3 characters."),
        ({"type": "string", "format": "email"}, "ada", "x must be an e-mail address."),
        (
            {"type": "string", "format": "uri"},
            "not an address",
            "x must be a URL such as https://example.org.",
        ),
        ({"type": "string", "format": "date"}, "2026-13-01", "x must be a date such as 2026-05-09."),
        (
            {"type": "string", "format": "date-time"},
            "2026-05-09T10:00:00",
            "x must be a date and time such as 2026-05-09T14:30:00Z.",
        ),
        ({"type": "string", "pattern": "^[a-z]+$"}, "A1", "x does not match ^[a-z]+$"),
        ({"type": "string"}, "", "x is required."),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_in_words_and_the_question_stays(
    tmp_path: Path, field: dict[str, object], value: object, complaint: str
) -> None:
    async with world(asking(form({"x": field}, required=("x",))), tmp_path) as host:
        turn = await begin(host)
        request_id = (await asked(host)).request_id
        reply = QuestionAnswer(action="accept", content={"x": value})  # type: ignore[dict-item]
        with pytest.raises(InvalidInput) as caught:
            host.service.session(host.session_id).answer(request_id, reply)
        assert caught.value.message == complaint
        host.service.session(host.session_id).answer(request_id, QuestionAnswer(action="decline"))
        await host.until(lambda payload: payload.kind == "turn_ended")
        await turn


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (PORT, 65535),
        ({"type": "number"}, 3),
        ({"type": "string", "format": "email"}, "ada@example.org"),
        ({"type": "string", "format": "uri"}, "https://example.org/a?b"),
        ({"type": "string", "format": "date"}, "2026-05-09"),
        ({"type": "string", "format": "date-time"}, "2026-05-09T14:30:00+02:00"),
        ({"type": "string", "pattern": "(?<name>x)"}, "an expression of another language"),
        (TOPPINGS, ("o", "h")),
    ],
)
async def test_an_answer_that_fits_goes_to_the_agent(
    tmp_path: Path, field: dict[str, object], value: object
) -> None:
    async with world(asking(form({"x": field}, required=("x",))), tmp_path) as host:
        turn = await begin(host)
        reply = QuestionAnswer(action="accept", content={"x": value})  # type: ignore[dict-item]
        found, said = await answered(host, reply)
        await turn
    assert found.action == "accept"
    assert codecs.decode_json(said)["content"]["x"] == (list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({}, "Port is required."),
        ({"port": 1, "host": "h"}, "The question has no field 'host'; it asks for port."),
    ],
)
async def test_what_is_missing_or_was_not_asked_for_is_named(
    tmp_path: Path, content: dict[str, int | str], complaint: str
) -> None:
    async with world(asking(form({"port": PORT}, required=("port",))), tmp_path) as host:
        turn = await begin(host)
        request_id = (await asked(host)).request_id
        with pytest.raises(InvalidInput, match=complaint.replace(".", r"\.")):
            host.service.session(host.session_id).answer(
                request_id,
                QuestionAnswer(action="accept", content=content),
            )
        host.service.session(host.session_id).stop(force=True)
        await host.until(lambda payload: payload.kind == "turn_ended")
        await turn


async def test_a_decline_is_a_decline(tmp_path: Path) -> None:
    async with world(asking(form({"port": PORT})), tmp_path) as host:
        turn = await begin(host)
        found, said = await answered(host, QuestionAnswer(action="decline", content={"port": 80}))
        await turn
    assert (found.action, found.by, found.content) == ("decline", "person", {})
    assert codecs.decode_json(said) == {"action": "decline"}


async def test_a_question_is_answered_once(tmp_path: Path) -> None:
    async with world(asking(form({"port": PORT})), tmp_path) as host:
        turn = await begin(host)
        request_id = (await asked(host)).request_id
        host.service.session(host.session_id).answer(request_id, QuestionAnswer(action="decline"))
        with pytest.raises(InvalidInput, match="No question q1 is waiting"):
            host.service.session(host.session_id).answer(request_id, QuestionAnswer(action="accept"))
        await host.until(lambda payload: payload.kind == "turn_ended")
        await turn
        with pytest.raises(InvalidInput, match="No question q1 is waiting"):
            host.service.session(host.session_id).answer(request_id, QuestionAnswer(action="accept"))


async def test_a_stopped_turn_cancels_its_question(tmp_path: Path) -> None:
    async def ask(agent: FakeAgent, request: acp.PromptRequest) -> acp.PromptResponse:
        agent.say(await elicit(agent, form({"port": PORT})))
        return acp.PromptResponse(stop_reason="cancelled")

    async with world(ask, tmp_path) as host:
        turn = await begin(host)
        await asked(host)
        host.service.session(host.session_id).stop()
        found, said = await answered(host)
        await turn
    assert (found.action, found.by) == ("cancel", "nobody")
    assert codecs.decode_json(said) == {"action": "cancel"}


async def test_a_lost_agent_cancels_its_question_before_the_turn_ends(tmp_path: Path) -> None:
    async with world(asking(form({"port": PORT})), tmp_path) as host:
        turn = await begin(host)
        await asked(host)
        assert host.agent.stream is not None
        await host.agent.stream.close()
        found, _ = await answered(host)
        await turn
        log = kinds(await host.events())
    assert (found.action, found.by) == ("cancel", "nobody")
    assert log.index("question_answered") < log.index("turn_ended")


async def test_a_turn_that_ends_over_an_open_question_cancels_it_first(tmp_path: Path) -> None:
    async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.background = asyncio.create_task(elicit(agent, form({"port": PORT})))  # type: ignore[attr-defined]
        await host.until(lambda payload: isinstance(payload, QuestionAsked))

    async with world(ask, tmp_path) as host:
        await begin(host)
        found, _ = await answered(host)
        log = kinds(await host.events())
    assert (found.action, found.by) == ("cancel", "nobody")
    assert log.index("question_answered") < log.index("turn_ended")


async def test_a_question_outside_of_a_turn_is_declined_because_nobody_is_there(tmp_path: Path) -> None:
    async def quick(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.update(text("hi"))

    async with world(quick, tmp_path) as host:
        await host.prompt()
        answer = await host._ticking(elicit(host.agent, form({"port": PORT})))
        await host.until(lambda payload: isinstance(payload, QuestionAnswered))
        log = await host.events()
    assert codecs.decode_json(answer) == {"action": "decline"}
    (found,) = [event.payload for event in log if isinstance(event.payload, QuestionAnswered)]
    assert (found.action, found.by) == ("decline", "nobody")


async def test_a_question_about_no_session_is_declined_unless_somebody_signs_in(tmp_path: Path) -> None:
    about_request = form({"port": PORT}, session=None) | {"requestId": 3}
    async with world(asking(about_request), tmp_path) as host:
        turn = await host.prompt()
    assert '{"action":"decline"}' in "".join(getattr(event.payload, "text", "") for event in turn)
    assert "question_asked" not in kinds(turn)


class TestPages:
    async def test_a_page_is_shown_and_accepting_it_carries_no_values(self, tmp_path: Path) -> None:
        async with world(asking(page()), tmp_path) as host:
            turn = await begin(host)
            question = await asked(host)
            assert (question.mode, question.url, question.fields) == (
                "url",
                "https://example.org/consent",
                (),
            )
            _, said = await answered(host, QuestionAnswer(action="accept"))
            await turn
        assert codecs.decode_json(said) == {"action": "accept"}

    async def test_a_page_that_is_done_needs_no_more_answer(self, tmp_path: Path) -> None:
        async with world(asking(page()), tmp_path) as host:
            turn = await begin(host)
            await asked(host)
            assert host.agent.end is not None
            host.agent.end._connection.notify("elicitation/complete", {"elicitationId": "e1"})
            found, said = await answered(host)
            await turn
            log = await host.events()
        assert found.action == "accept"
        assert codecs.decode_json(said) == {"action": "accept"}
        assert "Done: Please agree" in [e.payload.text for e in log if isinstance(e.payload, Notice)]

    async def test_the_end_of_a_page_that_was_accepted_is_told(self, tmp_path: Path) -> None:
        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            await elicit(agent, page())
            agent.end._connection.notify("elicitation/complete", {"elicitationId": "e1"})

        async with world(ask, tmp_path) as host:
            turn = await begin(host)
            await answered(host, QuestionAnswer(action="accept"))
            await turn
            log = await host.events()
        assert [e.payload.text for e in log if isinstance(e.payload, Notice)] == ["Done: Please agree"]

    @pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://", "no address"])
    async def test_what_is_no_page_is_refused(self, tmp_path: Path, url: str) -> None:
        async with world(asking(page(url)), tmp_path) as host:
            turn = await host.prompt()
        assert "question_asked" not in kinds(turn)
        assert "error -32602" in "".join(getattr(event.payload, "text", "") for event in turn)


@pytest.mark.parametrize(
    "request_",
    [
        {"sessionId": "a1", "mode": "_hologram", "message": "Look at this"},
        form({"x": {"type": "_colour"}}, required=("x",)),
    ],
)
async def test_what_this_version_cannot_ask_is_declined_and_told(tmp_path: Path, request_: object) -> None:
    async with world(asking(request_), tmp_path) as host:
        turn = await host.prompt()
    assert '{"action":"decline"}' in "".join(getattr(event.payload, "text", "") for event in turn)
    (notice,) = [event.payload for event in turn if isinstance(event.payload, Notice)]
    assert "unsupported kind" in notice.text
    assert isinstance(notice.raw, msgspec.Raw)


async def test_an_unknown_field_that_need_not_be_filled_in_is_left_out(tmp_path: Path) -> None:
    async with world(asking(form({"x": {"type": "_colour"}, "port": PORT})), tmp_path) as host:
        turn = await begin(host)
        assert [field.name for field in (await asked(host)).fields] == ["port"]
        await answered(host, QuestionAnswer(action="accept", content={}))
        await turn


async def test_the_agent_is_told_that_it_may_ask(tmp_path: Path) -> None:
    hello: list[acp.InitializeRequest] = []

    class Curious(FakeAgent):
        async def _initialize(self, request: acp.InitializeRequest) -> acp.InitializeResponse:
            hello.append(request)
            return await super()._initialize(request)

    async with world(asking(), tmp_path) as host:
        host.agents.behaviour = host.agent = Curious(asking())
        await host.prompt()
    offered = hello[0].client_capabilities
    assert offered.elicitation is not None
    assert offered.elicitation.form is not None
    assert offered.elicitation.url is not None
    assert offered.auth.terminal
