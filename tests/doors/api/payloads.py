"""Payloads of every kind with all their fields, made from the types themselves, each value told apart from all others."""

import types
from enum import Enum
from itertools import count
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st
from msgspec import Raw, UnsetType

from portico.domain.events import PAYLOADS

_ORDINALS = count(1_000)


def payload_of(kind: str) -> st.SearchStrategy[Any]:
    return _struct(PAYLOADS[kind])


def _struct(kind: type[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    fields = {field.name: _value(hints[field.name]) for field in msgspec.structs.fields(kind)}
    return st.builds(kind, **fields)


def _value(hint: Any) -> st.SearchStrategy[Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([_value(one) for one in inner])
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is tuple:
        return st.lists(_value(inner[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(_text(), _value(inner[1]), max_size=2)
    if hint is Raw:
        return _text().map(lambda word: Raw(msgspec.json.encode({"raw": word})))
    if hint is UnsetType:
        return st.just(msgspec.UNSET)
    if hint is type(None):
        return st.none()
    if hint is bool:
        return st.booleans()
    if hint is int:
        return st.builds(lambda: next(_ORDINALS))
    if hint is float:
        return st.builds(lambda: next(_ORDINALS) + 0.5)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _struct(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    return _text()


def _text() -> st.SearchStrategy[str]:
    return st.builds(lambda: f"word{next(_ORDINALS)}")
