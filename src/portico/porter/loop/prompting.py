"""A prompt as the model gets it: words, images it can look at, and what was attached, each named."""

import base64
import binascii
from typing import assert_never

from portico.acp import _schema as schema
from portico.porter.loop.shelf import Shelf
from portico.porter.markdown import fenced, language_of
from portico.porter.models.port import Image, Text, UserMessage
from portico.porter.prompt import Prompt, path_of
from portico.porter.workspace import Workspace

# What the person gives is cut much later than what a tool finds.
_LONGEST = 300_000


def user_message(prompt: Prompt, workspace: Workspace, shelf: Shelf, *, images: bool) -> UserMessage:
    parts = tuple(_part(block, workspace, shelf, images=images) for block in prompt.blocks)
    return UserMessage(parts or (Text(prompt.argument),))


def _part(block: schema.ContentBlock, workspace: Workspace, shelf: Shelf, *, images: bool) -> Text | Image:
    match block:
        case schema.TextContent(text=text):
            return Text(shelf.cut(text, _LONGEST))
        case schema.ImageContent(data=data, mime_type=media_type):
            return _image(data, media_type) if images else Text("[An image that this model cannot look at.]")
        case schema.ResourceLink(name=name, uri=uri):
            path = path_of(uri)
            return Text(f"[The person refers to {workspace.shown(path) if path else f'{name}, {uri}'}.]")
        case schema.EmbeddedResource(resource=resource):
            return Text(_attached(resource, workspace, shelf))
        case schema.AudioContent():
            return Text("[A recording that cannot be listened to here.]")
        case _:
            assert_never(block)


def _attached(resource: schema.EmbeddedResourceResource, workspace: Workspace, shelf: Shelf) -> str:
    path = path_of(resource.uri)
    name = workspace.shown(path) if path else resource.uri
    if resource.text is None:
        return f"[The person attached {name}, which is not text.]"
    language = language_of(path) if path else ""
    return f"[The person attached {name}:]\n{fenced(shelf.cut(resource.text, _LONGEST), language)}"


def _image(data: str, media_type: str) -> Text | Image:
    try:
        return Image(base64.b64decode(data, validate=True), media_type)
    except (binascii.Error, ValueError):
        return Text("[An image that could not be read.]")
