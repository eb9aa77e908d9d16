"""Script verbs that send requests to the client: permissions, questions, files, terminals."""

from __future__ import annotations

from portico.testing.agent.turn import TurnCancelled
from portico.testing.agent.updates import tool, tool_update
from portico.testing.agent.vocabulary import StepList, Verbs
from portico.testing.agent.wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from portico.testing.agent.turn import ScriptedTurn
    from portico.testing.agent.wire import Json

VERBS = Verbs()

OPTIONS = ["allow_once", "allow_always", "reject_once"]


@VERBS.takes(
    {
        "tool?": str,
        "title?": str,
        "kind?": str,
        "options?": list,
        "allowed?": StepList,
        "rejected?": StepList,
        "cancelled?": StepList,
        "failed?": StepList,
    }
)
def permission(turn: ScriptedTurn, fields: Json) -> None:
    """Ask, then do the steps of the branch that fits; without one, say what was decided."""
    options = [_option(option) for option in fields.get("options", OPTIONS)]
    call = {"toolCallId": fields.get("tool") or turn.next_call(), "title": fields.get("title", "Go on")}
    if "kind" in fields:
        call["kind"] = fields["kind"]
    answer = turn.ask("session/request_permission", toolCall=call, options=options)
    branch, words = _decision(answer, options)
    if not _ran_branch(turn, fields, branch):
        turn.say(f"permission {words}")


@VERBS.takes(
    {
        "message?": str,
        "fields?": dict,
        "required?": list,
        "url?": str,
        "id?": str,
        "mode?": str,
        "tool?": str,
        "accepted?": StepList,
        "declined?": StepList,
        "cancelled?": StepList,
        "failed?": StepList,
    }
)
def elicit(turn: ScriptedTurn, fields: Json) -> None:
    """Ask for values, or for a visit to a page, then do the steps of the branch; without one, say what came."""
    about = {"requestId": turn.request_id} if turn.session is None else {}
    if "tool" in fields:
        about["toolCallId"] = fields["tool"]
    answer = turn.ask("elicitation/create", **about, **_question(fields))
    failure = _failure("elicitation", answer)
    action = answer.get("result", {}).get("action")
    branch = "failed" if failure else {"accept": "accepted", "cancel": "cancelled"}.get(action, "declined")
    if not _ran_branch(turn, fields, branch) and turn.session is not None:
        content = encode(answer.get("result", {}).get("content") or {}).decode()
        turn.say(failure or f"elicitation {action} {content}")


@VERBS.takes({"path": str, "line?": int, "limit?": int})
def read(turn: ScriptedTurn, fields: Json) -> None:
    answer = turn.ask("fs/read_text_file", **fields | {"path": turn.path(fields["path"])})
    turn.say(_failure("read", answer) or str(answer["result"].get("content")))


@VERBS.takes({"path": str, "content": str})
def write(turn: ScriptedTurn, fields: Json) -> None:
    answer = turn.ask("fs/write_text_file", path=turn.path(fields["path"]), content=fields["content"])
    turn.say(_failure("write", answer) or f"wrote {fields['path']}")


@VERBS.takes(
    {
        "command": str,
        "args?": list,
        "env?": dict,
        "cwd?": str,
        "output_byte_limit?": int,
        "id?": str,
        "kill?": bool,
        "release?": bool,
    }
)
def run(turn: ScriptedTurn, fields: Json) -> None:
    """A command in the client's terminal, shown in a tool call. A stopped turn kills it first."""
    created = turn.ask("terminal/create", **_terminal(turn, fields))
    if failure := _failure("run", created):
        turn.say(failure)
        return
    terminal = created["result"]["terminalId"]
    call = fields.get("id") or turn.next_call()
    shown = [{"type": "terminal", "terminalId": terminal}]
    line = " ".join([fields["command"], *fields.get("args", [])])
    tool(turn, {"id": call, "title": line, "kind": "execute", "statuses": ["in_progress"], "content": shown})
    if fields.get("kill"):
        turn.ask("terminal/kill", terminalId=terminal)
    ended = _wait_for_exit(turn, terminal)
    output = turn.ask("terminal/output", terminalId=terminal)
    status = ended.get("result", {})
    tool_update(turn, {"id": call, "status": "completed" if status.get("exitCode") == 0 else "failed"})
    if fields.get("release", True):
        turn.ask("terminal/release", terminalId=terminal)
    end = f"signal {status['signal']}" if status.get("signal") else f"exit {status.get('exitCode')}"
    turn.say(_failure("run", ended) or f"{end}: {output.get('result', {}).get('output')}")


@VERBS.takes({"method": str, "params?": object, "id?": (str, int), "wait?": bool})
def request(turn: ScriptedTurn, fields: Json) -> None:
    """Any request. `$session` in its parameters stands for the session's id."""
    answers = turn.wire.request(fields["method"], _filled(turn, fields.get("params", {})), fields.get("id"))
    if fields.get("wait", True):
        answer = turn.await_answer(answers, turn.check)
        turn.say(encode({name: answer[name] for name in ("result", "error") if name in answer}).decode())


@VERBS.takes({"method": str, "params?": object})
def notify(turn: ScriptedTurn, fields: Json) -> None:
    turn.wire.notify(fields["method"], _filled(turn, fields.get("params", {})))


@VERBS.takes({"requests": list, "answers?": int})
def duplicate_id(turn: ScriptedTurn, fields: Json) -> None:
    """Several requests in flight under one id, and how many answers came."""
    wanted = fields.get("answers", len(fields["requests"]))
    shared = f"same-{turn.next_call()}"
    for each in fields["requests"]:
        turn.wire.request(each["method"], _filled(turn, each.get("params", {})), shared)
    answers = turn.wire.answers_to(shared)
    for _ in range(wanted):
        turn.await_answer(answers, turn.check)
    turn.say(f"{wanted} answers to one id")


def _ran_branch(turn: ScriptedTurn, fields: Json, branch: str) -> bool:
    """Run the steps of a branch; False if the script has none. Without any, a cancelled one ends the turn."""
    if branch == "cancelled":
        if branch not in fields:
            raise TurnCancelled
        turn.run_to_the_end(fields[branch])
        return True
    if branch in fields:
        turn.run(fields[branch])
    return branch in fields


def _option(option: str | Json) -> Json:
    if isinstance(option, str):
        return {"optionId": option, "name": option.replace("_", " ").capitalize(), "kind": option}
    return option


def _question(fields: Json) -> Json:
    asked: Json = {"message": fields.get("message", "Please tell"), "mode": fields.get("mode", "form")}
    if "url" in fields:
        return {**asked, "mode": "url", "url": fields["url"], "elicitationId": fields.get("id", "page-1")}
    schema = {
        "type": "object",
        "properties": fields.get("fields", {}),
        "required": fields.get("required", []),
    }
    return {**asked, "requestedSchema": schema}


def _decision(answer: Json, options: list[Json]) -> tuple[str, str]:
    if failure := _failure("permission", answer):
        return "failed", failure
    outcome = answer["result"].get("outcome", {})
    if outcome.get("outcome") == "cancelled":
        return "cancelled", "cancelled"
    chosen = outcome.get("optionId")
    kind = next((option["kind"] for option in options if option["optionId"] == chosen), None)
    if kind is None:
        return "failed", f"failed: {chosen!r} was not among the options"
    return ("allowed" if kind.startswith("allow") else "rejected"), chosen


def _failure(what: str, answer: Json) -> str | None:
    error = answer.get("error")
    return None if error is None else f"{what} failed: {error.get('code')} {error.get('message')}"


def _terminal(turn: ScriptedTurn, fields: Json) -> Json:
    whole: Json = {
        "command": fields["command"],
        "args": fields.get("args", []),
        "cwd": turn.path(fields.get("cwd", "")),
    }
    if "env" in fields:
        whole["env"] = [{"name": name, "value": value} for name, value in fields["env"].items()]
    if "output_byte_limit" in fields:
        whole["outputByteLimit"] = fields["output_byte_limit"]
    return whole


def _wait_for_exit(turn: ScriptedTurn, terminal: str) -> Json:
    session = turn.session.id if turn.session else None
    place = {"sessionId": session, "terminalId": terminal}
    killed = False

    def kill_when_stopped() -> None:
        nonlocal killed
        if turn.cancel.is_set() and not killed:
            killed = True
            turn.wire.request("terminal/kill", place)

    return turn.await_answer(turn.wire.request("terminal/wait_for_exit", place), kill_when_stopped)


def _filled(turn: ScriptedTurn, value: object) -> object:
    match value:
        case str():
            return value.replace("$session", turn.session.id if turn.session else "")
        case list():
            return [_filled(turn, item) for item in value]
        case dict():
            return {name: _filled(turn, item) for name, item in value.items()}
        case _:
            return value
