"""Events that record requests to an attached editor, without file contents."""

from pathlib import PurePath
from typing import assert_never

from portico.domain.events import EditorReplied, EditorRequested
from portico.domain.windows import (
    ApplyEdits,
    BufferText,
    CodeLookup,
    CodeLookupResult,
    ReadBuffer,
    TerminalCommand,
    TerminalCommandResult,
    ToolInvocation,
    ToolInvocationResult,
    WindowAction,
    WindowEditResult,
)

MOST_PATHS = 100
LONGEST = 300
_SOUGHT = {
    "definition": "Find a definition",
    "references": "Find references",
    "symbols": "List symbols",
    "hover": "Look at what is known of a name",
    "diagnostics": "List problems",
}


def request_event(request_id: str, editor: str, question: WindowAction) -> EditorRequested:
    paths: tuple[str, ...] = ()
    match question:
        case ReadBuffer(path=path):
            title, paths = f"Read the unsaved text of {_name(path)}", (path,)
        case ApplyEdits(label=label, files=files):
            title, paths = label, tuple(file.path for file in files)
        case CodeLookup(kind=kind, path=path):
            title = f"{_SOUGHT[kind]} in {_name(path) if path else 'the workspace'}"
            paths = (path,) if path else ()
        case TerminalCommand(command=command):
            title = f"Run in a terminal: {command}"
        case ToolInvocation(name=name):
            title = f"Call the tool {name}"
        case _:
            assert_never(question)
    return EditorRequested(
        request_id=request_id, editor=editor, title=_short(title), paths=paths[:MOST_PATHS]
    )


def reply_event(
    request_id: str,
    answer: BufferText | WindowEditResult | CodeLookupResult | TerminalCommandResult | ToolInvocationResult,
) -> EditorReplied:
    match answer:
        case WindowEditResult(applied=False, changed=changed, not_saved=not_saved):
            names = ", ".join(map(_name, (not_saved or changed)[:MOST_PATHS])) or "a file"
            why = "Could not be saved" if not_saved else "Changed meanwhile"
            return EditorReplied(request_id=request_id, done=False, message=_short(f"{why}: {names}."))
        case TerminalCommandResult(sent=False, message=message):
            said = _short(message) or "The command was not sent."
            return EditorReplied(request_id=request_id, done=False, message=said)
        case _:
            return EditorReplied(request_id=request_id, done=True)


def _name(path: str) -> str:
    return PurePath(path).name or path


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
