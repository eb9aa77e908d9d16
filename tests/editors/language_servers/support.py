"""Language servers in a workspace: the scripted one by its options, and the real ones that `make setup` fetched."""

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from portico.domain.windows import CodeLookup, CodeLookupResult, LookupKind
from portico.editors.files import LocalFiles
from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.server import LanguageServer, Tap
from portico.editors.language_servers.servers import LanguageServers
from portico.processes.clock import SystemClock
from portico.sessions.code_servers import CodeTree
from portico.sessions.ports import Clock
from scripts.fetch_language_servers import program_folders

SCRIPTED = Path(__file__).with_name("scripted_server.py")


def real_server_path() -> str:
    """PATH with the real servers in front."""
    return os.pathsep.join((*map(str, program_folders()), os.environ["PATH"]))


def real_server_settings() -> dict[str, Any]:
    """Settings that name the real servers of Python, TypeScript and C by their programs."""
    names = ("basedpyright", "typescript-language-server", "clangd")
    chosen = [spec for spec in server_catalog({}) if spec.name in names]
    return {
        spec.name: {
            "command": shutil.which(spec.command[0], path=real_server_path()),
            "args": spec.command[1:],
        }
        for spec in chosen
    }


def write_settings(home: Path, **settings: Any) -> None:
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "settings.json").write_text(json.dumps(settings))


def scripted(setting: Mapping[str, Any] | None = None, /, **options: Any) -> dict[str, Any]:
    """Settings with a scripted server for texts."""
    server = {
        "command": sys.executable,
        "args": [str(SCRIPTED), json.dumps(options)],
        "extensions": {".txt": "words"},
        **(setting or {}),
    }
    return {"languageServers": {"scripted": server}}


class Workspace:
    """A folder, and the language servers that are asked about it."""

    def __init__(self, servers: LanguageServers, folder: Path) -> None:
        self.servers = servers
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.unsaved: dict[str, str] = {}

    @property
    def tree(self) -> CodeTree:
        return CodeTree(self.folder, self.folder, self.read)

    async def read(self, path: str) -> str:
        if path in self.unsaved:
            return self.unsaved[path]
        return await LocalFiles(self.folder).read_text(path)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def ask(
        self, kind: LookupKind, name: str = "", line: int = 1, column: int = 0, query: str = ""
    ) -> CodeLookupResult:
        """Ask about a file and a line, which counts from one."""
        path = str(self.folder / name) if name else ""
        lookup = CodeLookup(kind=kind, path=path, line=line - 1, column=column, query=query)
        return await self.servers.look_up(self.tree, lookup)

    async def problems(self, name: str) -> list[tuple[int, str]]:
        """The problems of a file that are known, by line."""
        found = await self.ask("diagnostics", name)
        assert not found.note, found.note
        return [(one.line + 1, one.message) for one in found.problems]


@asynccontextmanager
async def workspace(
    folder: Path,
    home: Path,
    *,
    clock: Clock | None = None,
    path: str | None = None,
    tap: Tap | None = None,
    **settings: Any,
) -> AsyncIterator[Workspace]:
    """A workspace with servers of these settings of the user; `path` finds others, `tap` sees every frame."""
    write_settings(home, **settings)
    environ = {**os.environ, "PORTICO_HOME": str(home), "PATH": path or os.environ["PATH"]}
    servers = LanguageServers(environ, clock or SystemClock(), partial(LanguageServer.start, tap=tap))
    try:
        yield Workspace(servers, folder)
    finally:
        await servers.close()
