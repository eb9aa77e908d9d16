"""A prompt as sent by the client: its text, slash command and attachments.

Free text that a slash command answers exactly, such as "where is parse_config defined?", is taken as that command.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never
from urllib.parse import unquote, urlsplit

import msgspec

from portico.acp import _schema as schema
from portico.porter.markdown import shortened

_COMMAND = re.compile(r"/([A-Za-z][\w-]*)(?:\s+|$)")
_LONGEST_PHRASE = 200
_NAME = r"(?:the\s+)?(?:class\s+|function\s+|method\s+|constant\s+|type\s+)?[`'\"]?(?P<argument>[A-Za-z_$][\w$]*(?:(?:\.|::)[\w$]+)*)(?:\(\))?[`'\"]?"
_TESTS = r"(?:all\s+)?(?:(?:the|my|our|its)\s+)?(?:unit\s+)?tests"
_PHRASES = tuple(
    (command, re.compile(rf"(?:please\s+)?(?:{pattern})(?:\s+please)?\s*[?.!]*", re.IGNORECASE))
    for command, pattern in (
        ("explain", rf"where(?:\s+is|'s)\s+{_NAME}\s+(?:defined|declared|implemented|used|called)"),
        (
            "explain",
            rf"(?:find|show)\s+(?:me\s+)?(?:the\s+)?(?:definition|uses|usages|references)\s+(?:of|to)\s+{_NAME}",
        ),
        ("explain", rf"(?:who|what)\s+(?:uses|calls)\s+{_NAME}"),
        ("test", rf"(?:can\s+you\s+)?(?:re-?)?run\s+{_TESTS}(?:\s+again)?"),
        ("test", rf"do\s+{_TESTS}\s+(?:still\s+)?pass"),
        (
            "changes",
            r"what(?:\s+has|'s|\s+have\s+I|\s+did\s+I)?\s+changed?(?:\s+(?:here|so\s+far|since\s+the\s+last\s+commit))?",
        ),
        ("changes", r"show\s+(?:me\s+)?(?:the|my)\s+(?:changes|diff)"),
        ("search", r"(?:search|grep)\s+(?:for\s+)?(?P<argument>\"[^\"]+\"|'[^']+'|`[^`]+`|[\w.$-]+)"),
    )
)


class CommandPhrase(msgspec.Struct, frozen=True):
    """The command that answers a text, and its argument."""

    command: str
    argument: str = ""

    def __str__(self) -> str:
        return f"/{self.command} {self.argument}".rstrip()


def command_for(text: str) -> CommandPhrase | None:
    """Return the command that answers the whole of a text; None if there is none."""
    plain = " ".join(text.split())
    if len(text) > _LONGEST_PHRASE:
        return None
    for command, pattern in _PHRASES:
        if found := pattern.fullmatch(plain):
            argument = found.groupdict().get("argument") or ""
            return CommandPhrase(command, f'"{argument[1:-1]}"' if argument.startswith("`") else argument)
    return None


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
