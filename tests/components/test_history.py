"""Agents ask git about a workspace: what they learn, in which portions, and what they never see."""

import os
from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.components.component import ComponentContext, ComponentUnavailable
from portico.components.history.component import HistoryComponent, HistoryProxy, history_tools
from portico.components.text_page import page_of
from portico.mcp.tools import ToolCall, ToolFailure
from tests.conductor.mcp_support import ask, call, introduce, message, open_session
from tests.conductor.support import chain
from tests.review.trees import git, repository, write


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four commits by two people: a file that is renamed, a secret that comes and goes."""
    folder = repository(tmp_path_factory.mktemp("history") / "work", app__py="def start():\n    pass\n")
    write(folder, {".env": "TOKEN=hunter2\n", "lib/util.py": "def helper():\n    return 1\n"})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=Add a helper")
    write(folder, {".env": "TOKEN=swordfish\n", "lib/util.py": "def helper():\n    return 2\n"})
    git(folder, "add", "--all")
    bob = ("-c", "user.name=Bob", "-c", "user.email=bob@example.org")
    git(folder, *bob, "commit", "--quiet", "--message=Return two", "--author=Bob <bob@example.org>")
    git(folder, "mv", "app.py", "main.py")
    git(folder, "commit", "--quiet", "--message=Rename the program")
    return folder


async def use(folder: Path, name: str, **arguments: Any) -> str:
    tool = next(tool for tool in history_tools(os.environ) if tool.name == name)
    answer = await tool.run(ToolCall(arguments, "s", str(folder), lambda *_: None))
    assert isinstance(answer, str)
    return answer


async def test_the_log_comes_in_pages_and_follows_a_renamed_file(work: Path) -> None:
    first = await use(work, "git_log", count=2)
    assert [line.partition(": ")[2] for line in first.split("\n")[:2]] == ["Rename the program", "Return two"]
    assert "offset=3" in first
    assert "first" in await use(work, "git_log", count=2, offset=3)
    assert "Ann: first" in await use(work, "git_log", path="main.py")
    assert "Return two" not in await use(work, "git_log", author="Ann")
    assert await use(work, "git_log", message="no such words") == "No commit matches."
    assert (await use(work, "git_log", revision="HEAD~2..HEAD")).count("\n") == 1


async def test_blame_names_commit_date_and_author_of_each_line(work: Path) -> None:
    first, second = (await use(work, "git_blame", path="lib/util.py")).split("\n")
    assert "Ann" in first
    assert first.endswith("1: def helper():")
    assert "Bob" in second
    assert second.endswith("2:     return 2")
    assert (await use(work, "git_blame", path="lib/util.py", first_line=2, count=5)).count("\n") == 0


async def test_show_has_the_message_the_changes_and_old_files(work: Path) -> None:
    shown = await use(work, "git_show", revision="HEAD~1")
    assert "Return two" in shown
    assert "-    return 1\n+    return 2" in shown
    assert "return 1" in await use(work, "git_show", revision="HEAD~2", path="lib/util.py", content=True)
    assert "+def start():" in await use(work, "git_show", revision="HEAD~3")


async def test_diff_compares_commits_and_the_files_as_they_are_now(work: Path) -> None:
    assert "+    return 2" in await use(work, "git_diff", base="HEAD~2", target="HEAD", path="lib")
    assert await use(work, "git_diff") == "Nothing changed."
    write(work, {"main.py": "def start():\n    return 3\n", "new.py": "", "id_rsa": "key"})
    try:
        changed = await use(work, "git_diff")
        assert "+    return 3" in changed
        assert "Untracked files: new.py" in changed
    finally:
        git(work, "checkout", "--quiet", "main.py")
        (work / "new.py").unlink()
        (work / "id_rsa").unlink()


async def test_the_pickaxe_finds_when_a_text_came_and_went(work: Path) -> None:
    found = await use(work, "git_pickaxe", text="return 1")
    assert "Return two\n    lib/util.py" in found
    assert "Add a helper" in found
    assert "Add a helper" in await use(work, "git_pickaxe", text="def h.*:", regex=True)


async def test_who_knows_counts_the_commits_of_people(work: Path) -> None:
    ann, bob = sorted((await use(work, "who_knows", path="lib")).split("\n"))
    assert ann.startswith("Ann <ann@example.org>: 1 commit")
    assert "Return two" in bob


async def test_secrets_are_in_no_answer(work: Path) -> None:
    answers = [
        await use(work, "git_show", revision="HEAD~1"),
        await use(work, "git_show", revision="HEAD~2"),
        await use(work, "git_diff", base="HEAD~3", target="HEAD"),
        await use(work, "git_pickaxe", text="swordfish"),
        await use(work, "git_pickaxe", text="TOKEN=.*", regex=True),
    ]
    assert not [text for text in answers if "hunter2" in text or "swordfish" in text or ".env" in text]
    assert "1 of the changed files may hold secrets" in answers[0]
    assert answers[3] == answers[4] == "No commit matches."
    for tool in ("git_blame", "git_show", "git_log", "who_knows"):
        with pytest.raises(ToolFailure, match="may hold secrets"):
            await use(work, tool, path=".env")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "../elsewhere"}, "outside of the folder"),
        ({"path": "/etc/passwd"}, "outside of the folder"),
        ({"revision": "--output=/tmp/x"}, "no commit"),
        ({"revision": "nonsense"}, "no commit"),
        ({"revision": "HEAD..nonsense"}, "no commit"),
        ({"count": 5000}, "schema"),
    ],
)
async def test_a_wrong_question_is_answered_with_what_is_wrong(
    work: Path, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ToolFailure, match=words):
        await use(work, "git_log", **arguments)


async def test_a_session_in_a_subfolder_sees_that_folder_only(work: Path) -> None:
    assert "Rename" not in await use(work / "lib", "git_log")
    assert "Return two" in await use(work / "lib", "git_log", path="util.py")
    with pytest.raises(ToolFailure, match="outside"):
        await use(work / "lib", "git_show", path="../main.py", content=True)
    assert "main.py" not in await use(work / "lib", "git_show", revision="HEAD")


async def test_long_answers_come_in_pages(tmp_path: Path) -> None:
    folder = repository(tmp_path / "work", long__txt="\n".join(f"line {number}" for number in range(9000)))
    page = await use(folder, "git_show", path="long.txt", content=True)
    assert len(page.encode()) < 30_000
    following = int(page.rpartition("offset=")[2].removesuffix(".)"))
    more = await use(folder, "git_show", path="long.txt", content=True, offset=following)
    assert more.startswith(f"line {following - 1}\n")


def test_a_page_ends_with_where_the_next_begins() -> None:
    assert page_of(["a", "b"]) == "a\nb"
    assert page_of(["a", "b", "c"], most=2) == "a\nb\n\n(Lines 1 to 2 of 3. Continue with offset=3.)"
    assert page_of(["a", "b", "c"], 3) == "c\n\n(Lines 3 to 3 of 3. That is the end.)"
    assert "only 1 line" in page_of(["a"], 7)


async def test_an_agent_is_offered_tools_that_only_read(work: Path) -> None:
    async with chain(HistoryProxy(os.environ)) as ends:
        await introduce(ends, acp=True)
        (server,) = await open_session(ends, cwd=str(work))
        listed = await ask(ends.agent, 1, "mcp/message", message(server["serverId"], "1", "tools/list"))
        tools = listed["result"]["result"]["tools"]
        assert [tool["name"] for tool in tools if tool["annotations"] != {"readOnlyHint": True}] == []
        asked = call(server["serverId"], "2", "git_log", count=1)
        told = (await ask(ends.agent, 2, "mcp/message", asked))["result"]["result"]
        assert "Rename the program" in told["content"][0]["text"]


def test_without_a_repository_the_component_says_so(tmp_path: Path) -> None:
    context = ComponentContext(
        workspace=tmp_path, environ={}, editor=acp.ClientCapabilities(), agent=acp.AgentCapabilities()
    )
    with pytest.raises(ComponentUnavailable, match="not in a git repository"):
        HistoryComponent().plan(context)
