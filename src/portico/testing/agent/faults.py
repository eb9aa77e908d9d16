"""Script verbs for faults: broken lines, silence, crashes, child processes left behind."""

from __future__ import annotations

import base64
import os
import signal
import sys
import threading

from portico.testing.agent import files
from portico.testing.agent.turn import INTERNAL, LOOK_UP, ScriptedRefusal
from portico.testing.agent.updates import chunk, stream
from portico.testing.agent.vocabulary import Verbs
from portico.testing.agent.wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from portico.testing.agent.turn import ScriptedTurn
    from portico.testing.agent.wire import Json

VERBS = Verbs()

IGNORABLE = ("cancel", "requests", "sigterm", "stdin_close")
# Even the worst agent ends by itself one day, so that a failed test leaves nothing behind.
LIFETIME = 600

CHILD = """\
import os, signal, sys, time
path, deaf = sys.argv[1:]
if deaf == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(path + ".part", "w") as file:
    file.write(str(os.getpid()))
os.replace(path + ".part", path)
time.sleep({lifetime})
"""


@VERBS.takes({"text?": str, "base64?": str})
def raw(turn: ScriptedTurn, fields: Json) -> None:
    """Bytes as they are; a line needs its own line break."""
    turn.wire.send_bytes(fields.get("text", "").encode() + base64.b64decode(fields.get("base64", "")))


@VERBS.takes({"bytes": int, "malformed?": bool})
def big(turn: ScriptedTurn, fields: Json) -> None:
    """One line of the given number of bytes, without its line break."""
    size = fields["bytes"]
    if fields.get("malformed"):
        turn.wire.send_bytes(b"x" * size + b"\n")
        return
    params = {"sessionId": turn.session and turn.session.id, "update": chunk("text", "@")}
    before, after = encode({"jsonrpc": "2.0", "method": "session/update", "params": params}).split(b"@")
    filling = size - len(before) - len(after)
    if filling < 0:
        raise ScriptedRefusal(INTERNAL, f"big: an update takes at least {size - filling} bytes")
    turn.wire.send_bytes(before + b"x" * filling + after + b"\n")


@VERBS.takes({"id?": (str, int), "result?": object, "error?": dict})
def respond(turn: ScriptedTurn, fields: Json) -> None:
    """An answer to a request that was never made."""
    turn.wire.respond(
        fields.get("id", "never-asked"), result=fields.get("result", {}), error=fields.get("error")
    )


@VERBS.takes(list)
def ignore(turn: ScriptedTurn, what: list[str]) -> None:
    unknown = [name for name in what if name not in IGNORABLE]
    if unknown:
        raise ScriptedRefusal(INTERNAL, f"ignore: {unknown} can not be ignored, only {', '.join(IGNORABLE)}")
    turn.agent.ignoring.update(what)
    if "sigterm" in what:
        # A handler, not SIG_IGN: that would be passed on to children.
        turn.agent.on_main_thread(lambda: signal.signal(signal.SIGTERM, lambda *_: None))
    end = threading.Timer(LIFETIME, os._exit, [70])
    end.daemon = True
    end.start()


@VERBS.takes({})
def hang(turn: ScriptedTurn, _: Json) -> None:
    """No word more, until the turn is stopped or the client is gone, and these may be ignored."""
    while True:
        turn.rest(LOOK_UP)


@VERBS.takes({"code?": int, "signal?": str, "stderr?": str, "after?": int})
def crash(turn: ScriptedTurn, fields: Json) -> None:
    if "after" in fields:
        stream(turn, {"count": fields["after"], "size": 40})
    if turn.session is not None:
        turn.session.save()
    files.write_all(2, fields.get("stderr", "").encode())
    if "signal" in fields:
        _die_by(signal.Signals[fields["signal"]])
    os._exit(fields.get("code", 1))


@VERBS.takes({})
def close_stdout(turn: ScriptedTurn, _: Json) -> None:
    turn.wire.close_output()


@VERBS.takes({"pid_file": str, "ignore_sigterm?": bool, "keep_stdout?": bool, "new_session?": bool})
def child(turn: ScriptedTurn, fields: Json) -> None:
    """A process that outlives the turn. It is ready when its pid is in the file."""
    import subprocess

    path = turn.path(fields["pid_file"])
    deaf = "deaf" if fields.get("ignore_sigterm") else "polite"
    subprocess.Popen(
        [sys.executable, "-S", "-c", CHILD.format(lifetime=LIFETIME), path, deaf],
        stdin=subprocess.DEVNULL,
        stdout=None if fields.get("keep_stdout") else subprocess.DEVNULL,
        stderr=None if fields.get("keep_stdout") else subprocess.DEVNULL,
        start_new_session=fields.get("new_session", False),
    )
    turn.wait_for_file(path)


def _die_by(number: signal.Signals) -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), number)
    threading.Event().wait()
