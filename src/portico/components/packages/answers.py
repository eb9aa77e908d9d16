"""Answers of the package tools: for any package of a workspace, and for the one package of a research session."""

from collections.abc import Mapping
from pathlib import Path

from portico.components.packages.arguments import (
    AskAboutPackage,
    FolderToList,
    LinesToRead,
    ListPackage,
    NamedPackage,
    ReadPackage,
    SearchPackage,
    TextToFind,
)
from portico.components.packages.cache import PackageCache
from portico.components.packages.descriptions import (
    MOST_MATCHES,
    describe_files,
    describe_lines,
    describe_matches,
    describe_source,
)
from portico.components.packages.library import PackageLibrary, PackageSource
from portico.components.packages.options import PackagesOptions
from portico.components.packages.package import PackageName
from portico.components.packages.text_search import PackageTextQuery, search_tree
from portico.files.deadline import within_deadline
from portico.mcp.tools import ToolCall

_Asked = NamedPackage | SearchPackage | ReadPackage | ListPackage | AskAboutPackage


class PackageAnswers:
    """Answers about the packages of one workspace."""

    def __init__(self, workspace: Path, environ: Mapping[str, str], options: PackagesOptions) -> None:
        self._environ = environ
        cache = PackageCache(environ, most_bytes=options.cache_megabytes * 1_000_000)
        self._library = PackageLibrary(workspace, environ, cache, offline=options.offline)

    async def find(self, asked: _Asked) -> PackageSource:
        return await self._library.source(PackageName.parse(asked.ecosystem, asked.name), asked.version)

    async def source(self, call: ToolCall) -> str:
        return await _overview(await self.find(call.read(NamedPackage)))

    async def search(self, call: ToolCall) -> str:
        asked = call.read(SearchPackage)
        return await _search(self._environ, await self.find(asked), asked)

    async def read(self, call: ToolCall) -> str:
        asked = call.read(ReadPackage)
        return await _read(await self.find(asked), asked)

    async def list(self, call: ToolCall) -> str:
        asked = call.read(ListPackage)
        return await _list(await self.find(asked), asked)


class ResearchAnswers:
    """Answers about one package."""

    def __init__(self, source: PackageSource, environ: Mapping[str, str]) -> None:
        self._source = source
        self._environ = environ

    async def overview(self, call: ToolCall) -> str:
        asked = call.read(FolderToList)
        return await (_list(self._source, asked) if asked.path else _overview(self._source))

    async def search(self, call: ToolCall) -> str:
        return await _search(self._environ, self._source, call.read(TextToFind))

    async def read(self, call: ToolCall) -> str:
        return await _read(self._source, call.read(LinesToRead))


async def _overview(source: PackageSource) -> str:
    return describe_source(source, await within_deadline(lambda: list(source.tree.files())))


async def _search(environ: Mapping[str, str], source: PackageSource, asked: TextToFind) -> str:
    query = PackageTextQuery(
        text=asked.query,
        is_regex=asked.regex,
        ignore_case=asked.ignore_case,
        path=asked.path,
        glob=asked.glob,
    )
    found = await search_tree(source.tree, query, environ, limit=MOST_MATCHES)
    return describe_matches(source, found, asked.query)


async def _read(source: PackageSource, asked: LinesToRead) -> str:
    text = await within_deadline(lambda: source.tree.read(asked.path))
    return describe_lines(source, asked.path, text, asked.line, asked.lines)


async def _list(source: PackageSource, asked: FolderToList) -> str:
    path = source.tree.locate(asked.path)
    return describe_files(source, path, await within_deadline(lambda: list(source.tree.files())))
