"""Entry point of the `portico` program: runs a command and turns failures into messages and exit codes.

Commands are imported when they are called, so that the quick ones stay quick.
"""

import io
import os
import sys
from importlib import import_module

from portico.processes.garbage_collection import PausedCollection

COMMANDS = {
    "exec": "send one prompt to an agent and stream what happens",
    "chat": "talk to an agent in the terminal",
    "serve": "the chat page, editors and programs, in one server",
    "status": "whether the server runs, and how it does",
    "stop": "end the server",
    "sessions": "list, show, export, fork and delete conversations",
    "prompts": "keep prompts as files: list, show, fill in and run them",
    "review": "look at what agents propose, and apply or discard it",
    "checkpoints": "list, compare and restore the files as they were before each turn",
    "acp": "any agent behind Portico's proxies, for any ACP editor",
    "agents": "list the agents, check one, see its sessions, sign in to it",
    "models": "list the models of Porter, check one, choose one, fetch the offline one",
    "eval": "let a model do small tasks, and see how many it gets right",
    "auth": "keys for the providers of models: log in, log out, see what there is",
    "agent": "Porter, the built-in agent, on standard input and output (ACP)",
    "trace": "draw a conversation that was written down, or play it again",
    "approvals": "list what is allowed for good, or take it back",
    "doctor": "check this installation and say what is missing",
    "schema": "print the JSON Schema of the event stream",
    "version": "print the version",
}
_ALIASES = {"--version": "version", "-V": "version"}
_HELP = ("help", "--help", "-h")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _have_standard_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _stopped(api=_for_a_program(words))
    except Exception as error:  # noqa: BLE001 - the one place where a failure becomes words and an exit code
        from portico.app.error_report import report_failure

        return report_failure(error, api=_for_a_program(words))
    return code


def _run(words: list[str]) -> int:
    leading = [word for word in words[:1] if word == "--api"]
    rest = words[len(leading) :]
    if leading and not rest:
        raise _nothing_to_do()
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
    except SystemExit:  # argparse has printed the help that was asked for
        return 0


def _have_standard_streams() -> None:
    """Whoever starts us may have closed some: then nothing is read, and what is written is lost."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Programs read UTF-8 whatever the locale is; a terminal gets a question mark for what it cannot show.
        encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="replace")


def _for_a_program(words: list[str]) -> bool:
    """Whether the words of a command, of which some may be wrong, ask for JSON."""
    said = words[: words.index("--")] if "--" in words else words
    return "--api" in said or ("eval" in said[:1] and "--json" in said)


def _stopped(*, api: bool) -> int:
    """A person pressed Ctrl-C, and knows; a program is told."""
    if not api:
        return 1
    from portico.app.error_report import report_failure
    from portico.domain.errors import PermissionDenied

    return report_failure(PermissionDenied("It was stopped."), api=True)


def overview() -> str:
    """What there is, for somebody who typed nothing."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {purpose}" for name, purpose in COMMANDS.items()]
    return "\n".join(
        [
            "Portico stands between you and any coding agent.",
            "",
            "usage: portico COMMAND [--api] …",
            "",
            *lines,
            "",
            "portico COMMAND --help tells more. Start with: portico chat",
        ]
    )


def _nothing_to_do() -> Exception:
    from portico.domain.errors import InvalidInput

    return InvalidInput("There is no command.", suggestion="See them all with: portico --help")


def _unknown(name: str) -> Exception:
    from difflib import get_close_matches

    from portico.domain.errors import InvalidInput

    near = get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean portico {near[0]}?" if near else "See them all with: portico --help"
    return InvalidInput(f"There is no command {name!r}.", suggestion=hint)
