"""Questions to a running server, answered as places, problems and words."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.domain.errors import LanguageServerFailed
from portico.domain.windows import CodeLocation, CodeLookup, CodeLookupResult
from portico.editors.language_servers.answers import raw_items, read_item, read_items
from portico.editors.language_servers.documents import OpenDocument, uri_to_path
from portico.editors.language_servers.positions import TextLines, to_characters, to_units
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.source_files import read_source
from portico.editors.language_servers.wire import (
    LspCall,
    LspCallItem,
    LspHover,
    LspLocation,
    LspPosition,
    LspRange,
    LspSymbol,
)
from portico.files.deadline import within_deadline

MOST_PLACES = 100
_MOST_FILES_READ = 40
_MOST_FILES_KEPT = 100
_MOST_SYMBOLS = 1000
_FIRST_CHECK_SECONDS = 3.0
_METHODS = {
    "definition": "textDocument/definition",
    "type_definition": "textDocument/typeDefinition",
    "implementations": "textDocument/implementation",
    "references": "textDocument/references",
}
_KINDS = (
    "", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum",
    "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null",
    "enum member", "struct", "event", "operator", "type parameter",
)  # fmt: skip
_DECLARED = re.compile(r"\{|(?!(?:this|function|async|new)\b)[\w$#]")
_FUNCTIONS = frozenset({"method", "constructor", "function"})
_KEPT_IN_FUNCTIONS = _FUNCTIONS | {"class", "interface", "struct", "enum"}


class PlaceReader:
    """Turns a server's ranges into places, with the line that stands there for files of the tree."""

    def __init__(self, server: LanguageServer, texts: Mapping[Path, TextLines | None]) -> None:
        self._server = server
        self._texts = texts

    @classmethod
    async def of(cls, server: LanguageServer, uris: Iterable[str]) -> "PlaceReader":
        """A reader for the places of some files, of which those that are not open are read at once."""
        paths = (uri_to_path(uri) for uri in dict.fromkeys(uris))
        inside = [path for path in paths if path is not None and path.is_relative_to(server.tree)]
        asked = [path for path in inside if path not in server.documents][:_MOST_FILES_READ]
        # A change puts an empty one in its place, also while files are being read.
        known = server.closed_texts
        if unread := [path for path in asked if path not in known]:
            if len(known) > _MOST_FILES_KEPT:
                known.clear()
            known |= await within_deadline(lambda: {path: _read_lines(path) for path in unread})
        return cls(server, dict(known))

    def place(self, uri: str, found: LspRange, *, name: str = "", detail: str = "") -> CodeLocation | None:
        path = uri_to_path(uri)
        if path is None:
            return None
        lines = self._lines(path)
        first, last = (self._column(lines, position) for position in (found.start, found.end))
        return CodeLocation(
            path=str(path),
            line=found.start.line,
            column=first,
            end_line=found.end.line,
            end_column=last,
            name=name,
            detail=detail,
            text="" if lines is None else lines.line(found.start.line),
        )

    def _column(self, lines: TextLines | None, position: LspPosition) -> int:
        encoding = self._server.capabilities.encoding
        if lines is None or encoding == "utf-16":
            return position.character
        line = lines.line(position.line)
        return to_units(line[: to_characters(line, position.character, encoding)], "utf-16")

    def _lines(self, path: Path) -> TextLines | None:
        document = self._server.documents.get(path)
        return self._texts.get(path) if document is None else document.lines


def _read_lines(path: Path) -> TextLines | None:
    text = read_source(path)
    return None if text is None else TextLines(text)


def place_params(server: LanguageServer, document: OpenDocument, lookup: CodeLookup) -> dict[str, Any]:
    """The parameters that name a place, whose column counts UTF-16 units."""
    line = document.lines.line(lookup.line)
    before = line[: to_characters(line, lookup.column, "utf-16")]
    position = LspPosition(line=lookup.line, character=to_units(before, server.capabilities.encoding))
    return {"textDocument": {"uri": document.uri}, "position": position}


async def need(server: LanguageServer, method: str, what: str) -> None:
    """LanguageServerFailed if the server does not offer a method; some register it when they know the project."""
    if not server.capabilities.offers(method):
        await server.become_ready()
    if not server.capabilities.offers(method):
        raise LanguageServerFailed(f"{server.name} does not offer {what}.")


async def find_places(server: LanguageServer, document: OpenDocument, lookup: CodeLookup) -> CodeLookupResult:
    method = _METHODS[lookup.kind]
    await need(server, method, lookup.kind.replace("_", " "))
    params = place_params(server, document, lookup)
    if lookup.kind in ("references", "implementations"):
        await server.become_ready()
    if lookup.kind == "references":
        params["context"] = {"includeDeclaration": True}
    found = await _answer_when_settled(server, method, params, document)
    places = [location.place for location in read_items(found, LspLocation)]
    result = await _result(server, [(*place, "", "") for place in places if place is not None])
    if lookup.kind == "implementations" and server.spec.asks_tsserver:
        return _without_expressions(result)
    return result


def _without_expressions(found: CodeLookupResult) -> CodeLookupResult:
    """Implementations by name and by object literal, without the expressions of the type that TypeScript lists, too."""
    kept = tuple(one for one in found.places if not one.text or _DECLARED.match(one.text, one.column))
    return msgspec.structs.replace(found, places=kept, total=found.total - len(found.places) + len(kept))


async def find_calls(server: LanguageServer, document: OpenDocument, lookup: CodeLookup) -> CodeLookupResult:
    """The callers of a function, each where it calls; or the functions that it calls, each where it is defined."""
    prepare = "textDocument/prepareCallHierarchy"
    await need(server, prepare, "call hierarchies")
    await server.become_ready()
    answer = await _answer_when_settled(server, prepare, place_params(server, document, lookup))
    incoming = lookup.kind == "callers"
    method = f"callHierarchy/{'incoming' if incoming else 'outgoing'}Calls"
    found: list[tuple[str, LspRange, str, str]] = []
    # The item goes back as it came: it may have data that only the server understands.
    for item in raw_items(answer)[:5]:
        for call in read_items(await server.request(method, {"item": item}), LspCall):
            found += _call_places(call)
    return await _result(server, found)


def _call_places(call: LspCall) -> list[tuple[str, LspRange, str, str]]:
    def place(item: LspCallItem, where: LspRange) -> tuple[str, LspRange, str, str]:
        return item.uri, where, item.name, _kind(item.kind)

    if call.caller is not None:
        return [place(call.caller, where) for where in call.from_ranges or [call.caller.selection_range]]
    return [] if call.callee is None else [place(call.callee, call.callee.selection_range)]


async def list_symbols(server: LanguageServer, document: OpenDocument) -> CodeLookupResult:
    await need(server, "textDocument/documentSymbol", "symbols of a file")
    params = {"textDocument": {"uri": document.uri}}
    answer = await _answer_when_settled(server, "textDocument/documentSymbol", params, document)
    symbols = read_items(answer, LspSymbol)
    found: list[tuple[str, LspRange, str, str]] = []

    def walk(symbol: LspSymbol, above: str) -> None:
        name, kind = f"{above}.{symbol.name}" if above else symbol.name, _kind(symbol.kind)
        where = symbol.selection_range or (symbol.location.range if symbol.location else None)
        if where is not None and len(found) < _MOST_SYMBOLS:
            found.append((document.uri, where, name, kind))
        for child in symbol.children or ():
            # Local variables would crowd out what is defined in the file.
            if kind not in _FUNCTIONS or _kind(child.kind) in _KEPT_IN_FUNCTIONS:
                walk(child, name)

    for symbol in symbols:
        walk(symbol, symbol.container_name or "")
    return await _result(server, found, most=_MOST_SYMBOLS)


async def find_symbols(server: LanguageServer, query: str) -> CodeLookupResult:
    await need(server, "workspace/symbol", "symbols of the workspace")
    await server.become_ready()
    symbols = read_items(await _answer_when_settled(server, "workspace/symbol", {"query": query}), LspSymbol)
    # Servers match letters in order; what really contains the words comes first.
    symbols.sort(key=lambda symbol: query.lower() not in symbol.name.lower())
    found = []
    for symbol in symbols:
        place = None if symbol.location is None else symbol.location.place
        if place is not None:
            name = f"{symbol.container_name}.{symbol.name}" if symbol.container_name else symbol.name
            found.append((*place, name, _kind(symbol.kind)))
    return await _result(server, found)


async def show_hover(server: LanguageServer, document: OpenDocument, lookup: CodeLookup) -> CodeLookupResult:
    await need(server, "textDocument/hover", "descriptions")
    answer = await _answer_when_settled(server, "textDocument/hover", place_params(server, document, lookup))
    shown = read_item(answer, LspHover)
    return CodeLookupResult(words="" if shown is None else shown.text, note="" if shown else _still(server))


async def _answer_when_settled(
    server: LanguageServer, method: str, params: Any, document: OpenDocument | None = None
) -> Raw:
    """Ask; and once more if the server was still reading the project or the document, and has finished in time."""
    answer = await server.request(method, params)
    reads_project = server.progress.describe() is not None
    if reads_project and await server.progress.settle():
        return await server.request(method, params)
    if document is not None and not raw_items(answer) and await _has_read(server, document):
        return await server.request(method, params)
    return answer


async def _has_read(server: LanguageServer, document: OpenDocument) -> bool:
    """Wait for the first diagnostics of a new text; False if the server had read it already, or does not tell."""
    pulls = server.spec.asks_tsserver or server.capabilities.offers("textDocument/diagnostic")
    if pulls or document.awaited_version == document.version:
        return False
    document.awaited_version = document.version
    uri, pushed = document.uri, server.pushed
    if pushed.of_version(uri, document.version) is not None:
        return False
    if pushed.unversioned(uri, after=document.pushes_before) is not None:
        return False
    with suppress(TimeoutError):
        async with asyncio.timeout(_FIRST_CHECK_SECONDS):
            await pushed.changed(uri)
            return True
    return False


async def _result(
    server: LanguageServer, found: Sequence[tuple[str, LspRange, str, str]], most: int = MOST_PLACES
) -> CodeLookupResult:
    unique = list(dict.fromkeys(found))
    reader = await PlaceReader.of(server, (uri for uri, *_ in unique[:most]))
    places = [
        reader.place(uri, where, name=name, detail=detail) for uri, where, name, detail in unique[:most]
    ]
    kept = tuple(place for place in places if place is not None)
    return CodeLookupResult(places=kept, total=len(unique), note=_still(server))


def _still(server: LanguageServer) -> str:
    doing = server.progress.describe()
    return (
        ""
        if doing is None
        else f"{server.name} is still {doing}; there may be more to find. Ask again later."
    )


def _kind(number: int) -> str:
    return _KINDS[number] if 0 < number < len(_KINDS) else ""
