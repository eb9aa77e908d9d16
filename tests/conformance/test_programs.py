"""The kit as a command: exit codes and reports, and the real programs that it is pointed at."""

import shlex
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from portico.conformance.agent_trial import PROMPT_NAMES
from tests.support.program import PROGRAM, Portico, Ran

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "tests" / "peers"
OWN_PROMPTS = [word for name in PROMPT_NAMES for word in ("--prompt", f"{name}={name}")]
PATIENCE = ("--timeout", "100", "--start-timeout", "100")


def correct_agent(portico: Portico) -> tuple[str, ...]:
    return (
        sys.executable,
        str(ROOT / "tests" / "conformance" / "correct_agent.py"),
        str(portico.home / "kept.json"),
    )


def judge(portico: Portico, command: tuple[str, ...], *flags: str) -> Ran:
    # Untapped: the kit sends what no client may send, and the conductor passes it on.
    path = {"PYTHONPATH": str(ROOT), "PORTICO_TAP": ""}
    return portico.run("conformance", "agent", *PATIENCE, *flags, "--", *command, environ=path, seconds=110)


def failures(done: Ran) -> dict[str, str]:
    return {
        case["id"]: case["status"] for case in done.api["cases"] if case["status"] in ("failed", "blocked")
    }


def test_a_correct_agent_behind_our_conductor_passes_everything(portico: Portico) -> None:
    chain = (str(PROGRAM), "acp", "--agent-command", shlex.join(correct_agent(portico)))
    done = judge(portico, chain, "--api", "--auth-method", "key", "--allow-logout", *OWN_PROMPTS)
    assert failures(done) == {}
    assert done.api["counts"]["passed"] == len(done.api["cases"]) - 1  # It has methods to sign in.
    assert done.code == 0


def test_porter_passes_everything(portico: Portico) -> None:
    done = judge(portico, (str(PROGRAM), "agent"), "--api", "--prompt", "turn=/help")
    assert failures(done) == {}
    assert done.code == 0


@pytest.mark.parametrize("made_with", ["python", "typescript"])
def test_agents_of_the_official_libraries_are_judged(portico: Portico, made_with: str) -> None:
    folder = str(portico.home / "conversations")
    python = (sys.executable, str(PEERS / "sdk_agent.py"), folder)
    command = python if made_with == "python" else ("node", str(PEERS / "acp_agent.mjs"), folder)
    families = (
        "ACP-JSONRPC",
        "ACP-EXT",
        "PORTICO-FRAMES",
        "ACP-SESSION",
        "ACP-PROMPT",
        "ACP-CANCEL",
        "ACP-LOAD",
    )
    chosen = [
        word
        for name in (*families, "PORTICO-LOAD-001", "ACP-SCHEMA", "ACP-TRANSPORT")
        for word in ("--case", name)
    ]
    done = judge(portico, command, "--api", "--prompt", "cancel=wait", *chosen)
    # Our peer in Python tells again only what it said itself, and so breaks a rule.
    assert failures(done) == ({"PORTICO-LOAD-001": "failed"} if made_with == "python" else {})
    assert done.code == (1 if made_with == "python" else 0)


def judge_client(portico: Portico, command: tuple[str, ...], *flags: str) -> Ran:
    environ = {"PYTHONPATH": str(ROOT), "PORTICO_TAP": ""}
    return portico.run(
        "conformance", "client", *PATIENCE, "--api", *flags, "--", *command, environ=environ, seconds=110
    )


def chosen(*names: str) -> list[str]:
    return [word for name in names for word in ("--case", f"PORTICO-CLIENT-{name}")]


@pytest.mark.parametrize("words", [("{script}", "{agent}"), ("{script}",)], ids=["starts-agent", "stdio"])
def test_a_correct_client_passes_with_a_script(portico: Portico, words: tuple[str, ...]) -> None:
    client = (sys.executable, str(ROOT / "tests" / "conformance" / "correct_client.py"))
    done = judge_client(
        portico, (*client, *words), *chosen("INIT-001", "FILES", "TERMINALS-004", "CANCEL-002", "ORDER-002")
    )
    assert failures(done) == {}
    # Its answers are printed only where standard output is not the agent's.
    assert done.api["counts"]["passed"] == (9 if len(words) == 2 else 8)
    assert done.code == 0


def test_our_own_client_passes(portico: Portico) -> None:
    client = (str(PROGRAM), "exec", "--agent-command", "{agent}", "{prompt}")
    cases = chosen(
        "INIT-004", "FILES", "TERMINALS-001", "PERMISSIONS", "CANCEL", "BACKPRESSURE", "SCHEMA-001"
    )
    done = judge_client(portico, client, "--cancel-signal", "SIGINT", *cases)
    assert failures(done) == {}
    assert done.code == 0


def test_a_client_of_the_official_library_is_judged(portico: Portico) -> None:
    client = (sys.executable, str(PEERS / "minimal_client.py"), "{folder}", "{prompt}", "{agent}")
    done = judge_client(
        portico, client, *chosen("INIT-001", "SESSION", "UPDATES-001", "TERMINALS-008", "CANCEL-001")
    )
    # The Python SDK answers a method that its client lacks with an empty result.
    assert failures(done) == {"PORTICO-CLIENT-TERMINALS-008": "failed"}
    statuses = {case["id"]: case["status"] for case in done.api["cases"]}
    assert statuses["PORTICO-CLIENT-CANCEL-001"] == "not exercised"
    assert statuses["PORTICO-CLIENT-UPDATES-001"] == "passed"


def test_a_failure_shows_the_rule_its_source_and_the_frames_in_every_report(portico: Portico) -> None:
    broken = 'import sys\nfor line in sys.stdin: print(\'{"jsonrpc":"2.0","id":1,"result":{}}\', flush=True)'
    reports = [portico.workspace / name for name in ("report.xml", "report.html", "known.txt")]
    flags = [
        f"{flag}={path}"
        for flag, path in zip(("--junit", "--html", "--write-baseline"), reports, strict=True)
    ]
    done = judge(portico, (sys.executable, "-c", broken), "--case", "ACP-INIT-001", *flags)
    assert done.code == 1
    rule, source = "`initialize` succeeds", "https://agentclientprotocol.com/protocol/v1/initialization"
    frame = '{"jsonrpc":"2.0","id":1,"result":{}}'
    for expected in (rule, source, frame, "Not conformant: ACP-INIT-001."):
        assert expected in done.text
    junit, page, known = (path.read_text() for path in reports)
    failure = fromstring(junit).find("testcase/failure")
    assert failure is not None
    assert frame in (failure.text or "")
    assert "&quot;result&quot;:{}" in page
    assert source in page
    assert known.startswith("ACP-INIT-001  # ")

    again = judge(
        portico, (sys.executable, "-c", broken), "--case", "ACP-INIT-001", f"--baseline={reports[2]}"
    )
    assert again.code == 0
    assert "1 known failure" in again.text


def test_mistakes_are_explained(portico: Portico) -> None:
    assert "needs a command" in portico.run("conformance", "agent").err
    assert (
        'Unknown case "ACP-NO"' in portico.run("conformance", "agent", "--case", "ACP-NO", "--", "true").err
    )
    assert "NAME=TEXT" in portico.run("conformance", "agent", "--prompt", "x=y", "--", "true").err
    assert "needs a command" in portico.run("conformance", "client").err
    draft = portico.run("conformance", "agent", "--protocol-version", "2", "--", "true")
    assert "no cases for version 2 of ACP, which is a draft" in draft.err
    assert draft.code == 5
    idle = judge_client(portico, (sys.executable, "-c", "print('no agent')", "{agent}"), *chosen("INIT-001"))
    assert "started no agent" in idle.api["cases"][0]["reason"]
    missing = portico.run("conformance", "agent", "--api", "--case", "ACP-INIT-001", "--", "no-such-agent")
    assert missing.code == 1
    assert "no-such-agent" in missing.api["cases"][0]["reason"]


def test_the_list_has_every_case(portico: Portico) -> None:
    listed = portico.run("conformance", "list", "--api").api
    assert {case["id"] for case in listed["agent"]} >= {"ACP-INIT-001", "PORTICO-FILES-001"}
    assert "ACP-INIT-001" in portico.run("conformance", "list").text


@pytest.mark.parametrize("dialect", ["proxy", "_proxy"])
def test_our_conductor_passes_everything_as_a_proxy(portico: Portico, dialect: str) -> None:
    flags = (*PATIENCE, "--api", "--dialect", dialect)
    untapped = {"PORTICO_TAP": ""}
    done = portico.run(
        "conformance", "proxy", *flags, "--", str(PROGRAM), "acp", environ=untapped, seconds=110
    )
    assert failures(done) == {}
    assert done.api["counts"]["passed"] == len(done.api["cases"])
    assert done.code == 0
