"""`portico prompts`: kept as files, filled in from the command line, run as `portico exec` would."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.program import Portico
from tests.support.serving import SERVICE, Server, detach

ASK = """---
description: Ask for something
variables:
  input:
    description: what to say
  tail:
    default: the end
---

say {{ input }}, {{ tail }}
"""


@pytest.fixture
def ask(portico: Portico) -> Path:
    return keep(portico, "ask", ASK)


def keep(portico: Portico, name: str, content: str | bytes, *, user: bool = False) -> Path:
    folder = portico.home / "portico" / "config" if user else portico.workspace / ".portico"
    path = folder / "prompts" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_whoever_has_no_prompts_is_told_where_they_go(portico: Portico) -> None:
    ran = portico.run("prompts", "list")
    assert (ran.code, ran.err) == (0, "")
    assert str(portico.workspace / ".portico" / "prompts") in ran.text
    assert str(portico.home / "portico" / "config" / "prompts") in ran.text
    told = portico.run("prompts", "list", "--api").api
    assert {one["origin"] for one in told["prompts"]} == {"built-in"}


def test_a_list_tells_where_each_is_from_what_hides_what_and_what_is_wrong(
    portico: Portico, ask: Path
) -> None:
    hidden = keep(portico, "ask", "the user's", user=True)
    keep(portico, "team/bad", "one\n{{ nothing }}")
    keep(portico, "idle", "---\nvariables:\n  never:\n---\nx", user=True)
    ran = portico.run("prompts", "list")
    lines = ran.text.splitlines()
    assert (ran.code, ran.err) == (0, "")
    assert " ".join(lines[0].split()) == "ask workspace Ask for something (hides another of this name)"
    assert lines[1].split()[:2] == ["ask", "user"]
    assert lines[1].endswith("(hidden by another of this name)")
    assert any("never" in line for line in lines)
    assert any("cannot be used: line 2: {{ nothing }}" in line for line in lines)
    told = portico.run("--api", "prompts", "list").api
    first, second, idle, bad = (one for one in told["prompts"] if one["origin"] != "built-in")
    assert (told["status"], told["count"]) == ("ok", len(told["prompts"]))
    assert (first["path"], first["hides"], first["hiddenBy"]) == (str(ask), str(hidden), None)
    assert (second["origin"], second["hiddenBy"]) == ("user", str(ask))
    assert [variable["name"] for variable in first["variables"]] == ["input", "tail"]
    assert len(idle["warnings"]) == 1
    assert (bad["name"], bad["digest"]) == ("team/bad", None)
    assert "{{ nothing }}" in bad["problem"]


def test_a_prompt_is_shown_with_its_file_and_what_it_needs(portico: Portico, ask: Path) -> None:
    digest = hashlib.sha256(ask.read_bytes()).hexdigest()
    shown = portico.run("prompts", "show", "ask").text
    assert all(part in shown for part in (str(ask), digest, "what to say (required)", "(default: the end)"))
    assert shown.endswith("\n\nsay {{ input }}, {{ tail }}\n")
    told = portico.run("prompts", "--api", "show", "ask").api["prompt"]
    assert (told["digest"], told["text"]) == (digest, "say {{ input }}, {{ tail }}")


def test_a_rendered_prompt_is_its_text_and_nothing_else(portico: Portico, ask: Path) -> None:
    ran = portico.run("prompts", "render", "ask", "--input", "a {{ tail }}\x1b[31m", "--set", "tail=x=y")
    assert (ran.code, ran.out, ran.err) == (0, b"say a {{ tail }}\x1b[31m, x=y\n", "")


def test_a_rendered_prompt_says_where_it_came_from(portico: Portico, ask: Path) -> None:
    (portico.workspace / "words.txt").write_text("from a file\n")
    ran = portico.run("prompts", "render", "ask", "--api", "--set-file", "input=words.txt")
    assert (ran.code, ran.err) == (0, "")
    assert ran.api == {
        "status": "ok",
        "text": "say from a file\n, the end",
        "provenance": {
            "name": "ask",
            "path": str(ask),
            "origin": "workspace",
            "digest": hashlib.sha256(ask.read_bytes()).hexdigest(),
            "variables": {"input": "from a file\n"},
            "defaults": {"tail": "the end"},
        },
    }


def test_what_is_piped_in_is_the_input(portico: Portico, ask: Path) -> None:
    ran = portico.run("prompts", "render", "ask", "--input", "-", stdin="grüße".encode())
    assert ran.text == "say grüße, the end\n"


def test_another_folder_has_its_own_prompts(portico: Portico, ask: Path, tmp_path: Path) -> None:
    words = ("prompts", "render", "ask", "--input", "x")
    assert portico.run(*words, cwd=tmp_path).code == 5
    assert portico.run(*words, "--cwd", str(portico.workspace), cwd=tmp_path).code == 0


def test_a_prompt_is_run_as_exec_would_run_it(portico: Portico, ask: Path) -> None:
    run = ("prompts", "run", "ask", "--agent-command", portico.agent, "--input", "-")
    plain = portico.run(*run, stdin=b"hello")
    assert (plain.code, plain.text.strip()) == (0, "hello, the end")
    told = portico.run(*run, "--api", "--continue", stdin=b"again").api
    assert (told["status"], told["text"]) == ("completed", "again, the end")
    stream = portico.run(*run, "--json-stream", "--continue", stdin=b"more").stream
    assert stream.session_id == told["sessionId"]


def test_a_run_that_fails_has_the_exit_code_of_exec(portico: Portico) -> None:
    keep(portico, "odd", "hello")
    words = ("--agent", "nobody", "--api")
    ran, direct = portico.run("prompts", "run", "odd", *words), portico.run("exec", "hello", *words)
    assert ran.code == direct.code != 0
    assert ran.api["error"] == direct.api["error"]


def test_programs_find_the_prompts_of_a_folder_at_the_server(
    portico: Portico, server: Server, ask: Path
) -> None:
    keep(portico, "ask", "the user's, which is hidden", user=True)
    keep(portico, "own", "mine", user=True)
    keep(portico, "typo", "{{ nme }}")
    detach(portico)
    named = {"workspace": str(portico.workspace)}
    typo = "line 1: {{ nme }} is not declared under variables in the front matter"
    told = server.ask("ListPrompts", named)["prompts"]
    first, own, broken = (one for one in told if one["origin"] != "PROMPT_ORIGIN_BUILT_IN")
    assert (first["name"], first["description"]) == ("ask", "Ask for something")
    assert (first["origin"], first["path"]) == ("PROMPT_ORIGIN_WORKSPACE", str(ask))
    assert first["variables"] == [
        {"name": "input", "description": "what to say"},
        {"name": "tail", "defaultValue": "the end"},
    ]
    assert (own["name"], own["origin"]) == ("own", "PROMPT_ORIGIN_USER")
    assert (broken["name"], broken["problem"]) == ("typo", typo)
    assert server.ask("GetPrompt", named | {"name": "ask"})["pieces"] == [
        {"text": "say "},
        {"blank": {"name": "input", "description": "what to say"}},
        {"text": ", "},
        {"text": "the end"},
    ]
    for name, words in (("typo", "cannot be used"), ("aks", "Unknown prompt")):
        body = json.dumps(named | {"name": name}).encode()
        refused = server.call(
            "POST", SERVICE + "GetPrompt", token=server.token, body=body, content_type="application/json"
        )
        assert (refused.status, refused.json["code"]) == (400, "invalid_argument")
        assert words in refused.json["message"]


def test_porter_does_what_a_prompt_says(portico: Portico) -> None:
    keep(portico, "help", "/help\n", user=True)
    ran, direct = portico.run("prompts", "run", "help"), portico.run("exec", "/help")
    assert (ran.code, ran.out) == (direct.code, direct.out)
    assert "/search" in ran.text


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["render", "aks"], '"aks"', "Did you mean ask?"),
        (["show", "zzz"], '"zzz"', "portico prompts list"),
        (["render", "ask"], "input (what to say)", "--input -"),
        (["run", "ask"], "input (what to say)", "--input -"),
        (["render", "ask", "--set", "tial=x", "--input", "x"], "tial", "Did you mean tail?"),
        (["render", "ask", "--set", "input"], "KEY=VALUE", "--set input="),
        (["render", "ask", "--set-file", "input=nowhere"], "nowhere", "existing"),
        (["render", "ask", "--set-file", "input=."], "cannot be read", ""),
        (["render", "ask", "--input", "x", "--set", "input=y"], "twice", "once"),
        (["render", "plain", "--input", "x"], "input", "variables"),
        (["render", "broken"], "{{ nothing }}", "broken.md"),
        (["show", "binary"], "UTF-8", "binary.md"),
        (["show"], "NAME", "portico prompts list"),
        (["burn"], "burn", "portico prompts --help"),
        ([], "action", "portico prompts --help"),
        (["list", "ask"], "ask", "portico prompts list --help"),
        (["run", "plain", "--colour"], "--colour", "portico prompts run --help"),
    ],
)
def test_mistakes_are_told_with_a_way_on(
    portico: Portico, ask: Path, words: list[str], message: str, hint: str
) -> None:
    keep(portico, "plain", "text")
    keep(portico, "broken", "{{ nothing }}")
    keep(portico, "binary", b"\xff\x00")
    ran = portico.run("prompts", *words, "--api")
    assert (ran.code, ran.err, ran.api["diagnostics"]["error_code"]) == (5, "", "INVALID_INPUT")
    assert message in ran.api["error"]
    assert hint in (ran.api["diagnostics"]["suggestion"] or "")


def test_input_that_is_not_text_is_refused(portico: Portico, ask: Path) -> None:
    ran = portico.run("prompts", "run", "ask", "--input", "-", stdin=b"ab\xff")
    assert (ran.code, ran.out) == (5, b"")
    assert "not UTF-8 (byte 3)" in ran.err


def test_a_prompt_from_elsewhere_moves_no_cursor(portico: Portico) -> None:
    keep(portico, "sly", '---\ndescription: "a\\e[2Jb"\n---\nc\x1b]0;title\x07d\u202e')
    out = portico.run("prompts", "list").out + portico.run("prompts", "show", "sly").out
    assert b"\x1b" not in out
    assert "\u202e".encode() not in out


def test_other_commands_do_not_load_the_catalog() -> None:
    code = (
        "import sys; from portico.cli.main import main; main(['version']); "
        "sys.exit(any(name.startswith('portico.prompts') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
