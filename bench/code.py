"""Code intelligence with real servers over a real package (httpx): time, memory, and stale answers.

The storm makes 500 changes, as an agent and as a person would, in the file that is asked about and in one that it
imports. Each change leaves a name in the problems that no other change leaves, so an answer about an older version is
noticed. Memory is that of basedpyright alone, and of the servers of Python, TypeScript and C together.
"""

import asyncio
import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import TypeVar

from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import Samples
from portico.domain.windows import CodeLookup, CodeLookupResult
from portico.editors.files import LocalFiles
from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.servers import LanguageServers
from portico.editors.language_servers.source_files import TreeSnapshot
from portico.editors.language_servers.supervised_server import used_megabytes
from portico.processes.clock import SystemClock
from portico.sessions.code_servers import CodeTree
from scripts.fetch_language_servers import program_folders

EDITS = 500
WARM_ROUNDS = 30
_MIB = 1024 * 1024
_HUGE, _PER_FOLDER = 100_000, 500
_OTHER_LANGUAGES = {
    "other.ts": "function one(): number { return 1; }\nlet x = one();\n",
    "other.c": "static int one(void) { return 1; }\nint x = one();\n",
}
"""Files whose second line calls a function that the first one defines."""
_Result = TypeVar("_Result")


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(os.path.realpath(folder))))


async def _measure(folder: Path) -> Section:
    found = importlib.util.find_spec("httpx")
    if found is None or found.origin is None:
        raise MeasurementFailed("httpx is not installed")
    package = folder / "workspace" / "httpx"
    shutil.copytree(Path(found.origin).parent, package)
    path = os.pathsep.join((*map(str, program_folders()), os.environ["PATH"]))
    environ = {**os.environ, "PATH": path, "PORTICO_HOME": str(folder / "home")}
    servers = LanguageServers(environ, SystemClock())
    tree = CodeTree(package.parent, package.parent, LocalFiles(package.parent).read_text)
    try:
        cold, first = await _timed(servers.look_up(tree, _definition(package)))
        if "_client.py" not in first.places[0].path:
            raise MeasurementFailed(f"the definition is elsewhere: {first.places}")
        warm = [(await _timed(servers.look_up(tree, _definition(package))))[0] for _ in range(WARM_ROUNDS)]
        taken, stale, unknown = await _storm(servers, tree)
        memory = _memory(servers)
        await _ask_other_languages(servers, tree)
        memory_of_three = _memory(servers)
        if len(servers.pids()) != 1 + len(_OTHER_LANGUAGES):
            raise MeasurementFailed(f"{len(servers.pids())} servers run")
    finally:
        await servers.close()
    if stale:
        raise MeasurementFailed(f"{stale} of {EDITS} answers were stale")
    return Section(
        title="Code intelligence: basedpyright, the sources of httpx",
        lines=(
            Line(what="definition, cold", samples=Samples((cold,)), unit="seconds"),
            Line(
                what="definition, warm",
                samples=Samples(tuple(warm)),
                unit="seconds",
                budget=Budget("at most", 0.1),
            ),
            Line(
                what="problems after an edit",
                samples=Samples(tuple(taken)),
                unit="seconds",
                budget=Budget("at most", 1.0),
            ),
            Line(what="memory of basedpyright", samples=Samples((float(memory),)), unit="bytes"),
            Line(
                what="memory with three languages", samples=Samples((float(memory_of_three),)), unit="bytes"
            ),
            *_huge_tree_lines(folder / "huge"),
        ),
        notes=(f"{EDITS} edits, {stale} stale answers, {unknown} not known yet.",),
    )


def _memory(servers: LanguageServers) -> int:
    return sum(used_megabytes(pid) for pid in servers.pids()) * _MIB


async def _ask_other_languages(servers: LanguageServers, tree: CodeTree) -> None:
    for name, text in _OTHER_LANGUAGES.items():
        (tree.folder / name).write_text(text)
        lookup = CodeLookup(kind="definition", path=str(tree.folder / name), line=1, column=len("int x = "))
        found = await servers.look_up(tree, lookup)
        if [place.line for place in found.places] != [0]:
            raise MeasurementFailed(f"{name}: the definition is elsewhere: {found}")


def _huge_tree_lines(root: Path) -> Iterator[Line]:
    """A look at a tree of 100,000 files, which comes before answers: when nothing changed, and when one file did."""
    spec = next(spec for spec in server_catalog({}) if spec.name == "basedpyright")
    for number in range(_HUGE // _PER_FOLDER):
        folder = root / str(number)
        folder.mkdir(parents=True)
        for file in range(_PER_FOLDER):
            (folder / f"{file}.py").touch()
    snapshot = TreeSnapshot(root, spec)
    # What was written right before the first look counts as changed at the second.
    for _ in range(2):
        snapshot.compare()
    looks = [_look(snapshot, 0) for _ in range(3)]
    (root / "7" / "7.py").write_text("x = 1\n")
    looks.append(_look(snapshot, 1))
    yield Line(what=f"look at a tree of {_HUGE:,} files", samples=Samples(tuple(looks)), unit="seconds")


def _look(snapshot: TreeSnapshot, expected: int) -> float:
    started = time.perf_counter()
    changed = snapshot.compare()
    seconds = time.perf_counter() - started
    if len(changed) != expected:
        raise MeasurementFailed(f"{len(changed)} changes were seen, not {expected}")
    return seconds


def _definition(package: Path) -> CodeLookup:
    """Position of the definition of `Client`, which `_api.py` imports."""
    lines = (package / "_api.py").read_text().split("\n")
    line = next(number for number, text in enumerate(lines) if "import Client" in text)
    return CodeLookup(
        kind="definition", path=str(package / "_api.py"), line=line, column=lines[line].index("Client")
    )


async def _timed(work: Awaitable[_Result]) -> tuple[float, _Result]:
    started = time.perf_counter()
    result = await work
    return time.perf_counter() - started, result


async def _storm(servers: LanguageServers, tree: CodeTree) -> tuple[list[float], int, int]:
    """Seconds of each answer, and how many answers were stale, and not known yet."""
    user, module = tree.folder / "storm_user.py", tree.folder / "storm_module.py"
    user.write_text("")
    module.write_text("")
    files = LocalFiles(tree.folder)
    taken, stale, unknown = [], 0, 0
    for number in range(EDITS):
        name, by_agent = f"storm_{number}", number % 2 == 0
        if number % 4 < 2:
            changed, text = user, f"import httpx\nprint({name})\n"
        else:
            # The user takes a name from the module that only other versions of the module have.
            changed, text = module, f"{name} = 1\n"
            user.write_text(f"from storm_module import {name}, missing_{number}\n")
        if by_agent:
            await files.write_text(str(changed), text)
        else:
            changed.write_text(text)
        lookup = CodeLookup(kind="diagnostics", path=str(user))
        seconds, answer = await _timed(servers.look_up(tree, lookup))
        taken.append(seconds)
        unknown += bool(answer.note)
        stale += not answer.note and not _is_current(answer, number)
    return taken, stale, unknown


def _is_current(answer: CodeLookupResult, number: int) -> bool:
    wanted = f"storm_{number}" if number % 4 < 2 else f"missing_{number}"
    names = [problem.message for problem in answer.problems if problem.severity == "error"]
    return len(names) == 1 and f'"{wanted}"' in names[0]
