"""`--attach FILE` and `@path`: files sent with a prompt, and how they are shown."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from portico.testing import read_transcript
from tests.support.program import Portico, agent_command
from tests.support.stream import Json

PNG = b"\x89PNG\r\n\x1a\n" + bytes(12 * 1024 - 8)


def sent(transcript: Path) -> list[list[Json]]:
    """The blocks of every prompt that the agent got."""
    messages = [line.message for line in read_transcript(transcript) if line.direction == "received"]
    return [each["params"]["prompt"] for each in messages if each.get("method") == "session/prompt"]


def agent(portico: Portico, **script: Any) -> tuple[str, Path]:
    transcript = portico.home / "transcript"
    script.setdefault("on_prompt", [[{"say": "seen"}]])
    return agent_command(script, transcript=transcript), transcript


def test_attached_files_go_along_with_the_prompt(portico: Portico, tmp_path: Path) -> None:
    command, transcript = agent(portico)
    (tmp_path / "shot.png").write_bytes(PNG)
    (portico.workspace / "notes.md").write_text("# Notes\n")
    (portico.workspace / "src").mkdir()
    (portico.workspace / "src" / "app.py").write_text("x = 1\n")
    words = "what is this? see @src/app.py, and write to me@example.org"
    flags = ("--attach", str(tmp_path / "shot.png"), "--attach", "notes.md", "--agent-command", command)
    ran = portico.exec(words, *flags)
    assert ran.code == 0
    ((text, image, notes, link),) = sent(transcript)
    assert text["text"] == words
    assert (image["type"], base64.b64decode(image["data"])) == ("image", PNG)
    assert notes["resource"]["text"] == "# Notes\n"
    assert (link["type"], link["name"], link["size"]) == ("resource_link", "src/app.py", 6)
    assert link["uri"] == (portico.workspace / "src" / "app.py").as_uri()
    blocks = ran.stream.only("prompt_submitted")["blocks"]
    assert [block["type"] for block in blocks] == ["image", "resource", "resource_link"]
    session_id = ran.stream.session_id
    shown = portico.run("sessions", "show", session_id).text
    exported = portico.run("sessions", "export", session_id).text
    for line in ("[image: shot.png, 12 KB]", "[file: notes.md, 8 bytes]", "[file: src/app.py, 6 bytes]"):
        assert line in shown
        assert line in exported


def test_an_agent_that_takes_none_of_it_gets_links_and_the_person_is_told(
    portico: Portico, tmp_path: Path
) -> None:
    command, transcript = agent(portico, capabilities={})
    (tmp_path / "shot.png").write_bytes(PNG)
    ran = portico.exec("look", "--attach", str(tmp_path / "shot.png"), "--agent-command", command)
    ((_, link),) = sent(transcript)
    assert (link["type"], link["uri"]) == ("resource_link", (tmp_path / "shot.png").as_uri())
    (notice,) = ran.stream.notices
    assert "does not accept images" in notice
    assert "shot.png" in notice


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.png", "does not exist"), (".", "is a folder"), ("huge.bin", "at most 10 MB")],
)
def test_what_cannot_be_attached_is_refused_before_anything_begins(
    portico: Portico, name: str, words: str
) -> None:
    with (portico.workspace / "huge.bin").open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    ran = portico.run("exec", "--agent-command", portico.agent, "--attach", name, "say hello")
    assert (ran.code, ran.out) == (5, b"")
    assert words in ran.complaint[0]
    assert portico.run("sessions", "list", "--api").api["count"] == 0


def test_an_attachment_of_ten_megabytes_arrives(portico: Portico) -> None:
    command, transcript = agent(portico)
    whole = PNG + bytes(10 * 1024 * 1024 - len(PNG))
    (portico.workspace / "big.png").write_bytes(whole)
    ran = portico.exec("look", "--attach", "big.png", "--agent-command", command)
    assert ran.code == 0
    ((_, image),) = sent(transcript)
    assert base64.b64decode(image["data"]) == whole


def test_a_chat_sends_attached_files_with_its_first_prompt_only(portico: Portico) -> None:
    command, transcript = agent(portico)
    (portico.workspace / "shot.png").write_bytes(PNG)
    (portico.workspace / "my notes.md").write_text("x")
    lines = b'first\nand @"my notes.md"\n'
    ran = portico.run("chat", "--agent-command", command, "--attach", "shot.png", stdin=lines)
    assert ran.code == 0
    assert "[image: shot.png, 12 KB]" in ran.text
    first, second = sent(transcript)
    assert [block["type"] for block in first] == ["text", "image"]
    assert [block.get("name") for block in second] == [None, "my notes.md"]


def test_porter_reads_what_is_attached(portico: Portico, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.txt").write_text("the treasure\n")
    ran = portico.run("exec", "--json-stream", "--attach", str(tmp_path / "elsewhere.txt"), "/read")
    assert ran.code == 0
    assert "the treasure" in ran.stream.answer
    assert json.dumps(str(tmp_path)) not in ran.stream.answer
