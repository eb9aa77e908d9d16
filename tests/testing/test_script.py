"""A mistake in a script is found where it was made, before any agent runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import portico.testing
from portico.testing import ScriptError, scripted_agent_command
from portico.testing.agent.script import SHAPE, VERBS, check_script
from portico.testing.command import Script
from tests.testing.driver import DEADLINE


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ({"on_promt": []}, "the script has no field 'on_promt'"),
        ({"on_prompt": [{"say": "x"}]}, "the script.on_prompt[0] takes a list of steps"),
        ({"on_prompt": [[{"shout": "x"}]]}, "the script.on_prompt[0][0]: there is no verb 'shout'"),
        ({"on_new": [{"say": "x", "think": "y"}]}, "the script.on_new[0] is not an object with one verb"),
        ({"on_new": [{"say": 1}]}, "the script.on_new[0].say takes str, not 1"),
        ({"on_new": [{"stream": {"count": 1}}]}, "the script.on_new[0].stream needs 'size'"),
        ({"on_new": [{"stream": {"count": True, "size": 1}}]}, ".stream.count takes int, not True"),
        ({"on_new": [{"hang": {"for": 1}}]}, "hang has no field 'for'; it has none"),
        ({"on_new": [{"hang": 1}]}, "hang takes an object, not 1"),
        ({"on_new": [{"pause_ms": "1"}]}, "pause_ms takes int or float"),
        ({"on_new": [{"permission": {"allowed": [{"oops": 1}]}}]}, "permission.allowed[0]: there is no verb"),
        ({"on_new": [{"tool": {"diff": {"path": "a"}}}]}, "tool.diff needs 'new'"),
        ([], "the script takes an object"),
    ],
)
def test_a_mistake_is_named_with_its_place(script: Any, complaint: str) -> None:
    with pytest.raises(ScriptError) as raised:
        scripted_agent_command(script)
    assert complaint in str(raised.value)


def test_a_script_too_long_for_a_command_line_is_refused() -> None:
    with pytest.raises(ScriptError, match="--script"):
        scripted_agent_command({"on_prompt": [[{"say": "x" * 200_000}]]})


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*scripted_agent_command(), *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False
    )


@pytest.mark.parametrize("arguments", [["--help"], ["--script"], ["--colour", "red"]])
def test_a_wrong_command_line_gets_one_helpful_line(arguments: list[str]) -> None:
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout) == (5, "")
    assert ended.stderr.startswith("usage: ")


def test_a_script_comes_from_a_file_or_from_the_command_line(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps({"on_prompt": [[{"say": "x"}]]}))
    bad.write_text("{")
    assert run("--script", str(good)).returncode == 0
    assert run("--steps", '[{"say": "x"}]').returncode == 0
    assert "the script is not JSON" in run("--script", str(bad)).stderr
    assert "No such file" in run("--script", str(tmp_path / "none")).stderr
    assert "there is no verb" in run("--steps", '[{"shout": "x"}]').stderr


def test_the_type_of_a_script_has_the_keys_that_the_agent_knows() -> None:
    assert {f"{key}?" for key in Script.__annotations__} == set(SHAPE)


def test_every_verb_and_key_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
    assert [name for name in VERBS if f"`{name}`" not in manual] == []
    assert [name for name in SHAPE if f"`{name.removesuffix('?')}`" not in manual] == []


def test_the_example_of_the_manual_is_a_good_script() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
    example = manual.partition("```json\n")[2].partition("```")[0]
    check_script(json.loads(example))


def test_the_public_names_are_there_and_no_others() -> None:
    assert all(getattr(portico.testing, name) is not None for name in portico.testing.__all__)
    with pytest.raises(AttributeError):
        _ = portico.testing.nothing  # type: ignore[attr-defined]


def test_the_agent_shares_no_code_with_the_ends_it_tests() -> None:
    program = "import sys, portico.testing.agent.server; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=DEADLINE, check=True
    ).stdout.split()
    own = {name for name in loaded if name.startswith("portico")}
    assert own == {name for name in own if name.startswith("portico.testing.agent")} | {
        "portico",
        "portico.testing",
    }
    assert not {"asyncio", "msgspec", "pathlib", "typing"} & set(loaded)
