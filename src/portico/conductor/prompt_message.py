"""A `session/prompt` request as proxies read and extend it. Blocks that are not changed keep their bytes."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain import codecs
from portico.rpc.messages import Message

METHOD = "session/prompt"


class _Prompt(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    prompt: list[Raw]


class _Block(msgspec.Struct, frozen=True):
    type: str
    text: str = ""


class PromptMessage:
    """The request, its session and its blocks. `command` is the text of a prompt that begins with `/`.

    Agents join the text blocks of a command or read the first, so a block before it would become an argument.
    """

    def __init__(self, message: Message, session_id: str, blocks: Sequence[Raw], command: str | None) -> None:
        self.message = message
        self.session_id = session_id
        self.blocks = blocks
        self.command = command

    @classmethod
    def read(cls, message: Message) -> "PromptMessage | None":
        """None for malformed parameters, which the agent is left to refuse."""
        try:
            asked = codecs.decode_json(message.params, _Prompt)
            command = _command(asked.prompt)
        except msgspec.DecodeError:
            return None
        return cls(message, asked.session_id, asked.prompt, command)

    def with_context(self, text: str) -> Message:
        """The request with a text for the agent before all blocks."""
        return self._with([context_block(text), *self.blocks])

    def with_command_replaced(self, context: str, text: str) -> Message:
        """The request with a context and a text in the place of the command."""
        blocks: list[Any] = [context_block(context)]
        replaced = False
        for raw in self.blocks:
            if not replaced and codecs.decode_json(raw, _Block).type == "text":
                blocks.append(acp.TextContent(text=text))
                replaced = True
            else:
                blocks.append(raw)
        return self._with(blocks)

    def _with(self, blocks: Sequence[Any]) -> Message:
        fields = codecs.decode_json(self.message.params, dict[str, Raw])
        return self.message.with_params({**fields, "prompt": blocks})


def _command(blocks: Sequence[Raw]) -> str | None:
    for raw in blocks:
        block = codecs.decode_json(raw, _Block)
        if block.type == "text":
            text = block.text.lstrip()
            return text if text.startswith("/") else None
    return None


def context_block(text: str) -> acp.TextContent:
    """A text that is meant for the agent, not for the person."""
    return acp.TextContent(text=text, annotations=acp.Annotations(audience=["assistant"]))
