"""Changes of a proxy as a short description."""

import json
from typing import Any

import pytest
from msgspec import Raw

from portico.conductor.tracing.json_diff import MOST_CHANGES, json_changes


def between(before: Any, after: Any) -> tuple[str, ...]:
    return json_changes(Raw(json.dumps(before).encode()), Raw(json.dumps(after).encode()))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ()),
        ({"cwd": "/a"}, {"cwd": "/b"}, ("~cwd",)),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, ("+a.c",)),
        ({"_meta": {}}, {}, ("-_meta",)),
        ({"prompt": ["x"]}, {"prompt": ["context", "x"]}, ("+prompt[0]",)),
        ({"prompt": ["x", "y"]}, {"prompt": ["x"]}, ("-prompt[1]",)),
        ({"prompt": ["x", {"text": "a"}, "z"]}, {"prompt": ["x", {"text": "b"}, "z"]}, ("~prompt[1].text",)),
        ({"a": 1}, {"a": True}, ("~a",)),
        (1, [1], ("~",)),
    ],
)
def test_a_change_is_named_by_its_place(before: Any, after: Any, said: tuple[str, ...]) -> None:
    assert between(before, after) == said


def test_the_list_has_an_end() -> None:
    many = between({str(number): 1 for number in range(100)}, {})
    assert (len(many), many[-1]) == (MOST_CHANGES + 1, "…")


def test_what_is_no_json_is_just_different() -> None:
    assert json_changes(Raw(b"{"), Raw(b"[")) == ("~",)
