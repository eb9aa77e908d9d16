"""Diagnostics pulled from TypeScript's own server.

typescript-language-server pushes diagnostics without a version, and none at all for a file that stays without any. It
passes requests on to the compiler's server, which answers for the texts it has at that moment.
"""

from typing import Any

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.editors.language_servers.documents import OpenDocument
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.wire import LspDiagnostic, LspPosition, LspRange

_REQUESTS = ("syntacticDiagnosticsSync", "semanticDiagnosticsSync")
_SEVERITIES = {"error": 1, "warning": 2, "message": 3, "suggestion": 4}


class _Place(msgspec.Struct, frozen=True):
    line: int
    offset: int


class _Diagnostic(msgspec.Struct, frozen=True):
    start: _Place
    end: _Place
    text: str
    code: int | None = None
    category: str = "error"


class _Answer(msgspec.Struct, frozen=True):
    body: list[_Diagnostic] = []


async def pull_from_tsserver(server: LanguageServer, document: OpenDocument) -> list[Raw]:
    """The diagnostics of a file, in the form that the protocol has for them."""
    found: list[Raw] = []
    for request in _REQUESTS:
        arguments: list[Any] = [request, {"file": str(document.path)}]
        params = {"command": "typescript.tsserverRequest", "arguments": arguments}
        answer = await server.request("workspace/executeCommand", params)
        found += [_translated(one) for one in codecs.decode_json(answer, _Answer).body]
    return found


def _translated(found: _Diagnostic) -> Raw:
    def position(place: _Place) -> LspPosition:
        # The compiler counts from one, in UTF-16 units as this server does.
        return LspPosition(line=place.line - 1, character=place.offset - 1)

    diagnostic = LspDiagnostic(
        range=LspRange(start=position(found.start), end=position(found.end)),
        message=found.text,
        severity=_SEVERITIES.get(found.category, 1),
        source="typescript",
        code=found.code,
    )
    return Raw(msgspec.json.encode(diagnostic))
