"""Failed turns: their error, their exit code, and the suggestion."""

import pytest

from portico.domain.errors import EXIT_CODES, ErrorCode
from portico.testing import scripted_agent_command
from tests.support.program import Portico, agent_command
from tests.support.stream import Json

ENDINGS: dict[str, tuple[Json | str, str, str, int, str]] = {
    "says it is not signed in": (
        {"auth_required": True, "auth_methods": [{"id": "web", "name": "the web page", "type": "agent"}]},
        "AUTH_REQUIRED",
        "failed",
        3,
        "the web page",
    ),
    "crashes in a turn": (
        {"on_prompt": [[{"say": "so"}, {"crash": {"code": 7, "stderr": "out of luck\n"}}]]},
        "AGENT_CRASHED",
        "interrupted",
        2,
        "exit code 7",
    ),
    "crashes as it starts": (
        {"on_initialize": [{"crash": {"code": 9, "stderr": "no such config\n"}}]},
        "AGENT_CRASHED",
        "interrupted",
        2,
        "exit code 9",
    ),
    "crashes before its session": (
        {"on_new": [{"crash": {"signal": "SIGSEGV"}}]},
        "AGENT_CRASHED",
        "interrupted",
        2,
        "SIGSEGV",
    ),
    "closes its output and lives on": (
        {"on_prompt": [[{"ignore": ["stdin_close"]}, {"close_stdout": {}}, {"hang": {}}]]},
        "AGENT_CRASHED",
        "interrupted",
        2,
        "closed its output",
    ),
    "reports an error": (
        {"on_prompt": [[{"error": {"code": -32603, "message": "the model is tired"}}]]},
        "INTERNAL",
        "failed",
        2,
        "the model is tired",
    ),
    "is out of context": (
        {"on_prompt": [[{"error": {"code": -32603, "message": "context length exceeded"}}]]},
        "CONTEXT_LIMIT",
        "failed",
        3,
        "context",
    ),
    "answers initialize with nonsense": (
        {"on_initialize": [{"answer": {"result": {"protocolVersion": "one"}}}]},
        "INTERNAL",
        "failed",
        2,
        "initialize",
    ),
    "is not there": ("no-such-agent --acp", "AGENT_NOT_FOUND", "failed", 2, "no-such-agent"),
    "is no program": ("./notes.txt", "AGENT_NOT_FOUND", "failed", 2, "notes.txt"),
    "is a folder": ("./folder", "AGENT_NOT_FOUND", "failed", 2, "folder"),
    "speaks no protocol": ("echo hello", "AGENT_CRASHED", "interrupted", 2, "exit code 0"),
}


def command(portico: Portico, agent: Json | str) -> str:
    (portico.workspace / "notes.txt").write_text("not a program")
    (portico.workspace / "folder").mkdir(exist_ok=True)
    return agent if isinstance(agent, str) else agent_command(agent)


@pytest.mark.parametrize("agent", ENDINGS)
def test_an_agent_that(portico: Portico, agent: str) -> None:
    script, error_code, state, exit_code, words = ENDINGS[agent]
    ran = portico.exec("hello", "--agent-command", command(portico, script))
    stream = ran.stream
    error = stream.error
    assert (error["code"], stream.result["state"], ran.code) == (error_code, state, exit_code)
    assert words in error["message"] + error["details"]["suggestion"]
    assert EXIT_CODES[ErrorCode(error_code)] == exit_code
    assert ran.err == ""


@pytest.mark.parametrize("agent", ENDINGS)
def test_to_a_program_an_agent_that(portico: Portico, agent: str) -> None:
    script, error_code, _, exit_code, words = ENDINGS[agent]
    ran = portico.run("exec", "--api", "--agent-command", command(portico, script), "hello")
    told = ran.api
    diagnostics = told["diagnostics"]
    assert (ran.code, ran.err, told["status"]) == (exit_code, "", "failed")
    assert (diagnostics["error_code"], diagnostics["exit_code"]) == (error_code, exit_code)
    assert words in f"{told['error']} {diagnostics['suggestion']}"
    assert portico.run("sessions", "show", "--api", told["sessionId"]).code == 0


@pytest.mark.parametrize("agent", ENDINGS)
def test_to_a_person_an_agent_that(portico: Portico, agent: str) -> None:
    script, _, _, exit_code, words = ENDINGS[agent]
    ran = portico.run("exec", "--agent-command", command(portico, script), "hello")
    assert ran.code == exit_code
    assert words.split()[0] in ran.text + ran.err


def test_the_last_words_of_a_crashed_agent_are_kept(portico: Portico) -> None:
    stream = portico.exec([{"stderr": "I never liked\n"}, {"crash": {"stderr": "this prompt\n"}}]).stream
    assert stream.error["details"]["stderr"] == "I never liked\nthis prompt"
    assert stream.error["details"]["suggestion"]
    assert stream.error["recoverable"]


def test_what_an_agent_said_before_it_crashed_is_kept(portico: Portico) -> None:
    ran = portico.exec("say before\ncrash 1 after 30")
    assert ran.stream.answer.startswith("before00001:")
    again = portico.exec("say after", "--continue").stream
    assert (again.session_id, again.answer) == (ran.stream.session_id, "after")


def test_a_turn_that_takes_too_long_is_stopped(portico: Portico) -> None:
    # Long enough for the agent's first words on a busy machine.
    ran = portico.exec("say so far\nhang", "--timeout", "4")
    stream = ran.stream
    assert (ran.code, stream.error["code"]) == (2, "NETWORK_TIMEOUT")
    assert (stream.result["state"], stream.result["stopReason"]) == ("failed", "timeout")
    assert stream.answer == "so far"


@pytest.mark.parametrize("deaf", ["cancel", "cancel requests sigterm stdin_close"])
def test_an_agent_that_ignores_the_end_of_its_time_is_ended(portico: Portico, deaf: str) -> None:
    ran = portico.exec(f"ignore {deaf}\nhang", "--timeout", "0.5")
    assert (ran.code, ran.stream.error["code"]) == (2, "NETWORK_TIMEOUT")


def test_an_agent_without_a_name_is_not_found_and_a_near_one_is_offered(portico: Portico) -> None:
    ran = portico.run("exec", "--api", "--agent", "porer", "hello")
    assert (ran.code, ran.api["diagnostics"]["error_code"]) == (2, "AGENT_NOT_FOUND")
    assert "porter" in ran.api["diagnostics"]["suggestion"]
    told = portico.run("exec", "--agent", "porer", "hello")
    assert (told.code, told.out, len(told.complaint)) == (2, b"", 2)


def test_an_agent_that_the_settings_name_is_used(portico: Portico) -> None:
    portico.settings({"agent": "mine", "agents": {"mine": custom_agent()}})
    ran = portico.run("exec", "--json-stream", "say mine it is")
    assert ran.stream.answer == "mine it is"
    assert ran.stream.lines[0]["payload"]["agent"] == "mine"
    named = portico.run("exec", "--json-stream", "say x", environ={"PORTICO_AGENT": "nobody"})
    assert named.code == 2


def test_a_workspace_that_is_not_trusted_chooses_no_agent(portico: Portico) -> None:
    portico.workspace_settings({"agent": "theirs", "agents": {"theirs": custom_agent()}})
    ran = portico.run("exec", "--json-stream", "/help")
    assert ran.stream.lines[0]["payload"]["agent"] == "porter"
    portico.settings({"trustedWorkspaces": [str(portico.workspace)]})
    assert portico.run("exec", "--json-stream", "say ours").stream.answer == "ours"


def custom_agent() -> Json:
    program, *arguments = scripted_agent_command()
    return {"command": program, "args": arguments}
