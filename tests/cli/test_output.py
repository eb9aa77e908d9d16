"""Standard streams that are closed, full, or lost on the way."""

import os
import subprocess
import sys

import pytest

from tests.support.program import Portico, Ran, ran

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="streams are closed by a POSIX shell")

FORMS = {"a stream": ["--json-stream"], "an object": ["--api"], "words": []}


def through_shell(portico: Portico, redirection: str, *arguments: str) -> Ran:
    words = ["/bin/sh", "-c", f'portico "$@" {redirection}', "sh", *arguments]
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"  # noqa: PTH120
    done = subprocess.run(
        words, capture_output=True, cwd=portico.workspace, env=portico.environ({"PATH": path}), check=False
    )
    return ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("form", ["a stream", "words"])
def test_a_reader_that_leaves_ends_the_agent_without_a_word(portico: Portico, form: str) -> None:
    lines = [{"repeat": {"count": 5000, "steps": [{"say": "a line of text\n"}, {"pause_ms": 1}]}}]
    flags = FORMS[form]
    prompt = portico.turn(lines)[-1]
    running = portico.start("exec", *flags, "--agent-command", portico.agent, prompt)
    assert running.process.stdout is not None
    assert running.process.stdout.readline()
    running.process.stdout.close()
    assert running.process.wait(30) == 2
    assert running.process.stderr is not None
    assert running.process.stderr.read() == b""


@pytest.mark.parametrize("form", FORMS)
def test_output_that_cannot_be_written_is_told_in_a_line(portico: Portico, form: str) -> None:
    done = through_shell(
        portico, ">/dev/full", "exec", *FORMS[form], "--agent-command", portico.agent, "say hello"
    )
    assert done.code == 2
    assert done.complaint[-1] == "portico: cannot write the output: No space left on device."


@pytest.mark.parametrize(
    "words", [["schema", "stream"], ["version"], ["doctor", "--api"], ["--help"], ["exec", "--help"]]
)
def test_no_command_minds_a_reader_that_leaves(portico: Portico, words: list[str]) -> None:
    done = through_shell(portico, "| true", *words)
    assert (done.code, done.err) == (0, "")
    full = through_shell(portico, ">/dev/full", *words)
    assert (full.code, full.err) == (2, "portico: cannot write the output: No space left on device.\n")


@pytest.mark.parametrize(
    ("redirection", "words", "code"),
    [
        ("2>/dev/full", ["exec", "hello", "--no-such-flag"], 5),
        ("2>/dev/full", ["sessions", "show", "nothing"], 5),
        (">/dev/full 2>/dev/full", ["version"], 2),
        (">/dev/full 2>/dev/full", ["exec", "", "--api"], 2),
    ],
)
def test_the_exit_code_is_right_also_where_nothing_can_be_said(
    portico: Portico, redirection: str, words: list[str], code: int
) -> None:
    done = through_shell(portico, redirection, *words)
    assert (done.code, done.text, done.err) == (code, "", "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_program_reads_utf_8_whatever_the_locale_is(portico: Portico, encoding: str) -> None:
    environ = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for flags in (["--api"], ["--json-stream"], []):
        words = ["exec", *flags, "--agent-command", portico.agent, "say grün ✓"]
        done = portico.run(*words, environ=environ)
        assert (done.code, "grün ✓" in done.text) == (0, True)
    assert portico.run("doctor", environ=environ).text.startswith("✓ portico")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_turn_goes_through_with_streams_closed(portico: Portico, closed: str, form: str) -> None:
    done = through_shell(portico, closed, "exec", *FORMS[form], "--agent-command", portico.agent, "say hello")
    assert done.code == 0
    assert portico.run("sessions", "list", "--api").api["sessions"][0]["state"] == "completed"


def test_a_prompt_from_a_closed_stream_is_empty(portico: Portico) -> None:
    done = through_shell(portico, "<&-", "exec", "--agent-command", portico.agent, "-")
    assert done.code == 5
