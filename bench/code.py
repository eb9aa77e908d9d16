"""Code intelligence with a real server (basedpyright) over a real package (httpx): time, memory, and stale answers.

The storm makes 500 changes, as an agent and as a person would, in the file that is asked about and in one that it
imports. Each change leaves a name in the problems that no other change leaves, so an answer about an older version is
noticed.
"""

import asyncio
import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import Samples
from portico.domain.windows import CodeLookup, CodeLookupResult
from portico.editors.files import LocalFiles
from portico.editors.language_servers.servers import LanguageServers
from portico.editors.language_servers.supervised_server import used_megabytes
from portico.processes.clock import SystemClock
from portico.sessions.code_servers import CodeTree
from scripts.fetch_language_servers import server_folders

EDITS = 500
WARM_ROUNDS = 30
_MIB = 1024 * 1024
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
    path = os.pathsep.join((str(server_folders()["basedpyright"] / "bin"), os.environ["PATH"]))
    environ = {**os.environ, "PATH": path, "PORTICO_HOME": str(folder / "home")}
    servers = LanguageServers(environ, SystemClock())
    tree = CodeTree(package.parent, package.parent, LocalFiles(package.parent).read_text)
    try:
        cold, first = await _timed(servers.look_up(tree, _definition(package)))
        if "_client.py" not in first.places[0].path:
            raise MeasurementFailed(f"the definition is elsewhere: {first.places}")
        warm = [(await _timed(servers.look_up(tree, _definition(package))))[0] for _ in range(WARM_ROUNDS)]
        taken, stale, unknown = await _storm(servers, tree)
        memory = max(used_megabytes(pid) for pid in servers.pids()) * _MIB
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
            Line(what="memory of the server", samples=Samples((float(memory),)), unit="bytes"),
        ),
        notes=(f"{EDITS} edits, {stale} stale answers, {unknown} not known yet.",),
    )


def _definition(package: Path) -> CodeLookup:
    """Where `Client` is defined, which `_api.py` imports."""
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
