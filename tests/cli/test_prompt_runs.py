"""`portico prompts run`: the answer with its provenance, in a file or as JSON; and what can go wrong on the way."""

import asyncio
import hashlib
import json
import signal
import sys
from pathlib import Path

import pytest

from portico.domain.events import PromptSubmitted
from tests.cli.test_model_failures import quick_environ
from tests.cli.test_prompts import keep
from tests.support.model_endpoint import Answer, Call, ModelEndpoint, Say
from tests.support.program import PROGRAM, Portico
from tests.support.terminal import Terminal

SAY = """---
version: 3
tags: [demo]
variables:
  input:
  tone:
    default: dry
---
say {{ input }} and {{ tone }}
"""


@pytest.fixture
def run(portico: Portico) -> tuple[str, ...]:
    keep(portico, "talk", SAY)
    return ("prompts", "run", "talk", "--agent-command", portico.agent)


async def test_the_log_and_the_result_name_the_prompt_and_its_fingerprint(
    portico: Portico, run: tuple[str, ...]
) -> None:
    (portico.workspace / "in.txt").write_text("{{ tone }} @in.txt")
    told = portico.run(*run, "in.txt", "--set", "tone=warm", "--api").api
    digest = hashlib.sha256((portico.workspace / ".portico/prompts/talk.md").read_bytes()).hexdigest()
    assert (told["status"], told["text"]) == ("completed", "{{ tone }} @in.txt and warm")
    assert (told["finishReason"], told["warnings"], told["output"]) == ("end_turn", [], None)
    provenance = told["provenance"]
    assert (provenance["prompt"], provenance["version"], provenance["fingerprint"]) == ("talk", "3", digest)
    assert (provenance["variables"], provenance["schemaVersion"]) == (["input", "tone"], 1)
    assert provenance["startedAt"] <= provenance["completedAt"]
    assert (provenance["startedAt"][-1], provenance["traceId"]) == ("Z", told["traceId"])
    (asked,) = [
        event.payload
        for event in await portico.log(told["sessionId"])
        if isinstance(event.payload, PromptSubmitted)
    ]
    assert asked.prompt is not None
    assert (asked.prompt.name, asked.prompt.version, asked.prompt.fingerprint) == ("talk", "3", digest)
    # A value that looks like a mention is no link to a file.
    assert asked.blocks == ()


def test_a_stream_names_the_prompt_too(portico: Portico, run: tuple[str, ...]) -> None:
    stream = portico.run(*run, "--input", "hello", "--stream").stream
    assert stream.only("prompt_submitted")["prompt"]["name"] == "talk"


async def test_model_cost_and_usage_are_told_and_the_prompt_chooses_the_model(portico: Portico) -> None:
    keep(portico, "ask", "---\nmodel: openai-chat:gpt-5-mini\nmode: read-only\n---\nhello", user=True)
    async with ModelEndpoint(Answer(Say("Hello.")), Answer(Say("Again."))) as endpoint:
        around = quick_environ(endpoint)
        words = ("prompts", "run", "ask", "--api")
        told = (await asyncio.to_thread(portico.run, *words, environ=around)).api
        other = await asyncio.to_thread(portico.run, *words, "--model", "openai-chat:gpt-5", environ=around)
        assert [one.body["model"] for one in endpoint.requests] == ["gpt-5-mini", "gpt-5"]
    assert (told["model"], told["provider"]) == ("openai-chat:gpt-5-mini", "openai-chat")
    assert told["usage"] == {"inputTokens": 100, "outputTokens": 20}
    assert 0 < told["costUsd"] < 0.01
    assert other.api["provenance"]["model"] == "openai-chat:gpt-5"


async def test_a_budget_that_ends_in_the_middle_keeps_the_answer_and_marks_it(portico: Portico) -> None:
    keep(portico, "ask", "---\nbudget: $0.0001\n---\nhello", user=True)
    script = (Answer(Say("Half an answer."), Call("list", "{}")), Answer(Say("never said")))
    async with ModelEndpoint(*script) as endpoint:
        words = ("prompts", "run", "ask", "--api", "--output", "out.md")
        ran = await asyncio.to_thread(portico.run, *words, environ=quick_environ(endpoint))
        assert len(endpoint.requests) == 1
    assert (ran.code, ran.api["diagnostics"]["error_code"]) == (1, "BUDGET_EXCEEDED")
    assert "--max-cost" in ran.api["diagnostics"]["suggestion"]
    assert ran.api["provenance"]["complete"] is False
    written = (portico.workspace / "out.md").read_text()
    assert "  complete: false\n" in written
    assert written.endswith("\n\nHalf an answer.\n")


async def test_a_model_that_refuses_writes_no_file_and_its_trace_id_is_in_the_log(portico: Portico) -> None:
    keep(portico, "ask", "hello", user=True)
    async with ModelEndpoint(Answer(finish="refused")) as endpoint:
        words = ("prompts", "run", "ask", "--api", "--output", "out.md")
        ran = await asyncio.to_thread(portico.run, *words, environ=quick_environ(endpoint))
    assert (ran.code, ran.api["status"], ran.api["output"]) == (3, "failed", None)
    assert not (portico.workspace / "out.md").exists()
    log = (portico.state / "portico.log").read_text()
    assert ran.api["diagnostics"]["trace_id"] in log


def test_an_answer_is_written_and_written_again(portico: Portico, run: tuple[str, ...]) -> None:
    ran = portico.run(*run, "--input", "one", "--output", "out.md")
    path = portico.workspace / "out.md"
    assert (ran.code, ran.out) == (0, b"")
    assert f"Wrote {path} (" in ran.err
    again = portico.run(*run, "out.md", "--output", "out.md", "--api")
    # The input is the text without its provenance; the scripted agent repeats what is no step of a script.
    assert again.api["text"] == "say one and dry\n and dry"
    assert path.read_text().count("portico:") == 1
    path.write_text("mine")
    refused = portico.run(*run, "--input", "x", "--output", "out.md", "--api")
    assert (refused.code, "not written by a prompt" in refused.api["error"]) == (5, True)


def test_a_prompt_may_ask_for_a_file_if_its_folder_is_trusted(portico: Portico, run: tuple[str, ...]) -> None:
    keep(portico, "talk", SAY.replace("version: 3", "version: 3\noutput: file\nmode: direct\nmodel: x"))
    (portico.workspace / "in.txt").write_text("hello")
    told = portico.run(*run, "in.txt", "--api").api
    assert told["output"] is None
    assert told["warnings"] == [
        "Ignored model and output and mode of the prompt, because this folder is not trusted."
    ]
    keep(portico, "talk", SAY.replace("version: 3", "version: 3\noutput: file"))
    portico.settings({"trustedWorkspaces": [str(portico.workspace)]})
    told = portico.run(*run, "in.txt", "--api").api
    assert Path(told["output"]) == portico.workspace / "in.talk.md"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_a_cancelled_run_keeps_half_an_answer_and_marks_it(portico: Portico) -> None:
    keep(portico, "wait", "say so far\nhang", user=True)
    words = ("prompts", "run", "wait", "--agent-command", portico.agent, "--stream", "--output", "out.md")
    running = portico.start(*words)
    running.until("text_delta")
    running.signal(signal.SIGINT)
    assert running.end().code == 1
    written = (portico.workspace / "out.md").read_text()
    assert '  finishReason: "cancelled"\n' in written
    assert "  complete: false\n" in written
    assert written.endswith("\n\nso far\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x" * (20 * 1024 * 1024), "is larger than"),
        (b"\x7fELF\0\1", "is binary"),
        (b"\xff\xfe", "is not UTF-8"),
    ],
)
def test_an_input_that_no_model_can_read_is_refused(
    portico: Portico, run: tuple[str, ...], content: bytes, words: str
) -> None:
    (portico.workspace / "in.bin").write_bytes(content)
    refused = portico.run(*run, "in.bin", "--api")
    assert (refused.code, words in refused.api["error"]) == (5, True), refused.api["error"]
    piped = portico.run(*run, "-", "--api", stdin=content)
    assert (piped.code, words in piped.api["error"]) == (5, True)


def test_values_come_from_the_session_then_a_file_then_what_is_typed(
    portico: Portico, run: tuple[str, ...]
) -> None:
    portico.settings({"sessionVariables": "vars.json"})
    mine = portico.home / "portico" / "config" / "vars.json"
    mine.write_text('{"tone": "kept", /* not for this prompt: */ "other": "x"}')
    assert portico.run(*run, "--input", "a", "--api").api["text"] == "a and kept"
    (portico.workspace / "v.json").write_text('{"input": "from a file", "tone": "filed"}')
    assert portico.run(*run, "--vars", "v.json", "--api").api["text"] == "from a file and filed"
    typed = portico.run(*run, "--vars", "v.json", "--set", "tone=typed", "--api").api
    assert typed["text"] == "from a file and typed"
    (portico.workspace / "v.json").write_text("{oops")
    assert portico.run(*run, "--vars", "v.json", "--api").code == 5


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are POSIX")
@pytest.mark.parametrize("answer", ["y", "n"])
def test_saving_is_offered_and_done_only_after_a_yes(
    portico: Portico, run: tuple[str, ...], answer: str
) -> None:
    portico.settings({"sessionVariables": "vars.json"})
    mine = portico.home / "portico" / "config" / "vars.json"
    mine.write_text('{\n  // mine\n  "other": "x"\n}\n')
    command = (str(PROGRAM), *run, "--input", "a", "--set", "tone=warm")
    terminal = Terminal(command, cwd=portico.workspace, environ=portico.environ())
    try:
        terminal.until("Save as session variables in")
        terminal.until('"tone": "warm"')
        terminal.until("[y/N]")
        assert "warm" not in mine.read_text()
        terminal.press(f"{answer}\r")
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert "// mine" in mine.read_text()
    assert ("warm" in mine.read_text()) is (answer == "y")


GREET = """---
variables:
  port:
    description: where they moor
---
say moored in {{ port }}
"""


@pytest.mark.parametrize(
    ("typed", "code", "told"), [("Kiel", 0, "moored in Kiel"), ("", 5, "port needs a value")]
)
def test_a_person_at_the_terminal_is_asked_for_values_that_are_missing(
    portico: Portico, typed: str, code: int, told: str
) -> None:
    keep(portico, "greet", GREET)
    words = ("prompts", "run", "greet", "--agent-command", portico.agent)
    terminal = Terminal((str(PROGRAM), *words), cwd=portico.workspace, environ=portico.environ())
    try:
        terminal.until("port (where they moor): ")
        terminal.press(f"{typed}\r")
        terminal.until(told)
        assert terminal.end() == code
    finally:
        terminal.close()
    unasked = portico.run(*words, "--api")
    assert unasked.code == 5
    assert "port" in unasked.api["error"]


def test_a_refused_flag_is_told_as_json(portico: Portico, run: tuple[str, ...]) -> None:
    refused = portico.run(*run, "--input", "a", "--stream", "--api")
    assert json.loads(refused.out)["diagnostics"]["exit_code"] == refused.code == 5
