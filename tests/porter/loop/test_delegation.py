"""Delegated tasks: tools, report and permissions, which never exceed those of the caller."""

from pathlib import Path

from portico.acp import _schema as schema
from portico.porter.models.model import UserMessage
from tests.porter.client import connected
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls, results_in


async def test_a_helper_works_with_its_own_memory_and_reports(state: Path, folder: Path) -> None:
    (folder / "a.txt").write_text("treasure\n")
    model = ScriptedModel(
        [
            calls(call("delegate", title="Find it", task="Find the treasure.", scenario="RESEARCH")),
            calls(call("grep", pattern="treasure"), text="I search."),
            Say("It is in a.txt:1."),
            Say("Found: a.txt:1."),
        ]
    )
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "where is the treasure?")
        assert client.text == "Found: a.txt:1."
        assert [one.title for one in client.calls] == ["RESEARCH: Find it", "Search treasure"]
        assert "I search.\n\nIt is in a.txt:1." in client.shown(client.calls[0])
    helper = model.requests[1]
    assert len(helper.messages) == 1
    assert isinstance(helper.messages[0], UserMessage)
    assert "delegate" not in {tool.name for tool in helper.tools}
    assert "write" not in {tool.name for tool in helper.tools}
    assert results_in(model.requests[3]) == ["It is in a.txt:1."]


async def test_a_helper_may_not_do_what_its_sender_may_not(state: Path, folder: Path) -> None:
    model = ScriptedModel(
        [
            calls(call("delegate", title="Write", task="Write a file.", scenario="CODE")),
            calls(call("write", path="a.txt", content="x")),
            Say("I could not."),
            Say("Well."),
        ]
    )
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id="PLAN"))
        await client.prompt(session, "write it")
    assert 'Unknown tool "write".' in results_in(model.requests[2])[0]
    assert not (folder / "a.txt").exists()


async def test_a_helper_of_an_unknown_kind_is_told_to_the_model(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("delegate", title="x", task="y", scenario="NOPE")), Say("Hm.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.prompt(session, "go")
    assert 'Unknown scenario "NOPE". Available: CODE, ASK' in results_in(model.requests[1])[0]


async def test_a_stop_ends_the_helper_too(state: Path, folder: Path) -> None:
    model = ScriptedModel([calls(call("delegate", title="x", task="y")), Say("Working")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)

        def hold(_request: object) -> Say:
            model.hold.clear()
            return Say("Working")

        model._steps[1] = hold
        async with client.turn(session, "go") as turn:
            await client.until(lambda: bool(client.calls) and "Working" in client.shown(client.calls[0]))
            client.end.cancel(session)
            assert await turn == "cancelled"
        assert client.statuses(client.calls[0])[-1] == "failed"
    assert model.ended == 2
