"""Verbs that steer: when to answer and with what, what to wait for, what to do again."""

from __future__ import annotations

import os

from portico.testing.agent import files
from portico.testing.agent.turn import Refused
from portico.testing.agent.vocabulary import NUMBER, Steps, Verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from portico.testing.agent.turn import Turn
    from portico.testing.agent.wire import Json

VERBS = Verbs()

ERROR = {"code": int, "message": str, "data?": object}


@VERBS.takes({"result?": dict, "error?": ERROR})
def answer(turn: Turn, fields: Json) -> None:
    """Answer here and go on: what follows comes after the answer, and a second answer is a second answer."""
    turn.answer(result=fields.get("result"), error=fields.get("error"))


@VERBS.takes(ERROR)
def error(_: Turn, fields: Json) -> None:
    raise Refused(fields["code"], fields["message"], fields.get("data"))


@VERBS.takes(str)
def stop_reason(turn: Turn, reason: str) -> None:
    turn.result = {**turn.result, "stopReason": reason}


@VERBS.takes(str)
def wait_file(turn: Turn, path: str) -> None:
    turn.wait_for_file(path)


@VERBS.takes(str)
def touch(turn: Turn, path: str) -> None:
    files.replace(turn.path(path), "")


@VERBS.takes({"path": str, "content": str})
def save(turn: Turn, fields: Json) -> None:
    """A file written by the agent itself, without asking its client; folders are made. It says what it could not."""
    path = turn.path(fields["path"])
    try:
        files.make_folder_of(path)
        files.replace(path, fields["content"])
    except OSError as error:
        turn.say(f"save failed: {error.strerror}")


@VERBS.takes(str)
def remove(turn: Turn, path: str) -> None:
    """A file taken away by the agent itself."""
    files.remove(turn.path(path))


@VERBS.takes(NUMBER)
def pause_ms(turn: Turn, milliseconds: float) -> None:
    turn.rest(milliseconds / 1000)


@VERBS.takes({"count": int, "steps": Steps})
def repeat(turn: Turn, fields: Json) -> None:
    for _ in range(fields["count"]):
        turn.run(fields["steps"])


@VERBS.takes({"mark": str, "steps": Steps})
def once(turn: Turn, fields: Json) -> None:
    """Only for the first who comes here, in any process: whoever can make the file."""
    if files.claim(turn.path(fields["mark"])):
        turn.run(fields["steps"])


@VERBS.takes(str)
def stderr(_: Turn, text: str) -> None:
    files.write_all(2, text.encode())


@VERBS.takes(str)
def pid_file(turn: Turn, path: str) -> None:
    files.replace(turn.path(path), str(os.getpid()))
