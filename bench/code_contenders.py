"""Portico, Serena and agent-lsp as MCP servers that answer questions about code, each with the same language servers.

Portico is asked as an agent asks it: `portico acp` runs an agent, and the tools come as a program that leads back.
"""

import json
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from bench.children import PORTICO, agent_command, environment
from bench.code_corpus import Language, Question, cache_folder, run
from bench.dialogue import INITIALIZE, Dialogue, dialogue
from bench.report import MeasurementFailed
from scripts.fetch_language_servers import program_folders

_SERENA, _AGENT_LSP = "serena-agent==2.1.0", "agent-lsp==0.23.5"
_LONGEST_SECONDS = 3600.0
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_SERVERS: dict[Language, tuple[str, ...]] = {
    "python": ("basedpyright-langserver", "--stdio"),
    "typescript": ("typescript-language-server", "--stdio"),
    "go": ("gopls",),
}
_SERENA_LANGUAGES = {"python": "python_basedpyright", "typescript": "typescript", "go": "go"}


class Contender(ABC):
    """An MCP server over stdio that runs on one workspace."""

    def __init__(self, server: Dialogue, language: Language, folder: Path) -> None:
        self.language = language
        self.folder = folder
        self._server = server
        server.ask("initialize", _HELLO)
        server.tell("notifications/initialized", {})

    def call(self, name: str, **arguments: Any) -> str:
        answer = self._server.ask("tools/call", {"name": name, "arguments": arguments})
        return "\n".join(part.get("text", "") for part in answer.get("content", ()))

    @abstractmethod
    def find(self, question: Question) -> frozenset[str]:
        """The places that it names, as path:line; or names, where it tells no places."""

    @abstractmethod
    def problems(self, path: str) -> str:
        """Answer about the problems of a file."""

    def write(self, path: str, text: str) -> None:
        """Change a file as an agent does: by a tool of the contender, if it has one for that."""
        (self.folder / path).write_text(text)


class Portico(Contender):
    """The tools of the component `code`."""

    def find(self, question: Question) -> frozenset[str]:
        asked: dict[str, Any] = {"path": question.path, "line": question.line, "symbol": question.symbol}
        if question.kind == "symbols":
            asked = {"path": question.path} if question.path else {"query": question.symbol}
        found = [line.split("  ") for line in self.call(question.kind, **asked).splitlines()]
        places = [line for line in found if re.fullmatch(r"[^/\s]\S*:\d+:\d+", line[0])]
        if question.names_are_asked:
            return frozenset(line[1].split()[0].rpartition(".")[2] for line in places)
        if question.kind == "symbols":
            places = [line for line in places if question.symbol == line[1].split()[0].rpartition(".")[2]]
        return frozenset(line[0].rpartition(":")[0] for line in places)

    def problems(self, path: str) -> str:
        return self.call("problems", path=path)


class Serena(Contender):
    """Names things by their path of names. It has no call hierarchy: callers are among the references."""

    def find(self, question: Question) -> frozenset[str]:
        name_path = "/".join(filter(None, (question.owner, question.symbol)))
        about = {"name_path": name_path, "relative_path": question.path}
        match question.kind:
            case "definition":
                line = (self.folder / question.path).read_text().split("\n")[question.line - 1]
                before = re.escape(line.partition(question.symbol)[0])
                # It refuses a pattern that fits more than once.
                regex = rf"\A(?:[^\n]*\n){{{question.line - 1}}}{before}({re.escape(question.symbol)})"
                return self._symbols(self.call("find_declaration", relative_path=question.path, regex=regex))
            case "references" | "callers":
                return self._references(self.call("find_referencing_symbols", **about))
            case "implementations":
                return self._symbols(self.call("find_implementations", **about))
            case "symbols" if question.path:
                told = self.call("get_symbols_overview", relative_path=question.path, depth=1)
                return frozenset(re.findall(r"\w+", told))
            case "symbols":
                return self._symbols(self.call("find_symbol", name_path_pattern=question.symbol))
            case "callees":
                return frozenset()

    def problems(self, path: str) -> str:
        return self.call("get_diagnostics_for_file", relative_path=path)

    def write(self, path: str, text: str) -> None:
        self.call("create_text_file", relative_path=path, content=text)

    def _symbols(self, told: str) -> frozenset[str]:
        with suppress(ValueError):
            found = json.loads(told)
            return frozenset(map(self._place, found if isinstance(found, list) else [found]))
        return frozenset()

    def _place(self, symbol: Mapping[str, Any]) -> str:
        """Position of the name of a symbol: its body may begin some lines before."""
        name = re.split(r"[/.]", symbol["name_path"])[-1]
        first = symbol["body_location"]["start_line"]
        lines = (self.folder / symbol["relative_path"]).read_text().split("\n")[first : first + 10]
        further = next((number for number, line in enumerate(lines) if name in line), 0)
        return f"{symbol['relative_path']}:{first + further + 1}"

    def _references(self, told: str) -> frozenset[str]:
        with suppress(ValueError):
            return frozenset(
                f"{path}:{int(line) + 1}"
                for path, kinds in json.loads(told).items()
                for line in re.findall(
                    r"^\s*>\s*(\d+):", json.dumps(kinds).replace("\\n", "\n"), re.MULTILINE
                )
                + re.findall(r'"\s*>\s*(\d+):', json.dumps(kinds))
            )
        return frozenset()


class AgentLsp(Contender):
    """Asks by line and column. It tells names, not places, of callers, callees and symbols."""

    def find(self, question: Question) -> frozenset[str]:
        if question.kind == "symbols" and not question.path:
            return self._names(self.call("find_symbol", query=question.symbol), question)
        about: dict[str, Any] = {"file_path": str(self.folder / question.path), "language_id": self.language}
        if question.kind == "symbols":
            return self._names(self.call("list_symbols", **about), question)
        line = (self.folder / question.path).read_text().split("\n")[question.line - 1]
        found = re.search(rf"(?<!\w){re.escape(question.symbol)}(?!\w)", line)
        assert found is not None
        about |= {"line": question.line, "column": found.start() + 1}
        match question.kind:
            case "definition":
                return self._places(self.call("go_to_definition", **about))
            case "references":
                return self._places(self.call("find_references", **about))
            case "implementations":
                return self._places(self.call("go_to_implementation", **about))
            case "callers":
                return self._names(self.call("find_callers", direction="incoming", **about), question)
            case "callees":
                return self._names(self.call("find_callers", direction="outgoing", **about), question)

    def problems(self, path: str) -> str:
        return self.call("get_diagnostics", file_path=str(self.folder / path))

    def write(self, path: str, text: str) -> None:
        place = self.folder / path
        self.call("apply_edit", file_path=str(place), old_text=place.read_text(), new_text=text)

    def _places(self, told: str) -> frozenset[str]:
        """Places in rows whose fields the header names."""
        header = re.search(r"^## \[\d+\]\{([\w,]+)\}$", told, re.MULTILINE)
        if header is None:
            return frozenset()
        fields = header[1].split(",")
        rows = [line.split("|") for line in told[header.end() :].splitlines() if "|" in line]
        named = [dict(zip(fields, row, strict=True)) for row in rows if len(row) == len(fields)]
        inside = [row for row in named if Path(row["FilePath"]).is_relative_to(self.folder)]
        return frozenset(
            f"{Path(row['FilePath']).relative_to(self.folder).as_posix()}:{row['StartLine']}"
            for row in inside
        )

    def _names(self, told: str, question: Question) -> frozenset[str]:
        found = re.findall(r"^@\d+ \w+ (\S+) [\d.]+ \w+$", told, re.MULTILINE)
        names = {re.split(r"[./]", name)[-1] for name in found}
        return frozenset(names - {question.symbol} if question.kind in ("callers", "callees") else names)


@contextmanager
def portico(language: Language, folder: Path, home: Path) -> Iterator[Contender]:
    (home / "config").mkdir(parents=True)
    settings = {"trustedWorkspaces": [str(folder)]}
    (home / "config" / "settings.json").write_text(json.dumps(settings))
    environ = environment(home) | _shared(home)
    command = (PORTICO, "acp", "--agent-command", " ".join(agent_command("listing_agent")))
    with ExitStack() as stack:
        editor = stack.enter_context(_running(command, environ, folder))
        editor.ask("initialize", INITIALIZE)
        session = editor.ask("session/new", {"cwd": str(folder), "mcpServers": []})
        given = session["_meta"]["mcpServers"]
        entry = next((one for one in given if one["name"] == "portico-code"), None)
        if entry is None:
            raise MeasurementFailed(f"the agent was not given the code tools, but {given}")
        variables = {one["name"]: one["value"] for one in entry["env"]}
        program = (entry["command"], *entry["args"])
        yield Portico(stack.enter_context(_running(program, environ | variables, folder)), language, folder)


@contextmanager
def serena(language: Language, folder: Path, home: Path) -> Iterator[Contender]:
    home.mkdir(parents=True)
    name = _SERENA_LANGUAGES[language]
    program = _SERVERS[language][0]
    # Its settings are YAML, which JSON is a part of.
    settings: dict[str, Any] = {"projects": [], "web_dashboard": False, "gui_log_window": False}
    if language != "go":
        found = next(place for place in server_path().split(os.pathsep) if (Path(place) / program).exists())
        settings["ls_specific_settings"] = {name: {"ls_path": str(Path(found) / program)}}
    (home / "serena_config.yml").write_text(json.dumps(settings))
    (folder / ".serena").mkdir()
    project = {"project_name": "bench", "language_servers": [name]}
    (folder / ".serena" / "project.yml").write_text(json.dumps(project))
    environ = {**os.environ, **_shared(home), "SERENA_HOME": str(home), "HOME": str(home)}
    options = ("--project", str(folder), "--agent-interface", "tools", "--enable-web-dashboard", "false")
    command = (str(_installed(_SERENA) / "serena"), "start-mcp-server", *options)
    with _running(command, environ, folder) as server:
        yield Serena(server, language, folder)


@contextmanager
def agent_lsp(language: Language, folder: Path, home: Path) -> Iterator[Contender]:
    home.mkdir(parents=True)
    environ = {**os.environ, **_shared(home), "HOME": str(home)}
    command = (str(_installed(_AGENT_LSP) / "agent-lsp"), f"{language}:{','.join(_SERVERS[language])}")
    with _running(command, environ, folder) as server:
        asked = AgentLsp(server, language, folder)
        asked.call("start_lsp", root_dir=str(folder), language_id=language)
        yield asked


def install_peers() -> None:
    """Install what is not there yet."""
    for package in (_SERENA, _AGENT_LSP):
        _installed(package)
    if not _gopls():
        home = {**os.environ, "PORTICO_HOME": str(cache_folder() / "portico")}
        run((PORTICO, "code", "servers", "install", "gopls"), home)


Start = Callable[[Language, Path, Path], AbstractContextManager[Contender]]
CONTENDERS: dict[str, Start] = {"Portico": portico, "Serena": serena, "agent-lsp": agent_lsp}


def server_path() -> str:
    """PATH with the language servers that all contenders use in front."""
    return os.pathsep.join((*map(str, program_folders()), *map(str, _gopls()), os.environ["PATH"]))


def _shared(home: Path) -> dict[str, str]:
    """Environment of all contenders: the language servers, and empty caches for Go."""
    return {
        "PATH": server_path(),
        "GOCACHE": str(home / "go-build"),
        "GOPLSCACHE": str(home / "gopls"),
        "GOFLAGS": "-modcacherw",
    }


def _gopls() -> list[Path]:
    return list((cache_folder() / "portico" / "cache" / "language-servers").glob("gopls-*/bin"))


def memory() -> int:
    """Bytes of all processes that were started here, shared pages divided by who shares them."""
    total = 0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += process.memory_full_info().pss
    return total


@contextmanager
def _running(command: tuple[str, ...], environ: Mapping[str, str], folder: Path) -> Iterator[Dialogue]:
    """A program, whose descendants end with it."""
    with dialogue(command, environ=environ, cwd=folder, seconds=_LONGEST_SECONDS) as server:
        try:
            yield server
        finally:
            for process in psutil.Process(server.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    process.kill()


def _installed(package: str) -> Path:
    """The folder of the programs of a package, which is installed in an environment of its own."""
    place = cache_folder() / package.replace("==", "-")
    if not (place / "complete").exists():
        run((sys.executable, "-m", "venv", "--clear", str(place)))
        run((str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", package))
        (place / "complete").touch()
    return place / "bin"
