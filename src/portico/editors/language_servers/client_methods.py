"""Requests and notifications of a language server to its client."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.editors.language_servers.capabilities import ServerCapabilities
from portico.editors.language_servers.diagnostics import PushedDiagnostics
from portico.editors.language_servers.documents import path_to_uri
from portico.editors.language_servers.progress import ServerProgress
from portico.editors.language_servers.specification import ServerCommand
from portico.editors.language_servers.wire import (
    ApplyEditParams,
    ConfigurationParams,
    LogParams,
    LspWorkspaceEdit,
    ProgressParams,
    PublishedDiagnostics,
    RegistrationParams,
    UnregistrationParams,
)
from portico.rpc.connection import RpcReply
from portico.rpc.messages import METHOD_NOT_FOUND, Fault, RpcError

log = logging.getLogger(__name__)

_MOST_EDITS = 20
_NOTHING_TO_DO = frozenset(
    {
        "window/workDoneProgress/create",
        "window/showMessageRequest",
        "workspace/codeLens/refresh",
        "workspace/semanticTokens/refresh",
        "workspace/inlayHint/refresh",
        "workspace/inlineValue/refresh",
        "workspace/foldingRange/refresh",
        "workspace/diagnostic/refresh",
    }
)


class ClientMethods:
    """Answers the requests of one server. Implements `rpc.connection.RpcHandler`."""

    def __init__(self, command: ServerCommand, capabilities: Callable[[], ServerCapabilities]) -> None:
        self.progress = ServerProgress()
        self.pushed = PushedDiagnostics()
        self.knows_project = asyncio.Event()
        """Set once the server knows all files of the project."""
        if not command.spec.ready_words:
            self.knows_project.set()
        self._command = command
        self._capabilities = capabilities
        self._edits: list[LspWorkspaceEdit] = []

    def notification(self, method: str, params: Raw) -> None:
        try:
            match method:
                case "textDocument/publishDiagnostics":
                    self.pushed.take(codecs.decode_json(params, PublishedDiagnostics))
                case "$/progress":
                    self.progress.take(codecs.decode_json(params, ProgressParams))
                case "window/logMessage" | "window/showMessage" | "language/status":
                    told = codecs.decode_json(params, LogParams)
                    log.debug("%s: %s", self._command.spec.name, told.message)
                    if not self.knows_project.is_set() and re.search(
                        self._command.spec.ready_words, told.message
                    ):
                        self.knows_project.set()
                case _:
                    return
        except msgspec.DecodeError as error:
            log.debug("%s: malformed %s: %s", self._command.spec.name, method, error)

    async def request(self, method: str, params: Raw) -> RpcReply:
        if method in _NOTHING_TO_DO:
            return RpcReply(None)
        match method:
            case "workspace/configuration":
                asked = codecs.decode_json(params, ConfigurationParams)
                return RpcReply([self._section(item.section) for item in asked.items])
            case "workspace/workspaceFolders":
                tree = self._command.tree
                return RpcReply([{"uri": path_to_uri(tree), "name": tree.name}])
            case "client/registerCapability":
                self._capabilities().register(codecs.decode_json(params, RegistrationParams).registrations)
                # It may be that diagnostics can be pulled from now on.
                self.pushed.wake()
                return RpcReply(None)
            case "client/unregisterCapability":
                gone = codecs.decode_json(params, UnregistrationParams).unregisterations
                self._capabilities().unregister(gone)
                return RpcReply(None)
            case "workspace/applyEdit":
                return RpcReply(self._keep_edit(params))
            case "window/showDocument":
                return RpcReply({"success": False})
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"no method {method}")

    def fault(self, fault: Fault) -> None:
        log.debug("%s: %s", self._command.spec.name, fault.detail)

    async def ready(self) -> None:
        return

    def take_edits(self) -> list[LspWorkspaceEdit]:
        """Edits that the server wanted applied. They are not, until they have been through review."""
        edits, self._edits = self._edits, []
        return edits

    def _keep_edit(self, params: Raw) -> dict[str, Any]:
        if len(self._edits) >= _MOST_EDITS:
            return {"applied": False, "failureReason": "too many edits at once"}
        self._edits.append(codecs.decode_json(params, ApplyEditParams).edit)
        return {"applied": True}

    def _section(self, name: str | None) -> Any:
        found: Any = self._command.settings
        for part in (name or "").split("."):
            if part:
                found = found.get(part) if isinstance(found, Mapping) else None
        return found
