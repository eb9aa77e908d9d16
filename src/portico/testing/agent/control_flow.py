"""Script verbs for control flow: answer, fail, wait, repeat."""

from __future__ import annotations

import os

from portico.testing.agent import files
from portico.testing.agent.turn import ScriptedRefusal
from portico.testing.agent.vocabulary import NUMBER, StepList, Verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from portico.testing.agent.turn import ScriptedTurn
    from portico.testing.agent.wire import Json

VERBS = Verbs()

ERROR = {"code": int, "message": str, "data?": object}


@VERBS.takes({"result?": dict, "error?": ERROR})
def answer(turn: ScriptedTurn, fields: Json) -> None:
    """Answer here and go on: what follows comes after the answer, and a second answer is a second answer."""
    turn.answer(result=fields.get("result"), error=fields.get("error"))


@VERBS.takes(ERROR)
def error(_: ScriptedTurn, fields: Json) -> None:
    raise ScriptedRefusal(fields["code"], fields["message"], fields.get("data"))


@VERBS.takes(str)
def stop_reason(turn: ScriptedTurn, reason: str) -> None:
    turn.result = {**turn.result, "stopReason": reason}


@VERBS.takes(str)
def wait_file(turn: ScriptedTurn, path: str) -> None:
    turn.wait_for_file(path)


@VERBS.takes(str)
def touch(turn: ScriptedTurn, path: str) -> None:
    files.replace(turn.path(path), "")


@VERBS.takes({"path": str, "content": str})
def save(turn: ScriptedTurn, fields: Json) -> None:
    """A file written by the agent itself, without asking its client; folders are made. It says what it could not."""
    path = turn.path(fields["path"])
    try:
        files.make_folder_of(path)
        files.replace(path, fields["content"])
    except OSError as error:
        turn.say(f"save failed: {error.strerror}")


@VERBS.takes(str)
def remove(turn: ScriptedTurn, path: str) -> None:
    """A file taken away by the agent itself."""
    files.remove(turn.path(path))


@VERBS.takes(NUMBER)
def pause_ms(turn: ScriptedTurn, milliseconds: float) -> None:
    turn.rest(milliseconds / 1000)


@VERBS.takes({"count": int, "steps": StepList})
def repeat(turn: ScriptedTurn, fields: Json) -> None:
    for _ in range(fields["count"]):
        turn.run(fields["steps"])


@VERBS.takes({"mark": str, "steps": StepList})
def once(turn: ScriptedTurn, fields: Json) -> None:
    """Run only for the first caller in any process: the one that creates the file."""
    if files.claim(turn.path(fields["mark"])):
        turn.run(fields["steps"])


@VERBS.takes(str)
def stderr(_: ScriptedTurn, text: str) -> None:
    files.write_all(2, text.encode())


@VERBS.takes(str)
def pid_file(turn: ScriptedTurn, path: str) -> None:
    files.replace(turn.path(path), str(os.getpid()))
