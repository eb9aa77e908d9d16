"""Writes docs/interop.md: foreign programs with Portico, from real runs.

`python -m scripts.write_interop --peers FOLDER` needs what is to be tried below that folder: npm packages installed
with `npm install --prefix FOLDER/NAME PACKAGE`, and Python packages in `FOLDER/py`. Each agent is tried by the
conformance kit and by `portico exec`; other rows are tests of this repository, run now. What is not there is left out.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs/interop.md"
PORTICO = Path(sys.executable).with_name("portico")
PEERS = ROOT / "tests/peers/node_modules"
KIT_SECONDS, EXEC_SECONDS = 600, 120


@dataclass(frozen=True)
class Agent:
    """A foreign agent: its name, its package, and its command from the folder of peers on."""

    name: str
    package: str
    program: str
    args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tried:
    """A foreign program in tests of this repository."""

    kind: str
    name: str
    package: str
    shows: str
    test: str


OPENCODE = "opencode-linux-x64-baseline"
# Programs that are no executables themselves.
INTERPRETERS = {".js": "node", ".mjs": "node", ".py": sys.executable}
AGENTS = (
    Agent("codex-acp", "@agentclientprotocol/codex-acp", "node_modules/.bin/codex-acp"),
    Agent("claude-agent-acp", "@agentclientprotocol/claude-agent-acp", "node_modules/.bin/claude-agent-acp"),
    Agent("gemini", "@google/gemini-cli", "node_modules/.bin/gemini", ("--acp",)),
    Agent("qwen", "@qwen-code/qwen-code", "node_modules/.bin/qwen", ("--acp",)),
    Agent("pi-acp", "pi-acp", "node_modules/.bin/pi-acp"),
    Agent("cline", "cline", "node_modules/.bin/cline", ("--acp",)),
    Agent("kilo", "@kilocode/cli", "node_modules/.bin/kilo", ("acp",)),
    Agent("copilot", "@github/copilot", "node_modules/.bin/copilot", ("--acp",)),
    Agent("codebuddy", "@tencent-ai/codebuddy-code", "node_modules/.bin/codebuddy", ("--acp",)),
    Agent("auggie", "@augmentcode/auggie", "node_modules/.bin/auggie", ("--acp",)),
    Agent("qoder", "@qoder-ai/qodercli", "node_modules/.bin/qodercli", ("--acp",)),
    Agent("dimcode", "dimcode", "node_modules/.bin/dimcode", ("acp",)),
    Agent("sigit", "@smbcloud/sigit", "node_modules/.bin/sigit"),
    Agent("codex-acp of Zed", "@zed-industries/codex-acp", "node_modules/.bin/codex-acp"),
    Agent("claude-code-acp of Zed", "@zed-industries/claude-code-acp", "node_modules/.bin/claude-code-acp"),
    Agent("opencode", OPENCODE, f"tests/peers/node_modules/{OPENCODE}/bin/opencode", ("acp",)),
    Agent("fast-agent", "fast-agent-acp", "py/bin/fast-agent-acp", ("-x",)),
    Agent("kimi", "kimi-cli", "py/bin/kimi", ("acp",)),
    Agent("mistral-vibe", "mistral-vibe", "py/bin/vibe-acp"),
)
FOREIGN = "tests/end_to_end/test_foreign_agents.py"
SERVICE = "tests/cli/test_service_clients.py::test_a_whole_turn_with_a_permission_goes_over_every_protocol"
TRIED = (
    Tried(
        "client and agent",
        "TypeScript SDK",
        "@agentclientprotocol/sdk",
        "a turn through three proxies, each in another dialect",
        "tests/end_to_end/test_acp_conversations.py::test_a_whole_turn_through_three_proxies_that_each_speak_another_dialect",
    ),
    Tried(
        "client",
        "TypeScript SDK over HTTP",
        "@agentclientprotocol/sdk",
        "a turn with a permission at `/acp`",
        "tests/doors/remote_acp/test_streamable_http.py::test_a_client_of_the_official_library_talks_over_http",
    ),
    Tried(
        "client",
        "VS Code, as a client of the agent host",
        "code-server",
        "a turn with a permission at `/ahp`",
        "tests/vscode/test_agent_host.py",
    ),
    Tried(
        "client",
        "Rust client of AHP, recorded",
        "ahp",
        "a turn with a permission at `/ahp`, and replay",
        "tests/doors/ahp/test_rust_client.py",
    ),
    Tried("client", "Connect, gRPC-Web and gRPC clients", "grpc-web", "a turn with a permission", SERVICE),
    Tried(
        "agent", "agents of the SDKs", "agent-client-protocol", "edits, commands, cancel and resume", FOREIGN
    ),
)
FINDINGS = """\
Each broken rule was read against the text of the protocol:

- codex-acp of Zed answers an unknown notification with an error that has no id (ACP-JSONRPC-003): a notification gets
  no response.
- pi-acp offers a method of type `terminal` to a client that did not announce `auth.terminal` (ACP-AUTH-002). Its
  ACP-SESSION-001 is no finding: the program `pi` that it starts was not installed.
- auggie refuses a session for want of a sign-in and lists no method for it (ACP-AUTH-005, advice).
- claude-code-acp of Zed has `models` at the root of the result of `session/new`, where the protocol has no such field
  any more (ACP-SCHEMA-002, advice).
- kilo did not start, as it was installed without its install scripts.

Answers that did not come in time decide nothing: the machine was busy (load 25 to 30), and opencode waited for a model
that could not be reached. What the kit found in clients is in [conformance](conformance.md).
"""


BY_HAND = """\
## Rust

Two clients in `tests/peers/rust` are built with cargo (about a minute and a half of processor time for the first) and
were run by hand on 2026-11-18 against `portico serve`:

- `ahp`, with the crates ahp and ahp-ws 1.0.0: a session, a turn with tool calls, a command and a permission that was
  allowed or denied, at `/ahp`. Every action was applied by the client's reducers, what they made of them was what a
  snapshot had at the end, and `reconnect` replayed all actions. Its frames are the recorded ones above.
- `http`, with the crate agent-client-protocol-http 5.0.0: a session and a turn with a permission at `/acp`, over
  WebSocket and over HTTP.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, required=True, help="folder with the installed programs")
    parser.add_argument(
        "--reports", type=Path, help="folder to keep reports in, and to take earlier ones from"
    )
    parser.add_argument("--without-tests", action="store_true", help="only the agents")
    flags = parser.parse_args()
    reports = flags.reports or Path(tempfile.mkdtemp())
    reports.mkdir(parents=True, exist_ok=True)
    agents = [row for agent in AGENTS if (row := agent_row(agent, flags.peers, reports)) is not None]
    tests = (
        [] if flags.without_tests else [row for one in TRIED if (row := tried_row(one, reports)) is not None]
    )
    OUTPUT.write_text("\n".join(page(agents, tests)) + "\n")


def agent_row(agent: Agent, peers: Path, reports: Path) -> str | None:
    """Row of an agent: findings of the kit, and the answer that a person gets through Portico."""
    found = find_program(agent, peers)
    if found is None:
        return None
    kept = reports / f"{agent.name.replace(' ', '-')}.json"
    if not kept.exists():
        kept.write_text(json.dumps(try_agent(command_of(agent, found))))
    report = json.loads(kept.read_text())
    counts = report["kit"]["counts"]
    failed = [one for one in report["kit"]["cases"] if one["status"] == "failed"]
    # A machine that is busy makes an agent late, which says nothing about the agent.
    late = [one["id"] for one in failed if one["reason"].endswith("in time.")]
    broken = [one for one in failed if one["id"] not in late]
    shown = ", ".join(f"{one['id']} ({one['level']})" for one in broken) or "none"
    shown += f"; no answer in time: {', '.join(late)}" if late else ""
    if not counts["passed"]:
        shown = "did not start"
    cells = (
        f"{agent.name} {version_of(agent.package, found)}",
        str(counts["passed"]),
        str(counts["blocked"] + counts["not exercised"] + counts["not announced"]),
        shown,
        report["exec"],
    )
    return f"| {' | '.join(cells)} |"


def find_program(agent: Agent, peers: Path) -> Path | None:
    if (ROOT / agent.program).exists():
        return ROOT / agent.program
    installed = peers / agent.package.replace("/", "_").replace("@", "_") / agent.program
    return next((path for path in (installed, peers / agent.program) if path.exists()), None)


def command_of(agent: Agent, program: Path) -> tuple[str, ...]:
    interpreter = INTERPRETERS.get(program.suffix)
    return (*([interpreter] if interpreter else []), str(program), *agent.args)


def try_agent(command: tuple[str, ...]) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        home.mkdir()
        workspace.mkdir()
        # Without the keys and settings of the one who runs this.
        environ = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environ |= {"HOME": str(home), "PORTICO_HOME": str(home / "portico")}
        kit = run(
            environ,
            workspace,
            KIT_SECONDS,
            "conformance",
            "agent",
            "--api",
            "--start-timeout",
            "120",
            "--",
            *command,
        )
        words = " ".join(command)
        seen = run(environ, workspace, EXEC_SECONDS, "exec", "--api", "--agent-command", words, "Say hello.")
        return {"kit": kit, "exec": in_words(seen)}


def run(environ: dict[str, str], folder: Path, seconds: float, *words: str) -> dict[str, object]:
    done = subprocess.run(
        [str(PORTICO), *words],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def in_words(seen: dict[str, object]) -> str:
    error = seen.get("error")
    if not error:
        return "an answer"
    text = (
        error
        if isinstance(error, str)
        else str(error.get("message", error))
        if isinstance(error, dict)
        else ""
    )
    return f"“{' '.join(text.split())[:160].replace('|', '/')}”"


def tried_row(one: Tried, reports: Path) -> str | None:
    path = one.test.partition("::")[0]
    if not (ROOT / path).exists():
        return None
    kept = reports / f"test-{one.name.replace(' ', '-').replace(',', '')}.txt"
    if not kept.exists():
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", one.test]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        kept.write_text(
            done.stdout.strip().splitlines()[-1] if done.stdout.strip() else f"exit code {done.returncode}"
        )
    return f"| {one.kind} | {f'{one.name} {version_of(one.package)}'.strip()} | {one.shows} | `{one.test}`: {kept.read_text()} |"


def version_of(package: str, program: Path | None = None) -> str:
    """The version that is installed, from npm's description or from pip's."""
    places = [PEERS / package / "package.json"]
    if program is not None:
        places = [parent / "node_modules" / package / "package.json" for parent in program.parents] + places
    for place in places:
        if place.is_file():
            return str(json.loads(place.read_text())["version"])
    if program is not None:
        folders = (program.parent.parent / "lib").glob(
            f"*/site-packages/{package.replace('-', '_')}-*.dist-info"
        )
        for folder in folders:
            return folder.name.split("-")[1]
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def page(agents: list[str], tests: list[str]) -> Iterator[str]:
    day = datetime.now(UTC).date().isoformat()
    yield "# Interoperability"
    yield ""
    yield (
        f"Foreign programs with Portico, from real runs on {day} (Python {platform.python_version()}, {platform.system()}), "
        "made by `python -m scripts.write_interop`. No agent had a key, and no model could be reached: cases that need a turn "
        "are blocked where an agent wants a sign-in first, and packages were installed without their install scripts."
    )
    yield ""
    yield "## Agents"
    yield ""
    yield "| agent | cases kept | blocked, not announced or not exercised | broken | `portico exec` shows |"
    yield "|---|---|---|---|---|"
    yield from agents
    yield ""
    yield FINDINGS.rstrip()
    if tests:
        yield ""
        yield "## Clients and others"
        yield ""
        yield "| | program | what it does with Portico | run |"
        yield "|---|---|---|---|"
        yield from tests
    yield ""
    yield BY_HAND.rstrip()


if __name__ == "__main__":
    main()
