"""A conversation that becomes too long for its model: condensed, announced, stored, and gone on with."""

from pathlib import Path

from portico.acp import _schema as schema
from portico.domain.errors import ContextLimit, ModelFailed
from portico.porter.history import well_formed
from portico.porter.model_loop.compaction import drop_old_results, newest_messages
from portico.porter.model_loop.token_estimate import TokenEstimate
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelFacts,
    ModelRequest,
    ModelText,
    ModelToolCall,
    ModelToolResult,
    ModelUsage,
    ToolMessage,
    UserMessage,
)
from tests.porter.client import Client, connected
from tests.porter.loop.scripted import Say, ScriptedModel, call

SMALL = ModelFacts(window=8000)
NO_USAGE = ModelUsage()


def texts(request: ModelRequest) -> str:
    return repr(request.messages)


def statuses(client: Client) -> list[str]:
    return [update.status for update in client.updates(schema.CompactionUpdate)]


def is_summary(request: ModelRequest) -> bool:
    return request.system.startswith("You write exact summaries")


async def test_old_results_are_let_go_before_anything_is_summarised(state: Path, folder: Path) -> None:
    for number in range(8):
        (folder / f"{number}.txt").write_text(f"content of {number}\n" + ("x" * 100 + "\n") * 36)
    steps = [Say("", (call("read", path=f"{number}.txt"),), usage=NO_USAGE) for number in range(8)]
    model = ScriptedModel([*steps, Say("Read them all.", usage=NO_USAGE)], ModelFacts(window=12_000))
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "read them") == "end_turn"
        assert statuses(client)[:2] == ["in_progress", "completed"]
    assert not any(map(is_summary, model.requests))
    last = texts(model.requests[-1])
    assert "content of 0" in last
    assert "was dropped" in last
    assert "content of 7\\n2\\t" + "x" * 100 in last


async def test_what_was_said_is_summarised_announced_and_survives_a_restart(
    state: Path, folder: Path
) -> None:
    long = " ".join(f"word{number}" for number in range(2500))
    model = ScriptedModel(
        [
            Say(long, usage=NO_USAGE),
            Say("SUMMARY: the person greeted me.", usage=ModelUsage(input=7, output=3)),
            Say("I remember the gist.", usage=NO_USAGE),
        ],
        SMALL,
    )
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "tell me a story")
        text = "and again " + "please " * 300
        request = schema.PromptRequest(session_id=session, prompt=[schema.TextContent(text=text)])
        usage = (await client.end.prompt(request)).usage
        assert usage is not None
        assert usage.total_tokens == 10
        assert statuses(client) == ["in_progress", "completed"]
        [summary] = client.updates(schema.CompactionUpdate)[-1].summary
        assert summary.text == "SUMMARY: the person greeted me."
    assert is_summary(model.requests[1])
    assert model.requests[1].tools == ()
    condensed = model.requests[2].messages
    assert "word2499" not in texts(model.requests[2])
    assert "SUMMARY: the person greeted me." in condensed[0].parts[0].text  # type: ignore[union-attr]
    assert "please please" in texts(model.requests[2])
    second = ScriptedModel([Say("Still here.", usage=NO_USAGE)], SMALL)
    async with connected(state, setup_of=second.setup()) as client:
        load = schema.LoadSessionRequest(session_id=session, cwd=str(folder), mcp_servers=[])
        await client.end.load_session(load)
        assert statuses(client) == ["in_progress", "completed"]
        await client.prompt(session, "still there?")
    assert second.requests[0].messages[: len(condensed)] == condensed


async def test_a_model_that_cannot_summarise_gets_the_bare_facts(state: Path, folder: Path) -> None:
    long = "x " * 12_000
    model = ScriptedModel(
        [Say(long, usage=NO_USAGE), Say(fails=ModelFailed("No.")), Say("Well.", usage=NO_USAGE)], SMALL
    )
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "tell me a story")
        assert await client.prompt(session, "go on") == "end_turn"
    assert "The user asked:\\n- tell me a story" in texts(model.requests[2])


async def test_a_provider_that_counts_otherwise_gets_a_shorter_conversation_once(
    state: Path, folder: Path
) -> None:
    limit = ContextLimit("Too long.")
    model = ScriptedModel(
        [
            Say("One.", usage=NO_USAGE),
            Say(fails=limit),
            Say("SUMMARY", usage=NO_USAGE),
            Say("Two.", usage=NO_USAGE),
        ]
    )
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "one")
        assert await client.prompt(session, "two") == "end_turn"
        assert client.text == "One.Two."
        assert statuses(client) == ["in_progress", "completed"]


async def test_a_stop_while_summarising_keeps_the_conversation_as_it_was(state: Path, folder: Path) -> None:
    model = ScriptedModel(
        [
            Say("x " * 12_000, usage=NO_USAGE),
            Say("never"),
            Say("SUMMARY", usage=NO_USAGE),
            Say("ok", usage=NO_USAGE),
        ],
        SMALL,
    )
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "one")
        model.hold.clear()
        model.asked.clear()
        async with client.turn(session, "two") as turn:
            await model.asked.wait()
            client.end.cancel(session)
            assert await turn == "cancelled"
        assert statuses(client) == ["in_progress", "cancelled"]
        model.hold.set()
        assert await client.prompt(session, "three") == "end_turn"
    assert "x x x" in texts(model.requests[2])


def conversation() -> list[Message]:
    messages: list[Message] = [UserMessage((ModelText("go"),))]
    for number in range(6):
        one = ModelToolCall(f"c{number}", "read", "{}")
        messages.append(AssistantMessage((ModelText("looking"), one)))
        messages.append(ToolMessage((ModelToolResult(one.id, "read", (ModelText("y" * 1000),)),)))
    return messages


def test_the_newest_messages_never_begin_with_a_result_that_has_no_call() -> None:
    messages = conversation()
    for tokens in range(2000):
        tail = newest_messages(messages, tokens, TokenEstimate())
        assert not tail or not isinstance(tail[0], ToolMessage)
        assert tail == messages[len(messages) - len(tail) :]
        assert well_formed(tail) == tuple(tail)


def test_letting_go_keeps_every_call_and_result_in_its_place() -> None:
    messages = conversation()
    fewer = drop_old_results(messages, 4)
    assert fewer[-4:] == messages[-4:]
    assert well_formed(fewer) == tuple(fewer)
    assert TokenEstimate().tokens(fewer) < 0.6 * TokenEstimate().tokens(messages)


def test_what_was_measured_puts_the_guess_right() -> None:
    measure = TokenEstimate()
    request = ModelRequest(system="s" * 4000, messages=tuple(conversation()))
    guessed = measure.of_request(request)
    measure.learn(request, int(guessed * 1.5))
    assert abs(measure.of_request(request) - 1.5 * guessed) < 5
    measure.learn(request, 0)
    assert abs(measure.of_request(request) - 1.5 * guessed) < 5
