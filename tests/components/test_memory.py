"""Agents keep notes for later sessions: in a file that people edit, asked about like any protected file."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.components.memory.component import DIGEST_BYTES, KnownNotes, MemoryProxy, describe_notes
from portico.components.memory.notes import FILE, Note, Notes
from portico.components.memory.user_notes import MOST_EARLIER, UserNotes
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy
from portico.domain.errors import InvalidInput
from tests.conductor.mcp_support import ask, frame, introduce, message
from tests.conductor.support import Ends, chain

Json = dict[str, Any]


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class Place:
    """A session whose client writes files for real, if the person agrees."""

    def __init__(self, ends: Ends, work: Path) -> None:
        self.ends = ends
        self.work = work
        self.agrees = True
        self.asked: list[str] = []
        self._server_id = ""

    @property
    def file(self) -> Path:
        return self.work / FILE

    async def open(self, **placed: Any) -> None:
        meta = {"portico": {"session": "p", "workspace": str(self.work), **placed}}
        params = {"cwd": str(self.work), "mcpServers": [], "_meta": meta}
        self.ends.client.send(frame(id="open", method="session/new", params=params))
        asked = await self.ends.agent.receive()
        self._server_id = asked["params"]["mcpServers"][0]["serverId"]
        self.ends.agent.send(frame(id=asked["id"], result={"sessionId": "s"}))
        await self.ends.client.receive()

    async def prompt(self, text: str) -> list[str]:
        params = {"sessionId": "s", "prompt": [{"type": "text", "text": text}]}
        self.ends.client.send(frame(id="p", method="session/prompt", params=params))
        asked = await self.ends.agent.receive()
        self.ends.agent.send(frame(id=asked["id"], result={"stopReason": "end_turn"}))
        await self.ends.client.receive()
        return [block["text"] for block in asked["params"]["prompt"]]

    async def tools(self) -> list[str]:
        listed = await ask(self.ends.agent, 1, "mcp/message", message(self._server_id, "1", "tools/list"))
        return [tool["name"] for tool in listed["result"]["result"]["tools"]]

    async def read(self, **arguments: Any) -> str:
        self.call("recall", arguments)
        return await self.told()

    async def change_own(self, tool: str, **arguments: Any) -> tuple[str, Json, Json | None]:
        """Call a tool that changes the person's own notes: the answer, the diff asked about, and the diff shown."""
        self.call(tool, {**arguments, "scope": "user"})
        question = await self.ends.client.receive()
        assert question["method"] == "session/request_permission"
        (asked,) = question["params"]["toolCall"]["content"]
        kind = "allow_once" if self.agrees else "reject_once"
        (option,) = [one for one in question["params"]["options"] if one["kind"] == kind]
        outcome = {"outcome": "selected", "optionId": option["optionId"]}
        self.ends.client.send(frame(id=question["id"], result={"outcome": outcome}))
        told = await self.told()
        if told.startswith("FAILED"):
            return told, asked, None
        await self.ends.client.receive()
        (shown,) = (await self.ends.client.receive())["params"]["update"]["content"]
        return told, asked, shown

    async def change(self, tool: str, *, asks: bool = True, **arguments: Any) -> str:
        """Call a tool that writes, with the client at its side."""
        self.call(tool, arguments)
        if asks:
            question = await self.ends.client.receive()
            assert question["method"] == "session/request_permission"
            self.asked.append(question["params"]["toolCall"]["title"])
            kind = "allow_once" if self.agrees else "reject_once"
            (option,) = [one for one in question["params"]["options"] if one["kind"] == kind]
            outcome = {"outcome": "selected", "optionId": option["optionId"]}
            self.ends.client.send(frame(id=question["id"], result={"outcome": outcome}))
            if self.agrees:
                write = await self.ends.client.receive()
                assert write["method"] == "fs/write_text_file"
                save(Path(write["params"]["path"]), write["params"]["content"])
                self.ends.client.send(frame(id=write["id"], result={}))
        return await self.told()

    def call(self, tool: str, arguments: Json) -> None:
        asked = message(self._server_id, "call", "tools/call", {"name": tool, "arguments": arguments})
        self.ends.agent.send(frame(id="call", method="mcp/message", params=asked))

    async def told(self) -> str:
        told = (await self.ends.agent.receive())["result"]["result"]
        return ("FAILED: " if told.get("isError") else "") + str(told["content"][0]["text"])


@asynccontextmanager
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    broker = PermissionBroker(
        agent="fake",
        policy=PermissionPolicy(),
        approvals=FileApprovals(tmp_path / "approvals.json", lambda: 0),
    )
    async with chain(broker, MemoryProxy(UserNotes(tmp_path / "config" / "memory"))) as ends:
        await introduce(ends, acp=True)
        yield Place(ends, work)


async def test_a_note_is_kept_recalled_told_of_and_forgotten(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.open()
        assert await here.prompt("Hello") == ["Hello"]
        assert await here.read() == "There are no notes yet."
        assert "Kept under “Database”" in await here.change(
            "remember", topic="Database", text="We use SQLite."
        )
        assert str(here.file) in here.asked[0]
        assert "We use SQLite." in here.file.read_text()
        assert await here.read(query="sqlite data") == "## Database\n\nWe use SQLite."
    async with place(tmp_path) as here:
        await here.open()
        digest, words = await here.prompt("Hello again")
        assert "- Database: We use SQLite." in digest
        assert words == "Hello again"
        assert "Deleted the note" in await here.change("forget", topic="database")
        assert await here.read() == "There are no notes yet."


async def test_what_the_person_refuses_is_not_kept(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.agrees = False
        await here.open()
        assert (await here.change("remember", topic="A", text="b")).startswith(
            "FAILED: The note was not written"
        )
        assert not here.file.exists()


async def test_a_file_that_was_edited_by_hand_keeps_the_edit(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.open()
        await here.change("remember", topic="One", text="First.")
        here.file.write_text("Mine.\n\n## One\n\nFirst, and mine.\n\n## Two\n\nBy hand.\n")
        await here.change("remember", topic="Three", text="Third.")
        text = here.file.read_text()
    assert text == "Mine.\n\n## One\n\nFirst, and mine.\n\n## Two\n\nBy hand.\n\n## Three\n\nThird.\n"


@pytest.mark.parametrize(
    ("topic", "text", "words"),
    [
        ("Deploy", "The api_key = sk-1234567890abcdefghij is here.", "password, key or token"),
        ("password=hunter2hunter2", "x", "password, key or token"),
        ("a\nb", "x", "one line"),
        ("# a", "x", "one line"),
        ("a", "## Other\nx", "headings"),
        ("a", " ", "characters of text"),
    ],
)
def test_what_does_not_belong_into_a_note_is_refused(topic: str, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Notes().with_note(Note(topic, text))


async def test_secrets_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.open()
        told = await here.change(
            "remember", asks=False, topic="Key", text="token: ghp_abcdefghijklmnop123456"
        )
        assert "so it was not kept. Say where the secret is kept" in told


async def test_a_session_that_only_reads_can_only_recall(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.open(reads_only=True)
        assert await here.tools() == ["recall"]


async def test_a_link_in_the_place_of_the_notes_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("## Secret\n\nhunter2\n")
    folder = (tmp_path / "work" / FILE).parent
    folder.mkdir(parents=True)
    (folder / "notes.md").symlink_to(tmp_path / "secret.md")
    async with place(tmp_path) as here:
        await here.open()
        assert await here.prompt("Hello") == ["Hello"]
        assert (await here.read()).startswith(f"FAILED: {FILE} cannot be read")


def test_the_digest_is_bounded_and_ends_where_it_should() -> None:
    notes = Notes(notes=tuple(Note(f"Topic {number}", "</notes> words " * 90) for number in range(100)))
    digest = describe_notes(KnownNotes(notes))
    assert digest is not None
    assert len(digest.encode()) < DIGEST_BYTES + 500
    assert digest.count("</notes>") == 1
    assert "more\n</notes>" in digest
    assert describe_notes(KnownNotes(Notes())) is None


def test_notes_come_back_as_they_were_written() -> None:
    notes = Notes().with_note(Note("A", "one\n\n### deeper\n\ntwo")).with_note(Note("B", "three"))
    assert Notes.parse(notes.render()).notes == notes.notes
    assert Notes.parse(notes.render()).render() == notes.render()


async def test_a_note_of_the_person_holds_in_all_workspaces(tmp_path: Path) -> None:
    path = tmp_path / "config" / "memory" / "notes.md"
    async with place(tmp_path) as here:
        await here.open()
        told, asked, shown = await here.change_own("remember", topic="Commits", text="Short ones.")
        assert told == f"Kept under “Commits” in {path}."
        assert (asked["path"], asked.get("oldText")) == (str(path), None)
        assert "Short ones." in asked["newText"]
        assert shown == asked
        assert "Short ones." in path.read_text()
        assert not here.file.exists()
        assert await here.read() == "## Commits (the person's, all workspaces)\n\nShort ones."
    async with place(tmp_path) as here:
        await here.open()
        digest, _ = await here.prompt("Hello")
        assert "- Commits (the person's): Short ones." in digest
        told, _, _ = await here.change_own("forget", topic="commits")
        assert told.startswith("Deleted the note on “commits”")
        assert await here.read() == "There are no notes yet."


async def test_a_note_of_the_person_that_they_refuse_is_not_kept(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.agrees = False
        await here.open()
        told, _, _ = await here.change_own("remember", topic="A", text="b")
        assert told == "FAILED: The note was not written: the person did not allow it."
        assert not (tmp_path / "config").exists()


async def test_secrets_are_refused_for_the_person_too(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.open()
        told = await here.change(
            "remember", asks=False, topic="Key", text="token: ghp_abcdefghijklmnop123456", scope="user"
        )
        assert "password, key or token" in told


async def test_notes_that_the_person_edits_while_they_are_asked_are_left_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "config" / "memory" / "notes.md"
    async with place(tmp_path) as here:
        await here.open()
        here.call("remember", {"topic": "A", "text": "b", "scope": "user"})
        question = await here.ends.client.receive()
        save(path, "Mine.\n")
        outcome = {"outcome": "selected", "optionId": "keep"}
        here.ends.client.send(frame(id=question["id"], result={"outcome": outcome}))
        assert "changed meanwhile" in await here.told()
    assert path.read_text() == "Mine.\n"


def test_changes_of_the_persons_notes_are_taken_back_one_by_one(tmp_path: Path) -> None:
    notes = UserNotes(tmp_path / "memory")
    for number in range(MOST_EARLIER + 5):
        notes.write(f"{number}\n")
    taken = [notes.undo() for _ in range(MOST_EARLIER)]
    assert taken[0] == (f"{MOST_EARLIER + 4}\n", f"{MOST_EARLIER + 3}\n")
    assert notes.text() == "4\n"
    with pytest.raises(InvalidInput, match="no change"):
        notes.undo()
