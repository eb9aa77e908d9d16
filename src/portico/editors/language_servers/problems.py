"""Problems of the asked version of a file: pulled where the server can be asked, otherwise awaited.

An answer is never older than the question. Where the server cannot tell in time, it is "not known yet".
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.domain.errors import LanguageServerFailed
from portico.domain.windows import CodeProblem, Severity
from portico.editors.language_servers.diagnostics import read_diagnostics
from portico.editors.language_servers.documents import OpenDocument
from portico.editors.language_servers.lookups import PlaceReader
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.tsserver_diagnostics import pull_from_tsserver
from portico.editors.language_servers.wire import DiagnosticReport

WAIT_SECONDS = 20.0
_QUIET_SECONDS = 0.5
_PULL = "textDocument/diagnostic"
_ROUND_TRIP = "textDocument/documentSymbol"
_SEVERITIES: dict[int, Severity] = {1: "error", 2: "warning", 3: "information", 4: "hint"}


async def current_diagnostics(
    server: LanguageServer, document: OpenDocument, *, seconds: float | None = None
) -> list[Raw] | None:
    """The diagnostics of the version that the server has now; None if they are not known in time."""
    try:
        async with asyncio.timeout(WAIT_SECONDS if seconds is None else seconds):
            if server.spec.asks_tsserver:
                return await pull_from_tsserver(server, document)
            found = None
            while found is None:
                options = server.capabilities.options(_PULL)
                if options is not None:
                    return await _pull_when_settled(server, document, options.get("identifier"))
                found = await _await_push(server, document)
            return found
    except TimeoutError:
        return None


async def describe_problems(
    server: LanguageServer, document: OpenDocument, found: Sequence[Raw]
) -> tuple[CodeProblem, ...]:
    reader = await PlaceReader.of(server, (document.uri,))
    problems = []
    for diagnostic, _ in read_diagnostics(list(found)):
        place = reader.place(document.uri, diagnostic.range)
        if place is not None:
            code = "" if diagnostic.code is None else f" ({diagnostic.code})"
            problem = CodeProblem(
                path=place.path,
                line=place.line,
                column=place.column,
                severity=_SEVERITIES.get(diagnostic.severity, "error"),
                message=f"{diagnostic.text}{code}",
                source=diagnostic.source or server.name,
            )
            problems.append(problem)
    return tuple(problems)


def not_known(server: LanguageServer, path: Path) -> str:
    """Message that the problems of a file are not known yet, with the reason."""
    doing = server.progress.describe()
    still = f"{server.name} is still {doing}." if doing else f"{server.name} has not finished checking it."
    return f"Not known yet: the problems of {path.name}. {still} Ask again."


async def _pull_when_settled(
    server: LanguageServer, document: OpenDocument, identifier: str | None
) -> list[Raw] | None:
    """Ask; and once more if the server was still reading the project. None if it does not finish in time.

    Until it has read the project, a server may find nothing wrong with a file, or more than there is.
    """
    found = await _pull(server, document, identifier)
    if server.spec.ready_words or server.progress.describe() is None:
        return found
    return await _pull(server, document, identifier) if await server.progress.settle() else None


async def _pull(server: LanguageServer, document: OpenDocument, identifier: str | None) -> list[Raw]:
    params: dict[str, Any] = {"textDocument": {"uri": document.uri}}
    if identifier:
        params["identifier"] = identifier
    answer = await server.request(_PULL, params, limit=WAIT_SECONDS * 2)
    try:
        return codecs.decode_json(answer, DiagnosticReport).items
    except msgspec.DecodeError as error:
        raise LanguageServerFailed(f"{server.name} sent a malformed answer: {error}") from error


async def _await_push(server: LanguageServer, document: OpenDocument) -> list[Raw] | None:
    """Problems that the server pushed for the current version; None after something else has changed."""
    if server.changes > document.told_at:
        # Something else has changed since this version was told, and may have changed its problems.
        server.touch(document)
    version, pushed = document.version, server.pushed
    if (found := pushed.of_version(document.uri, version)) is not None:
        return found
    if pushed.unversioned(document.uri, after=document.pushes_before) is not None:
        return await _await_unversioned(server, document, version)
    await pushed.changed(document.uri)
    return None


async def _await_unversioned(server: LanguageServer, document: OpenDocument, version: int) -> list[Raw]:
    """Last problems pushed by a server without versions, once it has certainly read the text and has gone quiet."""
    pushed = server.pushed
    if document.diagnosed_version != version:
        if server.capabilities.offers(_ROUND_TRIP):
            await server.request(_ROUND_TRIP, {"textDocument": {"uri": document.uri}})
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(_QUIET_SECONDS):
                    await pushed.changed(document.uri)
        document.diagnosed_version = version
    return pushed.unversioned(document.uri, after=-1) or []
