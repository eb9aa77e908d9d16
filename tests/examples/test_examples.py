"""The programs in examples/ run as their first lines say."""

import ast
import sys
from pathlib import Path

import pytest

from tests.support.program import Portico, agent_command

EXAMPLES = Path(__file__).parents[2] / "examples"


def settings(name: str, file: str) -> dict[str, object]:
    return {"proxies": {name: {"command": sys.executable, "args": [str(EXAMPLES / file)]}}}


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_says_what_it_is(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert ast.get_docstring(ast.parse(text))


def test_the_agent_answers_a_prompt(portico: Portico) -> None:
    command = f"{sys.executable} {EXAMPLES / 'agent.py'}"
    ran = portico.run("exec", "--agent-command", command, "How many words are these?")
    assert ran.code == 0, ran.err
    assert "5 words." in ran.text


def test_the_proxy_signs_a_prompt(portico: Portico) -> None:
    portico.settings(settings("signature", "proxy.py"))
    ran = portico.run("exec", "--agent-command", agent_command(), "--proxy", "signature", "say hello")
    assert ran.code == 0, ran.err
    assert "Signed, the user." in ran.text


def test_the_tool_proxy_gives_the_agent_a_tool(portico: Portico) -> None:
    portico.settings(settings("glossary", "tool_proxy.py"))
    steps = [{"use_tool": {"server": "glossary", "name": "look_up", "arguments": {"word": "turn"}}}]
    ran = portico.exec(steps, "--proxy", "glossary")
    assert ran.code == 0, ran.err
    assert "one prompt and all that follows" in ran.out.decode()
