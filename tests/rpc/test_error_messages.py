"""Text of an RPC error for people: its message, and the details in its data."""

import pytest
from msgspec import Raw

from portico.rpc.messages import RpcError


def reason(data: bytes | None, message: str = "Internal error") -> str:
    return (RpcError(-32603, message) if data is None else RpcError(-32603, message, Raw(data))).reason


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (None, "Internal error"),
        (b'{"details":"Invalid API key"}', "Internal error: Invalid API key"),
        (b'"just words"', "Internal error: just words"),
        (
            b'{"error":{"message":"credit balance is too low","type":"x"}}',
            "Internal error: credit balance is too low",
        ),
        (b'{"details":{"reason":"outside of the workspace"}}', "Internal error: outside of the workspace"),
        (b'{"details":"","message":"why"}', "Internal error: why"),
        (b'{"details":["a"]}', "Internal error"),
        (b"[1]", "Internal error"),
        (b"null", "Internal error"),
        (b'{"portico":{"code":"INTERNAL"}}', "Internal error"),
        (b'{"details":{"details":{"details":{"details":{"details":"deep"}}}}}', "Internal error"),
    ],
)
def test_details_stand_behind_the_message(data: bytes | None, shown: str) -> None:
    assert reason(data) == shown


def test_details_that_the_message_has_already_are_not_said_twice() -> None:
    assert reason(b'{"details":"no key"}', "Failed: no key.") == "Failed: no key."


def test_what_is_long_is_cut_and_stays_on_one_line() -> None:
    shown = reason(b'{"details":"%b"}' % (b"a\\n" * 500_000))
    assert len(shown) < 1500
    assert "\n" not in shown
    assert shown.endswith("…")


def test_escapes_and_controls_do_not_reach_a_terminal() -> None:
    shown = reason(rb'{"details":"\u001b[31mred\u001b]0;title\u0007 \u0000\u202egnp \u009b2J"}', "a\x1b[2Jb")
    assert shown == "ab: red gnp"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuv",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
@pytest.mark.parametrize(
    "words", ["key {} is wrong", "Authorization: Bearer {}", "https://me:{}@host/x", "api_key={}"]
)
def test_secrets_are_hidden(words: str, secret: str) -> None:
    shown = reason(b'{"details":"%b"}' % words.format(secret).encode())
    assert secret not in shown
    assert "[hidden]" in shown


def test_ordinary_words_about_secrets_stay() -> None:
    words = "Invalid API key. Set the token: see the manual. 1500 tokens used, secret=short"
    assert reason(b'{"details":"%b"}' % words.encode()) == f"Internal error: {words}"
