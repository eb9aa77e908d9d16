"""Buffer that joins a path which an agent streams in several text chunks.

The end of a text that may be the beginning of a folder's name waits for the next text. Nothing else does, and
nothing is said out of order: whatever is not the rest of that text lets the waiting piece go first.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.rpc.messages import Message

_TEXTS = frozenset({"agent_message_chunk", "agent_thought_chunk"})
_NAME = frozenset("_.~-")


class _Content(msgspec.Struct, frozen=True):
    type: str = ""
    text: str = ""


class _Params(msgspec.Struct, frozen=True):
    session_id: str = msgspec.field(default="", name="sessionId")
    update: Raw = Raw(b"{}")


class _Update(msgspec.Struct, frozen=True):
    kind: str = msgspec.field(default="", name="sessionUpdate")
    content: Raw = Raw(b"{}")


class _Waiting(msgspec.Struct, frozen=True):
    kind: str
    text: str
    message: Message


class PathChunkBuffer:
    """The texts of all sessions of a chain, as they come. `folders` are those whose names are looked for."""

    def __init__(self) -> None:
        self.folders: tuple[str, ...] = ()
        self._waiting: dict[str, _Waiting] = {}

    def taken(self, message: Message) -> Iterable[Message]:
        """Updates to send now that this one has arrived."""
        if not self._waiting and b"/" not in bytes(message.params):
            return (message,)
        try:
            params = codecs.decode_json(message.params, _Params)
            update = codecs.decode_json(params.update, _Update)
            content = codecs.decode_json(update.content, _Content)
        except msgspec.DecodeError:
            return (message,)
        before = self._waiting.pop(params.session_id, None)
        said: list[Message] = []
        is_text = update.kind in _TEXTS and content.type == "text"
        if before is not None and (not is_text or before.kind != update.kind):
            said.append(before.message)
            before = None
        if not is_text:
            return (*said, message)
        text = content.text if before is None else before.text + content.text
        begun = self._begun(text)
        if before is None and not begun:
            return (*said, message)
        if len(begun) < len(text):
            said.append(_with_text(message, text[: len(text) - len(begun)]))
        if begun:
            self._waiting[params.session_id] = _Waiting(update.kind, begun, _with_text(message, begun))
        return said

    def released(self) -> list[Message]:
        """All updates that were held back, because something else is about to be sent."""
        if not self._waiting:
            return []
        waiting, self._waiting = self._waiting, {}
        return [one.message for one in waiting.values()]

    def _begun(self, text: str) -> str:
        """The end of a text with which a folder's name may begin, or which is all of it and may still go on."""
        for folder in self.folders:
            at = text.find("/", max(0, len(text) - len(folder)))
            while at >= 0:
                if folder.startswith(text[at:]) and not (at and _is_in_a_name(text[at - 1])):
                    return text[at:]
                at = text.find("/", at + 1)
        return ""


def _is_in_a_name(letter: str) -> bool:
    return letter.isalnum() or letter in _NAME


def _with_text(message: Message, text: str) -> Message:
    """The same update with another text."""
    params = codecs.decode_json(message.params, dict[str, Raw])
    update = codecs.decode_json(params["update"], dict[str, Raw])
    content = codecs.decode_json(update["content"], dict[str, Raw])
    content["text"] = Raw(msgspec.json.encode(text))
    return message.with_params({**params, "update": {**update, "content": content}})
