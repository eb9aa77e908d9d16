"""Requests of scripted agents to a person."""

from tests.browser.chat import say
from tests.support.stream import Json

OPTIONS = [
    {"optionId": "yes", "name": "Yes, run it", "kind": "allow_once"},
    {"optionId": "ever", "name": "Yes, and do not ask again", "kind": "allow_always"},
    {"optionId": "no", "name": "No, do something else", "kind": "reject_once"},
]


def wish(command: str, name: str) -> list[Json]:
    """A command that the agent wants to run, and what it says to the answer."""
    tool = {"id": name, "title": f"Run {command}", "kind": "execute", "statuses": ["pending"]}
    asks = {"tool": name, "title": f"Run {command}", "kind": "execute", "options": OPTIONS}
    branches = {"allowed": [say(f"{name}: ran")], "rejected": [say(f"{name}: left")]}
    return [{"tool": {**tool, "raw_input": {"command": command}}}, {"permission": {**asks, **branches}}]
