"""Review in an ACP editor, where agents and editors do unusual things: the chain in memory, the trees real."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from portico.domain.ids import SessionId
from portico.editors.files import LocalFiles
from portico.review.acp.editor_sessions import EditorSessions
from portico.review.acp.path_translation import PathTranslation
from portico.review.acp.proxy import ReviewProxy, ReviewProxyOptions
from portico.review.service import ReviewService
from portico.testing import ManualClock
from tests.conductor.support import Ends, chain
from tests.review.trees import git, repository

Json = dict[str, Any]
_SESSIONS = count(1)
APPLY = {"outcome": {"outcome": "selected", "optionId": "portico:apply"}}


class Talk:
    """Both ends of the chain. The editor offers no files, unless the test says so."""

    def __init__(self, ends: Ends, workspace: Path, reviews: ReviewService) -> None:
        self.ends = ends
        self.workspace = workspace
        self.reviews = reviews
        self._ids = count(1)

    def to_agent(self, **message: Any) -> None:
        self.ends.client.send(json.dumps({"jsonrpc": "2.0", **message}))

    def to_client(self, **message: Any) -> None:
        self.ends.agent.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def greet(self, **offered: Any) -> None:
        params = {"protocolVersion": 1, "clientCapabilities": offered}
        self.to_agent(id=0, method="initialize", params=params)
        await self.ends.agent.receive()
        self.to_client(id=0, result={"protocolVersion": 1})
        await self.ends.client.receive()

    async def ask_to_open(self, method: str = "session/new", **more: Any) -> Json:
        """A session's opening as the agent sees it, still unanswered."""
        params = {"cwd": str(self.workspace), "mcpServers": [], **more}
        self.to_agent(id=f"open-{next(self._ids)}", method=method, params=params)
        return await self.ends.agent.receive()

    async def open(self, session_id: str = "s1", method: str = "session/new", **more: Any) -> Path:
        """Folder in which the session works."""
        asked = await self.ask_to_open(method, **more)
        self.to_client(id=asked["id"], result={"sessionId": session_id})
        assert "result" in await self.ends.client.receive()
        return folder_of(asked)

    async def prompt(self, session_id: str = "s1") -> Json:
        """A prompt as the agent gets it."""
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": "go"}]}
        self.to_agent(id=f"prompt-{next(self._ids)}", method="session/prompt", params=params)
        return await self.ends.agent.receive()

    async def end_turn(self, prompt: Json, **answer: Any) -> None:
        self.to_client(id=prompt["id"], **(answer or {"result": {"stopReason": "end_turn"}}))

    async def call(self, method: str, **params: Any) -> Json:
        """A request of the agent that the proxy answers."""
        request_id = f"agent-{next(self._ids)}"
        self.to_client(id=request_id, method=method, params=params)
        answer = await self.ends.agent.receive()
        assert answer["id"] == request_id
        return answer


def folder_of(opening: Json) -> Path:
    return Path(opening["params"]["cwd"])


@asynccontextmanager
async def talking(
    tmp_path: Path,
    mode: Any = "proposal",
    keeps_out: Callable[[Path], bool] = lambda _: False,
    **offered: Any,
) -> AsyncIterator[Talk]:
    workspace = tmp_path / "app"
    workspace.mkdir(exist_ok=True)
    (workspace / "a.txt").write_text("one\n")
    reviews = ReviewService.at(tmp_path / "state", dict(os.environ), ManualClock())
    needs = ReviewProxyOptions(
        agent="fake",
        mode=mode,
        reviews=reviews,
        sessions=EditorSessions(tmp_path / "state" / "editor_sessions"),
        open_files=LocalFiles,
        make_id=lambda: SessionId(f"session{next(_SESSIONS)}"),
        keeps_out=keeps_out,
    )
    async with chain(ReviewProxy(needs), PathTranslation()) as ends:
        talk = Talk(ends, workspace, reviews)
        async with asyncio.timeout(60):
            await talk.greet(**offered)
            yield talk


async def test_the_agent_is_told_what_its_folder_stands_for_and_how_it_is_reviewed(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask_to_open(_meta={"editor": 1, "portico": "nonsense"})
        params = asked["params"]
        assert Path(params["cwd"]).name == "app"
        assert params["_meta"] == {
            "editor": 1,
            "portico": {
                "session": params["_meta"]["portico"]["session"],
                "workspace": str(talk.workspace),
                "mode": "proposal",
            },
        }


async def test_files_that_change_outside_the_review_are_shown_with_the_command_that_puts_them_back(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        await talk.open()
        prompt = await talk.prompt()
        (talk.workspace / "a.txt").write_text("by full path\n")
        await talk.end_turn(prompt)
        shown = (await talk.ends.client.receive())["params"]["update"]
        assert shown["title"].endswith("outside the review: a.txt.")
        words = shown["content"][0]["content"]["text"]
        assert words.startswith("changed: a.txt\n\nTo put them back: `portico checkpoints restore ")
        assert (await talk.ends.client.receive())["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("terminal", [True, False])
async def test_files_of_a_folder_that_the_agent_is_kept_out_of_are_not_compared_unless_the_editor_runs_commands(
    tmp_path: Path, terminal: bool
) -> None:
    def keeps_out(folder: Path) -> bool:
        return folder == tmp_path / "app"

    async with talking(tmp_path, keeps_out=keeps_out, terminal=terminal) as talk:
        await talk.open()
        prompt = await talk.prompt()
        (talk.workspace / "a.txt").write_text("by the person\n")
        await talk.end_turn(prompt)
        heard = await talk.ends.client.receive()
        assert ("outside the review" in str(heard)) is terminal


async def test_a_branch_that_a_confined_agent_moved_in_the_persons_repository_is_shown(
    tmp_path: Path,
) -> None:
    repository(tmp_path / "app", a__txt="one\n")
    async with talking(tmp_path, "worktree", lambda _: True) as talk:
        await talk.open()
        prompt = await talk.prompt()
        git(talk.workspace, "branch", "planted")
        (talk.workspace / "a.txt").write_text("by the person\n")
        await talk.end_turn(prompt)
        shown = (await talk.ends.client.receive())["params"]["update"]
        assert shown["title"].endswith("outside the review: .git/refs/heads/planted.")


async def test_an_agent_may_write_before_it_has_answered_that_the_session_is_open(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask_to_open()
        folder = asked["params"]["cwd"]
        answer = await talk.call("fs/write_text_file", sessionId="?", path=f"{folder}/b.txt", content="b")
        assert answer["result"] == {}
        assert (Path(folder) / "b.txt").read_text() == "b"
        assert not (talk.workspace / "b.txt").exists()


async def test_a_part_of_a_session_that_has_a_name_of_its_own_writes_where_the_session_does(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        folder = await talk.open()
        for path in (folder / "a.txt", talk.workspace / "b.txt"):
            answer = await talk.call("fs/write_text_file", sessionId="child", path=str(path), content="new")
            assert answer["result"] == {}
        assert (folder / "b.txt").read_text() == "new"
        assert (talk.workspace / "a.txt").read_text() == "one\n"
        assert not (talk.workspace / "b.txt").exists()
        outside = str(tmp_path / "outside.txt")
        refused = await talk.call("fs/write_text_file", sessionId="child", path=outside, content="new")
        assert refused["error"]["code"] == -32602


async def test_writes_and_reads_are_done_in_the_order_in_which_they_are_asked_for(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        path = str(await talk.open() / "a.txt")
        for number in range(20):
            content = {"sessionId": "s1", "path": path, "content": str(number)}
            talk.to_client(id=f"w{number}", method="fs/write_text_file", params=content)
            talk.to_client(
                id=f"r{number}", method="fs/read_text_file", params={"sessionId": "s1", "path": path}
            )
        answers = [await talk.ends.agent.receive() for _ in range(40)]
        read = [one["result"]["content"] for one in answers if one["id"].startswith("r")]
        assert read == [str(number) for number in range(20)]


async def test_a_file_that_is_not_there_is_told_apart_from_one_that_must_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / ".env").write_text("PASSWORD=hunter2")
    async with talking(tmp_path) as talk:
        folder = await talk.open()
        missing = await talk.call("fs/read_text_file", sessionId="s1", path=str(folder / "none.txt"))
        private = await talk.call("fs/read_text_file", sessionId="s1", path=str(folder / ".env"))
        assert missing["error"]["code"] == -32002
        assert private["error"]["code"] == -32602


async def test_what_is_outside_is_read_by_way_of_the_editor(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.open()
        asked = {"sessionId": "s1", "path": "/etc/hosts"}
        talk.to_client(id=9, method="fs/read_text_file", params=asked)
        assert (await talk.ends.client.receive())["params"] == asked


async def test_a_request_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.open()
        assert (await talk.call("fs/write_text_file", sessionId="s1"))["error"]["code"] == -32602


async def test_a_prompt_that_is_cancelled_before_the_agent_has_it_never_gets_there(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.open()
        params = {"sessionId": "s1", "prompt": []}
        talk.to_agent(id=5, method="session/prompt", params=params)
        talk.to_agent(method="session/cancel", params={"sessionId": "s1"})
        assert await talk.ends.client.receive() == {
            "jsonrpc": "2.0",
            "id": 5,
            "result": {"stopReason": "cancelled"},
        }
        talk.to_agent(method="_mark")
        assert (await talk.ends.agent.receive())["method"] == "_mark"


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"outcome": {"outcome": "cancelled"}}},
        {"result": {"outcome": {"outcome": "selected", "optionId": "never heard of"}}},
        {"result": "nonsense"},
        {"error": {"code": -32601, "message": "what is a permission?"}},
    ],
)
async def test_nothing_but_a_clear_yes_applies_anything(tmp_path: Path, answer: Json) -> None:
    async with talking(tmp_path) as talk:
        folder = await talk.open()
        prompt = await talk.prompt()
        (folder / "a.txt").write_text("two\n")
        await talk.end_turn(prompt)
        assert (await talk.ends.client.receive())["params"]["update"]["sessionUpdate"] == "tool_call"
        question = await talk.ends.client.receive()
        talk.to_agent(id=question["id"], **answer)
        ended = await talk.ends.client.receive()
        assert "Kept for later" in json.dumps(ended)
        assert (await talk.ends.client.receive())["result"]["stopReason"] == "end_turn"
        assert (talk.workspace / "a.txt").read_text() == "one\n"


async def test_an_agent_cannot_answer_the_question_that_its_own_changes_raise(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        folder = await talk.open()
        prompt = await talk.prompt()
        (folder / "a.txt").write_text("two\n")
        await talk.end_turn(prompt)
        await talk.ends.client.receive()
        question = await talk.ends.client.receive()
        talk.to_client(id=question["id"], result=APPLY)
        talk.to_client(method="_mark")
        assert (await talk.ends.client.receive())["method"] == "_mark"
        assert (talk.workspace / "a.txt").read_text() == "one\n"


async def test_a_file_that_may_hold_secrets_is_shown_and_not_applied(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        folder = await talk.open()
        prompt = await talk.prompt()
        (folder / "a.txt").write_text("two\n")
        (folder / "server.key").write_text("secret")
        await talk.end_turn(prompt)
        shown = (await talk.ends.client.receive())["params"]["update"]
        question = await talk.ends.client.receive()
        talk.to_agent(id=question["id"], result=APPLY)
        ended = (await talk.ends.client.receive())["params"]["update"]
        await talk.ends.client.receive()
        assert (talk.workspace / "a.txt").read_text() == "two\n"
        assert not (talk.workspace / "server.key").exists()
        assert "server.key" in json.dumps(shown)
        assert "server.key" in ended["content"][0]["content"]["text"]


async def test_files_that_are_no_text_or_very_long_are_told_of_in_words(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        folder = await talk.open()
        prompt = await talk.prompt()
        (folder / "picture.png").write_bytes(b"\x89PNG\0\0")
        (folder / "long.txt").write_text("a line\n" * 200_000)
        await talk.end_turn(prompt)
        update = (await talk.ends.client.receive())["params"]["update"]
        told = json.dumps(update)
        assert "create picture.png" in told
        assert "create long.txt" in told
        assert len(told) < 10_000
        question = await talk.ends.client.receive()
        talk.to_agent(id=question["id"], result=APPLY)
        await talk.ends.client.receive()
        assert (talk.workspace / "picture.png").read_bytes() == b"\x89PNG\0\0"
        assert (talk.workspace / "long.txt").read_text() == "a line\n" * 200_000


async def test_a_thousand_files_are_one_question_of_bounded_size(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        folder = await talk.open()
        prompt = await talk.prompt()
        for number in range(1_000):
            (folder / f"{number}.txt").write_text(f"{number}\n" * 500)
        await talk.end_turn(prompt)
        await talk.ends.client.receive()
        line = await talk.ends.client.line()
        assert len(line) < 3_000_000
        question = json.loads(line)
        assert question["params"]["toolCall"]["title"].startswith("Proposed changes: 1000 files (+500000 ")
        talk.to_agent(id=question["id"], result=APPLY)
        await talk.ends.client.receive()
        assert (talk.workspace / "999.txt").read_text() == "999\n" * 500


async def test_a_session_comes_back_to_the_folder_it_had(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        first = await talk.open()
    async with talking(tmp_path) as talk:
        assert await talk.open(method="session/load", sessionId="s1") == first
        assert await talk.open("s2") != first


async def test_a_session_that_is_deleted_takes_its_folder_with_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        folder = await talk.open()
        talk.to_agent(id=8, method="session/delete", params={"sessionId": "s1"})
        asked = await talk.ends.agent.receive()
        talk.to_client(id=asked["id"], result={})
        await talk.ends.client.receive()
        assert not folder.exists()
        assert (talk.workspace / "a.txt").exists()


async def test_a_session_that_the_agent_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = await talk.ask_to_open()
        folder = folder_of(asked)
        assert folder.exists()
        talk.to_client(id=asked["id"], error={"code": -32000, "message": "sign in first"})
        assert (await talk.ends.client.receive())["error"]["message"] == "sign in first"
        assert not folder.exists()


async def test_a_folder_that_is_not_there_is_refused_before_the_agent_hears_of_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.to_agent(id=3, method="session/new", params={"cwd": str(tmp_path / "nowhere"), "mcpServers": []})
        refused = await talk.ends.client.receive()
        assert refused["id"] == 3
        assert "not a folder" in refused["error"]["message"]
