"""Session variables: read from files of the workspace and the user, saved with comments kept, never with secrets."""

from pathlib import Path

import pytest

from portico.config.settings import OwnedPaths
from portico.domain.errors import InvalidInput
from portico.prompts.session_variables import (
    load_session_variables,
    read_variables,
    savable,
    save_variables,
)

KEY = "sk-" + "a1b2c3d4" * 4


def test_the_file_of_the_workspace_wins_and_values_become_texts(tmp_path: Path) -> None:
    mine, ours = tmp_path / "mine.json", tmp_path / "W" / "ours.json"
    ours.parent.mkdir()
    mine.write_text('{"a": "user", "b": 2, "c": true,} // trailing')
    ours.write_text('{"a": "workspace"}')
    files = OwnedPaths(user=(str(mine),), workspace=(str(ours),))
    found = load_session_variables(files, ours.parent, trusted=False)
    assert found.values == {"a": "workspace", "b": "2", "c": "true"}
    assert (found.path, found.warnings) == (ours, ())


def test_files_that_do_not_exist_yet_are_empty(tmp_path: Path) -> None:
    files = OwnedPaths(user=(str(tmp_path / "mine.json"),))
    found = load_session_variables(files, tmp_path, trusted=False)
    assert (found.values, found.path) == ({}, tmp_path / "mine.json")


def test_a_syntax_error_of_the_user_stops_and_one_of_the_workspace_warns(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"a": ')
    with pytest.raises(InvalidInput, match=r"broken\.json is invalid"):
        load_session_variables(OwnedPaths(user=(str(broken),)), tmp_path, trusted=True)
    found = load_session_variables(OwnedPaths(workspace=(str(broken),)), tmp_path, trusted=True)
    assert found.values == {}
    assert "is invalid" in found.warnings[0]


@pytest.mark.parametrize("content", ["[1]", '{"a": {}}', '{"a": null}', "{" * 3000, "\x00", '"text"'])
def test_a_file_that_is_no_object_of_texts_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "v.json"
    path.write_text(content)
    with pytest.raises(InvalidInput):
        read_variables(path)


def test_an_untrusted_workspace_names_no_file_elsewhere(tmp_path: Path) -> None:
    outside, workspace = tmp_path / "outside.json", tmp_path / "W"
    workspace.mkdir()
    outside.write_text('{"a": "x"}')
    (workspace / "link.json").symlink_to(outside)
    files = OwnedPaths(workspace=(str(outside), str(workspace / "link.json")))
    found = load_session_variables(files, workspace, trusted=False)
    assert (found.values, len(found.warnings)) == ({}, 2)
    assert load_session_variables(files, workspace, trusted=True).values == {"a": "x"}


def test_a_secret_is_neither_used_nor_saved(tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    path.write_text(f'{{"key": "{KEY}", "db_password": "hunter2hunter2", "tone": "dry"}}')
    found = load_session_variables(OwnedPaths(user=(str(path),)), tmp_path, trusted=False)
    assert found.values == {"tone": "dry"}
    assert "db_password, key" in found.warnings[0]
    assert KEY not in found.warnings[0]
    assert savable({"key": KEY, "tone": "dry", "input": "long"}) == {"tone": "dry"}


def test_saving_keeps_comments_and_refuses_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    save_variables(path, {"tone": "dry"})
    path.write_text('{\n  // how to sound\n  "tone": "dry", // for now\n}\n')
    save_variables(path, {"tone": 'so "warm"', "language": "French"})
    text = path.read_text()
    assert ("// how to sound" in text, "// for now" in text) == (True, True)
    assert read_variables(path) == {"tone": 'so "warm"', "language": "French"}
    path.write_text("{oops")
    with pytest.raises(InvalidInput):
        save_variables(path, {"tone": "x"})
    assert path.read_text() == "{oops"
