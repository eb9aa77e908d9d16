"""Questions to real servers, with answers that are known: Python, TypeScript, C, shell and YAML."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from portico.domain.windows import CodeLookup, LookupKind
from tests.editors.language_servers.official_types import check_official
from tests.editors.language_servers.support import Workspace, real_server_path, workspace

PYTHON = {
    "shapes.py": """\
from abc import ABC, abstractmethod


class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    def __init__(self, side: float) -> None:
        self.side = side

    def area(self) -> float:
        return scaled(self.side, self.side)


def scaled(value: float, factor: float) -> float:
    return value * factor
""",
    "main.py": """\
from shapes import Shape, Square


def total(shapes: list[Shape]) -> float:
    return sum(shape.area() for shape in shapes)


first = Square(2)
print(total([first]))
""",
}
SCRIPT = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "nodenext", "target": "es2022"}}',
    "shapes.ts": """\
export interface Shape {
  area(): number;
}

export class Square implements Shape {
  constructor(readonly side: number) {}

  area(): number {
    return scaled(this.side, this.side);
  }
}

export function scaled(value: number, factor: number): number {
  return value * factor;
}
""",
    "main.ts": """\
import { type Shape, Square } from "./shapes.js";

export function total(shapes: Shape[]): number {
  return shapes.reduce((sum, shape) => sum + shape.area(), 0);
}

export const first = new Square(2);
console.log(total([first]));
export const none: Square[] = [];
""",
}
C = {
    "shapes.h": """\
struct square {
    double side;
};

double area(struct square shape);
""",
    "shapes.c": """\
#include "shapes.h"

static double scaled(double value, double factor) {
    return value * factor;
}

double area(struct square shape) {
    return scaled(shape.side, shape.side);
}
""",
    "main.c": """\
#include "shapes.h"

int main(void) {
    struct square first = {2};
    return (int)area(first);
}
""",
}
SHELL = {
    "tools.sh": """\
greet() {
  echo "hello $1"
}

greet you
"""
}
SOURCES = {**PYTHON, **SCRIPT, **C, **SHELL, "steps.yaml": "steps:\n  - first\nname: build\n"}
# What is asked at a name on a line, and the lines where the answers are.
PYTHON_ANSWERS: list[tuple[LookupKind, str, int, str, set[str]]] = [
    ("definition", "main.py", 8, "Square", {"shapes.py:9"}),
    ("type_definition", "main.py", 9, "first", {"shapes.py:9"}),
    ("implementations", "shapes.py", 6, "area", {"shapes.py:6", "shapes.py:13"}),
    ("references", "shapes.py", 17, "scaled", {"shapes.py:14", "shapes.py:17"}),
    ("callers", "shapes.py", 17, "scaled", {"shapes.py:14"}),
    ("callees", "main.py", 4, "total", {"shapes.py:6"}),
]
SCRIPT_ANSWERS: list[tuple[LookupKind, str, int, str, set[str]]] = [
    ("definition", "main.ts", 7, "Square", {"shapes.ts:5", "shapes.ts:6"}),
    ("type_definition", "main.ts", 8, "first", {"shapes.ts:5"}),
    ("implementations", "shapes.ts", 1, "Shape", {"shapes.ts:5"}),
    ("implementations", "shapes.ts", 2, "area", {"shapes.ts:8"}),
    ("references", "shapes.ts", 13, "scaled", {"shapes.ts:9", "shapes.ts:13"}),
    ("callers", "shapes.ts", 13, "scaled", {"shapes.ts:9"}),
    ("callees", "shapes.ts", 8, "area", {"shapes.ts:13"}),
]
C_ANSWERS: list[tuple[LookupKind, str, int, str, set[str]]] = [
    ("definition", "main.c", 5, "area", {"shapes.c:7"}),
    ("type_definition", "main.c", 5, "first", {"shapes.h:1"}),
    ("references", "shapes.h", 5, "area", {"shapes.h:5", "shapes.c:7", "main.c:5"}),
    ("callers", "shapes.c", 3, "scaled", {"shapes.c:8"}),
    ("callees", "shapes.c", 7, "area", {"shapes.c:3"}),
]
SHELL_ANSWERS: list[tuple[LookupKind, str, int, str, set[str]]] = [
    ("definition", "tools.sh", 5, "greet", {"tools.sh:1"}),
    ("references", "tools.sh", 1, "greet", {"tools.sh:1", "tools.sh:5"}),
]
ANSWERS = [*PYTHON_ANSWERS, *SCRIPT_ANSWERS, *C_ANSWERS, *SHELL_ANSWERS]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def code(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workspace]:
    """One workspace with all languages, whose servers all tests of this file share.

    Whatever they ask, every frame that is sent is one of the official types.
    """
    sent: list[bytes] = []
    place, home = tmp_path_factory.mktemp("real") / "w", tmp_path_factory.mktemp("home-of-servers")

    def tap(direction: str, line: bytes) -> None:
        if direction == "sent":
            sent.append(bytes(line))

    async with workspace(place, home, path=real_server_path(), tap=tap) as here:
        for name, text in SOURCES.items():
            here.write(name, text)
        commands = [
            {"directory": str(here.folder), "file": name, "command": f"cc -c {name}"}
            for name in C
            if name.endswith(".c")
        ]
        here.write("compile_commands.json", json.dumps(commands))
        yield here
    messages = [json.loads(line) for line in sent]
    assert {"initialize", "shutdown", "exit"} <= {message.get("method") for message in messages}
    for message in messages:
        if "method" in message:
            check_official(message)


def column(here: Workspace, name: str, line: int, symbol: str) -> int:
    return (here.folder / name).read_text().split("\n")[line - 1].index(symbol)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("kind", "name", "line", "symbol", "expected"), ANSWERS)
async def test_a_question_with_a_known_answer(
    code: Workspace, kind: LookupKind, name: str, line: int, symbol: str, expected: set[str]
) -> None:
    found = await code.ask(kind, name, line, column(code, name, line, symbol))
    places = {f"{Path(one.path).name}:{one.line + 1}" for one in found.places}
    # Calls lead into the standard library, too.
    assert {one for one in places if one.split(":")[0] in SOURCES} == expected


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("name", "other", "good", "bad"), [
    ("main.py", "shapes.py", "def area(self) -> float:\n", "def area(self, unit: str) -> float:\n"),
    ("main.ts", "shapes.ts", "constructor(readonly side: number)", "constructor(readonly side: string)"),
])  # fmt: skip
async def test_a_change_of_another_file_is_in_the_problems_of_this_one(
    code: Workspace, name: str, other: str, good: str, bad: str
) -> None:
    text = SOURCES[other]
    calls = "def area(self) -> float: ..." if other.endswith(".py") else good
    broken = text.replace(calls, bad.replace(":\n", ": ...") if other.endswith(".py") else bad)
    for _ in range(3):
        assert await code.problems(name) == []
        code.write(other, broken)
        assert await code.problems(name) != []
        code.write(other, text)
    assert await code.problems(name) == []


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
