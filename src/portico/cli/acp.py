"""`portico acp`: any agent behind Portico's proxies, as one ACP agent on standard input and output."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from portico.chains.editor_chain import EditorChain, EditorChainOptions
from portico.chains.taps import open_trace, tap_stream
from portico.cli.arguments import (
    CommandParser,
    add_chain_flags,
    add_trace_flag,
    component_switches,
    seconds,
    trace_path,
)
from portico.cli.sandbox_flag import add_sandbox_flag, environ_with_sandbox
from portico.domain.reviews import ReviewMode
from portico.processes.tasks import cancel_and_wait
from portico.rpc.stdio import standard_streams
from portico.sessions.ports import SessionTimeouts

if TYPE_CHECKING:
    from portico.conductor.tracing.writer import ChainTrace
    from portico.domain.events import Notice

_DESCRIPTION = """Any agent behind Portico's proxies, as one ACP agent for any editor.

  portico acp                          Porter
  portico acp --agent claude
  portico acp --agent-command "my-agent --acp" --proxy my-proxy
  portico acp --mode proposal          changes become a proposal to apply
  portico acp --connect ws://127.0.0.1:7777/acp   the chain of a server elsewhere

Your editor starts this; see docs/editors.md for how to set up Zed, Neovim, Emacs, JetBrains and Toad.
Another conductor may start it as one of its proxies; then it runs its proxies, and no agent.
"""


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("acp", _DESCRIPTION)
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument(
        "--agent", metavar="NAME", help="agent to run (default: the setting agent, else porter)"
    )
    agent.add_argument("--agent-command", metavar="CMD", help='any ACP agent, such as "my-agent --acp"')
    agent.add_argument(
        "--connect", metavar="URL", help="chain of a server that runs portico serve, instead of one here"
    )
    add_chain_flags(parser)
    bare = parser.add_mutually_exclusive_group()
    bare.add_argument("--no-proxies", action="store_true", help="no proxies in front of the agent")
    bare.add_argument(
        "--mode",
        choices=get_args(ReviewMode),
        help="how changes reach your files (default: the setting review.mode, else direct)",
    )
    parser.add_argument(
        "--mcp-bridge",
        choices=["stdio", "http"],
        default="stdio",
        help="transport for the tools of proxies, for agents without MCP over ACP (default: stdio)",
    )
    parser.add_argument(
        "--start-limit",
        metavar="SECONDS",
        type=seconds,
        default=SessionTimeouts().start,
        help="time limit for the agent and the proxies to answer initialize (default: %(default)g)",
    )
    add_sandbox_flag(parser)
    add_trace_flag(parser)
    flags = parser.parse(arguments)
    for flag in ("proxy", "component"):
        if flags.no_proxies and getattr(flags, flag):
            parser.error(f"argument --{flag}: not allowed with argument --no-proxies")
    if flags.connect is not None:
        from portico.cli.acp_connect import connect

        return connect(flags.connect, os.environ)
    environ = environ_with_sandbox(flags, os.environ)
    with open_trace(trace_path(flags), environ) as trace:
        watch = None if trace is None else trace.chain()
        return asyncio.run(_serve(flags, environ, watch))


async def _serve(flags: argparse.Namespace, environ: Mapping[str, str], watch: "ChainTrace | None") -> int:
    door = EditorChain(environ, _options(flags), _show, watch)
    client = tap_stream(await standard_streams(), environ, "editor", "agent")
    serving = asyncio.create_task(door.chain(client).run(), name="the chain")
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        return 0
    finally:
        await cancel_and_wait(serving)
        await door.close()
    return 0


def _options(flags: argparse.Namespace) -> EditorChainOptions:
    chain = None
    if not flags.no_proxies:
        # Late, like the functions below, because an editor waits for the answer to `initialize`.
        from portico.chains.options import ChainOptions

        chain = ChainOptions(
            proxies=tuple(flags.proxy), components=component_switches(flags), mcp_bridge=flags.mcp_bridge
        )
    return EditorChainOptions(
        start_limit=flags.start_limit,
        agent=flags.agent,
        agent_command=flags.agent_command,
        mode=flags.mode,
        chain=chain,
    )


def _show(notice: "Notice") -> None:
    from portico.doors.terminal.notice import print_notice

    print_notice(notice)
