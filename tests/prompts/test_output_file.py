"""Output files: whose they are, what survives when they are written again, and what is not overwritten."""

import json
from pathlib import Path

import msgspec
import pytest

from portico.domain.errors import InvalidInput
from portico.prompts.output_file import OutputFile, without_provenance
from portico.prompts.provenance import RunProvenance

RUN = RunProvenance(
    prompt="translate",
    version="1",
    fingerprint="f" * 64,
    variables=("input", "language"),
    agent="porter",
    model="acme:large",
    started_at="2026-11-17T10:00:00.000Z",
    completed_at="2026-11-17T10:00:02.000Z",
    finish_reason="end_turn",
    complete=True,
    session_id="s1",
    trace_id="t1",
)
HALF = msgspec.structs.replace(RUN, finish_reason="cancelled", complete=False)


def test_a_markdown_file_has_its_provenance_as_front_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    assert OutputFile(path).write("Bonjour.\n\n", RUN) == path
    text = path.read_text()
    assert text.startswith('---\nportico:\n  schemaVersion: 1\n  prompt: "translate"\n')
    assert '  variables: ["input","language"]\n' in text
    assert text.endswith("\n---\n\nBonjour.\n")
    assert without_provenance(text) == "Bonjour.\n"


def test_another_run_replaces_provenance_and_text_and_keeps_the_other_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    OutputFile(path).write("one", RUN)
    path.write_text(path.read_text().replace("---\nportico:", "---\ntitle: Mine # a note\nportico:", 1))
    OutputFile(path).write("two", msgspec.structs.replace(RUN, trace_id="t2"))
    text = path.read_text()
    assert text.startswith("---\ntitle: Mine # a note\nportico:\n")
    assert (text.count("traceId"), 'traceId: "t2"' in text) == (1, True)
    assert text.endswith("---\n\ntwo\n")
    assert without_provenance(text) == "---\ntitle: Mine # a note\n---\n\ntwo\n"


def test_another_kind_of_file_has_its_provenance_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    OutputFile(path).write("print(1)", RUN)
    assert path.read_text() == "print(1)\n"
    beside = json.loads((tmp_path / "a.py.provenance.json").read_text())
    assert (beside["schemaVersion"], beside["prompt"], beside["model"]) == (1, "translate", "acme:large")
    OutputFile(path).write("print(2)", RUN)
    assert path.read_text() == "print(2)\n"


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_what_a_person_wrote_or_edited_is_not_replaced_without_force(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("mine\n")
    with pytest.raises(InvalidInput, match="was not written by a prompt") as caught:
        OutputFile(path)
    assert "--force" in str(caught.value.suggestion)
    OutputFile(path, force=True).write("theirs", RUN)
    path.write_text(path.read_text() + "and mine\n")
    with pytest.raises(InvalidInput, match="was edited since"):
        OutputFile(path)


def test_a_file_that_changes_during_the_run_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    output = OutputFile(path)
    path.write_text("somebody was quicker")
    assert output.write("late", RUN) == tmp_path / "a.1.md"
    assert path.read_text() == "somebody was quicker"
    assert (tmp_path / "a.1.md").read_text().endswith("\nlate\n")


def test_half_an_answer_is_marked_and_replaces_no_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    OutputFile(path).write("half", HALF)
    assert "  complete: false\n" in path.read_text()
    OutputFile(path).write("whole", RUN)
    assert OutputFile(path).write("half again", HALF) == tmp_path / "a.1.md"
    assert path.read_text().endswith("\nwhole\n")


def test_a_folder_that_is_missing_or_in_the_way_is_told_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        OutputFile(tmp_path / "nowhere" / "a.md")
    (tmp_path / "a.md").mkdir()
    with pytest.raises(InvalidInput, match="cannot be used as output"):
        OutputFile(tmp_path / "a.md")
