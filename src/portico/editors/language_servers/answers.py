"""Reads answers of language servers: null, one item, or a list of items."""

from typing import TypeVar

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.domain.errors import LanguageServerFailed

Item = TypeVar("Item")


def raw_items(answer: Raw) -> list[Raw]:
    """The items of an answer, as they came."""
    text = bytes(answer).strip()
    if text == b"null":
        return []
    return codecs.decode_json(answer, list[Raw]) if text.startswith(b"[") else [answer]


def read_items(answer: Raw, kind: type[Item]) -> list[Item]:
    """The items of an answer. LanguageServerFailed if one is malformed."""
    try:
        return [codecs.decode_json(item, kind) for item in raw_items(answer)]
    except msgspec.DecodeError as error:
        raise LanguageServerFailed(f"The language server sent a malformed answer: {error}") from error


def read_item(answer: Raw, kind: type[Item]) -> Item | None:
    """The first item of an answer; None if it has none."""
    return next(iter(read_items(answer, kind)), None)
