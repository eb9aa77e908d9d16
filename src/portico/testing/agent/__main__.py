"""Command line of the scripted agent; docs/testing.md has its options."""

from __future__ import annotations

import signal
import sys

from portico.testing.agent.script import ScriptError, parse_script, read_script
from portico.testing.agent.server import ScriptedAgent
from portico.testing.agent.sign_in import SignIn
from portico.testing.agent.wire import AgentWire

OPTIONS = ("--script", "--steps", "--state", "--transcript", "--sign-in")
USAGE = (
    "python -m portico.testing.agent [--script FILE | --steps JSON] [--state DIR] [--transcript FILE]"
    " [--sign-in NAME]"
)


def main(arguments: list[str]) -> int:
    names, values = arguments[::2], arguments[1::2]
    if len(names) != len(values) or any(name not in OPTIONS for name in names):
        sys.stderr.write(f"usage: {USAGE}\n")
        return 5
    given = dict(zip(names, values, strict=True))
    try:
        script = (
            read_script(given["--script"])
            if "--script" in given
            else parse_script(given.get("--steps", "{}"))
        )
    except (ScriptError, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"scripted agent: {error}\n")
        return 5
    if "--sign-in" in given:
        SignIn(given.get("--state"), needed=True).do()
        sys.stdout.write(f"signed in as {given['--sign-in']}\n")
        return 0
    # Ctrl-C ends it like any other signal, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ScriptedAgent(AgentWire(given.get("--transcript")), script, given.get("--state")).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
