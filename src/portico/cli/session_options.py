"""Flags that `exec` and `chat` share, and the session that they open: its agent, mode and rules."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

import msgspec

from portico.agents.registry import AgentRegistry
from portico.app.host import Host, python_program
from portico.chains.options import ChainOptions
from portico.cli.agent_installation import offer_installation
from portico.cli.arguments import (
    CommandParser,
    add_chain_flags,
    component_switches,
    require_folder,
    require_utf8,
)
from portico.cli.sandbox_flag import add_sandbox_flag, environ_with_sandbox
from portico.client.client_session import ClientSession
from portico.client.local_session import LocalSession
from portico.conductor.permissions.policy import parse_rule
from portico.config.model_settings import Allowance, parse_allowance
from portico.config.paths import config_folder
from portico.config.settings import AGENT_VARIABLE, Settings, load_settings
from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.sessions.leases import session_holder
from portico.sessions.lookup import find_session, latest_session
from portico.sessions.ports import AgentSpec
from portico.sessions.requests.approver import is_interactive

if TYPE_CHECKING:
    from portico.client.remote_session import RemoteSession

_Opened = TypeVar("_Opened")

_BUDGET_VARIABLE = "PORTICO_BUDGET_TURN"
_TRY_AGAIN_SECONDS = 0.25


class SelectedSession(msgspec.Struct, frozen=True, kw_only=True):
    """An open session: what to watch from, and what holds in its workspace."""

    session_id: SessionId
    conversation: ClientSession
    after_seq: int
    new: bool
    workspace: Path
    agent: str


def add_session_flags(parser: CommandParser) -> None:
    parser.add_argument("--cwd", metavar="DIR", default=".", help="folder to work in (default: this one)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session", metavar="ID", help="session to continue (ID or unique prefix)")
    which.add_argument(
        "--continue", dest="go_on", action="store_true", help="continue the latest session of this folder"
    )
    which.add_argument(
        "--agent-session",
        metavar="ID",
        help="session of the agent itself to continue (see portico agents sessions)",
    )
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument(
        "--agent", metavar="NAME", help="agent to use (default: the setting agent, else porter)"
    )
    agent.add_argument("--agent-command", metavar="CMD", help='any ACP agent, such as "my-agent --acp"')
    parser.add_argument("--model", metavar="NAME", help="model to use, if the agent offers a choice")
    parser.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="option of the agent, such as mode=plan or web=on; may be repeated",
    )
    parser.add_argument(
        "--allow",
        metavar="RULE",
        action="append",
        default=[],
        help="permission rule to allow, such as edit or execute:pytest*; may be repeated",
    )
    parser.add_argument(
        "--deny",
        metavar="RULE",
        action="append",
        default=[],
        help="permission rule to deny, such as 'execute:rm *' (also /bin/rm, sh -c, sudo); wins over --allow. "
        "Rules cannot see what scripts and programs do: use --sandbox for that",
    )
    parser.add_argument(
        "--mode",
        choices=get_args(ReviewMode),
        help="how changes reach your files: directly, as a proposal to review, on a branch or in a worktree "
        "(default: that of the session, else the setting review.mode)",
    )
    parser.add_argument(
        "--read-only",
        action="store_true",
        help="new session that writes and runs nothing, and can run beside others",
    )
    add_sandbox_flag(parser)
    parser.add_argument(
        "--max-cost",
        "--budget-usd",
        dest="budget_usd",
        metavar="USD",
        type=_dollars,
        help="cost limit of a Porter turn, for this run (default: the setting maxCostUsd)",
    )
    parser.add_argument(
        "--budget-tokens",
        metavar="COUNT",
        type=_tokens,
        help="token limit of a Porter turn, such as 200k",
    )
    add_chain_flags(parser)
    parser.add_argument("--wait", action="store_true", help="wait until the session and its folder are free")


def environ_with_limits(flags: argparse.Namespace, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of this run, with budget and sandbox from the flags."""
    environ = environ_with_sandbox(flags, environ)
    wanted = Allowance(tokens=flags.budget_tokens, dollars=flags.budget_usd)
    if wanted == Allowance():
        return dict(environ)
    before = environ.get(_BUDGET_VARIABLE, "").strip()
    return {**environ, _BUDGET_VARIABLE: str(wanted.over(parse_allowance(before) if before else Allowance()))}


def chain_options_of(flags: argparse.Namespace) -> ChainOptions:
    """Permission rules, proxies and components from the flags. InvalidInput for an invalid rule."""
    for rule in (*flags.allow, *flags.deny):
        parse_rule(rule)
    return ChainOptions(
        allow=tuple(flags.allow),
        deny=tuple(flags.deny),
        proxies=tuple(flags.proxy),
        components=component_switches(flags),
    )


def agent_options_of(flags: argparse.Namespace) -> dict[str, str | bool]:
    """The agent's options set by flags. InvalidInput for one that is not NAME=VALUE."""
    options: dict[str, str | bool] = {} if flags.model is None else {"model": flags.model}
    for word in flags.option:
        name, equals, value = require_utf8(word, "An option").partition("=")
        if not name or not equals:
            raise InvalidInput(
                f"--option {word} is not NAME=VALUE.", suggestion="Example: --option mode=plan"
            )
        options[name] = value
    return options


def check_rules(settings: Settings) -> None:
    """InvalidInput for an invalid permission rule in the settings."""
    for rule in (*settings.permissions.allow, *settings.permissions.deny):
        try:
            parse_rule(rule)
        except InvalidInput as error:
            raise InvalidInput(f"In the settings: {error.message}", suggestion=error.suggestion) from error


async def choose_session(
    host: Host,
    flags: argparse.Namespace,
    environ: Mapping[str, str],
    *,
    only_own_turns: bool,
    for_person: bool,
    like: SessionSummary | None = None,
) -> SelectedSession:
    """Open the session that the flags name, or a new one. One that the user's server has is joined there.

    With `only_own_turns`, what others do in a session that is joined is not shown. With `for_person`, a person at the
    terminal may be asked whether to install a missing agent. A new session has the agent and the mode of `like`.
    """
    service = host.service
    workspace = require_folder(flags.cwd)
    earlier = await _earlier(host, flags, workspace)
    if earlier is not None:
        workspace = Path(earlier.workspace)
    settings = load_settings(config_folder(environ), workspace)
    check_rules(settings)
    registry = AgentRegistry(python=python_program(), environ=environ, custom=settings.agents)
    spec = choose_agent(flags, settings, earlier or like, registry, environ)
    mode = choose_mode(flags, settings, earlier or like)
    if for_person and is_interactive() and not await _is_elsewhere(host, earlier):
        spec = await offer_installation(registry, spec, environ)
    current_mode = mode
    if earlier is not None:
        reopen = partial(_reopen, host, spec, earlier, environ, only_own_turns=only_own_turns)
        opened = await _once_free(reopen, wait=flags.wait)
        if not isinstance(opened, int):
            _check_joining(flags, spec, earlier)
            return await _join(opened, earlier, mode)
        session_id, after_seq, current_mode = earlier.session_id, opened - 1, earlier.mode
    elif flags.agent_session is not None:
        wanted = require_utf8(flags.agent_session, "The name of the agent's session")
        await host.ports.reviews.check(workspace, mode)
        session_id, begun = await service.adopt(workspace, spec, wanted, reads_only=flags.read_only)
        after_seq, current_mode = begun - 1, "direct"
    else:
        session_id = await service.start(workspace, spec, mode=mode, reads_only=flags.read_only)
        after_seq = 0
    if mode != current_mode:
        await service.session(session_id).set_mode(mode)
    return SelectedSession(
        session_id=session_id,
        conversation=LocalSession(service, service.session(session_id)),
        after_seq=after_seq,
        new=earlier is None and flags.agent_session is None,
        workspace=workspace,
        agent=spec.name,
    )


async def _reopen(
    host: Host, spec: AgentSpec, earlier: SessionSummary, environ: Mapping[str, str], *, only_own_turns: bool
) -> "int | RemoteSession":
    """Open an earlier session here and return the seq of that, or join it on the server that has it open."""
    try:
        return await host.service.reopen(earlier.session_id, spec)
    except SessionBusy:
        # Only now: it takes a while to load, and most sessions are open nowhere.
        from portico.client.remote_session import join_session

        return await join_session(host.service, host.ports, earlier, environ, only_own_turns=only_own_turns)


async def _join(conversation: "RemoteSession", earlier: SessionSummary, mode: ReviewMode) -> SelectedSession:
    if mode != earlier.mode:
        await conversation.served.set_mode(mode)
    return SelectedSession(
        session_id=earlier.session_id,
        conversation=conversation,
        after_seq=await conversation.joining_seq(),
        new=False,
        workspace=Path(earlier.workspace),
        agent=earlier.agent,
    )


async def _once_free(open_it: Callable[[], Awaitable[_Opened]], *, wait: bool) -> _Opened:
    """Open a session; with `wait`, try again until no other process has it open."""
    while True:
        try:
            return await open_it()
        except SessionBusy:
            if not wait:
                raise
        await asyncio.sleep(_TRY_AGAIN_SECONDS)


async def _earlier(host: Host, flags: argparse.Namespace, workspace: Path) -> SessionSummary | None:
    if flags.session is not None:
        return await find_session(host.store, flags.session)
    return await latest_session(host.store, workspace) if flags.go_on else None


async def _is_elsewhere(host: Host, earlier: SessionSummary | None) -> bool:
    """Whether another process has the session open, and its agent."""
    return earlier is not None and await session_holder(host.store, earlier.session_id) is not None


def choose_mode(flags: argparse.Namespace, settings: Settings, earlier: SessionSummary | None) -> ReviewMode:
    """The review mode: from the flag, the session or the settings, in this order."""
    if flags.mode is not None and (flags.read_only or (earlier is not None and earlier.reads_only)):
        raise InvalidInput(
            "A read-only session changes nothing, so --mode cannot be used with it.",
            suggestion="Leave one of them out, or start another session.",
        )
    chosen: ReviewMode | None = flags.mode
    if earlier is not None:
        return chosen or earlier.mode
    return chosen or ("direct" if flags.read_only else settings.mode)


def _check_joining(flags: argparse.Namespace, spec: AgentSpec, earlier: SessionSummary) -> None:
    """InvalidInput for flags that only the process that opens a session can use."""
    chosen = {
        "--allow": flags.allow or None,
        "--deny": flags.deny or None,
        "--proxy": flags.proxy or None,
        "--trace": flags.trace or None,
        "--sandbox": flags.sandbox,
        "--max-cost": flags.budget_usd,
        "--budget-tokens": flags.budget_tokens,
    }
    refused = [name for name, value in chosen.items() if value is not None]
    if spec.command != earlier.agent_command and (flags.agent or flags.agent_command):
        refused.append("--agent" if flags.agent else "--agent-command")
    if refused:
        raise InvalidInput(
            f"Session {earlier.session_id} is open in your server with rules and an agent of its own, so "
            f"{' and '.join(refused)} cannot be used.",
            suggestion=f"Leave {'it' if len(refused) == 1 else 'them'} out, or stop the server first: portico stop",
        )


def _dollars(text: str) -> float:
    dollars = None if "," in text else parse_allowance(f"${text.removeprefix('$')}").dollars
    if dollars is None:
        raise InvalidInput(f"{text!r} is not an amount in dollars.", suggestion="Example: 0.50")
    return dollars


def _tokens(text: str) -> int:
    tokens = None if "," in text else parse_allowance(text).tokens
    if tokens is None:
        raise InvalidInput(f"{text!r} is not a number of tokens.", suggestion="Example: 200000 or 200k")
    return tokens


def choose_agent(
    flags: argparse.Namespace,
    settings: Settings,
    earlier: SessionSummary | None,
    registry: AgentRegistry,
    environ: Mapping[str, str],
) -> AgentSpec:
    """The agent: from the flags, the session, the environment or the settings, in this order."""
    if earlier is not None and not flags.agent_command and not flags.agent:
        return registry.resume(earlier.agent, earlier.agent_command)
    default = environ.get(AGENT_VARIABLE) or settings.agent
    return registry.choose(name=flags.agent, command=flags.agent_command, default=default)
