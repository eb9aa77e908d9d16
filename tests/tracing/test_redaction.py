"""Secrets are removed from frames, and nothing else is."""

import json
from typing import Any

import pytest

from portico.conductor.tracing.redaction import HIDDEN, FrameRedactor

KEY = "sk-1234567890"
ENVIRON = {
    "OPENAI_API_KEY": KEY,
    "PASSWORD": 'with "quotes"/and ü',
    "PATH": "/usr/bin/something",
    "TOKEN": "short",
}


def hidden(value: Any, **how: Any) -> Any:
    line = json.dumps(value, **how).encode()
    return json.loads(bytes(FrameRedactor(ENVIRON).frame(line)))


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_secret_of_the_environment_is_hidden_however_it_is_spelled(ascii_only: bool) -> None:
    said = {"a": [f"the key is {KEY}!"], KEY: 'with "quotes"/and ü', "path": "/usr/bin/something"}
    assert hidden(said, ensure_ascii=ascii_only) == {
        "a": [f"the key is {HIDDEN}!"],
        HIDDEN: HIDDEN,
        "path": "/usr/bin/something",
    }
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    assert bytes(FrameRedactor(ENVIRON).frame(b'{"a":"%b"}' % escaped.encode())) == b'{"a":"[hidden]"}'


@pytest.mark.parametrize(
    "server",
    [
        {"env": [{"name": "GITHUB_TOKEN", "value": "ghp_abcdefgh"}]},
        {"env": {"GITHUB_TOKEN": "ghp_abcdefgh"}},
        {"headers": [{"name": "Authorization", "value": "Bearer ghp_abcdefgh"}]},
        {"headers": [{"name": "Cookie", "value": "ghp_abcdefgh"}]},
        {"apiKey": "ghp_abcdefgh"},
        {"accessToken": "ghp_abcdefgh", "password": "x"},
        {"client_secret": "ghp_abcdefgh"},
    ],
)
def test_what_stands_under_the_name_of_a_secret_is_hidden_then_and_later(server: dict[str, Any]) -> None:
    hider = FrameRedactor({})
    line = json.dumps({"method": "session/new", "params": {"mcpServers": [{"name": "git", **server}]}})
    assert b"ghp_" not in bytes(hider.frame(line.encode()))
    assert bytes(hider.frame(b'{"text":"use ghp_abcdefgh now"}')) == b'{"text":"use [hidden] now"}'


@pytest.mark.parametrize(
    "line",
    [
        b'{ "usage": {"inputTokens" : 1.50, "maxTokens": 7},  "stopReason":"max_tokens"}',
        b'{"key":"Enter","keywords":"a b","tokenizer":"x","name":"KEY","a":"\\u0041\\n"}',
        b'{"name":"GITHUB_TOKEN","description":"what to set"}',
    ],
)
def test_what_is_no_secret_stays_as_the_bytes_it_was(line: bytes) -> None:
    assert bytes(FrameRedactor(ENVIRON).frame(line + b"\n")) == line


def test_a_number_that_is_a_secret_leaves_json_behind() -> None:
    frame = bytes(FrameRedactor({"PASSWORD": "12345678"}).frame(b'{"a":123456789,"b":"12345678"}'))
    assert json.loads(frame) == {"a": 123456789, "b": HIDDEN}


def test_what_cannot_be_searched_becomes_text() -> None:
    frame = bytes(FrameRedactor(ENVIRON).frame(b'{"a":"\\ud800 %b"}' % KEY.encode()))
    assert json.loads(frame) == '{"a":"\\ud800 [hidden]"}'


@pytest.mark.parametrize(
    ("sample", "left"),
    [
        (f"it is {KEY} and", "it is [hidden] and"),
        ("cut off at sk-12345", "cut off at [hidden]"),
        ('{"GITHUB_TOKEN": "ghp_abc', '{"GITHUB_TOKEN[hidden]'),
        ("nothing here", "nothing here"),
    ],
)
def test_the_beginning_of_something_else_keeps_no_half_of_a_secret(sample: str, left: str) -> None:
    assert FrameRedactor(ENVIRON).sample(sample) == left


def test_what_a_person_answers_to_a_question_is_not_written_down() -> None:
    line = b'{"jsonrpc":"2.0","id":3,"result":{"action":"accept","content":{"pin":"4711","age":7}}}'
    shown = json.loads(bytes(FrameRedactor({}).frame(line)))
    assert shown["result"] == {"action": "accept", "content": {"pin": HIDDEN, "age": HIDDEN}}
