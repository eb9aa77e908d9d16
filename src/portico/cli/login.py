"""Login to and logout from an agent, for `portico agents login` and for a chat that needs it."""

import asyncio
import shlex
import signal
import subprocess
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

import msgspec

from portico.agents.process import LocalAgentLauncher
from portico.app.host import Host, open_host
from portico.domain.errors import AuthRequired, ErrorDetails
from portico.domain.events import QuestionAsked
from portico.domain.values import OptionChoice, QuestionField
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.session import reply_at_terminal
from portico.processes.signals import on_signals
from portico.processes.tasks import cancel_and_wait
from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
from portico.sessions.agent.login import AgentLogin, SignInMethod
from portico.sessions.ports import AgentSpec
from portico.sessions.requests.approver import is_interactive
from portico.sessions.requests.client_methods import login_capabilities
from portico.sessions.requests.questions import DECLINED_UNATTENDED, QuestionAnswer

_CLOSING_GRACE = 1.0
_ASKING = ("elicitation/create",)


def log_in(spec: AgentSpec, method_id: str | None, environ: Mapping[str, str], *, api: bool) -> SignInMethod:
    """Sign in to an agent by one of its methods; which one it was."""
    method = asyncio.run(_authenticate(spec, method_id, environ))
    if method.command:
        if api or not is_interactive():
            raise _to_be_run(spec.name, method)
        # The program needs the terminal for itself, so it runs when nothing else does.
        ended = subprocess.run(method.command, env={**environ, **method.env}, check=False).returncode
        if ended != 0:
            raise AuthRequired(
                f"Signing in to {spec.name} did not succeed: the program ended with exit code {ended}.",
                details=ErrorDetails(agent=spec.name, auth_methods=(method.name,)),
            )
    return method


def log_out(spec: AgentSpec, environ: Mapping[str, str]) -> None:
    asyncio.run(_log_out(spec, environ))


async def offer_sign_in(signing: AgentLogin, term: str) -> bool:
    """Offer the person in a chat to sign in to the agent now; whether they have."""
    if not signing.methods:
        return False
    ways = tuple(
        OptionChoice(value=method.method_id, name=method.name, description=method.description)
        for method in signing.methods
    )
    by = QuestionField(
        name="method", type="choice", title="Sign in by", required=True, choices=ways, default=ways[0].value
    )
    message = f"Sign in to {signing.agent} now, and send the prompt again? Esc cancels."
    reply = await _ask(QuestionAsked(request_id="sign-in", message=message, mode="form", fields=(by,)), term)
    if reply.action != "accept":
        return False
    method = signing.method(str(reply.content["method"]))
    if method.command:
        print(f"  {_to_be_run(signing.agent, method).suggestion}", file=sys.stderr)
        return False
    return await _unless_interrupted(signing.authenticate(method, lambda question: _ask(question, term)))


async def _authenticate(spec: AgentSpec, method_id: str | None, environ: Mapping[str, str]) -> SignInMethod:
    async with open_host(environ) as host:
        link = await _open(host, spec, environ)
        try:
            signing = AgentLogin(link)
            method = signing.method(method_id)
            if not method.command:
                term = environ.get("TERM", "")
                await signing.authenticate(method, lambda question: _ask(question, term))
            return method
        finally:
            await link.close(grace=_CLOSING_GRACE)


async def _log_out(spec: AgentSpec, environ: Mapping[str, str]) -> None:
    async with open_host(environ) as host:
        link = await _open(host, spec, environ)
        try:
            await AgentLogin(link).logout()
        finally:
            await link.close(grace=_CLOSING_GRACE)


async def _open(host: Host, spec: AgentSpec, environ: Mapping[str, str]) -> AgentConnection:
    """The agent alone, without proxies: they have no part in who signs in."""
    ports = msgspec.structs.replace(host.ports, agents=LocalAgentLauncher(environ))
    return await AgentConnection.open(ports, spec, AgentWorkspace(Path.cwd()), _ASKING, login_capabilities())


async def _ask(question: QuestionAsked, term: str) -> QuestionAnswer:
    if not is_interactive():
        return DECLINED_UNATTENDED
    for words in filter(None, (question.message, question.title, question.description, question.url)):
        print(f"  {clean_line(words)}", file=sys.stderr)
    return await reply_at_terminal(question, term)


async def _unless_interrupted(work: Coroutine[Any, Any, None]) -> bool:
    """Run something that Ctrl-C cancels; whether it was completed."""
    doing = asyncio.create_task(work, name="signing in")
    try:
        async with on_signals(doing.cancel, (signal.SIGINT,)):
            await asyncio.wait((doing,))
        if doing.cancelled():
            return False
        await doing
        return True
    finally:
        await cancel_and_wait(doing)


def _to_be_run(agent: str, method: SignInMethod) -> AuthRequired:
    setting = [f"{name}={shlex.quote(value)}" for name, value in method.env.items()]
    command = " ".join([*setting, shlex.join(method.command)])
    return AuthRequired(
        f"Signing in to {agent} by {method.name} needs a terminal.",
        suggestion=f"Run this in a terminal, then try again: {command}",
        details=ErrorDetails(agent=agent, auth_methods=(method.name,)),
    )
