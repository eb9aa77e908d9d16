"""Values exchanged with an attached editor window: abilities, requests and results.

Paths are absolute. Lines and columns count from zero, columns in UTF-16 units, as editors count them.
"""

from typing import Literal

from portico.domain.ids import SessionId
from portico.domain.values import Value

LookupKind = Literal[
    "definition",
    "references",
    "symbols",
    "hover",
    "diagnostics",
    "type_definition",
    "implementations",
    "callers",
    "callees",
]
WINDOW_LOOKUPS: frozenset[LookupKind] = frozenset(
    {"definition", "references", "symbols", "hover", "diagnostics"}
)
"""Lookups that an attached window can answer; language servers answer the rest."""
Severity = Literal["error", "warning", "information", "hint"]


class WindowAbilities(Value, frozen=True):
    """Abilities of a window: unsaved texts, edits as one step, language features, its terminal."""

    buffers: bool = False
    edits: bool = False
    lookups: bool = False
    commands: bool = False


class WindowEdit(Value, frozen=True):
    """One file of an edit. `expected` is the text it must still hold, None for one that must not be there.

    `content` is the whole new text, None to delete it.
    """

    path: str
    expected: str | None = None
    content: str | None = None


class WindowEditResult(Value, frozen=True):
    """The result of an edit: all of it was made, or none.

    Nothing, because the `changed` files no longer held what was expected, or the `not_saved` ones could not be saved.
    """

    applied: bool
    changed: tuple[str, ...] = ()
    not_saved: tuple[str, ...] = ()


class CodeLookup(Value, frozen=True):
    """A question to the language features. `query` is for symbols of the whole workspace, without a path."""

    kind: LookupKind
    path: str = ""
    line: int = 0
    column: int = 0
    query: str = ""


class CodeLocation(Value, frozen=True):
    """A place in a file; `name` and `detail` where the editor tells them, `text` the line that is there."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    name: str = ""
    detail: str = ""
    text: str = ""


class CodeProblem(Value, frozen=True):
    path: str
    line: int
    column: int
    severity: Severity
    message: str
    source: str = ""


class CodeLookupResult(Value, frozen=True):
    """The answer of an editor's language features, or of a language server. `words` is the hover text, as Markdown.

    `total` counts the places where only the first were kept; `note` says what the answer lacks.
    """

    places: tuple[CodeLocation, ...] = ()
    problems: tuple[CodeProblem, ...] = ()
    words: str = ""
    total: int = 0
    note: str = ""


class CodeFileEdit(Value, frozen=True):
    """The whole new text of a file; None to delete it."""

    path: str
    content: str | None = None
    edits: int = 1
    """Number of places that change."""


class CodeAction(Value, frozen=True):
    """A change that a language server offers for a place."""

    title: str
    kind: str = ""
    preferred: bool = False


class TerminalCommand(Value, frozen=True):
    """A command for the person's own terminal: they see it, can type into it and stop it."""

    command: str
    cwd: str
    title: str
    reveal: bool = False


class TerminalCommandResult(Value, frozen=True):
    """The result of sending a command to the editor's terminal, which shows its output."""

    sent: bool
    terminal: str = ""
    message: str = ""


class ReadBuffer(Value, frozen=True):
    path: str


class ApplyEdits(Value, frozen=True):
    label: str
    files: tuple[WindowEdit, ...]


class BufferText(Value, frozen=True):
    """The text that a window has of a file; None when it has none of its own."""

    text: str | None = None


class WindowFailure(Value, frozen=True):
    """The reason why a window could not do what it was asked to, for people."""

    message: str


class WindowTool(Value, frozen=True):
    """A tool that a window offers agents. `schema` is the JSON Schema of its input, as text."""

    name: str
    description: str = ""
    schema: str = ""


class ToolInvocation(Value, frozen=True):
    """A call of a window's tool; `arguments` is a JSON object, as text."""

    name: str
    arguments: str


class ToolImage(Value, frozen=True):
    mime_type: str
    data: bytes


class ToolInvocationResult(Value, frozen=True):
    text: str = ""
    images: tuple[ToolImage, ...] = ()


WindowAction = ReadBuffer | ApplyEdits | CodeLookup | TerminalCommand | ToolInvocation
WindowResult = (
    BufferText
    | WindowEditResult
    | CodeLookupResult
    | TerminalCommandResult
    | ToolInvocationResult
    | WindowFailure
)


class WindowIntroduction(Value, frozen=True):
    """A window's introduction: its name for people, its open folders and its abilities."""

    name: str
    folders: tuple[str, ...]
    abilities: WindowAbilities = WindowAbilities()


class WindowAttached(Value, frozen=True):
    editor_id: str


class WindowRequest(Value, frozen=True):
    request_id: str
    session_id: SessionId
    question: WindowAction


class WindowRequestCancelled(Value, frozen=True):
    """The answer is no longer awaited."""

    request_id: str


WindowUpdate = WindowAttached | WindowRequest | WindowRequestCancelled
