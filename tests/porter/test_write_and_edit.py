"""/write and /edit show the difference, ask, and only then write."""

from pathlib import Path

import pytest

from portico.acp import _schema as schema
from tests.porter.client import Client, allow_for_session, reject


async def test_a_new_file_is_written_after_a_question_that_shows_it(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, "/write notes.txt\nfirst\n\n  second") == "end_turn"
    assert (folder / "notes.txt").read_text() == "first\n\n  second\n"
    assert client.text == "Created `notes.txt` with 3 lines."
    [call] = client.calls
    assert (call.kind, call.title) == ("edit", "Create notes.txt")
    assert client.statuses(call) == ["pending", "in_progress", "completed"]
    diff = schema.Diff(path=str(folder / "notes.txt"), new_text="first\n\n  second\n")
    assert client.content(call) == [diff]
    [question] = client.questions
    assert question.tool_call.content == [diff]
    assert question.tool_call.tool_call_id == call.tool_call_id
    assert [option.kind for option in question.options] == ["allow_once", "allow_always", "reject_once"]
    assert client.written == [str(folder / "notes.txt")]


async def test_a_fenced_block_is_written_without_its_fence(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/write a.py\n```python\nprint('``')\n```")
    assert (folder / "a.py").read_text() == "print('``')\n"


async def test_an_existing_file_is_replaced_and_its_old_text_shown(client: Client, folder: Path) -> None:
    (folder / "a.txt").write_text("old\nsame\n")
    session = await client.open(folder)
    await client.prompt(session, "/write a.txt\nnew\nsame")
    assert (folder / "a.txt").read_text() == "new\nsame\n"
    assert client.text == "Changed `a.txt`: 1 line added, 1 removed."
    [diff] = client.content(client.calls[0])
    assert isinstance(diff, schema.Diff)
    assert (diff.old_text, diff.new_text) == ("old\nsame\n", "new\nsame\n")


@pytest.mark.parametrize("prompt", ["/write a.txt\nnew", "/edit a.txt s/old/new/"])
async def test_a_refused_change_touches_nothing(client: Client, folder: Path, prompt: str) -> None:
    (folder / "a.txt").write_text("old\n")
    client.answer = reject
    session = await client.open(folder)
    assert await client.prompt(session, prompt) == "end_turn"
    assert (folder / "a.txt").read_text() == "old\n"
    assert client.written == []
    assert client.text == "`a.txt` was not written; it is unchanged."
    assert client.statuses(client.calls[0]) == ["pending", "failed"]


@pytest.mark.parametrize("prompt", ["/write a.txt\nnew", "/edit a.txt s/old/new/"])
async def test_a_turn_stopped_at_the_question_touches_nothing(
    client: Client, folder: Path, prompt: str
) -> None:
    (folder / "a.txt").write_text("old\n")
    session = await client.open(folder)
    client.hold_questions.clear()
    async with client.turn(session, prompt) as turn:
        await client.until(lambda: bool(client.questions))
        client.end.cancel(session)
        assert await turn == "cancelled"
    assert (folder / "a.txt").read_text() == "old\n"
    assert client.statuses(client.calls[0]) == ["pending", "failed"]


async def test_a_question_that_the_client_cancels_ends_the_turn(client: Client, folder: Path) -> None:
    client.answer = lambda _: "cancelled"
    session = await client.open(folder)
    assert await client.prompt(session, "/write a.txt\nnew") == "cancelled"
    assert not (folder / "a.txt").exists()


async def test_an_answer_that_was_not_offered_is_a_refusal(client: Client, folder: Path) -> None:
    client.answer = lambda _: "something else"
    session = await client.open(folder)
    await client.prompt(session, "/write a.txt\nnew")
    assert not (folder / "a.txt").exists()


async def test_allowing_for_the_session_is_remembered_for_that_command_only(
    client: Client, folder: Path
) -> None:
    client.answer = allow_for_session
    session = await client.open(folder)
    await client.prompt(session, "/write a.txt\none")
    await client.prompt(session, "/write b.txt\ntwo")
    assert len(client.questions) == 1
    assert client.questions[0].options[1].name == "Allow every /write for this session"
    assert (folder / "b.txt").read_text() == "two\n"
    await client.prompt(session, "/edit a.txt s/one/three/")
    assert len(client.questions) == 2
    other = await client.open(folder)
    await client.prompt(other, "/write c.txt\nfour")
    assert len(client.questions) == 3


async def test_a_file_that_changed_while_the_person_thought_is_not_overwritten(
    client: Client, folder: Path
) -> None:
    (folder / "a.txt").write_text("old\n")

    def change_and_allow(request: schema.RequestPermissionRequest) -> str:
        (folder / "a.txt").write_text("changed by somebody\n")
        return "allow-once"

    client.answer = change_and_allow
    session = await client.open(folder)
    await client.prompt(session, "/edit a.txt s/old/new/")
    assert (folder / "a.txt").read_text() == "changed by somebody\n"
    assert "changed while you were asked" in client.text


async def test_nothing_is_asked_when_nothing_would_change(client: Client, folder: Path) -> None:
    (folder / "a.txt").write_text("same\n")
    session = await client.open(folder)
    await client.prompt(session, "/write a.txt\nsame")
    assert client.text == "`a.txt` already has this content; nothing to do."
    assert client.questions == []


async def test_a_write_that_the_client_refuses_is_said_in_words(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, "/write missing/folder/a.txt\nnew") == "end_turn"
    assert "was not written" in client.text
    assert client.statuses(client.calls[0]) == ["pending", "in_progress", "failed"]


@pytest.mark.parametrize("argument", ["", "a.txt", "a.txt\n", "\n\ncontent", "'' \ncontent"])
async def test_a_write_without_name_or_content_is_answered_with_the_usage(
    client: Client, folder: Path, argument: str
) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, f"/write {argument}") == "end_turn"
    assert client.text
    assert client.questions == []


BLOCK = "/edit a.py\n<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE"


@pytest.mark.parametrize(
    ("prompt", "before", "after"),
    [
        ("/edit a.py s/one/two/", "one\nmore\n", "two\nmore\n"),
        ("/edit a.py s|a/b|c/d|", "a/b\n", "c/d\n"),
        (r"/edit a.py s/a\/b/c\nd/", "a/b\n", "c\nd\n"),
        (r"/edit a.py s/\\d/x/", "\\d\n", "x\n"),
        ("/edit a.py s/gone//", "gone forever\n", " forever\n"),
        ("/edit a.py s/one/two/ all", "one one\n", "two two\n"),
        ("/edit a.py s/one/two/g", "one one\n", "two two\n"),
        ('/edit "a.py" s/one/two/', "one\n", "two\n"),
        (BLOCK.format("one\n", "two\nthree\n"), "zero\none\n", "zero\ntwo\nthree\n"),
        (BLOCK.format("one\n", ""), "zero\none\nend\n", "zero\nend\n"),
        (BLOCK.format("  one\n", "  two\n"), "a\n  one", "a\n  two"),
        (BLOCK.format("one\ntwo\n", "1\n2\n"), "one\r\ntwo\r\n", "1\r\n2\r\n"),
        (BLOCK.format("a\n", "b\n").replace("a.py", "a.py all", 1), "a\na\n", "b\nb\n"),
        (
            BLOCK.format("one\n", "1\n") + "\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE",
            "one\ntwo\n",
            "1\n2\n",
        ),
        ("/edit a.py s/(a+)+/$1/", "(a+)+\n", "$1\n"),
    ],
)
async def test_text_is_replaced_exactly(
    client: Client, folder: Path, prompt: str, before: str, after: str
) -> None:
    (folder / "a.py").write_bytes(before.encode())
    session = await client.open(folder)
    await client.prompt(session, prompt)
    assert (folder / "a.py").read_bytes().decode() == after
    assert client.text.startswith("Changed `a.py`")


async def test_text_in_several_places_needs_the_word_all(client: Client, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\none\n")
    session = await client.open(folder)
    await client.prompt(session, "/edit a.txt s/one/three/")
    assert "occurs in 2 places, on lines 1, 3." in client.text
    assert "add `all`" in client.text
    assert client.questions == []
    assert (folder / "a.txt").read_text() == "one\ntwo\none\n"


async def test_text_that_is_not_there_is_answered_with_the_nearest_lines(
    client: Client, folder: Path
) -> None:
    lines = [f"line number {number}" for number in range(50)]
    lines[30] = "    return compute_total(order)"
    (folder / "a.py").write_text("\n".join(lines) + "\n")
    session = await client.open(folder)
    await client.prompt(session, "/edit a.py s/return compute_totals(orders)/x/")
    assert "The text to replace is not in the file." in client.text
    assert "31:     return compute_total(order)" in client.text
    assert client.calls == []


@pytest.mark.parametrize(
    "argument",
    ["", "a.txt", "a.txt s/x/", "a.txt nonsense", "a.txt\nno blocks", "a.txt\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE"],
)  # fmt: skip
async def test_an_edit_that_makes_no_sense_is_explained(client: Client, folder: Path, argument: str) -> None:
    (folder / "a.txt").write_text("x\n")
    session = await client.open(folder)
    assert await client.prompt(session, f"/edit {argument}") == "end_turn"
    assert client.text
    assert client.questions == []


async def test_a_missing_file_cannot_be_edited(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/edit missing.txt s/a/b/")
    assert "does not exist" in client.text
