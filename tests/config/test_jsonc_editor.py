"""Editing of settings files: one member changes, everything else stays as written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.config.jsonc import to_json
from portico.config.jsonc_editor import with_member
from portico.domain import codecs
from portico.domain.errors import InvalidInput

NAMES = st.sampled_from(["agent", "agents", "proxies", "permissions"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
COMMENTS = st.sampled_from(["", " ", "\n", "\n\n  ", " // a note, with {braces}\n", " /* one, \n two */ "])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, object], list[str]]:
    """A file as a person might write it, its values, and its comments."""
    members: dict[str, object] = {**draw(st.dictionaries(NAMES, VALUES, max_size=4))}
    notes: list[str] = []

    def note() -> str:
        notes.append(draw(COMMENTS))
        return notes[-1]

    parts = [
        f'{note()}"{name}"{note()}:{note()}{json.dumps(value)}{note()}' for name, value in members.items()
    ]
    trailing = draw(st.sampled_from(["", ","])) if parts else ""
    text = f"{note()}{{{','.join(parts)}{trailing}{note()}}}{note()}"
    return text, members, notes


def read(text: str) -> object:
    return codecs.decode_json(to_json(text))


@given(documents(), NAMES, VALUES)
def test_a_value_is_set_and_nothing_else_changes(
    document: tuple[str, dict[str, object], list[str]], name: str, value: object
) -> None:
    text, members, notes = document
    changed = with_member(text, name, json.dumps(value))
    assert read(changed) == {**members, name: value}
    for note in notes:
        assert note.strip() in changed
    assert with_member(changed, name, json.dumps(value)) == changed


@given(documents(), NAMES)
def test_a_member_is_taken_away_and_the_others_stay(
    document: tuple[str, dict[str, object], list[str]], name: str
) -> None:
    text, members, _ = document
    changed = with_member(text, name, None)
    assert read(changed) == {key: value for key, value in members.items() if key != name}


def test_comments_and_order_stay() -> None:
    text = '{\n  // who answers\n  "agent": "porter", // for now\n  "proxies": {}\n}\n'
    assert with_member(text, "agent", '"claude"') == text.replace("porter", "claude")
    assert with_member(text, "proxies", None) == '{\n  // who answers\n  "agent": "porter", // for now\n}\n'


def test_a_new_file_is_begun() -> None:
    assert read(with_member("", "agent", '"porter"')) == {"agent": "porter"}
    assert with_member("", "agent", '"porter"').endswith("}\n")


def test_of_two_members_with_one_name_the_one_that_counts_is_changed_and_both_go() -> None:
    text = '{"agent": "a", "agent": "b"}'
    assert read(with_member(text, "agent", '"c"')) == {"agent": "c"}
    assert read(with_member(text, "agent", None)) == {}


@pytest.mark.parametrize("text", ["[]", "{", "nonsense", '{"a" 1', '{"a"}', "// only a note", '{"a": 1}}'])
def test_what_is_no_object_is_left_alone(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a JSON object"):
        with_member(text, "agent", '"x"')
