"""Capabilities: what is announced to a server, and what the server offers, statically or by registration."""

from collections.abc import Mapping, Sequence
from typing import Any

from portico.editors.language_servers.positions import ENCODINGS, PositionEncoding
from portico.editors.language_servers.wire import ServerRegistration

_PROVIDERS = {
    "textDocument/definition": "definitionProvider",
    "textDocument/typeDefinition": "typeDefinitionProvider",
    "textDocument/implementation": "implementationProvider",
    "textDocument/references": "referencesProvider",
    "textDocument/documentSymbol": "documentSymbolProvider",
    "workspace/symbol": "workspaceSymbolProvider",
    "textDocument/hover": "hoverProvider",
    "textDocument/prepareCallHierarchy": "callHierarchyProvider",
    "textDocument/rename": "renameProvider",
    "textDocument/codeAction": "codeActionProvider",
    "textDocument/diagnostic": "diagnosticProvider",
}
FULL_SYNC, INCREMENTAL_SYNC = 1, 2


def client_capabilities() -> dict[str, Any]:
    """Client capabilities announced in `initialize`: exactly what is handled here."""
    registered = {"dynamicRegistration": True}
    linked = {"dynamicRegistration": True, "linkSupport": True}
    return {
        "general": {"positionEncodings": list(ENCODINGS)},
        "window": {"workDoneProgress": True, "showMessage": {}, "showDocument": {"support": False}},
        "workspace": {
            "applyEdit": True,
            "configuration": True,
            "workspaceFolders": True,
            "didChangeConfiguration": registered,
            "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
            "symbol": registered,
            "executeCommand": registered,
            "diagnostics": {"refreshSupport": True},
            "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        },
        "textDocument": {
            "synchronization": {"dynamicRegistration": True, "didSave": True},
            "publishDiagnostics": {"versionSupport": True, "codeDescriptionSupport": True},
            "diagnostic": registered,
            "definition": linked,
            "typeDefinition": linked,
            "implementation": linked,
            "references": registered,
            "documentSymbol": {"dynamicRegistration": True, "hierarchicalDocumentSymbolSupport": True},
            "hover": {"dynamicRegistration": True, "contentFormat": ["markdown", "plaintext"]},
            "callHierarchy": registered,
            "rename": {"dynamicRegistration": True, "prepareSupport": False},
            "codeAction": {
                "dynamicRegistration": True,
                "isPreferredSupport": True,
                "disabledSupport": True,
                "dataSupport": True,
                "resolveSupport": {"properties": ["edit"]},
                "codeActionLiteralSupport": {
                    "codeActionKind": {
                        "valueSet": ["", "quickfix", "refactor", "source", "source.organizeImports"]
                    }
                },
            },
        },
    }


class ServerCapabilities:
    """Capabilities of one server. Registrations change while it runs."""

    def __init__(self, static: Mapping[str, Any]) -> None:
        self._static = static
        self._registered: dict[str, ServerRegistration] = {}

    def register(self, registrations: Sequence[ServerRegistration]) -> None:
        self._registered.update({one.id: one for one in registrations})

    def unregister(self, registrations: Sequence[ServerRegistration]) -> None:
        for one in registrations:
            self._registered.pop(one.id, None)

    def offers(self, method: str) -> bool:
        return self.options(method) is not None

    def options(self, method: str) -> Mapping[str, Any] | None:
        """The options of a method; None if the server does not offer it."""
        announced = self._static.get(_PROVIDERS.get(method, ""))
        if isinstance(announced, Mapping):
            return announced
        if announced is True:
            return {}
        for one in self._registered.values():
            if one.method == method:
                return one.register_options or {}
        return None

    @property
    def encoding(self) -> PositionEncoding:
        chosen = self._static.get("positionEncoding")
        return next((known for known in ENCODINGS if known == chosen), ENCODINGS[0])

    @property
    def sync(self) -> int:
        """Kind of text synchronization: none, whole texts, or ranges."""
        for one in self._registered.values():
            if one.method == "textDocument/didChange":
                return int((one.register_options or {}).get("syncKind", FULL_SYNC))
        announced = self._static.get("textDocumentSync")
        if isinstance(announced, Mapping):
            announced = announced.get("change", 0)
        return announced if isinstance(announced, int) else 0

    @property
    def wants_saves(self) -> bool:
        if self.offers("textDocument/didSave"):
            return True
        announced = self._static.get("textDocumentSync")
        return isinstance(announced, Mapping) and bool(announced.get("save"))
