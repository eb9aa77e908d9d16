"""Editor windows with different settings on one server: each decides for its own calls and sessions only."""

import asyncio
import json
import sys
from typing import Any

import pytest

from tests.cli.test_model_failures import environ
from tests.support.model_endpoint import Answer, Call, ModelEndpoint, Say, Tokens
from tests.support.program import Portico
from tests.support.serving import Server, detach
from tests.support.stream import Json


class Window:
    """A window of an editor: calls with its settings."""

    def __init__(self, server: Server, user: Json | None = None, workspace: Json | None = None) -> None:
        self._server = server
        self._header = json.dumps({"user": user or {}, "workspace": workspace or {}})

    def ask(self, method: str, request: Json) -> Json:
        return self._server.ask(method, request, portico_settings=self._header)

    def start(self, portico: Portico, **more: object) -> Json:
        request = {"workspace": str(portico.workspace), **more}
        session: Json = self.ask("StartSession", request)["session"]
        return session

    def settings(self, portico: Portico) -> dict[str, tuple[Any, str]]:
        found = self.ask("GetSettings", {"workspace": str(portico.workspace)})["settings"]
        return {one["name"]: (json.loads(one["valueJson"]), one["source"]) for one in found}


def test_each_window_starts_sessions_with_its_own_agent_mode_and_components(
    portico: Portico, server: Server
) -> None:
    portico.settings({"agents": {"boat": {"command": sys.executable}}})
    detach(portico)
    first = Window(
        server, {"agent": "boat", "reviewMode": "proposal", "components": {"memory": True, "code": False}}
    )
    one, other = first.start(portico), Window(server).start(portico)
    assert (one["summary"]["agent"], one["summary"]["mode"]) == ("boat", "REVIEW_MODE_PROPOSAL")
    assert (other["summary"]["agent"], other["summary"]["mode"]) == ("porter", "REVIEW_MODE_DIRECT")
    states = {
        name: {each["name"]: each["state"] for each in listed["components"]}
        for name, listed in (
            (which, server.ask("ListComponents", {"sessionId": session["summary"]["sessionId"]}))
            for which, session in (("one", one), ("other", other))
        )
    }
    assert (states["one"]["memory"], states["one"]["code"]) == ("COMPONENT_STATE_ON", "COMPONENT_STATE_OFF")
    assert states["other"]["memory"] == "COMPONENT_STATE_OFF"


def test_an_unknown_component_is_refused_and_leaves_no_session(portico: Portico, server: Server) -> None:
    detach(portico)
    with pytest.raises(AssertionError, match="sails"):
        Window(server, {"components": {"sails": True}}).start(portico)
    assert server.ask("ListSessions", {}) == {}


def test_each_window_has_its_own_prompts_and_session_variables(portico: Portico, server: Server) -> None:
    own = portico.workspace / "recipes"
    own.mkdir()
    text = "---\nvariables:\n  dish: {description: what to cook}\n---\nCook {{ dish }}."
    (own / "cook.md").write_text(text)
    (portico.workspace / "values.json").write_text('{"dish": "soup"}')
    detach(portico)
    window = Window(server, workspace={"promptDirectories": ["recipes"], "sessionVariables": "values.json"})
    folder = {"workspace": str(portico.workspace)}
    (cook,) = (one for one in window.ask("ListPrompts", folder)["prompts"] if one["name"] == "cook")
    assert cook["variables"][0]["sessionValue"] == "soup"
    others = Window(server).ask("ListPrompts", folder)["prompts"]
    assert "cook" not in [one["name"] for one in others]


def test_settings_say_that_they_are_of_the_editor(portico: Portico, server: Server) -> None:
    portico.settings({"model": "anthropic:file", "maxCostUsd": 3})
    detach(portico)
    window = Window(server, {"model": "anthropic:window", "maxCostUsd": 2.5, "sandbox": "none"})
    found = window.settings(portico)
    assert found["model"] == ("anthropic:window", "editor")
    assert found["maxCostUsd"] == (2.5, "editor")
    assert found["sandbox"][1] == "editor"
    assert found["agent"] == ("porter", "built-in")
    assert Window(server).settings(portico)["model"] == ("anthropic:file", "user")


def test_a_workspace_lowers_what_a_window_allows_and_raises_nothing(portico: Portico, server: Server) -> None:
    file = portico.workspace / ".portico" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"maxCostUsd": 0.5, "sandbox": {"level": "strict"}, "model": "anthropic:theirs"}')
    detach(portico)
    found = Window(server, {"maxCostUsd": 2.5, "sandbox": "workspace"}).settings(portico)
    assert found["maxCostUsd"][0] == 0.5
    assert found["sandbox"][0]["level"] == "strict"
    assert found["model"][0] is None


def test_the_folders_settings_in_an_editor_choose_nothing_that_is_the_users(
    portico: Portico, server: Server
) -> None:
    detach(portico)
    window = Window(server, workspace={"maxCostUsd": 100, "model": "a:b", "reviewMode": "branch"})
    found = window.settings(portico)
    assert (found["maxCostUsd"][0], found["model"][0], found["review"][0].get("mode")) == (1.0, None, None)


def test_settings_that_cannot_be_read_are_an_error_of_the_call(portico: Portico, server: Server) -> None:
    detach(portico)
    with pytest.raises(AssertionError, match="settings of the editor window are invalid"):
        server.ask("StartSession", {}, portico_settings='{"user": {"maxCostUsd": "much"}}')


async def test_model_and_cost_limit_of_a_window_hold_in_its_sessions_and_in_no_other(
    portico: Portico, server: Server
) -> None:
    async with ModelEndpoint() as endpoint:
        around = environ(endpoint)
        del around["PORTICO_MODEL"]
        portico.settings({"model": "anthropic:claude-sonnet-5-5"})
        endpoint.answer = lambda got: (
            Answer(Call("list", "{}"), tokens=Tokens(input=100_000))
            if len(got.body["messages"]) == 1
            else Answer(Say("Done."), tokens=Tokens(input=100_000))
        )
        await asyncio.to_thread(detach, portico, environ=around)

        async def turn(window: Window) -> str:
            session = await asyncio.to_thread(window.start, portico)
            request = {"sessionId": session["summary"]["sessionId"], "text": "What is here?"}
            stream = await asyncio.to_thread(server.stream, "Invoke", request)
            heard = []
            while (message := await asyncio.to_thread(stream.next)) is not None:
                heard.append(message)
            return json.dumps(heard)

        narrow = Window(server, {"model": "anthropic:claude-opus-5-5", "maxCostUsd": 0.01})
        assert "BUDGET_EXCEEDED" in await turn(narrow)
        assert endpoint.requests[-1].body["model"] == "claude-opus-5-5"
        assert "Done." in await turn(Window(server))
        assert endpoint.requests[-1].body["model"] == "claude-sonnet-5-5"
