"""Decoder of ACP messages that tolerates the mistakes the schema says to tolerate.

The schema marks fields whose bad value counts as absent, lists whose bad items are left out, and fields where
null means the default. Only a message that fails the strict decoder pays for looking at those marks.
"""

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from portico.acp import _schema
from portico.domain import codecs

T = TypeVar("T")

_type_infos: dict[Any, inspect.Type] = {}


def decode(data: bytes | msgspec.Raw, type: type[T]) -> T:  # noqa: A002 - what msgspec calls it too
    """Decodes one value, tolerating what the protocol says to tolerate.

    Raises msgspec.ValidationError for a value of the wrong shape, with the path to it, and msgspec.DecodeError
    for what is not JSON; never anything else.
    """
    try:
        try:
            return codecs.decode_json(data, type)
        except msgspec.ValidationError:
            return _decode_mended(data, type)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"JSON is malformed: invalid UTF-8 ({error.reason})") from error
    except RecursionError as error:
        raise msgspec.DecodeError("JSON is nested too deeply") from error


def _decode_mended(data: bytes | msgspec.Raw, expected: type[T]) -> T:
    if expected not in _type_infos:
        _type_infos[expected] = inspect.type_info(expected)
    value = codecs.decode_json(data)
    if value is None:  # many peers answer with null where an object without required fields is meant
        value = {}
    # What could not be mended is still in there, so that the error names it and not what was tolerated.
    return codecs.convert(_mend(value, _type_infos[expected]).value, expected)


class _Mended(msgspec.Struct, frozen=True, gc=False):
    value: Any
    fits: bool


class _Tolerance(msgspec.Struct, frozen=True):
    """The names of a struct's fields that the schema marks."""

    on_error: frozenset[str]
    on_null: frozenset[str]
    skip_items: frozenset[str]


@cache
def _tolerance(struct: type) -> _Tolerance:
    def marked(table: dict[str, tuple[str, ...]]) -> frozenset[str]:
        return frozenset(name for base in struct.__mro__ for name in table.get(base.__name__, ()))

    return _Tolerance(
        marked(_schema.DEFAULT_ON_ERROR) | {"meta"},
        marked(_schema.DEFAULT_ON_NULL),
        marked(_schema.SKIP_INVALID_ITEMS),
    )


def _mend(value: Any, expected: inspect.Type, *, skip_items: bool = False) -> _Mended:
    """The value with tolerated mistakes taken out, and whether what is left fits the type."""
    match expected:
        case inspect.UnionType():
            return _mend_union(value, expected, skip_items)
        case inspect.StructType():
            return _mend_struct(value, expected) if isinstance(value, dict) else _Mended(value, False)
        case inspect.ListType():
            return _mend_list(value, expected, skip_items)
        case inspect.DictType():
            return _mend_dict(value, expected)
        case inspect.IntType():
            if isinstance(value, float) and value.is_integer():
                return _Mended(int(value), True)
            return _Mended(value, isinstance(value, int) and not isinstance(value, bool))
        case inspect.FloatType():
            return _Mended(value, isinstance(value, (int, float)) and not isinstance(value, bool))
        case inspect.BoolType():
            return _Mended(value, isinstance(value, bool))
        case inspect.StrType():
            return _Mended(value, isinstance(value, str))
        case inspect.LiteralType():
            return _Mended(value, isinstance(value, str) and value in expected.values)
        case inspect.NoneType():
            return _Mended(value, value is None)
        case _:
            return _Mended(value, True)


def _mend_union(value: Any, expected: inspect.UnionType, skip_items: bool) -> _Mended:
    nearest = _Mended(value, False)
    for member in expected.types:
        if isinstance(member, inspect.StructType) and not _has_tag(value, member):
            continue
        mended = _mend(value, member, skip_items=skip_items)
        if mended.fits:
            return mended
        if mended.value is not value:
            nearest = mended
    return nearest


def _has_tag(value: Any, expected: inspect.StructType) -> bool:
    return expected.tag_field is None or (
        isinstance(value, dict) and value.get(expected.tag_field) == expected.tag
    )


def _mend_list(value: Any, expected: inspect.ListType, skip_items: bool) -> _Mended:
    if not isinstance(value, list):
        return _Mended(value, False)
    items = [_mend(item, expected.item_type) for item in value]
    if skip_items:
        items = [item for item in items if item.fits]
    return _Mended([item.value for item in items], all(item.fits for item in items))


def _mend_dict(value: Any, expected: inspect.DictType) -> _Mended:
    if not isinstance(value, dict):
        return _Mended(value, False)
    items = {key: _mend(item, expected.value_type) for key, item in value.items()}
    return _Mended(
        {key: item.value for key, item in items.items()}, all(item.fits for item in items.values())
    )


def _mend_struct(value: dict[str, Any], expected: inspect.StructType) -> _Mended:
    tolerance = _tolerance(expected.cls)
    mended, fits = dict(value), True
    for field in expected.fields:
        name = field.encode_name
        if name in value:
            item = _mend(value[name], field.type, skip_items=field.name in tolerance.skip_items)
            mended[name] = item.value
        elif field.required:
            item = _Mended(None, False)
        else:
            continue
        if item.fits:
            continue
        counts_as_absent = field.name in tolerance.on_error or (
            item.value is None and (field.name in tolerance.on_null or not field.required)
        )
        if counts_as_absent and not field.required:
            del mended[name]
        elif counts_as_absent and isinstance(field.type, inspect.ListType):
            mended[name] = []
        else:
            fits = False
    return _Mended(mended, fits)
