"""Tools that read and change files: what they answer, what they ask, and what they refuse."""

from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.porter.models.model import ModelImage, ModelToolResult
from tests.porter.client import Client, reject
from tests.porter.tools.conftest import Use


def text(result: ModelToolResult) -> str:
    return "".join(part.text for part in result.parts if not isinstance(part, ModelImage))


async def test_reading_shows_numbered_lines_and_how_to_go_on(use: Use, folder: Path) -> None:
    (folder / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    result = await use("read", path="a.txt", first_line=3, lines=2)
    assert text(result) == "3\tline 3\n4\tline 4\n\n[There is more: continue with first_line=5.]"


async def test_a_wrong_name_gets_the_right_one(use: Use, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "config.py").write_text("x = 1\n")
    result = await use("read", path="config.py")
    assert result.failed
    assert text(result) == "config.py does not exist. Did you mean src/config.py?"


async def test_an_image_can_be_looked_at(use: Use, folder: Path) -> None:
    (folder / "a.png").write_bytes(b"\x89PNG")
    result = await use("read", path="a.png")
    assert result.parts[1] == ModelImage(b"\x89PNG", "image/png")


async def test_listing_leaves_out_secrets_and_marks_folders(use: Use, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / ".env").write_text("TOKEN=x\n")
    (folder / "a.txt").write_text("abc")
    (folder / "b").symlink_to(folder / "a.txt")
    assert text(await use("list")) == "src/\na.txt (3 bytes)\nb (link)"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", {"a.py", "src/b.py", "src/deep/c.py"}),
        ("src/*.py", {"src/b.py"}),
        ("src/**/*.py", {"src/b.py", "src/deep/c.py"}),
        ("**/{b,c}.py", {"src/b.py", "src/deep/c.py"}),
        ("[ab].py", {"a.py", "src/b.py"}),
        ("?.md", {"d.md"}),
        ("./a.py", {"a.py"}),
    ],
)
async def test_files_are_found_by_pattern(use: Use, folder: Path, pattern: str, found: set[str]) -> None:
    (folder / "src" / "deep").mkdir(parents=True)
    for name in ("a.py", "src/b.py", "src/deep/c.py", "d.md"):
        (folder / name).write_text("")
    assert set(text(await use("glob", pattern=pattern)).splitlines()) == found


async def test_searching_can_be_narrowed_to_some_files(use: Use, folder: Path) -> None:
    (folder / "a.py").write_text("find me\n")
    (folder / "b.md").write_text("find me\n")
    assert text(await use("grep", pattern="find (me|you)", files="*.md")) == "b.md:1: find me"
    assert "literal=true" in text(await use("grep", pattern="find (me"))
    assert text(await use("grep", pattern="find (me", literal=True)).startswith("No matches.")


async def test_an_edit_shows_the_difference_and_asks(use: Use, folder: Path) -> None:
    (folder / "a.py").write_text("one = 1\ntwo = 2\n")

    def look(client: Client) -> None:
        [question] = client.questions
        [diff] = question.tool_call.content or []
        assert isinstance(diff, schema.Diff)
        assert (diff.old_text, diff.new_text) == ("one = 1\ntwo = 2\n", "ONE = 1\nTWO = 2\n")
        assert client.written == [str(folder / "a.py")]

    edits = [{"old": "one", "new": "ONE"}, {"old": "two", "new": "TWO"}]
    result = await use("edit", path="a.py", edits=edits, after=look)
    assert text(result) == "Changed a.py in 2 places."
    assert (folder / "a.py").read_text() == "ONE = 1\nTWO = 2\n"


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ([{"old": "def  run():", "new": ""}], "These are the most similar lines"),
        ([{"old": "pass", "new": "return"}], "occurs in 2 places, on lines 2, 4"),
        ([{"old": "run", "new": "run"}], "The new text is the same as the old"),
        (
            [{"old": "def run", "new": "def go"}, {"old": "missing", "new": ""}],
            "Edit 2 of 2: The text to replace is not in the file. Nothing was changed.",
        ),
        ([], "Invalid arguments"),
    ],
)
async def test_an_edit_that_does_not_fit_changes_nothing_and_says_why(
    use: Use, folder: Path, edits: object, told: str
) -> None:
    before = "def run():\n    pass\ndef stop():\n    pass\n"
    (folder / "a.py").write_text(before)
    result = await use("edit", path="a.py", edits=edits, after=lambda client: client.questions.clear())
    assert result.failed
    assert told in text(result)
    assert (folder / "a.py").read_text() == before


async def test_replacing_everywhere_is_asked_for_by_name(use: Use, folder: Path) -> None:
    (folder / "a.py").write_text("a a a\n")
    edits = [{"old": "a", "new": "b", "everywhere": True}]
    assert text(await use("edit", path="a.py", edits=edits)) == "Changed a.py in 3 places."


async def test_a_file_that_changed_while_the_person_was_asked_is_not_overwritten(
    use: Use, folder: Path
) -> None:
    (folder / "a.py").write_text("one\n")

    def meddle(client: Client) -> None:
        def answer(_request: object) -> str:
            (folder / "a.py").write_text("one, and mine\n")
            return "allow-once"

        client.answer = answer

    result = await use("edit", path="a.py", edits=[{"old": "one", "new": "two"}], before=meddle)
    assert "changed meanwhile" in text(result)
    assert (folder / "a.py").read_text() == "one, and mine\n"


async def test_files_are_deleted_and_moved_after_asking(use: Use, folder: Path) -> None:
    (folder / "a.txt").write_text("a")
    (folder / "b.txt").write_text("b")

    def asked(client: Client) -> None:
        assert len(client.questions) == 1

    assert text(await use("delete", path="a.txt", after=asked)) == "Deleted a.txt."
    moved = await use("move", source="b.txt", target="new/c.txt", after=asked)
    assert text(moved) == "Moved b.txt to new/c.txt."
    assert not (folder / "b.txt").exists()
    assert (folder / "new" / "c.txt").read_text() == "b"


async def test_nothing_is_moved_over_something_or_deleted_with_content(use: Use, folder: Path) -> None:
    (folder / "full").mkdir()
    (folder / "full" / "a.txt").write_text("a")
    (folder / "b.txt").write_text("b")
    assert "already" in text(await use("move", source="b.txt", target="full/a.txt"))
    assert "must be empty" in text(await use("delete", path="full"))
    assert "cannot be deleted" in text(await use("delete", path="."))
    assert (folder / "full" / "a.txt").read_text() == "a"


async def test_what_the_person_declines_is_not_done(use: Use, folder: Path) -> None:
    (folder / "a.txt").write_text("a")

    def decline(client: Client) -> None:
        client.answer = reject

    for name, arguments in (("delete", {"path": "a.txt"}), ("move", {"source": "a.txt", "target": "b.txt"})):
        result = await use(name, before=decline, **arguments)
        assert result.failed
        assert "The user declined" in text(result)
    assert (folder / "a.txt").exists()


SCRATCH = {"portico": {"mode": "proposal", "workspace": "/some/where"}}


async def test_in_a_scratch_folder_nobody_is_asked_about_files(use: Use, folder: Path) -> None:
    def quiet(client: Client) -> None:
        assert client.questions == []

    for files in (True, False):
        await use(
            "write", path="a.txt", content="x\n", meta=SCRATCH, after=quiet, with_client={"files": files}
        )
        assert (folder / "a.txt").read_text() == "x\n"
        await use("delete", path="a.txt", meta=SCRATCH, after=quiet)


async def test_in_a_scratch_folder_commands_and_settings_are_still_asked_about(
    use: Use, folder: Path
) -> None:
    def asked(client: Client) -> None:
        assert len(client.questions) == 1

    await use("run", command="true", meta=SCRATCH, after=asked)
    allow_all = '{"permissions": {"allow": ["*"]}}'

    def asked_without_remembering(client: Client) -> None:
        [question] = client.questions
        assert [option.kind for option in question.options] == ["allow_once", "reject_once"]

    await use(
        "write",
        path=".portico/settings.json",
        content=allow_all,
        meta=SCRATCH,
        after=asked_without_remembering,
    )


async def test_a_scratch_folder_that_is_the_workspace_itself_is_none(use: Use, folder: Path) -> None:
    def asked(client: Client) -> None:
        assert len(client.questions) == 1

    meta = {"portico": {"mode": "proposal", "workspace": str(folder)}}
    await use("write", path="a.txt", content="x\n", meta=meta, after=asked)


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.GIT/config", "link/config"])
async def test_the_repository_itself_is_never_changed(use: Use, folder: Path, path: str) -> None:
    (folder / ".git").mkdir()
    (folder / "link").symlink_to(folder / ".git")

    def quiet(client: Client) -> None:
        assert client.questions == []

    result = await use("write", path=path, content="#!/bin/sh\n", meta=SCRATCH, after=quiet)
    assert "belongs to git" in text(result)


@pytest.mark.parametrize("scenario", ["ASK", "PLAN", "RESEARCH", "EDITOR_CODE"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"path": "a.txt", "content": "x"}),
        ("delete", {"path": "kept.txt"}),
        ("run", {"command": "touch made"}),
    ],
)
async def test_a_scenario_that_does_not_write_has_no_tool_that_does(
    use: Use, folder: Path, scenario: str, name: str, arguments: dict[str, str]
) -> None:
    (folder / "kept.txt").write_text("kept")
    result = await use(name, scenario=scenario, meta=SCRATCH, **arguments)
    assert f'Unknown tool "{name}".' in text(result)
    assert (folder / "kept.txt").exists()
    assert not any((folder / one).exists() for one in ("a.txt", "made"))


async def test_a_proposal_is_shown_and_not_written(use: Use, folder: Path) -> None:
    (folder / "a.txt").write_text("old\n")

    def shown(client: Client) -> None:
        [call] = client.calls
        diffs = [part for part in client.content(call) if isinstance(part, schema.Diff)]
        assert [(diff.old_text, diff.new_text) for diff in diffs] == [("old\n", "new\n"), (None, "fresh\n")]
        assert client.questions == []
        [notice] = client.updates(schema.Notice)
        assert "--mode proposal" in (notice.description or "")

    changes = [
        {"path": "a.txt", "operation": "update", "new_content": "new\n"},
        {"path": "b.txt", "operation": "create", "new_content": "fresh\n"},
    ]
    result = await use("propose_changes", scenario="EDITOR_CODE", changes=changes, after=shown)
    assert not result.failed
    assert "Nothing was written" in text(result)
    assert (folder / "a.txt").read_text() == "old\n"
    assert not (folder / "b.txt").exists()


async def test_a_proposal_in_a_scratch_folder_is_put_there_for_review(use: Use, folder: Path) -> None:
    (folder / "a.txt").write_text("old\n")
    (folder / "b.txt").write_text("gone\n")
    changes = [
        {"path": "a.txt", "operation": "update", "new_content": "new\n"},
        {"path": "b.txt", "operation": "delete"},
    ]
    await use("propose_changes", scenario="EDITOR_CODE", changes=changes, meta=SCRATCH)
    assert (folder / "a.txt").read_text() == "new\n"
    assert not (folder / "b.txt").exists()


async def test_a_proposal_that_makes_no_sense_names_every_mistake(use: Use, folder: Path) -> None:
    (folder / "a.txt").write_text("old\n")
    changes = [
        {"path": "a.txt", "operation": "create", "new_content": "x"},
        {"path": "b.txt", "operation": "delete"},
        {"path": "../c.txt", "operation": "create", "new_content": "x"},
        {"path": ".git/config", "operation": "create", "new_content": "x"},
        {"path": "d.txt", "operation": "create"},
    ]
    told = text(await use("propose_changes", scenario="EDITOR_CODE", changes=changes, meta=SCRATCH))
    for words in (
        "a.txt: already exists",
        "b.txt: does not exist",
        "outside the folders",
        "belongs to git",
        "d.txt: has no new_content",
    ):
        assert words in told
