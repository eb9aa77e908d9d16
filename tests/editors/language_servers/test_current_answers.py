"""Answers are about the files as they are now, however they were changed and however the server tells its problems."""

import asyncio
from pathlib import Path

import pytest

from portico.domain.errors import LanguageServerFailed
from portico.sessions.code_servers import CodeTree
from tests.editors.language_servers.support import Workspace, scripted, workspace, write_settings

WAYS = [{"pull": True}, {"push": "versioned"}, {"push": "unversioned"}]


@pytest.mark.parametrize("options", [*WAYS, {"push": "versioned", "sync": 1}])
async def test_after_each_change_the_problems_are_those_of_the_file_as_it_is(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    monkeypatch.setattr("portico.editors.language_servers.problems._QUIET_SECONDS", 0.1)
    async with workspace(tmp_path / "w", own_home, **scripted(**options)) as here:
        here.write("a.txt", "good\n")
        assert await here.problems("a.txt") == []
        here.write("a.txt", "good\nBAD1\n")
        assert await here.problems("a.txt") == [(2, "BAD1 is bad")]
        # Twice, since nothing has changed.
        assert await here.problems("a.txt") == [(2, "BAD1 is bad")]
        here.write("a.txt", "BAD2\ngood\n")
        assert await here.problems("a.txt") == [(1, "BAD2 is bad")]


async def test_problems_of_an_older_version_are_not_shown(tmp_path: Path, own_home: Path) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted(late=0.2)) as here:
        here.write("a.txt", "BAD\n")
        assert await here.problems("a.txt") == [(1, "BAD is bad")]
        here.write("a.txt", "good\n")
        assert await here.problems("a.txt") == []


async def test_a_flood_of_problems_is_read_to_its_end(tmp_path: Path, own_home: Path) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted(flood=1_000)) as here:
        here.write("a.txt", "BAD\n" * 50)
        assert len(await here.problems("a.txt")) == 50
        here.write("a.txt", "good\n")
        assert await here.problems("a.txt") == []


@pytest.mark.parametrize("options", [{"push": "none"}, {"pull": True}])
async def test_what_a_server_does_not_tell_in_time_is_not_known_yet(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    monkeypatch.setattr("portico.editors.language_servers.problems.WAIT_SECONDS", 0.1)
    async with workspace(tmp_path / "w", own_home, **scripted(progress=40, **options)) as here:
        # One that can be asked has an answer at once, but not yet for the whole project.
        here.write("a.txt", "BAD\n")
        found = await here.ask("diagnostics", "a.txt")
        assert found.problems == ()
        assert found.note == (
            "Not known yet: the problems of a.txt. scripted is still indexing, 40 %. Ask again."
        )


async def test_a_server_that_is_still_indexing_says_so(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.editors.language_servers.progress.SETTLE_SECONDS", 0.01)
    async with workspace(tmp_path / "w", own_home, **scripted(progress=40)) as here:
        here.write("a.txt", "use thing\n")
        found = await here.ask("definition", "a.txt", column=5)
        assert found.places == ()
        assert "still indexing, 40 %" in found.note


class TestOtherFiles:
    """A file that was not asked about is told to the server too, so that what it says of others is true."""

    async def test_a_change_by_a_shell_command(self, tmp_path: Path, own_home: Path) -> None:
        async with workspace(tmp_path / "w", own_home, **scripted()) as here:
            here.write("a.txt", "use thing\n")
            here.write("deep/b.txt", "nothing\n")
            assert (await here.ask("definition", "a.txt", column=5)).places == ()
            shell = await asyncio.create_subprocess_shell(
                "printf 'x\\ndef thing\\n' > deep/b.txt", cwd=here.folder
            )
            await shell.wait()
            (place,) = (await here.ask("definition", "a.txt", column=5)).places
            assert (place.path, place.line, place.column, place.text) == (
                str(here.folder / "deep" / "b.txt"),
                1,
                4,
                "def thing",
            )

    async def test_a_file_that_is_new_and_one_that_is_gone(self, tmp_path: Path, own_home: Path) -> None:
        async with workspace(tmp_path / "w", own_home, **scripted()) as here:
            here.write("a.txt", "use thing\n")
            assert (await here.ask("definition", "a.txt", column=5)).places == ()
            new = here.write("new.txt", "def thing\n")
            assert [one.path for one in (await here.ask("definition", "a.txt", column=5)).places] == [
                str(new)
            ]
            new.unlink()
            assert (await here.ask("definition", "a.txt", column=5)).places == ()

    async def test_two_changes_in_the_same_moment_that_leave_the_size_as_it_is(
        self, tmp_path: Path, own_home: Path
    ) -> None:
        async with workspace(tmp_path / "w", own_home, **scripted()) as here:
            here.write("a.txt", "use one two\n")
            other = here.write("b.txt", "nothing\n")
            await here.ask("definition", "a.txt", column=5)
            for name, column in (("one", 4), ("two", 8)) * 10:
                other.write_text(f"def {name}\n")
                assert len((await here.ask("definition", "a.txt", column=column)).places) == 1

    async def test_unsaved_text_of_an_editor_and_its_end(self, tmp_path: Path, own_home: Path) -> None:
        async with workspace(tmp_path / "w", own_home, **scripted()) as here:
            here.write("a.txt", "use thing\n")
            other = here.write("b.txt", "nothing\n")
            here.unsaved[str(other)] = "def thing\n"
            await here.ask("symbols", "b.txt")
            assert len((await here.ask("definition", "a.txt", column=5)).places) == 1
            del here.unsaved[str(other)]
            assert (await here.ask("definition", "a.txt", column=5)).places == ()


async def test_two_worktrees_are_asked_at_once_and_each_answers_for_itself(
    tmp_path: Path, own_home: Path
) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted()) as here:
        trees = []
        for name in ("one", "two"):
            copy = Workspace(here.servers, tmp_path / name)
            copy.write("a.txt", f"BAD_{name}\n")
            trees.append(CodeTree(here.folder, copy.folder, copy.read))
            here.write("a.txt", "good\n")

        async def problems(tree: CodeTree) -> list[str]:
            copy = Workspace(here.servers, tree.folder)
            return [message for _, message in await copy.problems("a.txt")]

        for _ in range(3):
            assert await asyncio.gather(*map(problems, trees), here.problems("a.txt")) == [
                ["BAD_one is bad"],
                ["BAD_two is bad"],
                [],
            ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_places_count_as_editors_do_in_every_encoding(
    tmp_path: Path, own_home: Path, encoding: str
) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted(encoding=encoding)) as here:
        here.write("a.txt", "é🐍 def thing 🐍 thing\n")
        found = await here.ask("references", "a.txt", column=9)
        assert [one.column for one in found.places] == [8, 17]
        # A change behind them, sent as a range in that encoding.
        here.write("a.txt", "é🐍 def thing 🐍x thing BAD\n")
        found = await here.ask("references", "a.txt", column=9)
        assert [one.column for one in found.places] == [8, 18]
        assert [one.column for one in (await here.ask("diagnostics", "a.txt")).problems] == [24]


async def test_a_file_that_is_not_utf8_is_told_so_and_harms_no_other(tmp_path: Path, own_home: Path) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted()) as here:
        here.write("a.txt", "BAD\n")
        assert len(await here.problems("a.txt")) == 1
        (here.folder / "b.txt").write_bytes(b"def \xff\xfe\n")
        with pytest.raises(LanguageServerFailed, match="not UTF-8"):
            await here.ask("diagnostics", "b.txt")
        assert len(await here.problems("a.txt")) == 1


async def test_answers_that_come_in_another_order_reach_their_questions(
    tmp_path: Path, own_home: Path
) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted(swapped="textDocument/definition")) as here:
        here.write("a.txt", "def one\ndef two\n")
        one, two = await asyncio.gather(
            here.ask("definition", "a.txt", line=1, column=5),
            here.ask("definition", "a.txt", line=2, column=5),
        )
        assert ([place.line for place in one.places], [place.line for place in two.places]) == ([0], [1])


async def test_a_huge_tree_costs_a_look_now_and_then_which_is_said_and_the_asked_file_is_always_read(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.editors.language_servers.tree_sync._QUICK_SECONDS", -1.0)
    monkeypatch.setattr("portico.editors.language_servers.tree_sync._REST_FACTOR", 1_000_000)
    async with workspace(tmp_path / "w", own_home, **scripted()) as here:
        here.write("a.txt", "use thing\n")
        assert (await here.ask("definition", "a.txt", column=5)).places == ()
        here.write("a.txt", "use thing BAD\n")
        here.write("b.txt", "def thing\n")
        found = await here.ask("definition", "a.txt", column=5)
        assert found.places == (), "the folder was not compared again"
        assert found.note.startswith("This folder is so large that it was last compared 0 s ago.")
        problems = await here.ask("diagnostics", "a.txt")
        assert [one.message for one in problems.problems] == ["BAD is bad"]
        assert "may be missing" in problems.note


async def test_a_question_that_was_asked_before_goes_where_the_settings_say_now(
    tmp_path: Path, own_home: Path
) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted()) as here:
        here.write("a.txt", "BAD\n")
        for _ in range(2):
            assert await here.problems("a.txt") == [(1, "BAD is bad")]
        write_settings(own_home, **scripted({"enabled": False}))
        with pytest.raises(LanguageServerFailed, match="No language server is known"):
            await here.problems("a.txt")
        write_settings(own_home, **scripted())
        assert await here.problems("a.txt") == [(1, "BAD is bad")]


async def test_a_server_is_started_anew_when_packages_were_installed(tmp_path: Path, own_home: Path) -> None:
    starts = tmp_path / "starts"
    async with workspace(tmp_path / "w", own_home, **scripted(starts=str(starts))) as here:
        here.write("a.txt", "BAD\n")
        for _ in range(2):
            assert await here.problems("a.txt") == [(1, "BAD is bad")]
        assert starts.read_text().count("started") == 1
        (here.folder / ".venv" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        assert await here.problems("a.txt") == [(1, "BAD is bad")]
        assert starts.read_text().count("started") == 2


async def test_a_tree_beyond_the_limit_is_looked_at_in_part_and_the_asked_file_is_always_read(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.editors.language_servers.source_files.MOST_FILES", 20)
    folder = tmp_path / "w"
    for number in range(40):
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "a.txt").write_text("good\n")
    async with workspace(folder, own_home, **scripted()) as here:
        for number in range(40):
            here.write(f"{number}/a.txt", f"BAD_{number}\n")
            assert await here.problems(f"{number}/a.txt") == [(1, f"BAD_{number} is bad")]
