"""`portico serve`: the server of one user, for the chat page, editors and programs."""

import argparse
import asyncio
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from portico import __version__
from portico.cli.arguments import CommandParser, add_chain_flags, component_switches, require_folder
from portico.cli.node_flags import add_node_flags, environ_with_node, node_options, node_words
from portico.cli.sandbox_flag import add_sandbox_flag, environ_with_sandbox
from portico.config.paths import state_folder
from portico.config.server_files import ServerFiles, ServerRecord
from portico.doors.http.credentials import make_pass
from portico.server.daemon import ensure_daemon, server_command

_DESCRIPTION = """Serve your sessions to the chat page, to editors and to programs, on this machine only.

  portico serve --open               open the chat page; Ctrl-C stops the server
  portico serve --detach             run in the background
  portico status · portico stop
"""
# Time for the browser to start before the command ends.
_BROWSER_SECONDS = 5.0


class ServerReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A running server as `--api` prints it."""

    status: str = "ok"
    url: str
    port: int
    pid: int
    version: str
    token_file: str
    reused: bool


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("serve", _DESCRIPTION)
    parser.add_argument(
        "--port", type=_port, default=0, help="port (default: that of the last server, or a free one)"
    )
    parser.add_argument(
        "--detach", action="store_true", help="run in the background; use a server that is running already"
    )
    parser.add_argument("--cwd", metavar="DIR", default=".", help="folder to work in (default: this one)")
    parser.add_argument("--agent", metavar="NAME", help="default agent of new sessions")
    add_chain_flags(parser)
    add_sandbox_flag(parser)
    add_node_flags(parser)
    parser.add_argument(
        "--public-url",
        type=_public_url,
        metavar="URL",
        help="address of a proxy on this machine that paired devices use; see portico pair",
    )
    parser.add_argument("--open", action="store_true", help="open the chat page in the browser")
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    flags = parser.parse(arguments)
    environ = environ_with_node(flags, environ_with_sandbox(flags, os.environ))
    files = ServerFiles(state_folder(environ))
    workspace = require_folder(flags.cwd)
    if flags.detach:
        return _detach(flags, workspace, files, environ)
    return asyncio.run(_serve(flags, workspace, files, environ))


def _detach(
    flags: argparse.Namespace, workspace: Path, files: ServerFiles, environ: Mapping[str, str]
) -> int:
    words = ["serve", "--detached", "--api", "--port", str(flags.port), "--cwd", str(workspace)]
    if flags.agent is not None:
        words += ["--agent", flags.agent]
    for flag in ("proxy", "component", "no_component"):
        words += [word for name in getattr(flags, flag) for word in (f"--{flag.replace('_', '-')}", name)]
    words += node_words(flags)
    if flags.public_url:
        words += ["--public-url", flags.public_url]
    detached = ensure_daemon(files, server_command(*words), environ)
    server = detached.server
    _print_address(flags, server.record, server.token, environ, reused=detached.reused)
    if server.version != __version__ and not flags.api:
        print(
            f"It is version {server.version}, and this is {__version__}: portico stop ends it.",
            file=sys.stderr,
        )
    return 0


async def _serve(
    flags: argparse.Namespace, workspace: Path, files: ServerFiles, environ: Mapping[str, str]
) -> int:
    # Late: only a server needs these imports.
    from portico.chains.options import ChainOptions
    from portico.server.agent_service import open_agent_service
    from portico.server.lifecycle import ServerOptions, StartedServer, serve

    options = ServerOptions(
        port=flags.port,
        workspace=workspace,
        agent=flags.agent,
        detached=flags.detached,
        chain=ChainOptions(proxies=tuple(flags.proxy), components=component_switches(flags)),
        node=node_options(flags),
        public_url=flags.public_url or "",
    )

    def ready(started: StartedServer) -> None:
        if flags.detached:
            return
        if started.note and not flags.api:
            print(started.note, file=sys.stderr)
        _print_address(flags, started.record, started.token, environ, reused=False)

    await serve(options, environ, files, open_agent_service, ready)
    if not flags.api and not flags.detached:
        print("Stopped.")
    return 0


def _print_address(
    flags: argparse.Namespace,
    record: ServerRecord,
    token: str,
    environ: Mapping[str, str],
    *,
    reused: bool,
) -> None:
    """Print the address of the server, with the token only where a person opens the page by it."""
    if flags.api:
        serving = ServerReport(
            url=record.url,
            port=record.port,
            pid=record.pid,
            version=record.version,
            token_file=record.token_file,
            reused=reused,
        )
        print(msgspec.json.encode(serving).decode(), flush=True)
    elif flags.detach and not flags.open:
        print(f"Portico {'is already running' if reused else 'is running'} at {record.url}", flush=True)
    else:
        print(f"Portico: {record.url}#token={token}", flush=True)
    if flags.open:
        opening = open_browser(f"{record.url}#token={make_pass(token, now=time.time())}", environ)
        if flags.detach and opening is not None:
            opening.join(_BROWSER_SECONDS)


def _public_url(text: str) -> str:
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.netloc or url.path not in ("", "/") or url.query:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address such as https://portico.example")
    return f"{url.scheme}://{url.netloc}/"


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def open_browser(url: str, environ: Mapping[str, str]) -> threading.Thread | None:
    """Ask the browser to show an address, beside everything else: some come back only when they are closed."""
    if not _has_display(environ):
        return None
    opening = threading.Thread(target=_open, args=(url,), name="opening the browser", daemon=True)
    opening.start()
    return opening


def _open(url: str) -> None:
    import webbrowser

    try:
        webbrowser.open(url)
    except (OSError, webbrowser.Error):
        return  # the address has been printed


def _has_display(environ: Mapping[str, str]) -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    return any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
