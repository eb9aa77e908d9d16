"""`portico agents`: list, install, check, log in to and log out of agents."""

import argparse
import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from portico.acp import _schema as acp
from portico.agents.process import LocalAgentLauncher
from portico.agents.registry import AgentRegistry
from portico.app.error_report import make_failure_report
from portico.app.host import open_host, python_program
from portico.cli.agent_installation import install_agent
from portico.cli.agent_sessions import print_agent_sessions
from portico.cli.arguments import CommandParser, positive, refuse
from portico.cli.login import log_in, log_out
from portico.config.paths import config_folder
from portico.config.settings import AGENT_VARIABLE, load_settings
from portico.domain.errors import InvalidInput, PorticoError
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.processes.tasks import run_with_timeout
from portico.rpc.messages import ConnectionLost, RpcError
from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
from portico.sessions.ports import AgentSpec, Ports

_DESCRIPTION = """Which agents there are, and whether one works here.

  portico agents list
  portico agents install claude   fetches it from npm, after naming package and version and asking
  portico agents check claude     starts it, shows what it can do, says what is missing
  portico agents sessions claude  the conversations that it keeps by itself
  portico agents login claude     signs in to it, by --method if it has several
  portico agents logout claude
"""
_CLOSING_GRACE = 1.0
# Without it, agents do not name the ways to sign in that need a terminal.
_SIGNS_IN = acp.ClientCapabilities(auth=acp.AuthCapabilities(terminal=True))
_LAST_LINES = 12


class AgentCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an agent said of itself, and whether it opens a session."""

    name: str
    command: tuple[str, ...]
    version: str = ""
    capabilities: tuple[str, ...] = ()
    sign_in_with: tuple[str, ...] = ()
    ready: bool


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("agents", _DESCRIPTION)
    parser.add_argument("action", choices=["list", "install", "check", "sessions", "login", "logout"])
    parser.add_argument(
        "name", nargs="?", help="the agent to install, check, look into, sign in to or out of"
    )
    parser.add_argument("--yes", action="store_true", help="install without asking")
    parser.add_argument("--cwd", metavar="DIR", help="only the agent's sessions of this folder")
    parser.add_argument("--limit", type=positive, default=200, help="at most so many sessions (default: 200)")
    parser.add_argument("--method", metavar="ID", help="how to sign in, where the agent has several ways")
    parser.add_argument("--agent-command", metavar="CMD", help='any ACP agent, as in "my-agent --acp"')
    flags = parser.parse_intermixed_args(arguments)
    environ = dict(os.environ)
    settings = load_settings(config_folder(environ), Path.cwd())
    registry = AgentRegistry(python=python_program(), environ=environ, custom=settings.agents)
    if flags.action == "list":
        refuse("portico agents list", flags.name)
        return _list(registry, environ.get(AGENT_VARIABLE) or settings.agent, flags)
    if not flags.name and not flags.agent_command:
        raise InvalidInput(
            f"portico agents {flags.action} needs a name.", suggestion="See them with: portico agents list"
        )
    if flags.action == "install":
        return install_agent(registry, flags.name or flags.agent_command, environ, flags)
    spec = registry.choose(name=flags.name, command=flags.agent_command, default=settings.agent)
    if flags.action in ("login", "logout"):
        return _sign(spec, environ, flags)
    if flags.action == "sessions":
        return print_agent_sessions(spec, flags.cwd, limit=flags.limit, api=flags.api)
    checkup, problem = asyncio.run(_check(spec, environ))
    if flags.api:
        print(msgspec.json.encode({**_status(problem), "agent": checkup}).decode())
    else:
        print("\n".join(map(clean, _in_words(checkup, problem))))
    return 0 if problem is None else int(problem.exit_code)


def _sign(spec: AgentSpec, environ: Mapping[str, str], flags: argparse.Namespace) -> int:
    told = {"status": "ok", "agent": spec.name}
    if flags.action == "login":
        method = log_in(spec, flags.method, environ, api=flags.api)
        told["method"] = method.method_id
        words = f"Signed in to {spec.name} by {clean_line(method.name)}."
    else:
        log_out(spec, environ)
        words = f"Signed out of {spec.name}."
    print(msgspec.json.encode(told).decode() if flags.api else words)
    return 0


def _list(registry: AgentRegistry, default: str, flags: argparse.Namespace) -> int:
    found = [registry.describe(name, default) for name in registry.names()]
    if flags.api:
        print(msgspec.json.encode({"status": "ok", "agents": found}).decode())
        return 0
    width = max(len(clean_line(agent.name)) for agent in found)
    for agent in found:
        sign = "✗" if agent.problem else "✓" if agent.installed else "·"
        what = " ".join(agent.command) if agent.installed else agent.hint or "not installed"
        star = "  (default)" if agent.default else ""
        print(f"{sign} {clean_line(agent.name):<{width}}  {clean_line(agent.problem or what)}{star}")
        if agent.problem and agent.hint:
            print(f"  {'':<{width}}  {clean_line(agent.hint)}")
    return 0


async def _check(spec: AgentSpec, environ: Mapping[str, str]) -> tuple[AgentCheck, PorticoError | None]:
    checkup = AgentCheck(name=spec.name, command=spec.command, ready=False)
    async with open_host(environ) as host:
        # The agent alone: with proxies in front of it, it would seem to have what they bring.
        ports = msgspec.structs.replace(host.ports, agents=LocalAgentLauncher(environ))
        try:
            link = await AgentConnection.open(ports, spec, AgentWorkspace(Path.cwd()), (), _SIGNS_IN)
        except PorticoError as error:
            return checkup, error
        try:
            return await _ask_about(link, checkup, ports)
        finally:
            await link.close(grace=_CLOSING_GRACE)


async def _ask_about(
    link: AgentConnection, checkup: AgentCheck, ports: Ports
) -> tuple[AgentCheck, PorticoError | None]:
    info = link.info
    known = msgspec.structs.replace(
        checkup,
        version=f"{info.agent_info.name} {info.agent_info.version}" if info.agent_info else "",
        capabilities=tuple(_capabilities(info.agent_capabilities)),
        sign_in_with=tuple(method.name for method in info.auth_methods or ()),
    )
    request = acp.NewSessionRequest(cwd=str(Path.cwd()), mcp_servers=[])
    try:
        await run_with_timeout(ports.clock, ports.limits.start, link.end.new_session(request))
    except TimeoutError:
        return known, link.timed_out(f"did not open a session within {ports.limits.start:g} s")
    except (RpcError, ConnectionLost) as error:
        return known, await link.explain(error)
    return msgspec.structs.replace(known, ready=True), None


def _status(problem: PorticoError | None) -> dict[str, Any]:
    if problem is None:
        return {"status": "ok"}
    return msgspec.structs.asdict(make_failure_report(problem, os.urandom(8).hex()))


def _capabilities(offered: acp.AgentCapabilities) -> Iterator[str]:
    if offered.load_session:
        yield "load"
    for name in offered.session_capabilities.__struct_fields__:
        if name != "meta" and getattr(offered.session_capabilities, name) is not None:
            yield name.replace("_", " ")
    for name in ("image", "audio", "embedded_context"):
        if getattr(offered.prompt_capabilities, name):
            yield f"{name.replace('_', ' ')} in prompts"
    for name in ("http", "sse", "acp"):
        if getattr(offered.mcp_capabilities, name, False):
            yield f"MCP over {name}"


def _in_words(checkup: AgentCheck, problem: PorticoError | None) -> Iterator[str]:
    yield f"{'✓' if checkup.ready else '✗'} {checkup.name}  {checkup.version}".rstrip()
    yield f"  started by    {' '.join(checkup.command)}"
    if checkup.capabilities:
        yield f"  can           {', '.join(checkup.capabilities)}"
    if checkup.sign_in_with:
        yield f"  sign in with  {', '.join(checkup.sign_in_with)}"
    if problem is not None:
        yield f"  problem       {problem.message}"
        if problem.suggestion:
            yield f"                {problem.suggestion}"
        for line in (problem.details.stderr or "").splitlines()[-_LAST_LINES:]:
            yield f"                {line}"
