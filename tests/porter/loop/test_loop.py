"""Free text, answered by a model with tools: what a person sees, and what the model is told."""

import asyncio
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.domain.errors import AuthRequired, ModelFailed
from portico.porter.models.model import AssistantMessage, ModelFacts, ModelText, ToolMessage, UserMessage
from portico.rpc.messages import RpcError
from tests.porter.client import connected, reject
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls, results_in


async def test_words_are_streamed_and_the_usage_is_told(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say("Hello to you", thinking="A greeting.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        request = schema.PromptRequest(session_id=session, prompt=[schema.TextContent(text="hi")])
        answer = await client.end.prompt(request)
        assert answer.stop_reason == "end_turn"
        assert answer.usage is not None
        assert answer.usage.total_tokens == 1100
        assert client.text == "Hello to you"
        assert [one.content.text for one in client.updates(schema.AgentThoughtChunk)] == ["A greeting."]
        assert client.updates(schema.UsageUpdate) == [schema.UsageUpdate(used=1100, size=100_000)]
    assert model.closed == 1


async def test_a_tool_is_called_and_its_result_is_told_to_the_model(state: Path, folder: Path) -> None:
    (folder / "a.py").write_text("print(1)\n")
    model = ScriptedModel([calls(call("read", path="a.py"), text="I look."), Say("It prints 1.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "what does a.py do?") == "end_turn"
        assert client.text == "I look.\n\nIt prints 1."
        [shown] = client.calls
        assert (shown.title, shown.kind) == ("Read a.py", "read")
        assert client.statuses(shown) == ["in_progress", "completed"]
    assert results_in(model.requests[1]) == ["1\tprint(1)"]
    names = {tool.name for tool in model.requests[0].tools}
    assert {"read", "edit", "run", "delegate"} <= names
    assert "propose_changes" not in names


async def test_calls_that_look_run_together_and_others_in_order(state: Path, folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    looks = [call("read", path="a.txt"), call("list"), call("grep", pattern="one")]
    changes = [call("write", path="b.txt", content="two\n"), call("read", path="b.txt")]
    model = ScriptedModel([calls(*looks, *changes), Say("Done.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "go")
    assert results_in(model.requests[1]) == [
        "1\tone",
        "a.txt (4 bytes)",
        "a.txt:1: one",
        "Created b.txt: 1 line.",
        "1\ttwo",
    ]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (call("raed", path="a"), 'Unknown tool "raed". Did you mean read'),
        (call("read", '{"path": "a.py'), "The arguments are not valid JSON"),
        (call("read", '["a.py"]'), "Invalid arguments: Expected `object`, got `array`"),
        (call("read", file="a.py"), "This tool takes: path, first_line, lines."),
        (call("read", path="missing.py"), "missing.py does not exist."),
        (call("read", path="../outside.txt"), "is outside the folders of this session"),
        (call("read", path=".env"), "may contain secrets"),
        (call("propose_changes", changes=[]), 'Unknown tool "propose_changes".'),
    ],
)
async def test_a_call_that_cannot_be_made_is_told_to_the_model_and_the_turn_goes_on(
    state: Path, folder: Path, wanted: object, told: str
) -> None:
    (folder / ".env").write_text("TOKEN=x\n")
    (folder.parent / "outside.txt").write_text("secret\n")
    model = ScriptedModel([calls(wanted), Say("I see.")])  # type: ignore[arg-type]
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "go") == "end_turn"
        assert client.text == "I see."
        [shown] = client.calls
        assert client.statuses(shown)[-1] == "failed"
        assert told in client.shown(shown)
    [result] = results_in(model.requests[1])
    assert told in result
    assert "secret\n" not in result


async def test_a_tool_that_crashes_is_a_result(
    state: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([calls(call("list")), Say("Never mind.")])
    monkeypatch.setattr("portico.porter.tools.list._listing", lambda *_: 1 / 0)
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "go") == "end_turn"
        assert client.statuses(client.calls[0])[-1] == "failed"
    assert "The tool crashed" in results_in(model.requests[1])[0]


async def test_a_refused_permission_is_told_to_the_model(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("write", path="a.txt", content="x")), Say("As you wish.")])
    async with connected(state, setup_of=model.setup()) as client:
        client.answer = reject
        session = await client.open(folder)
        assert await client.prompt(session, "go") == "end_turn"
        assert client.text == "As you wish."
    assert results_in(model.requests[1]) == ["The user declined: a.txt was not changed."]
    assert not (folder / "a.txt").exists()


async def test_a_model_that_calls_tools_forever_is_stopped_at_the_limit(state: Path, folder: Path) -> None:
    scenarios = folder / ".portico" / "scenarios"
    scenarios.mkdir(parents=True)
    (scenarios / "short.yaml").write_text(
        "name: SHORT\ndescription: few steps\nmode: read\ntools: [list]\ninstructions: look\nlimits: {steps: 3}\n"
    )
    for number in range(5):
        (folder / f"folder{number}").mkdir()
    model = ScriptedModel([calls(call("list", path=f"folder{number}")) for number in range(5)])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        request = schema.SetSessionModeRequest(session_id=session, mode_id="SHORT")
        await client.end.set_mode(request)
        assert await client.prompt(session, "go") == "max_turn_requests"
        [notice] = client.updates(schema.Notice)
        assert "ended after 3 steps" in notice.title
    assert model.left == 2


async def test_the_same_call_is_refused_the_third_time_and_then_ends_the_turn(
    state: Path, folder: Path
) -> None:
    model = ScriptedModel([calls(call("grep", pattern="x", ignore_case=False)) for _ in range(9)])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "go") == "end_turn"
        [notice] = client.updates(schema.Notice)
        assert "kept repeating the same calls" in notice.title
        assert len(client.calls) == 2
    assert "This call was not made" in results_in(model.requests[3])[0]
    assert len(model.requests) == 5


async def test_the_same_call_is_a_new_one_after_a_change(state: Path, folder: Path) -> None:
    look = {"pattern": "x"}
    steps = [
        calls(call("grep", **look)),
        calls(call("grep", **look)),
        calls(call("write", path="a.txt", content="y\n")),
        calls(call("grep", **look)),
        Say("Done."),
    ]
    model = ScriptedModel(steps)
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "go")
    assert "not made" not in results_in(model.requests[4])[0]


async def test_a_failure_in_the_middle_of_an_answer_keeps_what_was_shown(state: Path, folder: Path) -> None:
    broken = ModelFailed("The connection broke off.", suggestion="Try again.")
    model = ScriptedModel([Say("I was about", (call("read", path="a"),), fails=broken), Say("to say hello.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        with pytest.raises(RpcError, match=r"The connection broke off\. Try again\.") as caught:
            await client.prompt(session, "go")
        assert b'"code":"INTERNAL"' in bytes(caught.value.data)
        assert client.text == "I was about"
        assert await client.prompt(session, "go on") == "end_turn"
    prompt, said, again = model.requests[1].messages
    assert isinstance(prompt, UserMessage)
    assert said == AssistantMessage((ModelText("I was about"),), model="scripted:one")
    assert isinstance(again, UserMessage)


async def test_a_key_that_expires_asks_to_sign_in_and_the_session_goes_on(state: Path, folder: Path) -> None:
    expired = AuthRequired("The key was refused.", suggestion="Run: portico auth login")
    model = ScriptedModel([calls(call("list")), Say(fails=expired), Say("Back again.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        with pytest.raises(RpcError, match="portico auth login") as caught:
            await client.prompt(session, "go")
        assert caught.value.code == -32000
        assert await client.prompt(session, "go") == "end_turn"
        assert client.text.endswith("Back again.")
    roles = [type(message) for message in model.requests[2].messages]
    assert roles == [UserMessage, AssistantMessage, ToolMessage, UserMessage]


async def test_a_stop_while_words_come_keeps_them_and_ends_the_request(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say("Half of it"), Say("The rest.")])
    model.hold.clear()
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        async with client.turn(session, "go") as turn:
            await client.until(lambda: client.text == "Half of it")
            client.end.cancel(session)
            assert await turn == "cancelled"
        assert model.ended == 1
        model.hold.set()
        await client.prompt(session, "go on")
    assert model.requests[1].messages[1] == AssistantMessage((ModelText("Half of it"),), model="scripted:one")


async def test_a_stop_while_tools_run_leaves_a_result_for_every_call(state: Path, folder: Path) -> None:
    wanted = [call("list"), call("run", command="sleep 1000"), call("run", command="true")]
    model = ScriptedModel([calls(*wanted), Say("Stopped.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        async with client.turn(session, "go") as turn:
            await client.until(lambda: bool(client.terminals))
            client.end.cancel(session)
            assert await turn == "cancelled"
        assert (await client.terminals["terminal-1"].end())[1] == "SIGKILL"
        await client.prompt(session, "what happened?")
    message = model.requests[1].messages[2]
    assert isinstance(message, ToolMessage)
    texts = [result.parts[0].text for result in message.results]  # type: ignore[union-attr]
    assert [result.call_id for result in message.results] == [one.id for one in wanted]
    assert texts[0] == ". is empty."
    assert "interrupted" in texts[1]
    assert "before this call was made" in texts[2]


async def test_a_conversation_with_calls_goes_on_in_another_process(state: Path, folder: Path) -> None:
    first = ScriptedModel([calls(call("list")), Say("Nothing here.")])
    async with connected(state, setup_of=first.setup()) as before:
        session = await before.open(folder)
        await before.prompt(session, "what is here?")
        await before.prompt(session, "/todo add look again")
        told = before.text
    second = ScriptedModel([Say("Still nothing.")])
    async with connected(state, setup_of=second.setup()) as after:
        request = schema.LoadSessionRequest(session_id=session, cwd=str(folder), mcp_servers=[])
        await after.end.load_session(request)
        assert after.text == told
        assert [one.title for one in after.calls] == ["List ."]
        await after.prompt(session, "and now?")
    before_it, [last] = second.requests[0].messages[:-1], second.requests[0].messages[-1:]
    assert [type(message) for message in before_it] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        AssistantMessage,
    ]
    assert isinstance(last, UserMessage)
    assert "/todo add look again" in last.parts[0].text  # type: ignore[union-attr]
    assert last.parts[-1] == ModelText("and now?")


async def test_a_call_that_a_kill_interrupted_has_a_result_after_the_restart(
    state: Path, folder: Path
) -> None:
    first = ScriptedModel([calls(call("run", command="true"))])
    async with connected(state, setup_of=first.setup()) as before:
        session = await before.open(folder)
        before.hold_questions.clear()
        async with before.turn(session, "go"):
            await before.until(lambda: bool(before.questions))
            transcript = state / "porter" / f"{session}.jsonl"
            killed_here = transcript.read_bytes()
    transcript.write_bytes(killed_here)
    second = ScriptedModel([Say("I look first.")])
    async with connected(state, setup_of=second.setup()) as after:
        request = schema.ResumeSessionRequest(session_id=session, cwd=str(folder))
        await after.end.resume_session(request)
        await after.prompt(session, "go on")
    message = second.requests[0].messages[2]
    assert isinstance(message, ToolMessage)
    assert "interrupted" in message.results[0].parts[0].text  # type: ignore[union-attr]


async def test_a_model_without_tools_gets_none_and_a_tiny_one_few_words(state: Path, folder: Path) -> None:
    (folder / "AGENTS.md").write_text("Use tabs.")
    model = ScriptedModel([Say("Hi.")], ModelFacts(window=2048, tools=False, images=False, tiny=True))
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        image = schema.ImageContent(data="AAAA", mime_type="image/png")
        await client.prompt(session, "hello", image)
    [request] = model.requests
    assert request.tools == ()
    assert len(request.system) < 200
    assert request.messages[0].parts[1] == ModelText("[An image, which this model cannot view.]")  # type: ignore[union-attr]


async def test_an_answer_that_was_cut_says_so(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say("And so on and", reason="length")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "count") == "max_tokens"
        assert "output limit" in client.updates(schema.Notice)[0].title


async def test_the_project_may_say_how_to_work_and_each_text_is_told_once(state: Path, folder: Path) -> None:
    (folder / "AGENTS.md").write_text("Use tabs.")
    (folder / "CLAUDE.md").write_text("Use tabs.\n")
    (folder / ".portico").mkdir()
    (folder / ".portico" / "instructions.md").write_text("Speak of boats.")
    model = ScriptedModel([Say("Aye.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "hello")
    system = model.requests[0].system
    assert system.count("Use tabs.") == 1
    assert "## .portico/instructions.md\nSpeak of boats." in system
    assert "# How you work now: CODE" in system


async def test_a_large_result_is_cut_and_the_rest_can_be_read(state: Path, folder: Path) -> None:
    lines = "".join(f"line {number} {'x' * 80}\n" for number in range(1900))
    (folder / "big.txt").write_text(lines)

    def go_on(request: object) -> Say:
        return calls(call("read_output", name="output-1", offset=16000))

    model = ScriptedModel([calls(call("read", path="big.txt")), go_on, Say("Long.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "read it")
    [cut], [rest] = results_in(model.requests[1]), results_in(model.requests[2])
    assert len(cut) < 26_000
    assert 'read_output(name="output-1", offset=16000)' in cut
    assert cut.endswith("line 1899 " + "x" * 80)
    assert "continue with offset=36000" in rest
    assert (state / "porter" / f"{session}.outputs" / "output-1").stat().st_mode & 0o777 == 0o600


async def test_pieces_that_come_fast_are_gathered(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say(" ".join(str(number) for number in range(2000)))])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "count")
        assert client.text == " ".join(str(number) for number in range(2000))
        assert len(client.updates(schema.AgentMessageChunk)) < 200


async def test_a_pause_of_the_model_does_not_keep_back_what_it_said(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say("One two three")])
    model.hold.clear()
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        async with client.turn(session, "go") as turn:
            await client.until(lambda: client.text == "One two three")
            assert not turn.done()
            model.hold.set()
            assert await asyncio.wait_for(turn, 5) == "end_turn"
