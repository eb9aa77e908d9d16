"""/search finds text and regular expressions, whichever program does it."""

import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.porter.commands.search import MAX_MATCHES
from tests.porter.client import Client, connected
from tests.porter.projects import find_tool


def programs(tmp_path: Path, *names: str) -> Mapping[str, str]:
    """An environment in which only some programs are found."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("env", *names):
        (folder / name).symlink_to(find_tool(name))
    return {**os.environ, "PATH": str(folder)}


def make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "--quiet", folder], check=True)


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "src").mkdir()
    (folder / "src" / "one.py").write_text("import os\n\ndef needle():\n    return 'Needle'\n")
    (folder / "src" / "two words.txt").write_text("nothing\na needle in hay\n")
    (folder / "docs.md").write_text("Needle point\nneedle\n")
    (folder / "binary.bin").write_bytes(b"needle\0needle\n")
    (folder / ".env").write_text("SECRET=needle\n")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "dependency.js").write_text("needle\n")
    return folder


@pytest.mark.parametrize("engine", ["rg", "git", "none"])
async def test_text_is_found_in_every_file_with_its_line(
    state: Path, files: Path, tmp_path: Path, engine: str
) -> None:
    if engine != "none":
        make_repository(files)
        (files / ".gitignore").write_text("node_modules\n")
    environ = programs(tmp_path, *(() if engine == "none" else (engine,)))
    async with connected(state, environ=environ) as client:
        session = await client.open(files)
        assert await client.prompt(session, "/search needle") == "end_turn"
        assert "Found 5 matches in 3 files for `needle`." in client.text
        assert (
            "**`src/one.py`** — 2 matches\n\n```\n3: def needle():\n4:     return 'Needle'\n```"
            in client.text
        )
        assert "**`src/two words.txt`** — 1 match" in client.text
        assert "**`docs.md`** — 2 matches" in client.text
        assert ".env" not in client.text
        [call] = client.calls
        assert (call.kind, call.title) == ("search", "Search for needle")
        assert client.statuses(call) == ["in_progress", "completed"]
        [located] = [one for one in client.updates(schema.ToolCallProgress) if one.locations]
        assert schema.ToolCallLocation(path=str(files / "src" / "one.py"), line=3) in located.locations


@pytest.mark.parametrize("engine", ["rg", "git", "none"])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Needle", 2),
        ("/^needle$/", 1),
        ("/^needle/i", 2),
        (r"/need\w+\(/", 1),
        ("/(?<=a )needle/", 1),
        ("needle src", 3),
        ("needle src/one.py", 2),
        ("a needle in", 1),
        ('"needle" docs.md', 2),
        ("'in hay'", 1),
        ("/needle/ src", 2),
        ("nowhere at all", 0),
    ],
)
async def test_what_was_asked_for_is_what_is_found(
    state: Path, files: Path, tmp_path: Path, engine: str, query: str, found: int
) -> None:
    if engine != "none":
        make_repository(files)
        (files / ".gitignore").write_text("node_modules\n")
    environ = programs(tmp_path, *(() if engine == "none" else (engine,)))
    async with connected(state, environ=environ) as client:
        session = await client.open(files)
        await client.prompt(session, f"/search {query}")
        word = "No matches" if found == 0 else f"Found {found} match"
        assert client.text.startswith(word)


@pytest.mark.parametrize("engine", ["rg", "git", "none"])
async def test_a_match_in_a_very_long_line_is_found_and_shown_by_its_beginning(
    state: Path, files: Path, tmp_path: Path, engine: str
) -> None:
    if engine != "none":
        make_repository(files)
    (files / "packed.js").write_text("first\nvar a;" + "b" * 200_000 + "unheard_of" + "c" * 100_000 + "\n")
    environ = programs(tmp_path, *(() if engine == "none" else (engine,)))
    async with connected(state, environ=environ) as client:
        session = await client.open(files)
        await client.prompt(session, "/search unheard_of")
        assert client.text.startswith("Found 1 match in 1 file")
        assert "\n2: var a;bbb" in client.text
        assert len(client.text) < 2000


async def test_a_broken_expression_is_explained_and_nothing_is_run(client: Client, files: Path) -> None:
    session = await client.open(files)
    await client.prompt(session, "/search /(unclosed/")
    assert "is not a valid regular expression: missing )" in client.text
    assert client.calls == []


@pytest.mark.parametrize("argument", ["", "   ", '""'])
async def test_nothing_to_search_for_is_answered_with_the_usage(
    client: Client, files: Path, argument: str
) -> None:
    session = await client.open(files)
    await client.prompt(session, f"/search {argument}")
    assert "Usage: `/search <text or /regex/> [path]`" in client.text


async def test_a_place_that_is_missing_or_outside_is_refused(client: Client, files: Path) -> None:
    session = await client.open(files)
    await client.prompt(session, '/search "needle" missing')
    assert "No such file or folder: `missing`." in client.text
    client.forget()
    await client.prompt(session, "/search needle /etc")
    assert "is outside the folders of this session" in client.text
    client.forget()
    (files / "way-out").symlink_to("/etc")
    await client.prompt(session, "/search root way-out")
    assert "is outside the folders of this session" in client.text


async def test_further_folders_of_the_session_are_searched_too(
    client: Client, files: Path, tmp_path: Path
) -> None:
    further = tmp_path / "further"
    further.mkdir()
    (further / "more.txt").write_text("a needle elsewhere\n")
    session = await client.open(files, further)
    await client.prompt(session, "/search needle elsewhere")
    assert f"**`{further / 'more.txt'}`**" in client.text


async def test_a_flood_of_matches_is_cut_and_said_to_be(client: Client, folder: Path) -> None:
    for number in range(30):
        (folder / f"{number:02}.txt").write_text("needle\n" * 100)
    session = await client.open(folder)
    await client.prompt(session, "/search needle")
    assert f"Found at least {MAX_MATCHES} matches" in client.text
    assert "… and 80 more" in client.text
    assert f"Only the first {MAX_MATCHES} matches are shown" in client.text
    assert len(client.updates(schema.AgentMessageChunk)) > 3


async def test_a_search_that_takes_forever_can_be_stopped(state: Path, folder: Path, tmp_path: Path) -> None:
    """A pattern whose matching explodes, in the program that has no defence against it."""
    (folder / "a.txt").write_text("a" * 5000 + "b\n")
    async with connected(state, environ=programs(tmp_path)) as client:
        session = await client.open(folder)
        async with client.turn(session, "/search /(a+)+c/") as turn:
            await client.until(lambda: bool(client.calls))
            client.end.cancel(session)
            assert await turn == "cancelled"
        assert client.statuses(client.calls[0]) == ["in_progress", "failed"]


async def test_files_that_cannot_be_read_are_passed_over(state: Path, files: Path, tmp_path: Path) -> None:
    (files / "locked.txt").write_text("needle\n")
    (files / "locked.txt").chmod(0)
    os.mkfifo(files / "pipe.txt")
    async with connected(state, environ=programs(tmp_path)) as client:
        session = await client.open(files)
        await client.prompt(session, "/search point")
        assert client.text.startswith("Found 1 match")
    (files / "locked.txt").chmod(stat.S_IRUSR)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are always text")
async def test_names_that_are_not_text_are_shown_as_well_as_can_be(client: Client, folder: Path) -> None:
    odd = folder / os.fsdecode(b"odd\xff.txt")
    odd.write_text("needle\n")
    session = await client.open(folder)
    await client.prompt(session, "/search needle")
    assert "**`odd?.txt`** — 1 match" in client.text


async def test_a_folder_that_is_only_searched_runs_no_code(state: Path, folder: Path, tmp_path: Path) -> None:
    """Modules and git settings in the searched folder must not be executed."""
    for name in ("re.py", "sitecustomize.py", "portico.py"):
        (folder / name).write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n")
    async with connected(state, environ=programs(tmp_path)) as client:
        session = await client.open(folder)
        await client.prompt(session, "/search executed")
        assert "Found 3 matches" in client.text
    assert not (tmp_path / "executed").exists()
