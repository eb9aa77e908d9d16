"""All language servers of a host: one for each language and tree, shared by sessions, agents and doors."""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from portico.config.paths import config_folder
from portico.config.settings import USER_FILE, WORKSPACE_FILE, load_settings
from portico.domain.errors import LanguageServerFailed
from portico.domain.windows import CodeAction, CodeFileEdit, CodeLookup, CodeLookupResult, CodeProblem
from portico.editors.language_servers import lookups, problems
from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.documents import OpenDocument
from portico.editors.language_servers.edits import CodeEdits, describe_action
from portico.editors.language_servers.programs import prepare, usable_servers
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.source_files import count_suffixes, environment_stamp, file_facts
from portico.editors.language_servers.specification import LanguageServerSpec, ServerCommand
from portico.editors.language_servers.supervised_server import Launch, SupervisedServer
from portico.editors.language_servers.tree_sync import TreeSync
from portico.files.deadline import within_deadline
from portico.sessions.code_servers import CodeTree
from portico.sessions.ports import Clock

MOST_RUNNING = 8
_MOST_CHECKED = 20
_MOST_TRIALS = 3
_MOST_TARGETS = 1000


class _Target(msgspec.Struct, frozen=True):
    """The server that a question goes to: which, where, and about what file."""

    spec: LanguageServerSpec
    workspace: Path
    tree: Path
    trusted: bool
    stamp: tuple[int, ...]
    """Times of the packages that are installed for the project."""
    settings: tuple[int, ...]
    """Times of the settings that decided."""
    path: Path | None = None

    @property
    def key(self) -> tuple[str, Path]:
        return self.spec.name, self.tree


class _OtherTarget(Exception):
    """The facts that choose the server of a question have changed."""


class _Question(msgspec.Struct, frozen=True):
    """A running server, with the document that is asked about, which it knows as the session has it."""

    server: LanguageServer
    sync: TreeSync
    document: OpenDocument | None


class LanguageServers:
    """Implements `sessions.code_servers.CodeServers`. Its owner must close it."""

    def __init__(
        self, environ: Mapping[str, str], clock: Clock, launch: Launch = LanguageServer.start
    ) -> None:
        self._environ = environ
        self._clock = clock
        self._launch = launch
        self._servers: dict[tuple[str, Path], SupervisedServer] = {}
        self._stamps: dict[tuple[str, Path], tuple[int, ...]] = {}
        self._targets: dict[tuple[Path, Path, str], _Target] = {}
        """Targets of the last questions, by workspace, folder and path."""

    async def close(self) -> None:
        while self._servers:
            _, server = self._servers.popitem()
            await server.end()

    def pids(self) -> list[int]:
        """The processes of the servers that run."""
        return [server.pid for server in self._servers.values() if server.pid is not None]

    async def look_up(self, tree: CodeTree, lookup: CodeLookup) -> CodeLookupResult:
        if not lookup.path:
            symbols = lookup.kind == "symbols"
            return await (self._find_symbols(tree, lookup) if symbols else self._check_open_files(tree))
        async with self._about(tree, lookup.path) as asked:
            try:
                return await _answer(asked, tree, lookup)
            except LanguageServerFailed:
                if asked.server.running:
                    raise
        # It crashed over the question, or beside it: a new one gets the question once more.
        async with self._about(tree, lookup.path) as asked:
            return await _answer(asked, tree, lookup)

    async def problems_with(self, tree: CodeTree, path: str, text: str) -> Sequence[CodeProblem]:
        target = await within_deadline(lambda: self._find(tree, path), seconds=30)
        assert target.path is not None
        supervised = await self._supervised(target)
        for _ in range(_MOST_TRIALS):
            async with supervised.use() as (server, sync):
                found = await sync.try_text(tree, target.path, text, partial(_problems, server))
            if found is not None and found.note:
                raise LanguageServerFailed(found.note)
            if found is not None:
                return found.problems
        raise LanguageServerFailed(f"{target.spec.name} has more urgent questions to answer.")

    async def rename(self, tree: CodeTree, place: CodeLookup, name: str) -> Sequence[CodeFileEdit]:
        async with self._about(tree, place.path) as asked:
            assert asked.document is not None
            return await CodeEdits(asked.server, asked.sync, tree).rename(asked.document, place, name)

    async def actions(self, tree: CodeTree, place: CodeLookup) -> Sequence[CodeAction]:
        async with self._about(tree, place.path) as asked:
            assert asked.document is not None
            offers = await CodeEdits(asked.server, asked.sync, tree).offers(asked.document, place)
            return [describe_action(action) for action, _ in offers]

    async def act(self, tree: CodeTree, place: CodeLookup, title: str) -> Sequence[CodeFileEdit]:
        async with self._about(tree, place.path) as asked:
            assert asked.document is not None
            return await CodeEdits(asked.server, asked.sync, tree).act(asked.document, place, title)

    @asynccontextmanager
    async def _about(self, tree: CodeTree, path: str) -> AsyncIterator[_Question]:
        """The server for a file, or for most files of a tree."""
        question = (tree.workspace, tree.folder, path)
        target = self._targets.get(question)
        if target is not None and (known := self._running_for(target)) is not None:
            confirm = partial(self._confirm, tree, path, target)
            with suppress(_OtherTarget):
                async with _current(known, tree, target.path, confirm) as asked:
                    yield asked
                    return
        target = await within_deadline(lambda: self._find(tree, path), seconds=30)
        if len(self._targets) >= _MOST_TARGETS:
            self._targets.clear()
        self._targets[question] = target
        async with _current(await self._supervised(target), tree, target.path) as asked:
            yield asked

    def _confirm(self, tree: CodeTree, path: str, target: _Target) -> None:
        """Raise _OtherTarget if a question may have to go to another server than the last time. Blocks."""
        workspace, folder = (Path(os.path.realpath(place)) for place in (tree.workspace, tree.folder))
        real = Path(os.path.realpath(folder / path)) if path else None
        times = (environment_stamp(folder, workspace), self._settings_times(workspace))
        if (workspace, folder, real) != (target.workspace, target.tree, target.path) or times != (
            target.stamp,
            target.settings,
        ):
            raise _OtherTarget

    def _running_for(self, target: _Target) -> SupervisedServer | None:
        """The server of a target, if it runs with the packages that are installed."""
        known = self._servers.get(target.key)
        is_current = known is not None and known.running and self._stamps[target.key] == target.stamp
        return known if is_current else None

    def _settings_times(self, workspace: Path) -> tuple[int, ...]:
        files = (config_folder(self._environ) / USER_FILE, workspace / WORKSPACE_FILE)
        return tuple(fact for file in files for fact in file_facts(str(file)))

    async def _find_symbols(self, tree: CodeTree, lookup: CodeLookup) -> CodeLookupResult:
        """The symbols that the server of most files knows, and those that others know that run."""
        async with self._about(tree, "") as asked:
            first, found = asked.server, [await _answer(asked, tree, lookup)]
        for supervised in await self._running(tree):
            async with _current(supervised, tree) as asked:
                if asked.server is not first and asked.server.capabilities.offers("workspace/symbol"):
                    found.append(await _answer(asked, tree, lookup))
        return CodeLookupResult(
            places=tuple(place for one in found for place in one.places),
            total=sum(one.total for one in found),
            note=" ".join(one.note for one in found if one.note),
        )

    async def _running(self, tree: CodeTree) -> list[SupervisedServer]:
        folder = await within_deadline(lambda: Path(os.path.realpath(tree.folder)))
        return [one for (_, place), one in self._servers.items() if place == folder and one.running]

    async def _check_open_files(self, tree: CodeTree) -> CodeLookupResult:
        """The problems of the files that were changed or asked about since their server was started."""
        found: list[CodeProblem] = []
        notes: list[str] = []
        checked = 0
        for supervised in await self._running(tree):
            async with _current(supervised, tree) as asked:
                for document in list(asked.server.documents)[-_MOST_CHECKED:]:
                    result = await _problems(asked.server, document)
                    checked += 1
                    found += _as_named(result, asked.server.tree, tree.folder).problems
                    notes += [result.note] if result.note else []
        told = f"Checked {checked} files that were changed or asked about. Give path to check another."
        return CodeLookupResult(problems=tuple(found), note=" ".join((*notes, told)))

    async def _supervised(self, target: _Target) -> SupervisedServer:
        key = target.key
        known = self._servers.get(key)
        if known is not None and self._stamps[key] != target.stamp and not known.busy:
            # Other packages are installed than when it was started.
            await known.end()
            self._stamps[key] = target.stamp
        if known is None:
            await self._make_room()
            known = SupervisedServer(
                target.spec.name, partial(self._prepare, target), self._launch, self._clock
            )
            self._servers[key] = known
            self._stamps[key] = target.stamp
        return known

    async def _prepare(self, target: _Target) -> ServerCommand:
        return await within_deadline(
            lambda: prepare(target.spec, target.workspace, target.tree, self._environ, trusted=target.trusted)
        )

    async def _make_room(self) -> None:
        """End the server that was not used for the longest time, if too many run."""
        idle = [one for one in self._servers.values() if one.running and not one.busy]
        if len(idle) >= MOST_RUNNING:
            await min(idle, key=lambda one: one.last_used).end()

    def _find(self, tree: CodeTree, path: str) -> _Target:
        """The server for a file, or for most files of a tree. LanguageServerFailed if there is none. Blocks."""
        workspace, folder = (Path(os.path.realpath(place)) for place in (tree.workspace, tree.folder))
        times = self._settings_times(workspace)
        settings = load_settings(config_folder(self._environ), workspace)
        catalog = server_catalog(settings.language_servers)
        real = Path(os.path.realpath(folder / path)) if path else None
        suitable = catalog if real is None else [spec for spec in catalog if spec.language_of(real)]
        if real is not None and not real.is_relative_to(folder):
            raise LanguageServerFailed(f"{path} is outside the workspace {folder}.")
        if not suitable:
            raise LanguageServerFailed(
                f"No language server is known for {path}.",
                suggestion='Add one under "languageServers" in your settings.',
            )
        usable = usable_servers(suitable, workspace, self._environ, trusted=settings.trusted)
        chosen = _most_common(usable, folder) if real is None else (usable or suitable)[0]
        stamp = environment_stamp(folder, workspace)
        return _Target(chosen, workspace, folder, settings.trusted, stamp, times, real)


@asynccontextmanager
async def _current(
    supervised: SupervisedServer,
    tree: CodeTree,
    path: Path | None = None,
    confirm: Callable[[], None] = lambda: None,
) -> AsyncIterator[_Question]:
    """A server that knows all that has changed in a tree until now."""
    async with supervised.use() as (server, sync), sync.question(tree, path, confirm) as document:
        yield _Question(server, sync, document)


def _most_common(specs: Sequence[LanguageServerSpec], folder: Path) -> LanguageServerSpec:
    """The server of the language that most files of a folder have."""
    counts = count_suffixes(folder, frozenset(suffix for spec in specs for suffix in spec.languages))
    sums = {spec.name: sum(counts.get(suffix, 0) for suffix in spec.languages) for spec in specs}
    chosen = max(specs, key=lambda spec: sums[spec.name], default=None)
    if chosen is None or not sums[chosen.name]:
        raise LanguageServerFailed(
            "No language server is installed for the files of this workspace.",
            suggestion="See which can be: portico code servers list",
        )
    return chosen


def _as_named(result: CodeLookupResult, real: Path, named: Path) -> CodeLookupResult:
    """The same answer for a tree that was named by a path with links in it."""
    if real == named:
        return result

    def renamed(path: str) -> str:
        place = Path(path)
        return str(named / place.relative_to(real)) if place.is_relative_to(real) else path

    return msgspec.structs.replace(
        result,
        places=tuple(msgspec.structs.replace(one, path=renamed(one.path)) for one in result.places),
        problems=tuple(msgspec.structs.replace(one, path=renamed(one.path)) for one in result.problems),
    )


async def _answer(asked: _Question, tree: CodeTree, lookup: CodeLookup) -> CodeLookupResult:
    if asked.document is None:
        found = await lookups.find_symbols(asked.server, lookup.query)
    else:
        found = await _answer_about(asked.server, asked.document, lookup)
    if age := asked.sync.describe_age():
        found = msgspec.structs.replace(found, note=" ".join(filter(None, (found.note, age))))
    return _as_named(found, asked.server.tree, tree.folder)


async def _answer_about(
    server: LanguageServer, document: OpenDocument, lookup: CodeLookup
) -> CodeLookupResult:
    match lookup.kind:
        case "symbols":
            return await lookups.list_symbols(server, document)
        case "hover":
            return await lookups.show_hover(server, document, lookup)
        case "diagnostics":
            return await _problems(server, document)
        case "callers" | "callees":
            return await lookups.find_calls(server, document, lookup)
        case "definition" | "type_definition" | "implementations" | "references":
            return await lookups.find_places(server, document, lookup)


async def _problems(server: LanguageServer, document: OpenDocument) -> CodeLookupResult:
    found = await problems.current_diagnostics(server, document)
    if found is None:
        return CodeLookupResult(note=problems.not_known(server, document.path))
    return CodeLookupResult(problems=await problems.describe_problems(server, document, found))
