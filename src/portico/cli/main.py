"""Entry point of the `portico` program: runs a command and turns failures into messages and exit codes.

Commands are imported when they are called, so that the quick ones stay quick.
"""

import io
import os
import sys
from importlib import import_module

from portico.processes.garbage_collection import PausedCollection

COMMANDS = {
    "exec": "send one prompt to an agent and stream the turn",
    "chat": "chat with an agent in the terminal",
    "serve": "serve the chat page, editors and programs",
    "status": "show whether the server runs, and its health",
    "stop": "stop the server",
    "sessions": "list, show, export, fork, hand off and delete sessions",
    "board": "show all sessions of all agents live; open, answer and review them",
    "race": "send one prompt to several agents or models and compare what they propose",
    "costs": "show what sessions cost, by day, agent, model, folder or session",
    "prompts": "list, show, render and run prompts kept as files",
    "config": "show and change settings",
    "skills": "list, show, allow and deny Agent Skills",
    "memory": "show the notes that agents keep, and undo changes to your own",
    "review": "show, apply and discard the changes that agents propose",
    "checkpoints": "list, compare and restore snapshots of your files, taken before each turn",
    "acp": "run any agent behind Portico's proxies, for any ACP editor",
    "agents": "list, install and check agents, and sign in to them",
    "components": "list what Portico adds for every agent",
    "models": "list, check and choose the model that Porter uses",
    "code": "list and install language servers, which answer questions about code",
    "eval": "measure a model on small repository tasks",
    "auth": "store, remove and list API keys of model providers",
    "agent": "run Porter, the built-in agent, as an ACP agent on standard input and output",
    "trace": "draw or replay a recorded session",
    "packages": "list, show and remove the sources of packages that agents read",
    "pair": "connect a phone or another browser by a QR code",
    "devices": "list and revoke paired devices",
    "node": "list and drain the servers of a team",
    "store": "copy the log of all sessions to another store",
    "approvals": "list and revoke permissions that you have granted permanently",
    "doctor": "check this installation",
    "conformance": "test whether an agent, client or proxy follows ACP",
    "schema": "print the JSON Schema of the event stream",
    "version": "print the version",
}
_ALIASES = {"--version": "version", "-V": "version"}
_HELP = ("help", "--help", "-h")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _ensure_standard_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _stopped(api=_wants_json(words))
    except Exception as error:  # noqa: BLE001 - failures become a message and an exit code here
        from portico.cli.failure_output import report_failure

        return report_failure(error, api=_wants_json(words))
    return code


def _run(words: list[str]) -> int:
    words = _use_server(words)
    leading = [word for word in words[:1] if word == "--api"]
    rest = words[len(leading) :]
    if leading and not rest:
        raise _no_command()
    if not rest and sys.stdin.isatty() and sys.stdout.isatty():
        rest = ["chat"]
    if not rest or rest[0] in _HELP:
        print(overview())
        return 0
    name = _ALIASES.get(rest[0], rest[0])
    if name not in COMMANDS:
        raise _unknown(name)
    with PausedCollection():
        command = import_module(f"portico.cli.{name}")
    try:
        return int(command.run([*rest[1:], *leading]))
    except SystemExit:  # argparse has printed the help
        return 0


def _use_server(words: list[str]) -> list[str]:
    """Use the server whose token file stands before the command, and its log; the words after it.

    InvalidInput unless it is the token file of a server that has run in that folder.
    """
    name, equals, value = words[0].partition("=") if words else ("", "", "")
    if name != "--token-file":
        return words
    from portico.cli.token_file import use_token_file

    used = 1 if equals else 2
    use_token_file(value if equals else "".join(words[1:2]))
    return words[used:]


def _ensure_standard_streams() -> None:
    """Replace standard streams that were closed by the parent process: reads are empty, writes are lost."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Programs read UTF-8 in any locale; a terminal shows a question mark for what it cannot encode.
        encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="replace")


def _wants_json(words: list[str]) -> bool:
    """Whether the arguments, which may contain mistakes, ask for JSON."""
    flags = words[: words.index("--")] if "--" in words else words
    return "--api" in flags or ("eval" in flags[:1] and "--json" in flags)


def _stopped(*, api: bool) -> int:
    """Exit code after Ctrl-C, with a report for a program."""
    if not api:
        return 1
    from portico.cli.failure_output import report_failure
    from portico.domain.errors import PermissionDenied

    return report_failure(PermissionDenied("The command was stopped."), api=True)


def overview() -> str:
    """The list of commands."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "Portico stands between you and any coding agent.",
            "",
            "usage: portico [--token-file FILE] COMMAND [--api] …",
            "",
            *lines,
            "",
            "portico COMMAND --help shows the flags of a command. Without a command, a terminal opens the chat.",
            "With --token-file, a command uses the server of another home, and its sessions; portico status --api",
            "shows the file there.",
        ]
    )


def _no_command() -> Exception:
    from portico.domain.errors import InvalidInput

    return InvalidInput("portico --api needs a command.", suggestion="See portico --help")


def _unknown(name: str) -> Exception:
    from difflib import get_close_matches

    from portico.domain.errors import InvalidInput

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean portico {near[0]}?" if near else "See portico --help"
    return InvalidInput(f'Unknown command "{name}".', suggestion=hint)
