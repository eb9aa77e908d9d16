"""Files and bytes attached to a prompt, as ACP content blocks that the agent accepts.

They are read before the prompt is logged, because a file may change later. What an agent accepts is known once it
runs, so `fit_to_agent` adapts them then.
"""

import asyncio
import base64
import mimetypes
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain import codecs
from portico.domain.content_blocks import block_source, file_name_of, readable_size
from portico.domain.errors import FileMissing, InvalidInput
from portico.domain.events import Notice
from portico.files import real_path
from portico.files.regular import FileTooLarge, NotRegularFile

MAX_BYTES = 10 * 1024 * 1024
MAX_TOGETHER = 28 * 1024 * 1024
"""Size of all blocks as JSON, which are sent in one line of limited length."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_DRAWN_IN_WORDS = "image/svg+xml"
_FOLDER = "inode/directory"


class AttachedFile(msgspec.Struct, frozen=True):
    """A file that the person named, anywhere on the disk.

    With a `folder`, it is refused if it is not inside, also by a link.
    """

    path: Path
    folder: Path | None = None


class AttachedBytes(msgspec.Struct, frozen=True, kw_only=True):
    """Attached bytes without a file: an image from the clipboard, an upload."""

    name: str
    data: bytes
    mime_type: str = ""


AttachmentSource = AttachedFile | AttachedBytes


class FittedContent(msgspec.Struct, frozen=True):
    """Blocks that the agent accepts, and notices about those that it does not."""

    blocks: list[acp.ContentBlock]
    notices: list[Notice]


async def read_attachments(things: Sequence[AttachmentSource]) -> tuple[Raw, ...]:
    """The blocks of attachments. InvalidInput if one cannot be read, or they are too large."""
    if not things:
        return ()
    blocks = await asyncio.to_thread(lambda: [_as_raw(_block(thing)) for thing in things])
    if sum(len(bytes(block)) for block in blocks) > MAX_TOGETHER:
        raise InvalidInput(
            "The attachments are too large for one prompt.",
            suggestion="Attach less, or mention files as @path, so that the agent can read them itself.",
        )
    return tuple(blocks)


def resource_link(path: Path, name: str) -> Raw:
    """A link to a file or folder that the agent can open itself."""
    if path.is_dir():
        return _as_raw(acp.ResourceLink(name=name, uri=path.as_uri(), mime_type=_FOLDER))
    kind, _ = mimetypes.guess_type(path.name)
    try:
        size = path.stat().st_size
    except OSError:
        size = None
    return _as_raw(acp.ResourceLink(name=name, uri=path.as_uri(), mime_type=kind, size=size))


def fit_to_agent(blocks: Iterable[Raw], takes: acp.PromptCapabilities, agent: str) -> FittedContent:
    """Adapt the blocks of a prompt to what the agent accepts."""
    fitted = FittedContent([], [])
    for raw in blocks:
        match block := _read_block(raw):
            case acp.ImageContent() if not takes.image:
                _substitute(fitted, block, block.uri, f"{agent} does not accept images")
            case acp.AudioContent() if not takes.audio:
                _substitute(fitted, block, block_source(block.meta), f"{agent} does not accept audio")
            case acp.EmbeddedResource() if not takes.embedded_context:
                _substitute(fitted, block, block.resource.uri, f"{agent} does not accept embedded files")
            case _:
                fitted.blocks.append(block)
    return fitted


def _read_block(raw: Raw) -> acp.ContentBlock:
    try:
        block: acp.ContentBlock = codecs.decode_json(raw, acp.ContentBlock)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"Invalid content block in the prompt: {error}") from error
    return block


def _substitute(
    fitted: FittedContent,
    block: acp.ImageContent | acp.AudioContent | acp.EmbeddedResource,
    uri: str | None,
    reason: str,
) -> None:
    """A link to the file of a block, or its text if it has no file; else a notice that it was left out."""
    name = file_name_of(uri) if uri else "your attachment"
    words = block.resource.text if isinstance(block, acp.EmbeddedResource) else None
    if uri is not None and uri.startswith("file:"):
        kind = block.resource.mime_type if isinstance(block, acp.EmbeddedResource) else block.mime_type
        fitted.blocks.append(acp.ResourceLink(name=name, uri=uri, mime_type=kind))
        fitted.notices.append(
            Notice(level="warning", text=f"{reason}, so a link to {name} was sent instead.")
        )
    elif words is not None:
        fitted.blocks.append(acp.TextContent(text=f"{name}:\n\n{words}"))
    else:
        fitted.notices.append(Notice(level="warning", text=f"{reason}, so {name} was left out."))


def _block(thing: AttachmentSource) -> acp.ContentBlock:
    match thing:
        case AttachedFile(path=path, folder=folder):
            place = path.expanduser().absolute()
            return _content(place.name, place.as_uri(), _read(place, folder), "") or acp.ResourceLink(
                name=place.name, uri=place.as_uri(), mime_type=mimetypes.guess_type(place.name)[0]
            )
        case AttachedBytes(name=name, data=data, mime_type=kind):
            if len(data) > MAX_BYTES:
                raise _too_large(name, len(data))
            uri = f"attachment:///{quote(name, safe='')}"
            blob = acp.EmbeddedResourceResource(uri=uri, mime_type=kind or None, blob=_encoded(data))
            return _content(name, uri, data, kind) or acp.EmbeddedResource(resource=blob)


def _content(name: str, uri: str, data: bytes, kind: str) -> acp.ContentBlock | None:
    """Bytes as an image, audio or text; None for anything else."""
    kind = _image_type(data) or kind or mimetypes.guess_type(name)[0] or ""
    if kind.startswith("image/") and kind != _DRAWN_IN_WORDS:
        return acp.ImageContent(data=_encoded(data), mime_type=kind, uri=uri)
    if kind.startswith("audio/"):
        return acp.AudioContent(data=_encoded(data), mime_type=kind, meta={"portico": {"uri": uri}})
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    # File names are ambiguous: .ts is also a video format.
    written = kind.startswith(("text/", "application/")) or kind == _DRAWN_IN_WORDS
    return acp.EmbeddedResource(
        resource=acp.EmbeddedResourceResource(uri=uri, mime_type=kind if written else "text/plain", text=text)
    )


def _image_type(data: bytes) -> str | None:
    """The image type by its first bytes, since models refuse an image with a wrong type."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), None)


def _read(path: Path, folder: Path | None) -> bytes:
    try:
        return real_path.retry_on_link(lambda: real_path.read(_place(path, folder), limit=MAX_BYTES))
    except FileNotFoundError as error:
        raise FileMissing(f"{path} does not exist, so it cannot be attached.") from error
    except IsADirectoryError as error:
        raise InvalidInput(
            f"{path} is a folder.", suggestion="Attach the files in it that matter."
        ) from error
    except NotRegularFile as error:
        raise InvalidInput(f"{path} is a device, pipe or socket, not a regular file.") from error
    except FileTooLarge as error:
        raise _too_large(str(path), path.stat().st_size) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be attached: {error.strerror}.") from error


def _place(path: Path, folder: Path | None) -> str:
    place = os.path.realpath(path)
    if folder is not None and not Path(place).is_relative_to(os.path.realpath(folder)):
        raise InvalidInput(f"{path} is not in the session's workspace.", suggestion="Send its bytes instead.")
    return place


def _too_large(name: str, size: int) -> InvalidInput:
    return InvalidInput(
        f"{name} has {readable_size(size)}; at most {readable_size(MAX_BYTES)} can be attached.",
        suggestion="Mention a file of the workspace as @path, so that the agent can read it.",
    )


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _as_raw(block: acp.ContentBlock) -> Raw:
    return Raw(msgspec.json.encode(block))
