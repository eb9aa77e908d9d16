"""Porter's model for one run or a session, and the MCP servers and lists that reach it."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.cli.test_model_failures import ask, environ, quick_environ
from tests.cli.test_review import git
from tests.support.model_endpoint import Answer, Call, ModelEndpoint, Say
from tests.support.program import Portico
from tests.support.reviewing_editor import APPLY, ReviewingEditor
from tests.support.serving import Server, detach
from tests.support.stream import Json

SERVER = Path(__file__).parent.parent / "porter" / "mcp" / "server.py"


def models_offered(options: list[Json]) -> Json:
    (model,) = [one for one in options if one["category"] == "model"]
    return model


async def test_a_model_for_one_run_is_used_and_not_saved(portico: Portico) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.answer = lambda _: Answer(Say("Hello."))
        around = environ(endpoint, OPENAI_API_KEY="b-key", OPENAI_BASE_URL=f"{endpoint.address}/v1")
        ran = await ask(portico, around, "--model", "openai-chat:gpt-of-mine", "hello")
        assert (ran.code, ran.stream.answer) == (0, "Hello.")
        other = await ask(portico, around, "hello")
    assert [one.body["model"] for one in endpoint.requests] == ["gpt-of-mine", "claude-sonnet-5-5"]
    offered = models_offered(other.stream.all("config_updated")[-1]["options"])
    assert offered["value"] == "default"
    names = [one["name"] for one in offered["choices"]]
    assert names[0] == "Default (anthropic:claude-sonnet-5-5)"
    assert "openai:gpt-6.1-terra" in names
    assert not (portico.home / "portico" / "config" / "settings.json").exists()


async def test_a_model_of_nobody_is_refused_before_anything_is_sent(portico: Portico) -> None:
    async with ModelEndpoint() as endpoint:
        ran = await ask(portico, environ(endpoint), "--model", "antropic:claude", "hello")
        assert endpoint.requests == []
    error = ran.stream.only("error")
    assert (error["code"], ran.code) == ("INVALID_INPUT", 5)
    assert error["details"]["suggestion"] == "Did you mean anthropic?"


async def test_servers_of_the_settings_are_given_to_the_agent_with_their_secrets(portico: Portico) -> None:
    entry = {"command": sys.executable, "args": [str(SERVER)], "env": {"GREETING_KEY": "${KEPT_GREETING}"}}
    portico.settings(
        {"mcpServers": {"greeter": entry, "broken": {"command": "x", "env": {"A": "${MISSING}"}}}}
    )
    script = (Answer(Call("greeter__variable", '{"name": "GREETING_KEY"}')), Answer(Say("Greeted.")))
    async with ModelEndpoint(*script) as endpoint:
        around = quick_environ(endpoint, KEPT_GREETING="well met")
        ran = await ask(portico, around, "--allow", "other", "greet Ada")
        result = repr(endpoint.requests[1].body["messages"][-1])
    assert ran.code == 0, ran.stream.lines
    assert "well met" in result
    (notice,) = [one["text"] for one in ran.stream.all("notice")]
    assert "The MCP server broken is left out. mcpServers.broken.env needs MISSING" in notice


@pytest.mark.parametrize("rules", [(), ("--deny", "tool:math__l*")])
async def test_a_tool_that_only_reads_needs_no_permission_in_ask_unless_a_rule_denies_it(
    portico: Portico, rules: tuple[str, ...]
) -> None:
    portico.settings({"mcpServers": {"math": {"command": sys.executable, "args": [str(SERVER)]}}})
    script = (Answer(Call("math__look", '{"path": "a.py"}')), Answer(Say("Seen.")))
    async with ModelEndpoint(*script) as endpoint:
        ran = await ask(portico, quick_environ(endpoint), *rules, "--option", "mode=ASK", "look")
        result = repr(endpoint.requests[1].body["messages"][-1])
    (started,) = ran.stream.all("tool_started")
    assert (started["name"], started["readOnly"]) == ("math__look", True)
    decided = [(one["outcome"], one["rule"]) for one in ran.stream.all("permission_resolved")]
    assert decided == ([("denied", "tool:math__l*")] if rules else [])
    assert ("The person declined" if rules else "Looked.") in result


@pytest.mark.parametrize("trusted", [True, False])
async def test_servers_of_a_folder_are_started_only_if_it_is_trusted(
    portico: Portico, *, trusted: bool
) -> None:
    mark = portico.workspace / "started"
    portico.workspace_settings({"mcpServers": {"own": {"command": "touch", "args": [str(mark)]}}})
    portico.settings({"trustedWorkspaces": [str(portico.workspace)] if trusted else []})
    async with ModelEndpoint(Answer(Say("Hello."))) as endpoint:
        ran = await ask(portico, quick_environ(endpoint), "hello")
    assert ran.code == 0
    assert mark.exists() is trusted


def turn(server: Server, session_id: str, text: str) -> None:
    server.stream("Invoke", {"sessionId": session_id, "text": text}).end()


async def test_the_list_of_the_model_is_the_list_of_the_person(portico: Portico, server: Server) -> None:
    todos = '{"todos": [{"text": "read", "status": "completed"}, {"text": "change"}]}'
    async with ModelEndpoint(
        Answer(Call("todo_write", todos)), Answer(Say("Planned.")), Answer(Say("I see."))
    ) as endpoint:
        await asyncio.to_thread(detach, portico, environ=quick_environ(endpoint))
        begun = await asyncio.to_thread(server.ask, "StartSession", {"workspace": str(portico.workspace)})
        session_id = begun["session"]["summary"]["sessionId"]
        await asyncio.to_thread(turn, server, session_id, "plan it")
        found = await asyncio.to_thread(server.ask, "GetTodos", {"sessionId": session_id})
        assert [(one["content"], one["status"]) for one in found["todos"]] == [
            ("read", "PROGRESS_COMPLETED"),
            ("change", "PROGRESS_PENDING"),
        ]
        mine = [*found["todos"], {"todoId": "mine", "content": "water the plants"}]
        await asyncio.to_thread(server.ask, "WriteTodos", {"sessionId": session_id, "todos": mine})
        await asyncio.to_thread(turn, server, session_id, "and now?")
        said = json.dumps(endpoint.requests[2].body["messages"][-1], ensure_ascii=False)
    assert "The user changed the to-do list." in said
    assert "3. [pending] water the plants" in said


async def test_a_list_that_is_written_while_no_agent_runs_is_known_to_it_later(
    portico: Portico, server: Server
) -> None:
    async with ModelEndpoint() as endpoint:
        endpoint.answer = lambda _: Answer(Say("I see."))
        first = await ask(portico, quick_environ(endpoint), "hello")
        session_id = first.stream.session_id
        await asyncio.to_thread(detach, portico, environ=quick_environ(endpoint))
        todos = [{"content": "water the plants"}]
        await asyncio.to_thread(server.ask, "WriteTodos", {"sessionId": session_id, "todos": todos})
        await asyncio.to_thread(turn, server, session_id, "and now?")
        assert "water the plants" in json.dumps(endpoint.requests[1].body["messages"][-1])


def test_scenarios_are_listed_as_the_modes_of_a_session(portico: Portico, server: Server) -> None:
    folder = portico.workspace / ".portico" / "scenarios"
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text("name: BROKEN\ntools: 7\n")
    (folder / "docs.yaml").write_text(
        "name: DOCS\ndescription: writes documentation\ninstructions: Write.\ntools: [read, write]\nmode: write\n"
    )
    detach(portico)
    listed = server.ask("ListScenarios", {"workspace": str(portico.workspace)})
    begun = server.ask("StartSession", {"workspace": str(portico.workspace)})
    session_id = begun["session"]["summary"]["sessionId"]
    turn(server, session_id, "/help")
    options = server.ask("GetSession", {"sessionId": session_id})["session"]["options"]
    (mode,) = [one for one in options if one["category"] == "mode"]
    assert [(one["name"], one["description"]) for one in listed["scenarios"]] == [
        (one["value"], one["description"]) for one in mode["choices"]
    ]
    assert "DOCS" in [one["name"] for one in listed["scenarios"]]
    assert (
        [one["name"] for one in listed["scenarios"] if one.get("isDefault")] == ["CODE"] == [mode["choice"]]
    )
    (problem,) = listed["problems"]
    assert "broken.yaml:" in problem


@pytest.mark.parametrize("flags", [("--budget-tokens", "100"), ("--max-cost", "0.0001")])
async def test_a_budget_for_one_run_ends_it_as_policy(portico: Portico, flags: tuple[str, str]) -> None:
    async with ModelEndpoint(Answer(Call("list", "{}")), Answer(Say("never said"))) as endpoint:
        ran = await ask(portico, environ(endpoint), *flags, "go")
        assert len(endpoint.requests) == 1
    error = ran.stream.only("error")
    assert (error["code"], ran.code) == ("BUDGET_EXCEEDED", 1)
    assert flags[0] in error["details"]["suggestion"]


@pytest.mark.parametrize("mode", ["direct", "branch"])
async def test_editor_code_ends_in_a_proposal_that_can_be_applied_in_modes_that_write_at_once(
    portico: Portico, mode: str
) -> None:
    greeting = portico.workspace / "greet.py"
    greeting.write_text("print('hello')\n")
    git(portico.workspace, "init", "-q")
    git(portico.workspace, "add", ".")
    git(portico.workspace, "commit", "-qm", "first")
    changes = [
        {"path": "greet.py", "operation": "update", "new_content": "print('good day')\n"},
        {"path": "notes.md", "operation": "create", "new_content": "Said.\n"},
    ]
    script = (Answer(Call("propose_changes", json.dumps({"changes": changes}))), Answer(Say("Proposed.")))
    async with ModelEndpoint(*script) as endpoint:
        flags = ("--mode", mode, "--allow", "edit", "--option", "mode=EDITOR_CODE")
        ran = await ask(portico, quick_environ(endpoint), *flags, "greet better")
    assert ran.code == 0, (ran.text, ran.err)
    result = repr(endpoint.requests[1].body["messages"][-1])
    assert "ready for the user's review" in result
    assert greeting.read_text() == "print('hello')\n"
    proposed = ran.stream.only("proposal_updated")
    assert [one["path"] for one in proposed["files"]] == ["greet.py", "notes.md"]
    assert not [one["text"] for one in ran.stream.all("notice") if "not written" in one["text"]]

    applied = await asyncio.to_thread(portico.run, "review", "apply")
    assert applied.code == 0, applied.err
    assert greeting.read_text() == "print('good day')\n"
    assert (portico.workspace / "notes.md").read_text() == "Said.\n"


async def test_editor_code_asks_in_an_acp_editor_that_does_not_review(portico: Portico) -> None:
    greeting = portico.workspace / "greet.py"
    greeting.write_text("print('hello')\n")
    changes = [{"path": "greet.py", "operation": "update", "new_content": "print('good day')\n"}]
    script = (Answer(Call("propose_changes", json.dumps({"changes": changes}))), Answer(Say("Proposed.")))
    async with ModelEndpoint(*script) as endpoint:

        def talk() -> None:
            flags = ("--agent", "porter", "--mode", "direct")
            editor = ReviewingEditor(portico, *flags, environ=quick_environ(endpoint))
            editor.initialize()
            session_id = editor.open_session()
            editor.call("session/set_mode", {"sessionId": session_id, "modeId": "EDITOR_CODE"})
            turn = editor.turn(session_id, "greet better", APPLY)
            assert turn.questions, turn.heard
            editor.hang_up()

        await asyncio.to_thread(talk)
        result = repr(endpoint.requests[1].body["messages"][-1])
    assert "The user applied the proposal." in result
    assert greeting.read_text() == "print('good day')\n"
    undone = await asyncio.to_thread(portico.run, "review", "undo")
    assert undone.code == 0, undone.err
    assert greeting.read_text() == "print('hello')\n"
