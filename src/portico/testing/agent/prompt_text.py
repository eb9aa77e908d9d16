"""Script steps written as the text of a prompt.

The text is a JSON list of steps, or one command a line. Any other text is said back.
"""

from __future__ import annotations

import json

from portico.testing.agent.script import check_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from portico.testing.agent.wire import Json

TOOL = {
    "title": "Edit notes.txt",
    "kind": "edit",
    "locations": [{"path": "notes.txt", "line": 1}],
    "raw_input": {"path": "notes.txt"},
    "diff": {"path": "notes.txt", "old": "old\n", "new": "new\n"},
}
PERMISSION: list[Json] = [
    {"tool": {"id": "asked", "title": "Edit notes.txt", "kind": "edit", "statuses": ["pending"]}},
    {
        "permission": {
            "tool": "asked",
            "title": "Edit notes.txt",
            "kind": "edit",
            "allowed": [{"tool_update": {"id": "asked", "status": "completed"}}, {"say": "allowed"}],
            "rejected": [{"tool_update": {"id": "asked", "status": "failed"}}, {"say": "rejected"}],
        }
    },
]
QUESTION: Json = {
    "message": "Where shall it listen?",
    "fields": {
        "host": {"type": "string", "title": "Host", "default": "localhost"},
        "port": {"type": "integer", "title": "Port", "minimum": 1, "maximum": 65535},
        "scheme": {"type": "string", "enum": ["http", "https"]},
    },
    "required": ["port"],
}
PLAN = [{"content": "look", "status": "completed"}, {"content": "think", "status": "in_progress"}, "write"]


def steps_of(text: str) -> list[Json]:
    if text.lstrip().startswith("["):
        try:
            steps: list[Json] = json.loads(text)
        except ValueError:
            return [{"echo": {}}]
        check_steps(steps)
        return steps
    found: list[Json] = []
    for line in text.strip().splitlines():
        try:
            found.extend(_command(line))
        except (KeyError, ValueError):
            return [{"echo": {}}]
    return found or [{"echo": {}}]


def _command(line: str) -> list[Json]:
    """The steps of one line. KeyError or ValueError if it is no command."""
    word, _, rest = line.strip().partition(" ")
    return COMMANDS[word](rest)


def _stream(rest: str) -> list[Json]:
    count, size, *delay = (int(number) for number in rest.split())
    (delay_ms,) = delay or [0]
    return [{"stream": {"count": count, "size": size, "delay_ms": delay_ms}}]


def _resend(rest: str) -> list[Json]:
    count, size = rest.split()
    return [{"resend": {"count": int(count), "size": int(size)}}]


def _crash(rest: str) -> list[Json]:
    """`crash`, `crash 3`, `crash SIGKILL`, each with an `after N` behind."""
    how, _, after = rest.partition("after")
    end: Json = {"signal": how.strip()} if how.startswith("SIG") else {"code": int(how or 1)}
    return [{"crash": end | ({"after": int(after)} if after else {})}]


def _write(rest: str) -> list[Json]:
    path, _, content = _needed(rest).partition(" ")
    return [{"write": {"path": path, "content": content}}]


def _run(rest: str) -> list[Json]:
    command, *arguments = rest.split()
    return [{"run": {"command": command, "args": arguments}}]


def _error(rest: str) -> list[Json]:
    code, _, message = rest.partition(" ")
    return [{"error": {"code": int(code), "message": message}}]


def _needed(rest: str) -> str:
    if not rest:
        raise ValueError("it takes something")
    return rest


def _word(rest: str) -> str:
    (word,) = rest.split()
    return word


def _alone(*steps: Json) -> Callable[[str], list[Json]]:
    def take(rest: str) -> list[Json]:
        if rest:
            raise ValueError("it stands alone")
        return list(steps)

    return take


COMMANDS: dict[str, Callable[[str], list[Json]]] = {
    "say": lambda rest: [{"say": _needed(rest)}],
    "think": lambda rest: [{"think": _needed(rest)}],
    "stream": _stream,
    "resend": _resend,
    "tool": _alone({"tool": TOOL}),
    "permission": _alone(*PERMISSION),
    "question": _alone({"elicit": QUESTION}),
    "plan": _alone({"plan": PLAN}),
    "usage": _alone({"usage": {"used": 1200, "size": 200000}}),
    "commands": _alone({"commands": ["plan", "review"]}),
    "title": lambda rest: [{"title": _needed(rest)}],
    "unknown": _alone({"update": {"sessionUpdate": "weather_update", "sky": "clear"}}),
    "read": lambda rest: [{"read": {"path": _word(rest)}}],
    "write": _write,
    "run": _run,
    "env": lambda rest: [{"env": _word(rest)}],
    "stop": lambda rest: [{"stop_reason": _word(rest)}],
    "error": _error,
    "stderr": lambda rest: [{"stderr": f"{_needed(rest)}\n"}],
    "wait": lambda rest: [{"wait_file": _needed(rest)}],
    "touch": lambda rest: [{"touch": _needed(rest)}],
    "malformed": _alone({"raw": {"text": "this is not JSON\n"}}),
    "big": lambda rest: [{"big": {"bytes": int(rest)}}],
    "ignore": lambda rest: [{"ignore": _needed(rest).split()}],
    "hang": _alone({"hang": {}}),
    "crash": _crash,
    "child": lambda rest: [{"child": {"pid_file": _needed(rest)}}],
}
