"""Questions to real servers, with answers that are known: Python, TypeScript, C, shell and YAML.

Go and Rust are asked, too, where their servers are installed.
"""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from portico.domain.errors import LanguageServerFailed
from portico.domain.windows import CodeLookup, CodeLookupResult, LookupKind
from tests.editors.language_servers.official_types import check_official, is_official_answer
from tests.editors.language_servers.real_sources import ANSWERS, SAMPLES, SOURCES, C, Sample
from tests.editors.language_servers.support import Workspace, real_server_path, workspace
from tests.support.waiting import eventually


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def code(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workspace]:
    """One workspace with all languages, whose servers all tests of this file share.

    Whatever they ask, every frame that is sent is one of the official types.
    """
    frames: list[tuple[str, bytes]] = []
    place, home = tmp_path_factory.mktemp("real") / "w", tmp_path_factory.mktemp("home-of-servers")

    def tap(direction: str, line: bytes) -> None:
        frames.append((direction, bytes(line)))

    async with workspace(
        place, home, path=real_server_path(), tap=tap, trustedWorkspaces=[str(place)]
    ) as here:
        for name, text in SOURCES.items():
            here.write(name, text)
        commands = [
            {"directory": str(here.folder), "file": name, "command": f"cc -c {name}"}
            for name in C
            if name.endswith(".c")
        ]
        here.write("compile_commands.json", json.dumps(commands))
        yield here
    asked: dict[object, set[str]] = {}
    methods = set()
    for direction, line in frames:
        message = json.loads(line)
        if direction != "sent":
            if {"id", "method"} <= set(message):
                asked.setdefault(message["id"], set()).add(message["method"])
        elif "method" in message:
            methods.add(message["method"])
            check_official(message)
        else:
            assert is_official_answer(asked[message["id"]], message), message
    assert {"initialize", "shutdown", "exit"} <= methods
    assert any("workspace/configuration" in names for names in asked.values()), "answers were checked, too"


def column(here: Workspace, name: str, line: int, symbol: str) -> int:
    return (here.folder / name).read_text().split("\n")[line - 1].index(symbol)


async def ask_when_ready(
    here: Workspace, kind: LookupKind, name: str, line: int, place: int
) -> CodeLookupResult:
    """Ask a server that may still read the project, and says so."""

    async def ask() -> CodeLookupResult:
        try:
            return await here.ask(kind, name, line, place)
        except LanguageServerFailed as error:
            return CodeLookupResult(note=error.message)

    return await eventually(ask, lambda told: "Ask again" not in told.note, seconds=100)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("kind", "name", "line", "symbol", "expected"), ANSWERS)
async def test_a_question_with_a_known_answer(
    code: Workspace, kind: LookupKind, name: str, line: int, symbol: str, expected: set[str]
) -> None:
    found = await ask_when_ready(code, kind, name, line, column(code, name, line, symbol))
    paths = [(Path(one.path), one.line + 1) for one in found.places]
    # Calls lead into the standard library, too.
    inside = {(path.relative_to(code.folder), at) for path, at in paths if path.is_relative_to(code.folder)}
    assert {f"{path}:{at}" for path, at in inside} == expected


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.user)
async def test_a_change_of_another_file_is_in_the_problems_of_this_one(
    code: Workspace, sample: Sample
) -> None:
    text = sample.sources[sample.changed]
    assert sample.good in text
    for _ in range(3):
        assert await code.problems(sample.user) == []
        code.write(sample.changed, text.replace(sample.good, sample.bad))
        assert await code.problems(sample.user) != []
        code.write(sample.changed, text)
    assert await code.problems(sample.user) == []


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("suffix", ["py", "ts"])
async def test_a_file_in_a_new_folder_can_be_imported_and_a_deleted_one_cannot(
    code: Workspace, suffix: str
) -> None:
    user = f"user.{suffix}"
    uses = {
        "py": "from parts.fresh import value\n\nprint(value)\n",
        "ts": 'export { value } from "./parts/fresh.js";\n',
    }
    code.write(user, uses[suffix])
    assert len(await code.problems(user)) >= 1
    fresh = code.write(
        f"parts/fresh.{suffix}", {"py": "value = 1\n", "ts": "export const value = 1;\n"}[suffix]
    )
    assert await code.problems(user) == []
    shutil.rmtree(fresh.parent)
    assert len(await code.problems(user)) >= 1
    (code.folder / user).unlink()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("name", "line", "files"), [
    ("shapes.py", 9, {"shapes.py", "main.py"}), ("shapes.ts", 5, {"shapes.ts", "main.ts"}),
])  # fmt: skip
async def test_a_rename_reaches_every_file(code: Workspace, name: str, line: int, files: set[str]) -> None:
    place = CodeLookup(
        kind="definition",
        path=str(code.folder / name),
        line=line - 1,
        column=column(code, name, line, "Square"),
    )
    edits = await code.servers.rename(code.tree, place, "Box")
    assert {Path(edit.path).name for edit in edits} == files
    assert all("Box" in (edit.content or "") and "Square" not in (edit.content or "") for edit in edits)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_fix_of_a_real_server_is_listed_and_applied(code: Workspace) -> None:
    name = code.write("unfinished.ts", "export const made = new Square(3);\n").name
    place = CodeLookup(kind="definition", path=str(code.folder / name), line=0)
    titles = [action.title for action in await code.servers.actions(code.tree, place)]
    wanted = next(title for title in titles if "import" in title.lower())
    (edit,) = await code.servers.act(code.tree, place, wanted)
    assert "import { Square } from" in (edit.content or "")
    (code.folder / name).unlink()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("name", "broken", "words"), [
    ("main.c", "int main(void) {\n    return nosuch;\n}\n", "undeclared identifier 'nosuch'"),
    ("steps.yaml", "name: one\nname: two\n", "unique"),
])  # fmt: skip
async def test_problems_of_other_servers_come_and_go(
    code: Workspace, name: str, broken: str, words: str
) -> None:
    for _ in range(2):
        assert await code.problems(name) == []
        code.write(name, broken)
        assert any(words in message for _, message in await code.problems(name))
        code.write(name, SOURCES[name])
    assert await code.problems(name) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_symbols_of_the_workspace_are_those_of_all_servers_that_run(code: Workspace) -> None:
    listed = {one.name for one in (await code.ask("symbols", "shapes.py")).places}
    assert {"Shape", "Shape.area", "Square", "Square.area", "scaled"} <= listed
    code.write(
        "nested.py", "def outer():\n    local = 1\n\n    def inner(): ...\n\n    return local, inner\n"
    )
    inside = {one.name for one in (await code.ask("symbols", "nested.py")).places}
    assert inside == {"outer", "outer.inner"}, "local variables are left out"
    await code.ask("symbols", "shapes.ts")
    found = (await code.ask("symbols", query="Square")).places
    assert {Path(one.path).name for one in found if one.name == "Square"} >= {"shapes.py", "shapes.ts"}
