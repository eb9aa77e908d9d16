"""Proposals of an ACP editor, decided on in a shell by the same rules as all others."""

from pathlib import Path

from tests.support.program import Portico
from tests.support.reviewing_editor import KEEP, ReviewingEditor
from tests.support.waiting import wait_for_file


def proposed_in_an_editor(portico: Portico, text: str) -> None:
    editor = ReviewingEditor(portico, "--agent-command", portico.agent, "--mode", "proposal")
    session = editor.open_session()
    editor.turn(session, [{"save": {"path": "a.txt", "content": text}}], KEEP)
    assert editor.hang_up().code == 0


def test_nothing_is_applied_while_another_session_writes_the_folder(portico: Portico) -> None:
    file: Path = portico.workspace / "a.txt"
    file.write_text("one\n")
    proposed_in_an_editor(portico, "two\n")
    begun, go_on = portico.home / "begun", portico.home / "go-on"
    running = portico.start_exec([{"touch": str(begun)}, {"wait_file": str(go_on)}])
    wait_for_file(begun)
    ran = portico.run("review", "apply")
    assert (ran.code, file.read_text()) == (1, "one\n")
    assert "is working in" in ran.complaint[0]
    go_on.touch()
    assert running.end().code == 0
    assert portico.run("review", "apply").code == 0
    assert file.read_text() == "two\n"
