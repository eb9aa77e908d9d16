"""`portico acp --mode`: in any ACP editor, with any agent, the person decides what reaches the files."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import PEERS, said
from tests.support.program import Portico
from tests.support.reviewing_editor import DISCARD, KEEP, ReviewingEditor
from tests.support.stream import Json

OLD = "one\ntwo\nthree\n"
NEW = "one\nTWO\nthree\n"
BY_CLIENT = [{"write": {"path": "a.txt", "content": NEW}}]
BY_ITSELF = [{"save": {"path": "a.txt", "content": NEW}}]


@pytest.fixture(autouse=True)
def file(portico: Portico) -> Path:
    path = portico.workspace / "a.txt"
    path.write_text(OLD)
    return path


@contextmanager
def editing(portico: Portico, mode: str = "proposal", agent: str | None = None) -> Iterator[ReviewingEditor]:
    editor = ReviewingEditor(portico, "--agent-command", agent or portico.agent, "--mode", mode)
    yield editor
    assert editor.hang_up().code == 0


def sdk_agent(portico: Portico) -> str:
    return shlex.join([sys.executable, str(PEERS / "sdk_agent.py"), str(portico.home / "peer")])


def working_copy(portico: Portico) -> Path:
    """The copy of the file that the agent works on."""
    (found,) = (portico.state / "review" / "workplaces").glob("*/*/tree/workspace/a.txt")
    return found


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=Mia", "-c", "user.email=mia@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(portico: Portico) -> Path:
    git(portico.workspace, "init", "--quiet", "--initial-branch=main")
    git(portico.workspace, "add", ".")
    git(portico.workspace, "commit", "--quiet", "--message=begin")
    return portico.workspace


@pytest.mark.parametrize(
    ("agent", "prompt"),
    [
        ("scripted", BY_CLIENT),
        ("scripted", BY_ITSELF),
        ("sdk", f"write a.txt {NEW}"),
        ("sdk", f"save a.txt {NEW}"),
    ],
)
def test_what_any_agent_writes_in_any_way_reaches_the_files_only_once_it_is_applied(
    portico: Portico, file: Path, agent: str, prompt: str | list[Any]
) -> None:
    seen: list[str] = []

    def apply(question: Json) -> str:
        seen.append(file.read_text())
        (diff,) = question["toolCall"]["content"]
        assert diff == {"type": "diff", "path": str(file), "oldText": OLD, "newText": NEW}
        assert [option["kind"] for option in question["options"]] == [
            "allow_once",
            "reject_once",
            "reject_once",
        ]
        return "portico:apply"

    with editing(portico, agent=sdk_agent(portico) if agent == "sdk" else None) as editor:
        turn = editor.turn(editor.open_session(), prompt, apply)
        assert seen == [OLD]
        assert file.read_text() == NEW
        assert turn.stop_reason == "end_turn"
        assert turn.cards[0]["kind"] == "edit"
        assert turn.cards[0]["title"] == "Proposed changes: 1 file (+1 −1)"
        assert turn.verdict.startswith("Applied")


def test_a_new_file_a_removed_one_and_one_in_a_new_folder_are_one_proposal(portico: Portico) -> None:
    (portico.workspace / "old.txt").write_text("old\n")
    steps = [
        {"save": {"path": "src/new.txt", "content": "new\n"}},
        {"remove": "old.txt"},
        {"write": {"path": "a.txt", "content": NEW}},
    ]
    with editing(portico) as editor:
        turn = editor.turn(editor.open_session(), steps)
        root = portico.workspace
        assert turn.diffs == {
            str(root / "src/new.txt"): (None, "new\n"),
            str(root / "old.txt"): ("old\n", ""),
            str(root / "a.txt"): (OLD, NEW),
        }
        assert (root / "src/new.txt").read_text() == "new\n"
        assert not (root / "old.txt").exists()


def test_the_person_reads_of_their_own_files_and_the_agent_of_its_own(portico: Portico, file: Path) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        turn = editor.turn(
            session, f'[{{"say": "I looked at {file}"}}, {{"save": {{"path": "b", "content": "b"}}}}]'
        )
        assert said(turn.heard) == f"I looked at {file}"
        opened = editor.heard[1]
        assert str(portico.state) not in str(opened)
        assert all(str(portico.state) not in str(message) for message in turn.heard)


def test_a_turn_that_changes_nothing_asks_nothing(portico: Portico) -> None:
    with editing(portico) as editor:
        turn = editor.turn(editor.open_session(), "hello")
        assert (turn.questions, turn.cards) == ([], [])


def test_what_is_kept_for_later_is_asked_again_only_when_it_has_changed(portico: Portico, file: Path) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        kept = editor.turn(session, BY_CLIENT, KEEP)
        assert kept.verdict.startswith("Kept for later")
        assert editor.turn(session, "hello").questions == []
        assert file.read_text() == OLD
        both = editor.turn(session, [{"save": {"path": "b.txt", "content": "b"}}])
        assert set(both.diffs) == {str(file), str(file.with_name("b.txt"))}
        assert file.read_text() == NEW


def test_what_is_kept_for_later_can_be_looked_at_and_applied_from_a_shell(
    portico: Portico, file: Path
) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        assert "portico review show" in editor.turn(session, BY_CLIENT, KEEP).verdict
        assert "a.txt" in portico.run("review", "show").text
        assert portico.run("review", "apply").code == 0
        assert file.read_text() == NEW
        assert editor.turn(session, [{"read": {"path": "a.txt"}}]).questions == []
    assert portico.run("review", "undo").code == 0
    assert file.read_text() == OLD


def test_what_is_discarded_is_gone_from_the_agents_files_too(portico: Portico, file: Path) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        turn = editor.turn(session, BY_CLIENT, DISCARD)
        assert turn.verdict.startswith("Discarded")
        again = editor.turn(session, [{"read": {"path": "a.txt"}}])
        assert (said(again.heard), again.questions) == (OLD, [])
        assert file.read_text() == OLD


def test_a_cancelled_turn_asks_nothing_and_its_changes_are_shown_with_the_next(
    portico: Portico, file: Path
) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        request_id = editor.begin(session, [*BY_CLIENT, {"say": "working"}, {"hang": {}}])
        editor.until_said("working")
        editor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        stopped = editor.until_answered(request_id)
        assert (stopped.stop_reason, stopped.questions) == ("cancelled", [])
        assert file.read_text() == OLD
        assert editor.turn(session, "hello").diffs == {str(file): (OLD, NEW)}
        assert file.read_text() == NEW


def test_a_turn_that_is_cancelled_while_the_person_is_asked_keeps_its_changes(
    portico: Portico, file: Path
) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        request_id = editor.begin(session, BY_CLIENT)
        editor.until_asked()
        editor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        assert editor.until_answered(request_id).stop_reason == "cancelled"
        assert file.read_text() == OLD


def test_an_agent_that_fails_has_its_changes_shown_all_the_same(portico: Portico, file: Path) -> None:
    failing = [*BY_CLIENT, {"error": {"code": -32603, "message": "out of tokens"}}]
    with editing(portico) as editor:
        turn = editor.turn(editor.open_session(), failing)
        assert turn.answer["error"]["message"] == "out of tokens"
        assert file.read_text() == NEW


def test_an_editor_that_goes_away_while_it_is_asked_applies_nothing_and_finds_it_again(
    portico: Portico, file: Path
) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        editor.begin(session, BY_CLIENT)
        editor.until_asked()
    assert file.read_text() == OLD
    with editing(portico) as editor:
        editor.initialize()
        params = {"sessionId": session, "cwd": str(portico.workspace), "mcpServers": []}
        assert "result" in editor.call("session/load", params)
        assert editor.turn(session, "hello").diffs == {str(file): (OLD, NEW)}
        assert file.read_text() == NEW


def test_an_editor_that_goes_away_in_the_middle_of_a_turn_finds_what_was_changed_until_then(
    portico: Portico, file: Path
) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        editor.begin(session, [*BY_CLIENT, {"say": "working"}, {"hang": {}}])
        editor.until_said("working")
    assert file.read_text() == OLD
    assert list((portico.state / "review" / "proposals").glob("*/*.json"))


def test_the_agent_reads_what_the_person_has_not_saved_and_only_its_own_change_is_proposed(
    portico: Portico, file: Path
) -> None:
    unsaved = OLD.replace("one", "one, unsaved")
    both = unsaved.replace("three", "THREE")
    with editing(portico) as editor:
        session = editor.open_session()
        editor.unsaved[file] = unsaved
        steps = [{"read": {"path": "a.txt"}}, {"write": {"path": "a.txt", "content": both}}]
        turn = editor.turn(session, steps)
        assert said(turn.heard).startswith(unsaved)
        assert turn.diffs == {str(file): (unsaved, both)}
        assert editor.written == [file]
        assert file.read_text() == both


def test_reading_what_is_not_saved_proposes_nothing(portico: Portico, file: Path) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        editor.unsaved[file] = "unsaved\n"
        turn = editor.turn(session, [{"read": {"path": "a.txt"}}])
        assert (said(turn.heard), turn.questions) == ("unsaved\n", [])
        del editor.unsaved[file]
        assert said(editor.turn(session, [{"read": {"path": "a.txt"}}]).heard) == OLD
        assert file.read_text() == OLD


def test_unsaved_lines_elsewhere_in_a_file_are_kept_by_an_apply(portico: Portico, file: Path) -> None:
    with editing(portico) as editor:
        session = editor.open_session()

        def type_then_apply(_: Json) -> str:
            editor.unsaved[file] = OLD + "four, typed while reading\n"
            return "portico:apply"

        turn = editor.turn(session, BY_CLIENT, type_then_apply)
        assert "kept" in turn.verdict
        assert file.read_text() == NEW + "four, typed while reading\n"


def test_line_ends_that_an_editor_shows_its_own_way_are_no_unsaved_change(
    portico: Portico, file: Path
) -> None:
    old, new = (text.replace("\n", "\r\n") for text in (OLD, NEW))
    file.write_bytes(old.encode())
    with editing(portico) as editor:
        editor.unsaved[file] = OLD
        steps = [{"read": {"path": "a.txt"}}, {"write": {"path": "a.txt", "content": new}}]
        turn = editor.turn(editor.open_session(), steps)
        assert said(turn.heard).startswith(old)
        assert (turn.diffs, editor.written) == ({str(file): (old, new)}, [])
        assert file.read_bytes() == new.encode()


def test_lines_that_both_changed_are_a_conflict_and_nothing_is_applied(portico: Portico, file: Path) -> None:
    mine = OLD.replace("two", "mine")

    def change_then_apply(_: Json) -> str:
        file.write_text(mine)
        return "portico:apply"

    with editing(portico) as editor:
        turn = editor.turn(editor.open_session(), BY_CLIENT, change_then_apply)
        assert "Nothing was applied" in turn.verdict
        assert "a.txt" in turn.verdict
        assert file.read_text() == mine


def test_what_the_person_changed_since_is_what_the_agent_sees_next(portico: Portico, file: Path) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        editor.turn(session, "hello")
        file.write_text("changed\n")
        assert said(editor.turn(session, [{"read": {"path": "a.txt"}}]).heard) == "changed\n"


@pytest.mark.parametrize(
    "path", ["{outside}", "../../climbing.txt", ".env", ".git/hooks/post-commit", "link.txt"]
)
def test_what_must_not_be_written_is_refused(portico: Portico, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (portico.workspace / "link.txt").symlink_to(outside)
    named = path.format(outside=outside)
    with editing(portico) as editor:
        turn = editor.turn(editor.open_session(), [{"write": {"path": named, "content": "theirs"}}])
        assert said(turn.heard).startswith("write failed: -32602")
        assert turn.questions == []
    assert outside.read_text() == "mine"
    assert not (portico.workspace / ".env").exists()


def unusual(path: Path) -> str:
    """The same path in a spelling that is not taken for words about it, and so comes to the agent as it is."""
    return f"{path.parent}//{path.name}"


def test_a_file_named_by_the_persons_own_path_is_written_in_the_agents_copy(
    portico: Portico, file: Path
) -> None:
    path = f"{unusual(portico.workspace)}/a.txt"
    params = {"sessionId": "$session", "path": path, "content": NEW}
    with editing(portico) as editor:
        session = editor.open_session()
        request = {"request": {"method": "fs/write_text_file", "params": params}}
        turn = editor.turn(session, [request], KEEP)
        assert len(turn.questions) == 1
        assert file.read_text() == OLD
        assert working_copy(portico).read_text() == NEW


def test_commands_run_in_the_agents_copy(portico: Portico) -> None:
    asked = {"sessionId": "$session", "command": "make"}
    places = [{}, {"cwd": unusual(portico.workspace)}, {"cwd": f"{unusual(portico.workspace)}/src"}]
    steps = [{"request": {"method": "terminal/create", "params": {**asked, **place}}} for place in places]
    with editing(portico) as editor:
        editor.capabilities = {**editor.capabilities, "terminal": True}
        editor.turn(editor.open_session(), steps)
        copy = working_copy(portico).parent
        assert [Path(terminal["cwd"]) for terminal in editor.terminals] == [copy, copy, copy / "src"]


def test_sessions_are_listed_in_the_folder_in_which_the_person_opened_them(portico: Portico) -> None:
    with editing(portico) as editor:
        session = editor.open_session()
        here = editor.call("session/list", {"cwd": str(portico.workspace)})["result"]["sessions"]
        assert [(one["sessionId"], one["cwd"]) for one in here] == [(session, str(portico.workspace))]
        elsewhere = editor.call("session/list", {"cwd": "/elsewhere"})["result"]["sessions"]
        assert elsewhere == []


def test_a_worktree_session_is_reviewed_like_any_other(
    portico: Portico, repository: Path, file: Path
) -> None:
    with editing(portico, "worktree") as editor:
        turn = editor.turn(editor.open_session(), BY_ITSELF)
        assert turn.diffs == {str(file): (OLD, NEW)}
        assert file.read_text() == NEW
    assert git(repository, "branch", "--show-current") == "main"


def test_a_branch_session_works_in_the_folder_itself_on_a_branch_of_its_own(
    portico: Portico, repository: Path, file: Path
) -> None:
    with editing(portico, "branch") as editor:
        session = editor.open_session()
        turn = editor.turn(session, [*BY_ITSELF, {"say": "done"}])
        assert (turn.questions, said(turn.heard)) == ([], "done")
        assert file.read_text() == NEW
    assert git(repository, "branch", "--show-current").startswith("portico/")


def test_a_mode_that_needs_a_repository_says_so_when_a_session_is_opened(portico: Portico) -> None:
    with editing(portico, "worktree") as editor:
        editor.initialize()
        made = editor.call("session/new", {"cwd": str(portico.workspace), "mcpServers": []})
        assert "git" in made["error"]["message"]


def test_the_mode_may_stand_in_the_settings(portico: Portico, file: Path) -> None:
    portico.settings({"review": {"mode": "proposal"}})
    editor = ReviewingEditor(portico, "--agent-command", portico.agent)
    editor.turn(editor.open_session(), BY_CLIENT, KEEP)
    assert file.read_text() == OLD
    assert editor.hang_up().code == 0


def proposing_agent() -> str:
    return shlex.join([sys.executable, str(PEERS / "proposing_agent.py")])


PROPOSED = [{"path": "a.txt", "operation": "update", "new_content": NEW}]


@pytest.mark.parametrize("mode", ["proposal", "branch"])
def test_what_an_agent_proposes_with_the_tool_is_asked_about_at_the_end_of_its_turn(
    portico: Portico, repository: Path, file: Path, mode: str
) -> None:
    with editing(portico, mode, proposing_agent()) as editor:
        turn = editor.turn(editor.open_session(), PROPOSED)
        assert turn.diffs == {str(file): (OLD, NEW)}
        assert "the person sees 1 file and decides" in said(turn.heard)
        assert file.read_text() == NEW


def test_what_an_agent_proposes_with_the_tool_is_an_event_of_the_session(
    portico: Portico, file: Path
) -> None:
    stream = portico.exec(PROPOSED, "--agent-command", proposing_agent(), "--mode", "proposal").stream
    told = stream.only("proposal_updated")
    assert (told["origin"], told["status"], told["files"][0]["path"]) == ("tool", "open", "a.txt")
    assert file.read_text() == OLD
    assert portico.run("review", "apply").code == 0
    assert file.read_text() == NEW
