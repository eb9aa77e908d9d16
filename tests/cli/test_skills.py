"""`portico skills`: what a person sees of skills, allows and denies, and that an agent of a foreign SDK then reads them."""

import json
import shlex
import sys

import pytest

from tests.cli.test_model_failures import ask, quick_environ
from tests.components.skill_support import install_python, write_skill
from tests.support.editor import PEERS, Editor, node, said
from tests.support.model_endpoint import Answer, Call, ModelEndpoint, Say
from tests.support.program import Portico
from tests.support.stream import Json

SKILL = "building-pydantic-ai-agents"


@pytest.fixture
def skilled(portico: Portico) -> Portico:
    """A workspace with a skill of its own, and with the packages of these tests as its environment."""
    write_skill(portico.workspace / ".agents" / "skills", "deploy", description="Puts it on the server.")
    (portico.workspace / ".venv").symlink_to(sys.prefix)
    return portico


def states(portico: Portico) -> dict[str, str]:
    return {one["id"]: one["state"] for one in portico.run("skills", "list", "--api").api["skills"]}


def test_skills_are_listed_shown_allowed_and_denied(skilled: Portico) -> None:
    assert states(skilled)["workspace:deploy"] == "on"
    assert states(skilled)[f"pypi:pydantic-ai-slim/{SKILL}"] == "not allowed"
    shown = skilled.run("skills", "show", SKILL, "--api").api["skill"]
    assert (shown["source"], shown["package"]) == ("pypi", "pydantic-ai-slim")
    assert len(shown["fingerprint"]) == 64
    assert "Pydantic AI" in shown["text"]
    assert (
        f"Allowed: pypi:pydantic-ai-slim/{SKILL}" in skilled.run("skills", "allow", "pydantic-ai-slim").text
    )
    assert states(skilled)[f"pypi:pydantic-ai-slim/{SKILL}"] == "on"
    assert skilled.run("skills", "deny", "pypi:pydantic-*", "workspace:deploy").code == 0
    assert set(states(skilled).values()) == {"denied"}


def test_people_read_what_is_there_and_what_is_wrong(portico: Portico) -> None:
    assert "No skills yet." in portico.run("skills", "list").text
    install_python(portico.workspace, "lib", "1.0", "lib-skill")
    write_skill(portico.workspace / ".agents/skills", "odd", description="Odd \x1b[31m words.")
    (portico.workspace / ".agents/skills/broken").mkdir()
    (portico.workspace / ".agents/skills/broken/SKILL.md").write_text("nothing")
    listed = portico.run("skills", "list").text
    assert "pypi:lib/lib-skill 1.0 (not allowed)\n  Knows things." in listed
    assert "workspace:broken (broken: it has no front matter" in listed
    assert "\x1b" not in listed
    unknown = portico.run("skills", "allow", "nope")
    assert unknown.code == 5
    assert 'No skill matches "nope".' in unknown.err


def test_an_agent_of_the_typescript_sdk_is_told_of_skills_and_reads_them(skilled: Portico) -> None:
    """Through `portico acp`, with a real package: one skill allowed before, another by answering the question."""
    skilled.run("skills", "allow", SKILL)
    editor = Editor(skilled, "--agent-command", shlex.join([node(), str(PEERS / "mcp_agent.mjs")]))
    session = editor.open_session()
    other = "migrating-agno-to-pydantic-ai"

    def use(tool: str, **arguments: str) -> list[object]:
        return ["portico-skills", "tools/call", {"name": tool, "arguments": arguments}]

    calls = [["", "prompt"], use("skill_list"), use("skill_read", name=SKILL), use("skill_read", name=other)]
    turn = editor.prompt(session, json.dumps(calls))
    while (asked := editor.receive()).get("method") != "session/request_permission":
        pass
    assert f"{other} of pypi pydantic-ai-slim" in asked["params"]["toolCall"]["title"]
    agreed = {"outcome": {"outcome": "selected", "optionId": "use"}}
    editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": agreed})
    editor.answer_to(turn)
    prompt, listed, read, permitted = json.loads(said(editor.heard))
    assert "- deploy (workspace): Puts it on the server." in prompt[0]["text"]
    assert f"- {SKILL} (pypi pydantic-ai-slim" in prompt[0]["text"]
    assert SKILL in _text(listed)
    assert "# Building AI Agents with Pydantic AI" in _text(read)
    assert "Agno" in _text(permitted)
    assert editor.hang_up().code == 0


async def test_porter_reads_a_skill_and_checks_the_project(skilled: Portico) -> None:
    """Reading needs no permission; the check is a command, which a rule allows here."""
    skilled.run("skills", "allow", SKILL)
    (skilled.workspace / "Makefile").write_text("check:\n\t@echo 'a.c:1:20: error: no such thing'; exit 1\n")
    script = (
        Answer(Call("portico-skills__skill_read", json.dumps({"name": SKILL}))),
        Answer(Call("portico-build__check", "{}")),
        Answer(Say("Read and checked.")),
    )
    async with ModelEndpoint(*script) as endpoint:
        ran = await ask(
            skilled, quick_environ(endpoint), "--allow", "execute:make *", "--allow", "other", "Go on."
        )
        prompt, read, checked = (json.dumps(one.body["messages"][-1]) for one in endpoint.requests)
    assert ran.code == 0, ran.stream.lines
    assert "- deploy (workspace): Puts it on the server." in prompt
    assert "# Building AI Agents with Pydantic AI" in read
    assert "Check failed (make check, exit code 2)." in checked
    assert "- a.c:1:20 error: no such thing" in checked
    names = [command["name"] for command in ran.stream.all("commands_updated")[-1]["commands"]]
    assert {"test", "deploy", SKILL} <= set(names)


def _text(outcome: Json) -> str:
    return str(outcome["outcome"]["result"]["content"][0]["text"])
