"""Encoder from the content blocks of a prompt to attachments of the contract."""

import base64
from pathlib import Path
from typing import assert_never
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.domain import codecs
from portico.domain.content_blocks import block_source, file_name_of
from portico.domain.errors import InvalidInput
from portico.sessions.content.mentions import links_in
from portico.sessions.turn import TurnPrompt


class _AttachmentSource(msgspec.Struct, frozen=True):
    """Origin and type of a block, and its bytes if it carries them."""

    uri: str
    mime_type: str
    content: bytes | None


def to_attachments(prompt: TurnPrompt, workspace: Path) -> list[pb.Attachment]:
    """Every block except links to files that the text mentions, which the server adds itself."""
    linked = {bytes(one) for one in links_in(prompt.text, workspace)} if prompt.blocks else set()
    return [_attachment(block, workspace) for block in prompt.blocks if bytes(block) not in linked]


def _attachment(raw: Raw, workspace: Path) -> pb.Attachment:
    """A file of the workspace by its path, anything else by its bytes."""
    source = _source(codecs.decode_json(raw, acp.ContentBlock))
    path = _path(source.uri)
    if path is not None and path.is_relative_to(workspace):
        where = one_of("path", path.relative_to(workspace).as_posix())
    else:
        where = one_of("data", _read(source.uri, path) if source.content is None else source.content)
    return pb.Attachment(name=file_name_of(source.uri), mime_type=source.mime_type, source=where)


def _source(block: acp.ContentBlock) -> _AttachmentSource:
    match block:
        case acp.ImageContent(uri=uri, mime_type=kind, data=data):
            return _AttachmentSource(uri or "", kind, base64.b64decode(data))
        case acp.AudioContent(mime_type=kind, data=data, meta=meta):
            return _AttachmentSource(block_source(meta) or "", kind, base64.b64decode(data))
        case acp.EmbeddedResource(resource=resource):
            text, blob = resource.text, resource.blob or ""
            content = base64.b64decode(blob) if text is None else text.encode()
            return _AttachmentSource(resource.uri, resource.mime_type or "", content)
        case acp.ResourceLink(uri=uri, mime_type=kind):
            return _AttachmentSource(uri, kind or "", None)
        case acp.TextContent(text=text):
            return _AttachmentSource("", "text/plain", text.encode())
    assert_never(block)


def _path(uri: str) -> Path | None:
    return Path(url2pathname(urlsplit(uri).path)) if uri.startswith("file:") else None


def _read(uri: str, path: Path | None) -> bytes:
    if path is None:
        raise InvalidInput(f"{uri} is not a file, so it cannot be sent to the server.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be attached: {error.strerror}.") from error
