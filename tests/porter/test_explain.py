"""/explain shows what the source says about a name."""

from pathlib import Path

import pytest

from portico.acp import _schema as schema
from tests.porter.client import Client

SHAPES = '''
"""Shapes."""

from functools import cache

LIMIT: int = 10


class Shape(Base, metaclass=Meta):
    """Something with an area."""

    sides = 4

    def __init__(self, name: str, *, size: int = 1) -> None:
        self.name = name

    @property
    def area(self) -> float:
        """The area it covers.

        In square metres.
        """
        return LIMIT * self.sides

    def _hidden(self): ...


@cache
async def draw(shape: "Shape", /, *points, **options) -> None:
    """Draw it."""
    print(shape.area, "Shape in a text", LIMIT)  # Shape in a comment
'''


@pytest.fixture
def project(folder: Path) -> Path:
    (folder / "shapes.py").write_text(SHAPES)
    (folder / "app.py").write_text("import shapes\nfrom shapes import Shape\n\nshapes.draw(Shape('a'))\n")
    (folder / "README.md").write_text("A Shape is drawn.\n")
    (folder / "broken.py").write_text("def Shape(:\n")
    return folder


async def explain(client: Client, folder: Path, argument: str) -> str:
    session = await client.open(folder)
    client.forget()
    assert await client.prompt(session, f"/explain {argument}") == "end_turn"
    return client.text


async def test_a_class_is_shown_with_its_place_bases_and_documentation(client: Client, project: Path) -> None:
    text = await explain(client, project, "Shape")
    assert "**`Shape`** — class in `shapes.py:9`" in text
    assert (
        "class Shape(Base, metaclass=Meta):\n    def __init__(self, name: str, *, size: int=1) -> None"
        in text
    )
    assert "> Something with an area." in text
    assert "Its methods: `area`." in text
    [call] = client.calls
    assert (call.kind, client.statuses(call)) == ("search", ["in_progress", "completed"])
    [located] = [one for one in client.updates(schema.ToolCallProgress) if one.locations]
    assert located.locations[0] == schema.ToolCallLocation(path=str(project / "shapes.py"), line=9)


async def test_uses_are_counted_in_code_but_not_in_comments_and_texts(client: Client, project: Path) -> None:
    text = await explain(client, project, "Shape")
    assert "The name `Shape` is used 3 times in 2 files, and mentioned in 1 other file:" in text
    assert "- `app.py:2` `from shapes import Shape`" in text
    assert "- `app.py:4` `shapes.draw(Shape('a'))`" in text


async def test_a_function_is_shown_with_decorators_and_signature(client: Client, project: Path) -> None:
    text = await explain(client, project, "draw()")
    assert "**`draw`** — function in `shapes.py:29`" in text
    assert "```python\n@cache\nasync def draw(shape: 'Shape', /, *points, **options) -> None\n```" in text
    assert "is used 1 time in 1 file" in text


async def test_a_method_can_be_asked_for_by_its_class(client: Client, project: Path) -> None:
    (project / "other.py").write_text("class Country:\n    def area(self): ...\n")
    text = await explain(client, project, "Shape.area")
    assert "**`Shape.area`** — method in `shapes.py:18`" in text
    assert "@property\ndef area(self) -> float" in text
    assert "> The area it covers.\n>\n> In square metres." in text
    assert "Country" not in text


async def test_several_definitions_are_all_listed(client: Client, project: Path) -> None:
    (project / "other.py").write_text("class Country:\n    def area(self): ...\n")
    text = await explain(client, project, "area")
    assert "`area` has 2 definitions:" in text
    assert "**`Shape.area`**" in text
    assert "**`Country.area`**" in text


async def test_variables_and_class_attributes_have_definitions_too(client: Client, project: Path) -> None:
    assert "LIMIT: int = 10" in await explain(client, project, "LIMIT")
    client.forget()
    assert "**`Shape.sides`** — attribute in `shapes.py:12`" in await explain(client, project, "sides")


async def test_a_name_that_is_only_nearly_right_gets_suggestions(client: Client, project: Path) -> None:
    text = await explain(client, project, "Shap")
    assert "No definition of `Shap` was found here." in text
    assert "Did you mean `Shape`" in text


async def test_a_name_from_elsewhere_is_shown_where_it_is_used(client: Client, project: Path) -> None:
    text = await explain(client, project, "cache")
    assert "No definition of `cache` was found here." in text
    assert "- `shapes.py:4` `from functools import cache`" in text


async def test_the_search_can_be_narrowed_to_a_place(client: Client, project: Path) -> None:
    (project / "other").mkdir()
    (project / "other" / "shapes.py").write_text("class Shape: ...\n")
    text = await explain(client, project, "Shape other")
    assert "class in `other/shapes.py:1`" in text
    assert "definitions" not in text


@pytest.mark.parametrize("argument", ["", "a b c/../..", "(*)", "what is this?", "Shape /etc"])
async def test_an_argument_that_makes_no_sense_is_explained(
    client: Client, project: Path, argument: str
) -> None:
    assert await explain(client, project, argument)
    assert all(client.statuses(call)[-1] in ("completed", "failed") for call in client.calls)


@pytest.mark.parametrize(
    ("name", "source", "symbol", "kind", "line", "signature"),
    [
        ("a.ts", "/** Adds. */\nexport async function add(a: number) {\n}\nadd(1)\n", "add", "function", 2, "add(a: number)"),
        ("a.ts", "export interface Point {\n  x: number\n}\nlet p: Point\n", "Point", "type", 1, "interface Point"),
        ("a.js", "class A {\n  static async load(url) {\n  }\n}\nA.load('x')\n", "load", "method", 2, "load(url)"),
        ("a.tsx", "export const Button = (props: Props) => {\n}\n<Button/>\n", "Button", "variable", 1, "const Button"),
        ("a.go", "// Run runs.\nfunc (s *Server) Run(ctx Context) error {\n}\nserver.Run(nil)\n", "Run", "method", 2, "Run(ctx Context) error"),
        ("a.go", "type Server struct {\n}\nvar s Server\n", "Server", "type", 1, "type Server struct"),
        ("a.rs", "/// Parses.\npub(crate) async fn parse(text: &str) -> Tree {\n}\nparse(t);\n", "parse", "function", 2, "fn parse(text: &str) -> Tree"),
        ("a.rs", "pub enum Kind {\n  A,\n}\nlet k = Kind::A;\n", "Kind", "type", 1, "pub enum Kind"),
        ("A.java", "public final class Box {\n  public static int size(int a) {\n  }\n}\nBox b;\n", "size", "method", 2, "public static int size(int a)"),
        ("a.c", "static int\ncount_all(struct list *l);\nint count(char *text)\n{\n}\nx = count(t);\n", "count", "function", 3, "int count(char *text)"),
        ("a.h", "#define LIMIT 10\nint a[LIMIT];\n", "LIMIT", "macro", 1, "#define LIMIT 10"),
        ("a.cpp", "void Server::start(int port)\n{\n}\ns.start(1);\n", "start", "function", 1, "void Server::start(int port)"),
    ],
)  # fmt: skip
async def test_other_languages_are_read_by_the_look_of_their_lines(
    client: Client, folder: Path, name: str, source: str, symbol: str, kind: str, line: int, signature: str
) -> None:
    (folder / name).write_text(source)
    text = await explain(client, folder, symbol)
    assert f"**`{symbol}`** — {kind} in `{name}:{line}`" in text
    assert signature in text
    assert f"The name `{symbol}` is used" in text or "No uses were found." in text
    if source.startswith("/"):
        assert "> " in text


async def test_a_huge_or_deeply_nested_file_does_no_harm(client: Client, folder: Path) -> None:
    (folder / "deep.py").write_text("needle = " + "(" * 5000 + ")" * 5000 + "\n")
    (folder / "deeper.py").write_text("needle = " + "-" * 20_000 + "1\n")
    (folder / "zero.py").write_bytes(b"needle = 1\x00\n")
    (folder / "fine.py").write_text("def needle(): ...\n")
    assert "function in `fine.py:1`" in await explain(client, folder, "needle")


async def test_an_attachment_is_not_mistaken_for_a_place(client: Client, project: Path) -> None:
    session = await client.open(project)
    link = schema.ResourceLink(name="app.py", uri=(project / "app.py").as_uri())
    await client.prompt(session, "/explain draw", link)
    assert "**`draw`** — function in `shapes.py:29`" in client.text
    assert "not only `app.py`" in client.text


async def test_explaining_can_be_stopped(client: Client, project: Path) -> None:
    session = await client.open(project)
    async with client.turn(session, "/explain Shape") as turn:
        await client.until(lambda: bool(client.calls))
        client.end.cancel(session)
        assert await turn == "cancelled"
    assert client.statuses(client.calls[0]) == ["in_progress", "failed"]
