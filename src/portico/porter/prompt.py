"""A prompt as sent by the client: its text, slash command and attachments."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never
from urllib.parse import unquote, urlsplit

import msgspec

from portico.acp import _schema as schema
from portico.porter.command_phrases import CommandPhrase, command_for
from portico.porter.markdown import shortened

_COMMAND = re.compile(r"/([A-Za-z][\w-]*)(?:\s+|$)")


class PromptAttachment(msgspec.Struct, frozen=True):
    """A file or another resource attached to a prompt, with its text if that was sent."""

    name: str
    path: Path | None
    text: str | None = None


class PorterPrompt(msgspec.Struct, frozen=True):
    """A prompt. For free text `command` is None and `argument` is the whole text. `blocks` is what was sent."""

    command: str | None
    argument: str
    attached: tuple[PromptAttachment, ...] = ()
    blocks: tuple[schema.ContentBlock, ...] = ()

    @property
    def has_content(self) -> bool:
        return bool(self.argument.strip() or self.attached)

    @property
    def meant(self) -> CommandPhrase | None:
        """The slash command, or one that answers the free text exactly."""
        if self.command is not None:
            return CommandPhrase(self.command, self.argument)
        return None if self.attached else command_for(self.argument)

    def summary(self) -> str:
        """Return a title for the session."""
        words = self.argument if self.command is None else f"/{self.command} {self.argument}"
        return shortened(words, 60) or "Conversation"


def read_prompt(blocks: Sequence[schema.ContentBlock]) -> PorterPrompt:
    texts: list[str] = []
    attached: list[PromptAttachment] = []
    for block in blocks:
        match block:
            case schema.TextContent(annotations=schema.Annotations(audience=["assistant"])):
                pass  # Context that a component added for the model, not words of the person.
            case schema.TextContent(text=text):
                texts.append(text)
            case schema.ResourceLink(name=name, uri=uri):
                attached.append(PromptAttachment(name, path_of(uri)))
            case schema.EmbeddedResource(resource=resource):
                name = resource.uri.rstrip("/").rpartition("/")[2] or resource.uri
                attached.append(PromptAttachment(name, path_of(resource.uri), resource.text))
            case schema.ImageContent():
                attached.append(PromptAttachment("an image", None))
            case schema.AudioContent():
                attached.append(PromptAttachment("a recording", None))
            case _:
                assert_never(block)
    text = "".join(texts).strip("\n").lstrip()
    found = _COMMAND.match(text)
    if found is None:
        return PorterPrompt(None, text.rstrip(), tuple(attached), tuple(blocks))
    return PorterPrompt(found[1].lower(), text[found.end() :], tuple(attached), tuple(blocks))


def path_of(uri: str) -> Path | None:
    """Return the local path of a file URI; None for other URIs."""
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "%00" in parts.path:
            return None
        path = Path(unquote(parts.path))
    except ValueError:
        return None
    return path if path.is_absolute() else None
