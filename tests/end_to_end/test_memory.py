"""Notes of a foreign agent: shown as differences in the log, taken back, and told to the next session."""

import json
import shlex
import sys
from pathlib import Path

from tests.support.program import Portico
from tests.support.stream import Json

ROOT = Path(__file__).parents[2]
AGENT = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.peers.tool_calling_agent"])
FLAGS = ("--agent-command", AGENT, "--component", "memory")


def remembering(**arguments: str) -> str:
    return json.dumps([["call", "portico-memory", "remember", {"topic": "Tea", **arguments}]])


def diffs(completed: list[Json]) -> list[Json]:
    return [part for one in completed for part in one.get("content") or [] if part["type"] == "diff"]


def test_a_note_is_an_event_with_a_difference_and_a_checkpoint_takes_it_back(portico: Portico) -> None:
    file = portico.workspace / ".portico" / "memory" / "notes.md"
    stream = portico.exec(remembering(text="Green."), *FLAGS, "--allow", "edit:.portico/**").stream
    assert "Kept under “Tea”" in stream.answer
    (diff,) = diffs(stream.all("tool_started"))
    assert diff["path"] == str(file)
    assert "Green." in diff["newText"]
    assert "Green." in file.read_text()
    kept = stream.all("checkpoint_created")[0]
    restored = portico.run("checkpoints", "restore", kept["checkpointId"], "--session", stream.session_id)
    assert restored.code == 0, restored.err
    assert not file.exists()


def test_a_run_without_a_person_keeps_nothing(portico: Portico) -> None:
    stream = portico.exec(remembering(text="Green."), *FLAGS).stream
    assert "The note was not written" in stream.answer
    own = portico.exec(remembering(text="Green.", scope="user"), *FLAGS).stream
    assert "the person did not allow it" in own.answer
    shown = portico.run("memory", "show", "--api").api["files"]
    assert [one["notes"] for one in shown] == [[], []]


def test_a_note_of_the_person_is_shown_and_taken_back(portico: Portico) -> None:
    stream = portico.exec(remembering(text="Green.", scope="user"), *FLAGS, "--allow", "edit").stream
    (diff,) = diffs(stream.all("tool_completed"))
    assert "Green." in diff["newText"]
    assert "## Tea\n\nGreen." in portico.run("memory", "show").text
    undone = portico.run("memory", "undo")
    assert "-Green." in undone.text
    assert portico.run("memory", "show", "--api").api["files"][1]["notes"] == []
    assert portico.run("memory", "undo").code != 0
