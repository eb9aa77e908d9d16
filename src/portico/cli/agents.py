"""`portico agents`: list, install, check, log in to and log out of agents."""

import argparse
import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from portico.acp import _schema as acp
from portico.agents.check_records import CheckRecord, find_record, keep_record, program_stamp
from portico.agents.process import LocalAgentLauncher, agent_environ
from portico.agents.public_registry import ADDRESS, MOST_BYTES, keep_registry, load_registry
from portico.agents.registry import AgentRegistry
from portico.agents.registry_installation import download, remove_agent
from portico.app.failure_report import make_failure_report
from portico.app.host import open_host, python_program
from portico.cli.agent_installation import install_agent
from portico.cli.agent_sessions import print_agent_sessions
from portico.cli.arguments import CommandGroup, positive, print_json
from portico.cli.login import log_in, log_out
from portico.config.paths import config_folder
from portico.config.settings import AGENT_VARIABLE, Settings, load_settings
from portico.conformance.case import CaseResult
from portico.domain.catalog import AgentEntry
from portico.domain.errors import ExitCode, InvalidInput, PorticoError
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.files.regular import read_regular
from portico.processes.tasks import run_with_timeout
from portico.rpc.messages import ConnectionLost, RpcError
from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
from portico.sessions.ports import AgentSpec, Ports

_EXAMPLES = """examples:
  portico agents install claude
  portico agents check claude
  portico agents login --agent-command "my-agent --acp"

"""
_SEE_LIST = "See them with: portico agents list"
_CLOSING_GRACE = 1.0
# Without this capability, agents leave out login methods that need a terminal.
_LOGIN_CAPABILITIES = acp.ClientCapabilities(auth=acp.AuthCapabilities(terminal=True))
_LAST_LINES = 12


class AgentCheck(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An agent's description of itself, and whether it can open a session."""

    name: str
    command: tuple[str, ...]
    version: str = ""
    capabilities: tuple[str, ...] = ()
    sign_in_with: tuple[str, ...] = ()
    ready: bool
    rules_kept: int | None = None
    rules_broken: tuple[str, ...] = ()


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("agents", "The agents that Portico knows.", examples=_EXAMPLES)
    listed = group.add("list", "list the agents, and whether they are installed", _list)
    listed.add_argument("--all", action="store_true", help="also the agents of the public registry")
    install = group.add("install", "install an agent, after confirmation", _install, hint=_SEE_LIST)
    install.add_argument("name", metavar="NAME", help="name of the agent")
    install.add_argument("--yes", action="store_true", help="no confirmation")
    remove = group.add(
        "remove", "remove an agent that was installed by this command", _remove, hint=_SEE_LIST
    )
    remove.add_argument("name", metavar="NAME", help="name of the agent")
    update = group.add("update", "fetch the public registry of agents anew", _update)
    update.add_argument("--from", dest="file", type=Path, metavar="FILE", help="file to take it from")
    check = group.add("check", "start an agent and show what it can do", _check, hint=_SEE_LIST)
    sessions = group.add(
        "sessions", "list the sessions that an agent keeps itself", _print_sessions, hint=_SEE_LIST
    )
    login = group.add("login", "sign in to an agent", _log_in, hint=_SEE_LIST)
    logout = group.add("logout", "sign out of an agent", _log_out, hint=_SEE_LIST)
    check.add_argument(
        "--rules", action="store_true", help="also try the mandatory rules of ACP, which sends a few prompts"
    )
    for parser in (check, sessions, login, logout):
        parser.add_argument("name", metavar="NAME", nargs="?", help="name of the agent")
        parser.add_argument("--agent-command", metavar="CMD", help='any ACP agent, such as "my-agent --acp"')
    sessions.add_argument("--cwd", metavar="DIR", help="folder whose sessions to list (default: all)")
    sessions.add_argument("--limit", type=positive, default=200, help="largest number to list (default: 200)")
    login.add_argument("--method", metavar="ID", help="login method, if the agent has several")
    return group.run(arguments)


def _settings() -> Settings:
    return load_settings(config_folder(os.environ), Path.cwd())


def _registry(settings: Settings) -> AgentRegistry:
    return AgentRegistry(python=python_program(), environ=os.environ, custom=settings.agents)


def _spec(flags: argparse.Namespace) -> AgentSpec:
    if not flags.name and not flags.agent_command:
        raise InvalidInput(
            f"portico agents {flags.action} needs NAME or --agent-command.", suggestion=_SEE_LIST
        )
    settings = _settings()
    return _registry(settings).choose(name=flags.name, command=flags.agent_command, default=settings.agent)


def _list(flags: argparse.Namespace) -> int:
    settings = _settings()
    registry, default = _registry(settings), os.environ.get(AGENT_VARIABLE) or settings.agent
    found = [registry.describe(name, default) for name in registry.names()]
    public = load_registry(os.environ) if flags.all else None
    others = [one for name, one in (public.entries if public else {}).items() if name not in registry.names()]
    if flags.api:
        print_json(agents=found, **({"registry": others, "leftOut": public.left_out} if public else {}))
        return 0
    width = max(len(clean_line(agent.name)) for agent in found)
    for agent in found:
        sign = "✗" if agent.problem else "✓" if agent.installed else "·"
        detail = " ".join(agent.command) if agent.installed else agent.hint or "not installed"
        suffix = ("  (default)" if agent.default else "") + _checked(agent)
        print(f"{sign} {clean_line(agent.name):<{width}}  {clean_line(agent.problem or detail)}{suffix}")
        if agent.problem and agent.hint:
            print(f"  {'':<{width}}  {clean_line(agent.hint)}")
    if public is not None:
        print(f"\nPublic registry ({clean_line(public.source)}):")
        width = max((len(one.id) for one in others), default=0)
        for one in others:
            print(
                f"· {one.id:<{width}}  {one.version}  {clean_line(one.origin)}  ({clean_line(one.license)})"
            )
        for reason in public.left_out:
            print(f"  left out: {clean_line(reason)}")
    return 0


def _checked(agent: AgentEntry) -> str:
    """Result of the last check of an installed agent, for the list."""
    record = find_record(agent.name, os.environ) if agent.installed else None
    if record is None:
        return ""
    if not record.is_current(agent.command):
        return "  [changed since it was checked]"
    if record.broken:
        return f"  [breaks {', '.join(record.broken)}]"
    if not record.ready:
        return "  [could not open a session when it was checked]"
    return "  [checked]" if record.kept is None else f"  [checked, keeps {record.kept} rules]"


def _install(flags: argparse.Namespace) -> int:
    return install_agent(_registry(_settings()), flags.name, os.environ, flags)


def _remove(flags: argparse.Namespace) -> int:
    if flags.name not in _registry(_settings()).names() or not remove_agent(flags.name, os.environ):
        raise InvalidInput(f"{flags.name} was not installed by Portico.", suggestion=_SEE_LIST)
    if flags.api:
        print_json(agent=flags.name)
    else:
        print(f"Removed {clean_line(flags.name)}.")
    return 0


def _update(flags: argparse.Namespace) -> int:
    if flags.file is None:
        data = download(ADDRESS, MOST_BYTES)
    else:
        try:
            data = read_regular(flags.file, limit=MOST_BYTES)
        except OSError as error:
            raise InvalidInput(f"{flags.file} cannot be read: {error.strerror}.") from error
    found = keep_registry(data, os.environ)
    if flags.api:
        print_json(agents=len(found.entries), left_out=found.left_out)
        return 0
    print(f"The registry has {len(found.entries)} agents now.")
    for reason in found.left_out:
        print(f"  left out: {clean_line(reason)}")
    return 0


def _print_sessions(flags: argparse.Namespace) -> int:
    return print_agent_sessions(_spec(flags), flags.cwd, limit=flags.limit, api=flags.api)


def _log_in(flags: argparse.Namespace) -> int:
    spec = _spec(flags)
    method = log_in(spec, flags.method, os.environ, api=flags.api)
    if flags.api:
        print_json(agent=spec.name, method=method.method_id)
    else:
        print(f"Signed in to {spec.name} by {clean_line(method.name)}.")
    return 0


def _log_out(flags: argparse.Namespace) -> int:
    spec = _spec(flags)
    log_out(spec, os.environ)
    if flags.api:
        print_json(agent=spec.name)
    else:
        print(f"Signed out of {spec.name}.")
    return 0


def _check(flags: argparse.Namespace) -> int:
    spec = _spec(flags)
    checkup, problem = asyncio.run(_start(spec, os.environ))
    if not flags.api:
        print("\n".join(map(clean, _lines(checkup, problem))))
    if flags.rules:
        checkup = _try_rules(spec, checkup, shown=not flags.api)
    keep_record(
        CheckRecord(
            name=spec.name,
            command=spec.command,
            version=checkup.version,
            checked_at=time.time_ns() // 1_000_000,
            ready=checkup.ready,
            capabilities=checkup.capabilities,
            kept=checkup.rules_kept,
            broken=checkup.rules_broken,
            stamp=program_stamp(spec.command),
        ),
        os.environ,
    )
    if flags.api:
        print_json(**_status(problem), agent=checkup)
    if problem is not None:
        return int(problem.exit_code)
    return int(ExitCode.FORMAT) if checkup.rules_broken else 0


def _try_rules(spec: AgentSpec, checkup: AgentCheck, *, shown: bool) -> AgentCheck:
    """Try the mandatory rules; with `shown`, a line for each that is broken and a sum."""
    from portico.cli.conformance import try_mandatory_rules

    def report(result: CaseResult) -> None:
        if shown and result.status == "failed":
            print(clean(f"  broken        {result.id}: {result.rule} {result.reason}"), flush=True)

    run = try_mandatory_rules(spec.command, agent_environ(os.environ, spec), report)
    kept, broken = run.count("passed"), tuple(one.id for one in run.results if one.status == "failed")
    if shown:
        left = len(run.results) - kept - len(broken)
        print(f"  rules         {kept} kept, {len(broken)} broken, {left} not tried")
    return msgspec.structs.replace(checkup, rules_kept=kept, rules_broken=broken)


async def _start(spec: AgentSpec, environ: Mapping[str, str]) -> tuple[AgentCheck, PorticoError | None]:
    checkup = AgentCheck(name=spec.name, command=spec.command, ready=False)
    async with open_host(environ) as host:
        # Without proxies, whose capabilities would look like the agent's.
        ports = msgspec.structs.replace(host.ports, agents=LocalAgentLauncher(environ))
        try:
            link = await AgentConnection.open(
                ports, spec, AgentWorkspace(Path.cwd()), (), _LOGIN_CAPABILITIES
            )
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
        return {}
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


def _lines(checkup: AgentCheck, problem: PorticoError | None) -> Iterator[str]:
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
