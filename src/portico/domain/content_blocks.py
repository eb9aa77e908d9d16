"""Short text descriptions of content blocks, for places where only text can be shown."""

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Raw

from portico.domain import codecs

_KILOBYTE = 1024
_MEGABYTE = 1024 * _KILOBYTE


class _Block(msgspec.Struct, rename="camel"):
    """The parts of an ACP content block that can be shown as text."""

    type: str = ""
    text: str | None = None
    data: str | None = None
    blob: str | None = None
    mime_type: str | None = None
    name: str | None = None
    uri: str | None = None
    size: int | None = None
    resource: "_Block | None" = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


def describe_block(raw: Raw) -> str:
    """A block on one line, as in `[image: plan.png, 12 KB]`; its text if that is all it is."""
    try:
        block = codecs.decode_json(raw, _Block)
    except msgspec.MsgspecError:
        return "[content that cannot be shown here]"
    if block.type == "text" and block.text is not None:
        return block.text
    words = ": ".join(filter(None, (_kind(block), ", ".join(_facts(block)))))
    return f"[{' '.join(words.split())}]"


def file_name_of(uri: str) -> str:
    """The last part of an address, which is the name of a file if it has one."""
    try:
        path = unquote(urlsplit(uri).path)
    except ValueError:
        return uri
    return PurePosixPath(path).name or uri


def block_source(meta: dict[str, Any] | None) -> str | None:
    """The source of a block, for kinds of block that have no field for it."""
    match (meta or {}).get("portico"):
        case {"uri": str(uri)}:
            return uri
        case _:
            return None


def readable_size(count: int) -> str:
    if count < _KILOBYTE:
        return f"{count} byte" if count == 1 else f"{count} bytes"
    if count < _MEGABYTE:
        return f"{max(count / _KILOBYTE, 1):.0f} KB"
    return f"{count / _MEGABYTE:.1f} MB".replace(".0 ", " ")


def _kind(block: _Block) -> str:
    if block.type == "resource" or (block.type == "resource_link" and _is_file(block.uri)):
        return "file"
    return block.type.removeprefix("resource_") or "content"


def _is_file(uri: str | None) -> bool:
    return (uri or "").startswith("file:")


def _facts(block: _Block) -> list[str]:
    inner = block.resource or block
    uri = inner.uri or block_source(block.meta)
    name = inner.name or (file_name_of(uri) if uri else None) or inner.mime_type
    facts = [name] if name else []
    if inner.name and uri and not unquote(uri).endswith(inner.name):
        facts.append(uri)
    if (size := _size(inner)) is not None:
        facts.append(readable_size(size))
    return facts


def _size(block: _Block) -> int | None:
    if block.size is not None:
        return block.size
    if block.text is not None:
        return len(block.text.encode("utf-8", "surrogatepass"))
    encoded = block.data or block.blob
    return None if encoded is None else len(encoded) * 3 // 4 - encoded[-2:].count("=")
