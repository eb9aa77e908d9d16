"""An evaluation task: its files, prompts, check program and scripted solution."""

import sys
from typing import Any

import msgspec

PYTHON = "python" if sys.platform == "win32" else "python3"
RUN_TESTS = f"{PYTHON} -m unittest"
"""The one command that needs no permission in an evaluation; prompts name it."""


class ScriptedCall(msgspec.Struct, frozen=True):
    """A call of one of Porter's tools, with its arguments as the model would write them."""

    tool: str
    arguments: str


class ScriptedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a scripted model. It is given only if the model was shown each text of `sees`."""

    says: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    sees: tuple[str, ...] = ()


class EvaluationTask(msgspec.Struct, frozen=True, kw_only=True):
    """`prompts` are sent one after the other, and what each of them proposes is applied before the next.

    `check` is a Python program that runs in the folder afterwards and fails unless the task is done.
    `script` is how a model may solve it; `scenario` is how Porter works, its usual way without one.
    """

    name: str
    purpose: str
    files: dict[str, str]
    prompts: tuple[str, ...]
    check: str
    script: tuple[ScriptedStep, ...]
    scenario: str | None = None


def call(tool: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(tool, msgspec.json.encode(arguments).decode())


def edit(path: str, *changes: tuple[str, str], everywhere: bool = False) -> ScriptedCall:
    """A call of the tool `edit`: pairs of old and new text."""
    edits = [{"old": old, "new": new, **({"everywhere": True} if everywhere else {})} for old, new in changes]
    return call("edit", path=path, edits=edits)
