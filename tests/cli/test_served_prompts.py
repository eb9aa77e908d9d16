"""RunPrompt of the server: the answer of a prompt file with its provenance, as editors ask for it."""

import asyncio
import json
from typing import Any

import pytest

from portico.testing import scripted_agent_command
from tests.cli.test_model_failures import quick_environ
from tests.cli.test_prompts import keep
from tests.support.model_endpoint import Answer, Call, ModelEndpoint, Refuse, Say
from tests.support.program import Portico
from tests.support.serving import Server, Streamed, detach
from tests.support.stream import Json

TRANSLATE = """---
version: 2
mode: read-only
variables:
  input:
  language:
---
Into {{ language }}: {{ input }}
"""
WRITE = "---\noutput: file\nmode: read-only\nvariables:\n  input:\n---\nSum up: {{ input }}\n"
CAREFUL = "---\nbudget: $0.0001\nmode: read-only\n---\nhello\n"


class _Runs:
    def __init__(self, portico: Portico, server: Server) -> None:
        self._workspace = str(portico.workspace)
        self._server = server

    async def start(self, name: str, **more: Any) -> Streamed:
        request = {"workspace": self._workspace, "name": name, **more}
        return await asyncio.to_thread(self._server.stream, "RunPrompt", request)

    async def result(self, name: str, **more: Any) -> Json:
        return await asyncio.to_thread(_result, await self.start(name, **more))


def _result(stream: Streamed) -> Json:
    last: Json = {}
    while (update := stream.next()) is not None:
        last = update
    assert "result" in last, stream.ending
    found: Json = last["result"]
    return found


async def saves_what_was_typed(portico: Portico, server: Server) -> None:
    """Values go into the file of the settings, beside its comments; a secret does not."""
    file = portico.home / "vars.json"
    file.write_text('{\n  // of the crew\n  "language": "French"\n}\n')
    request: Json = {"workspace": str(portico.workspace), "values": {"tone": "calm"}}
    saved = await asyncio.to_thread(server.ask, "SaveSessionVariables", request)
    assert saved == {"path": str(file)}
    assert "// of the crew" in file.read_text()
    assert '"tone": "calm"' in file.read_text()
    secret: Json = {**request, "values": {"token": "sk-ant-REDACTED"}}
    with pytest.raises(AssertionError, match="cannot be saved"):
        await asyncio.to_thread(server.ask, "SaveSessionVariables", secret)


async def test_a_prompt_runs_at_the_server_with_limits_and_a_model_of_its_own(
    portico: Portico, server: Server
) -> None:
    keep(portico, "translate", TRANSLATE, user=True)
    keep(portico, "careful", CAREFUL, user=True)
    keep(portico, "write", WRITE, user=True)
    variables = portico.home / "vars.json"
    variables.write_text('{"language": "French"}')
    portico.settings({"sessionVariables": str(variables)})
    async with ModelEndpoint(
        Answer(Say("Bonjour.")),
        Answer(Say("Half an answer."), Call("list", "{}")),
        Answer(Say("All of it."), Call("list", "{}")),
        Answer(Say(" Done.")),
        Answer(Say("Short.")),
        Answer(Say("Shorter.")),
        Refuse(400, "no such thing"),
    ) as endpoint:
        await asyncio.to_thread(detach, portico, environ=quick_environ(endpoint))
        runs = _Runs(portico, server)
        listed = await asyncio.to_thread(server.ask, "ListPrompts", {"workspace": str(portico.workspace)})
        (entry,) = [one for one in listed["prompts"] if one["name"] == "translate"]
        assert entry["variables"] == [{"name": "input"}, {"name": "language", "sessionValue": "French"}]
        await saves_what_was_typed(portico, server)

        values = {"input": "Hello.", "language": "German"}
        told = await runs.result("translate", values=values, model="openai-chat:gpt-5-mini")
        assert (told["savable"], told["variablesPath"]) == ({"language": "German"}, str(variables))
        assert (told["text"], told["complete"], told["finishReason"]) == ("Bonjour.", True, "end_turn")
        assert (told["model"], told["provider"]) == ("openai-chat:gpt-5-mini", "openai-chat")
        assert 0 < told["costUsd"] < 0.01
        provenance = json.loads(told["provenanceJson"])
        assert (provenance["prompt"], provenance["version"]) == ("translate", "2")
        assert (provenance["variables"], provenance["sessionId"]) == (
            ["input", "language"],
            told["sessionId"],
        )
        assert told["frontMatter"].startswith("---\nportico:\n")
        first = endpoint.requests[0].body
        assert first["model"] == "gpt-5-mini"
        assert "Into German: Hello." in json.dumps(first["messages"])

        cut = await runs.result("careful")
        assert (cut["text"], cut.get("complete", False)) == ("Half an answer.", False)
        assert cut["error"]
        assert cut["traceId"] in (portico.state / "portico.log").read_text()
        # The person may allow this run more than the prompt does.
        whole = await runs.result("careful", maxCostUsd=0.5)
        assert (whole["text"], whole["complete"]) == ("All of it.\n\n Done.", True)

        source = portico.workspace / "notes.txt"
        written = await runs.result("write", values={"input": "long"}, sourcePath=str(source))
        path = portico.workspace / "notes.write.md"
        assert written["outputPath"] == str(path)
        assert path.read_text().endswith("\n\nShort.\n")

        # Without an input, the server reads the file.
        source.write_text("three boats")
        read = await runs.result("write", sourcePath="notes.txt")
        assert (read["text"], read["sourceText"]) == ("Shorter.", "three boats")
        assert "Sum up: three boats" in json.dumps(endpoint.requests[-1].body["messages"])
        outside = await runs.start("write", sourcePath="../elsewhere.txt")
        assert await asyncio.to_thread(outside.next) is None
        assert "is not in" in json.dumps(outside.ending)

        failed = await runs.result("translate", values={"input": "x", "language": "Dutch"})
        assert "no such thing. Try again." in failed["error"]
        assert failed["traceId"] in (portico.state / "portico.log").read_text()


async def test_a_cancelled_run_keeps_half_an_answer_and_wrong_values_start_no_session(
    portico: Portico, server: Server
) -> None:
    keep(portico, "translate", TRANSLATE, user=True)
    async with ModelEndpoint(Answer(Say("Half of the answer, and more of it"), hangs_after=4)) as endpoint:
        await asyncio.to_thread(detach, portico, environ=quick_environ(endpoint))
        runs = _Runs(portico, server)
        refused = await runs.start("translate", values={"input": "x"})
        assert await asyncio.to_thread(refused.next) is None
        assert "needs a value for language" in json.dumps(refused.ending)
        large = await runs.start("translate", values={"input": "x" * 5_000_000, "language": "Dutch"})
        assert await asyncio.to_thread(large.next) is None
        assert "larger than" in json.dumps(large.ending)
        sessions = await asyncio.to_thread(server.ask, "ListSessions", {})
        assert sessions.get("sessions", []) == []

        stream = await runs.start("translate", values={"input": "x", "language": "Dutch"})
        while True:
            event = (await asyncio.to_thread(stream.next) or {})["event"]
            if "textDelta" in event:
                break
        await asyncio.to_thread(server.ask, "StopTurn", {"sessionId": event["sessionId"]})
        told = await asyncio.to_thread(_result, stream)
        assert told["text"]
        assert (told.get("complete", False), told["finishReason"]) == (False, "cancelled")
        assert "error" not in told
        assert json.loads(told["provenanceJson"])["complete"] is False


async def test_an_inline_edit_is_a_proposal_of_the_agent_that_is_named(
    portico: Portico, server: Server
) -> None:
    file = portico.workspace / "mast.py"
    file.write_text("height = 12\n")
    write = {"write": {"path": "mast.py", "content": "height = 20\n"}}
    command, *args = scripted_agent_command({"on_prompt": [[{"echo": {}}, write]]})
    portico.settings({"agents": {"boat": {"command": command, "args": args}}})
    await asyncio.to_thread(detach, portico)
    values = {"instruction": "Make it taller.", "file": "mast.py", "lines": "line 1", "input": "height = 12"}
    found = await _Runs(portico, server).result("edit-inline", values=values, agent="boat")
    assert "Change mast.py, line 1: Make it taller." in found["text"]
    assert file.read_text() == "height = 12\n"
    session = {"sessionId": found["sessionId"]}
    told = await asyncio.to_thread(server.ask, "GetSession", session)
    assert told["session"]["summary"]["agent"] == "boat"
    (proposal,) = (await asyncio.to_thread(server.ask, "GetProposal", session))["proposals"]
    choice = {**session, "proposalId": proposal["proposalId"], "revision": proposal["revision"]}
    applied = await asyncio.to_thread(server.ask, "ApplyProposal", choice)
    assert applied["applied"]
    assert file.read_text() == "height = 20\n"
