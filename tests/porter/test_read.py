"""/read shows files as the client has them."""

from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.porter.commands.read import MAX_LINES
from tests.porter.client import Client


async def test_a_file_is_shown_with_its_language(client: Client, folder: Path) -> None:
    (folder / "a.py").write_text("print(1)\nprint(2)\n")
    session = await client.open(folder)
    assert await client.prompt(session, "/read a.py") == "end_turn"
    assert client.text == "**`a.py`**, 2 lines\n\n```python\nprint(1)\nprint(2)\n```"
    [call] = client.calls
    assert (call.kind, call.title) == ("read", "Read a.py")
    assert call.locations == [schema.ToolCallLocation(path=str(folder / "a.py"), line=1)]
    assert client.statuses(call) == ["in_progress", "completed"]
    assert [request.path for request in client.read] == [str(folder / "a.py")]


@pytest.mark.parametrize(
    ("argument", "heading", "first", "last"),
    [
        ("numbers.txt:3-5", "lines 3 to 5", 3, 5),
        ("numbers.txt:7", "lines 7 to 7", 7, 7),
        ("numbers.txt:8-", "lines 8 to 10", 8, 10),
        ("numbers.txt:9-99", "lines 9 to 10", 9, 10),
        ("`numbers.txt`", "10 lines", 1, 10),
    ],
)
async def test_some_lines_are_shown_when_only_they_are_wanted(
    client: Client, folder: Path, argument: str, heading: str, first: int, last: int
) -> None:
    (folder / "numbers.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    session = await client.open(folder)
    await client.prompt(session, f"/read {argument}")
    lines = "\n".join(f"line {number}" for number in range(first, last + 1))
    assert client.text == f"**`numbers.txt`**, {heading}\n\n```\n{lines}\n```"


async def test_a_long_file_is_cut_and_the_way_on_is_shown(client: Client, folder: Path) -> None:
    (folder / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, MAX_LINES + 101)))
    session = await client.open(folder)
    await client.prompt(session, "/read long.txt")
    assert f"lines 1 to {MAX_LINES}" in client.text
    assert f"line {MAX_LINES + 1}\n" not in client.text
    assert client.text.endswith(f"There is more: continue with `/read long.txt:{MAX_LINES + 1}-`.")
    assert len(client.updates(schema.AgentMessageChunk)) > 2
    client.forget()
    await client.prompt(session, f"/read long.txt:{MAX_LINES + 1}-")
    assert f"lines {MAX_LINES + 1} to {MAX_LINES + 100}" in client.text
    assert "There is more" not in client.text


async def test_one_endless_line_is_cut_too(client: Client, folder: Path) -> None:
    (folder / "wide.txt").write_text("x" * 500_000)
    session = await client.open(folder)
    await client.prompt(session, "/read wide.txt")
    assert len(client.text) < 50_000
    assert "The rest is not shown" in client.text


async def test_fences_in_a_file_do_not_end_the_block(client: Client, folder: Path) -> None:
    (folder / "a.md").write_text("```\ncode\n```\n")
    session = await client.open(folder)
    await client.prompt(session, "/read a.md")
    assert "````markdown\n```\ncode\n```\n````" in client.text


async def test_a_missing_file_fails_with_names_that_are_like_it(client: Client, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "server.py").write_text("")
    session = await client.open(folder)
    assert await client.prompt(session, "/read sever.py") == "end_turn"
    assert "No such file: `sever.py`." in client.text
    client.forget()
    await client.prompt(session, "/read server.py")
    assert "Did you mean `src/server.py`?" in client.text
    assert client.statuses(client.calls[0]) == ["in_progress", "failed"]


async def test_what_is_no_text_or_no_file_is_refused_in_words(client: Client, folder: Path) -> None:
    (folder / "image.png").write_bytes(b"\x89PNG\xff\xfe")
    (folder / "inner").mkdir()
    session = await client.open(folder)
    for name in ("image.png", "inner"):
        client.forget()
        assert await client.prompt(session, f"/read {name}") == "end_turn"
        assert "cannot be read" in client.text


@pytest.mark.parametrize("argument", ["", "a.txt:5-3", "a.txt:0", "''"])
async def test_an_argument_that_makes_no_sense_is_explained(
    client: Client, folder: Path, argument: str
) -> None:
    (folder / "a.txt").write_text("a\n")
    session = await client.open(folder)
    assert await client.prompt(session, f"/read {argument}") == "end_turn"
    assert client.text
    assert client.calls == []


async def test_empty_files_and_lines_beyond_the_end_are_told_apart(client: Client, folder: Path) -> None:
    (folder / "empty.txt").write_text("")
    session = await client.open(folder)
    await client.prompt(session, "/read empty.txt")
    assert client.text == "`empty.txt` is empty."
    client.forget()
    await client.prompt(session, "/read empty.txt:5")
    assert client.text == "`empty.txt` has no line 5."


async def test_read_alone_shows_what_was_attached(client: Client, folder: Path) -> None:
    path = folder / "with space.py"
    path.write_text("x = 1\n")
    session = await client.open(folder)
    link = schema.ResourceLink(name="with space.py", uri=path.as_uri())
    embedded = schema.EmbeddedResource(
        resource=schema.EmbeddedResourceResource(uri="zed:///thread/notes.md", text="some notes")
    )
    picture = schema.ImageContent(data="", mime_type="image/png")
    await client.prompt(session, "/read ", link, embedded, picture)
    assert "**`with space.py`**, 1 line\n\n```python\nx = 1\n```" in client.text
    assert "**`notes.md`**, as attached\n\n```markdown\nsome notes\n```" in client.text
    assert "Porter cannot read `an image`" in client.text


async def test_a_client_that_ignores_the_limit_does_no_harm(client: Client, folder: Path) -> None:
    (folder / "numbers.txt").write_text("".join(f"line {number}\n" for number in range(1, 100)))
    session = await client.open(folder)
    served = dict(client.end._serve)

    async def read_all(request: schema.ReadTextFileRequest) -> schema.ReadTextFileResponse:
        return schema.ReadTextFileResponse(content=(folder / "numbers.txt").read_text())

    client.end._serve = {**served, "fs/read_text_file": read_all}
    await client.prompt(session, "/read numbers.txt:3-4")
    assert client.text == "**`numbers.txt`**, lines 3 to 4\n\n```\nline 3\nline 4\n```"
