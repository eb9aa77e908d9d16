"""`portico agents`: which agents there are, and whether one works here."""

import argparse
import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from portico.acp import _schema as acp
from portico.agents.registry import AgentRegistry
from portico.cli.arguments import Arguments
from portico.cli.host import open_host, python_program
from portico.config.paths import config_folder
from portico.config.settings import Settings, load_settings
from portico.domain.errors import InvalidInput, PorticoError
from portico.rpc.messages import ConnectionLost, RpcError
from portico.sessions.link import AgentLink
from portico.sessions.ports import AgentSpec

_DESCRIPTION = """Which agents there are, and whether one works here.

  portico agents list
  portico agents check claude     starts it, shows what it can do, says what is missing
"""
_CLOSING_GRACE = 1.0


class ListedAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    command: tuple[str, ...]
    installed: bool
    default: bool = False
    hint: str | None = None


class Checkup(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an agent said of itself, and whether it opens a session."""

    name: str
    command: tuple[str, ...]
    version: str = ""
    capabilities: tuple[str, ...] = ()
    sign_in_with: tuple[str, ...] = ()
    ready: bool
    problem: str | None = None
    suggestion: str | None = None


def run(arguments: Sequence[str]) -> int:
    parser = Arguments("agents", _DESCRIPTION)
    parser.add_argument("action", choices=["list", "check"])
    parser.add_argument("name", nargs="?", help="the agent to check")
    flags = parser.parse_args(arguments)
    environ = dict(os.environ)
    settings = load_settings(config_folder(environ), Path.cwd())
    registry = AgentRegistry(python=python_program(), environ=environ, custom=settings.agents)
    if flags.action == "list":
        return _list(registry, settings, flags)
    if not flags.name:
        raise InvalidInput(
            "portico agents check needs a name.", suggestion="See them with: portico agents list"
        )
    checkup = asyncio.run(_check(registry.resolve(flags.name), environ))
    if flags.api:
        print(msgspec.json.encode({"status": "ok" if checkup.ready else "failed", "agent": checkup}).decode())
    else:
        print("\n".join(_in_words(checkup)))
    return 0 if checkup.ready else 2


def _list(registry: AgentRegistry, settings: Settings, flags: argparse.Namespace) -> int:
    found = [listed_agent(registry, name, settings.agent) for name in registry.names()]
    if flags.api:
        print(msgspec.json.encode({"status": "ok", "agents": found}).decode())
        return 0
    width = max(len(agent.name) for agent in found)
    for agent in found:
        sign = "✓" if agent.installed else "·"
        what = " ".join(agent.command) if agent.installed else agent.hint or "not installed"
        star = "  (default)" if agent.default else ""
        print(f"{sign} {agent.name:<{width}}  {what}{star}")
    return 0


def listed_agent(registry: AgentRegistry, name: str, default: str) -> ListedAgent:
    spec, program = registry.resolve(name), registry.find(name)
    # npx would fetch it: that is not yet an agent on this machine.
    fetched = program is not None and Path(program).stem == "npx"
    hint = "not installed; npx fetches it when first used" if fetched else spec.install_hint
    return ListedAgent(
        name=name,
        command=spec.command,
        installed=program is not None and not fetched,
        default=name == default,
        hint=hint,
    )


async def _check(spec: AgentSpec, environ: Mapping[str, str]) -> Checkup:
    async with open_host(environ) as host:
        try:
            link = await AgentLink.open(host.ports, spec, Path.cwd(), (), acp.ClientCapabilities())
        except PorticoError as error:
            return Checkup(
                name=spec.name,
                command=spec.command,
                ready=False,
                problem=error.message,
                suggestion=error.suggestion,
            )
        try:
            return await _ask_about(link)
        finally:
            await link.close(grace=_CLOSING_GRACE)


async def _ask_about(link: AgentLink) -> Checkup:
    info = link.info
    checkup = Checkup(
        name=link.spec.name,
        command=link.spec.command,
        version=f"{info.agent_info.name} {info.agent_info.version}" if info.agent_info else "",
        capabilities=tuple(_capabilities(info.agent_capabilities)),
        sign_in_with=tuple(method.name for method in info.auth_methods or ()),
        ready=True,
    )
    try:
        await link.end.new_session(acp.NewSessionRequest(cwd=str(Path.cwd()), mcp_servers=[]))
    except (RpcError, ConnectionLost) as error:
        failure = await link.explain(error)
        return msgspec.structs.replace(
            checkup, ready=False, problem=failure.message, suggestion=failure.suggestion
        )
    return checkup


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


def _in_words(checkup: Checkup) -> Iterator[str]:
    yield f"{'✓' if checkup.ready else '✗'} {checkup.name}  {checkup.version}".rstrip()
    yield f"  started by    {' '.join(checkup.command)}"
    if checkup.capabilities:
        yield f"  can           {', '.join(checkup.capabilities)}"
    if checkup.sign_in_with:
        yield f"  sign in with  {', '.join(checkup.sign_in_with)}"
    if checkup.problem:
        yield f"  problem       {checkup.problem}"
        if checkup.suggestion:
            yield f"                {checkup.suggestion}"
