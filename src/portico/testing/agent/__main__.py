"""The command line: python -m portico.testing.agent [--script FILE | --steps JSON] [--state DIR] [--transcript FILE]"""

from __future__ import annotations

import signal
import sys

from portico.testing.agent.script import ScriptError, parse_script, read_script
from portico.testing.agent.server import ScriptedAgent
from portico.testing.agent.wire import Wire

OPTIONS = ("--script", "--steps", "--state", "--transcript")
USAGE = "python -m portico.testing.agent [--script FILE | --steps JSON] [--state DIR] [--transcript FILE]"


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
    # Ctrl-C ends it like any other signal, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ScriptedAgent(Wire(given.get("--transcript")), script, given.get("--state")).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
