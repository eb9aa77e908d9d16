"""The messages of the Language Server Protocol that are read here, as values.

Only fields that are used are named; everything else that a server sends is ignored. Why these are not the types of
`lsprotocol` is said in docs/decisions/0025-own-types-for-language-servers.md.
"""

from typing import Any

import msgspec
from msgspec import Raw


class LspValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Base of everything in a message."""


class LspPosition(LspValue, frozen=True):
    """A place in a text: lines count from zero, characters in units of the position encoding."""

    line: int
    character: int


class LspRange(LspValue, frozen=True):
    start: LspPosition
    end: LspPosition


class LspLocation(LspValue, frozen=True):
    """A range of a file; a LocationLink as well."""

    uri: str = ""
    range: LspRange | None = None
    target_uri: str = ""
    target_selection_range: LspRange | None = None

    @property
    def place(self) -> tuple[str, LspRange] | None:
        """The file and the range; None for a location without one, as a lazy workspace symbol may have."""
        chosen = self.target_selection_range or self.range
        return (self.target_uri or self.uri, chosen) if chosen is not None else None


class LspDiagnostic(LspValue, frozen=True):
    range: LspRange
    message: str | dict[str, Any]
    severity: int = 1
    source: str | None = None
    code: int | str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.message, str):
            return self.message
        return str(self.message.get("value", ""))


class PublishedDiagnostics(LspValue, frozen=True):
    uri: str
    diagnostics: list[Raw]
    version: int | None = None


class DiagnosticReport(LspValue, frozen=True):
    """The answer to a pull. `items` are missing if nothing changed since an earlier one."""

    kind: str = "full"
    items: list[Raw] = []


class LspSymbol(LspValue, frozen=True):
    """A DocumentSymbol, a SymbolInformation or a WorkspaceSymbol."""

    name: str
    kind: int = 0
    detail: str | None = None
    selection_range: LspRange | None = None
    children: list["LspSymbol"] | None = None
    location: LspLocation | None = None
    container_name: str | None = None


class LspHover(LspValue, frozen=True):
    contents: Any

    @property
    def text(self) -> str:
        """The contents in any of the forms that the protocol allows."""
        parts = self.contents if isinstance(self.contents, list) else [self.contents]
        return "\n\n".join(filter(None, map(_hover_part, parts)))


class LspCallItem(LspValue, frozen=True):
    """A function in a call hierarchy."""

    name: str
    uri: str
    selection_range: LspRange
    kind: int = 0
    detail: str | None = None


class LspCall(LspValue, frozen=True):
    """A call from or to a function; `from_ranges` are where the calls stand, in the calling function's file."""

    caller: LspCallItem | None = msgspec.field(default=None, name="from")
    callee: LspCallItem | None = msgspec.field(default=None, name="to")
    from_ranges: list[LspRange] = []


class LspTextEdit(LspValue, frozen=True):
    range: LspRange
    new_text: str


class VersionedFile(LspValue, frozen=True):
    uri: str
    version: int | None = None


class DocumentChange(LspValue, frozen=True):
    """Edits of one file; or, with a `kind`, a file that is created, renamed or deleted."""

    kind: str = ""
    text_document: VersionedFile | None = None
    edits: list[LspTextEdit] = []
    uri: str = ""
    old_uri: str = ""
    new_uri: str = ""


class LspWorkspaceEdit(LspValue, frozen=True):
    changes: dict[str, list[LspTextEdit]] | None = None
    document_changes: list[DocumentChange] | None = None


class LspCommand(LspValue, frozen=True):
    title: str
    command: str
    arguments: list[Raw] | None = None


class LspCodeAction(LspValue, frozen=True):
    title: str
    kind: str | None = None
    edit: LspWorkspaceEdit | None = None
    command: LspCommand | str | None = None
    arguments: list[Raw] | None = None
    disabled: dict[str, Any] | None = None
    is_preferred: bool = False
    data: Raw | None = None


class ProgressValue(LspValue, frozen=True):
    kind: str = ""
    title: str = ""
    message: str | None = None
    percentage: float | None = None


class ProgressParams(LspValue, frozen=True):
    token: int | str
    value: Raw


class ServerRegistration(LspValue, frozen=True):
    id: str
    method: str
    register_options: dict[str, Any] | None = None


class RegistrationParams(LspValue, frozen=True):
    registrations: list[ServerRegistration] = []


class UnregistrationParams(LspValue, frozen=True):
    # The protocol itself has this spelling.
    unregisterations: list[ServerRegistration] = []


class ConfigurationItem(LspValue, frozen=True):
    section: str | None = None


class ConfigurationParams(LspValue, frozen=True):
    items: list[ConfigurationItem] = []


class LogParams(LspValue, frozen=True):
    """A message that a server shows or logs; 1 is an error."""

    message: str
    type: int | str = 4


class ApplyEditParams(LspValue, frozen=True):
    edit: LspWorkspaceEdit


class InitializeAnswer(LspValue, frozen=True):
    capabilities: dict[str, Any] = {}


def _hover_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    value = str(part.get("value", ""))
    language = part.get("language")
    return f"```{language}\n{value}\n```" if language else value
