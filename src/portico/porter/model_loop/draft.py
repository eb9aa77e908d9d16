"""Drafts: a small model answers a request for a change with whole files, which Porter writes for it."""

import asyncio
import re
import secrets
from collections.abc import Mapping, Sequence

import msgspec

from portico.domain.errors import PorticoError
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelText,
    ModelToolCall,
    ResponseFinished,
    ToolMessage,
    UserMessage,
)
from portico.porter.models.written_files import WrittenFile, read_files, text_before
from portico.porter.tools.context import ToolContext

_TEST = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*[._]test\.\w+$)")


_IS_TEST = "[{path} is a test and stays as it is. Write the other files that must change.]"
_IS_PART = "[{path} was not written, because definitions are missing in it. Write the whole file.]"


class Draft:
    """The files that a model was shown in a turn, and may write anew."""

    def __init__(self, context: ToolContext, prompt: str, shown: Sequence[str]) -> None:
        self._context = context
        self._prompt = prompt
        self._shown = shown
        self._objection: str | None = None
        self._objections = context.profile.guards.reminders

    async def take(self, finished: ResponseFinished) -> ResponseFinished:
        """Return a response with calls that write the files in its text. Tests change only if the prompt names them."""
        known = await self._known()
        files = await asyncio.to_thread(read_files, finished.message.text, known)
        objections = [words for file in files if (words := self._objection_to(file, known))]
        calls = tuple(
            _write(file.path, file.content) for file in files if not self._objection_to(file, known)
        )
        self._objection = None if calls or not objections else objections[0]
        if not calls:
            return finished
        words = text_before(finished.message.text)
        said = (ModelText(words),) if words else ()
        message = msgspec.structs.replace(finished.message, parts=(*said, *calls))
        return ResponseFinished("tool_calls", message)

    def consume_objection(self) -> str | None:
        """Return why the files of the last response were not written, for a model that may try again."""
        objection, self._objection = self._objection, None
        if objection is None or not self._objections:
            return None
        self._objections -= 1
        return objection

    def _objection_to(self, file: WrittenFile, known: Mapping[str, str]) -> str | None:
        if file.path in known and _TEST.search(file.path) and file.path not in self._prompt:
            return _IS_TEST.format(path=file.path)
        return None if file.whole else _IS_PART.format(path=file.path)

    async def material(self) -> tuple[ModelText, ...]:
        """Return the files as they are now."""
        return tuple(ModelText(f"[{path}:]\n{text}\n\n") for path, text in (await self._known()).items())

    async def _known(self) -> Mapping[str, str]:
        found = {}
        for name in self._shown:
            try:
                found[name] = await self._context.turn.files.read(self._context.resolve(name))
            except PorticoError:
                continue
        return found


def plain_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages without calls, for a request without tools: calls as words, failures as messages of the user."""
    return tuple(plain for message in messages if (plain := _plain(message)) is not None)


def _plain(message: Message) -> Message | None:
    match message:
        case AssistantMessage(calls=(_, *_) as calls):
            words = message.text or f"I called {', '.join(call.name for call in calls)}."
            return AssistantMessage((ModelText(words),), model=message.model)
        case ToolMessage(results=results):
            texts = [part for result in results for part in result.parts if isinstance(part, ModelText)]
            return UserMessage(tuple(ModelText(f"[{part.text}]\n\n") for part in texts))
        case _:
            return message


def _write(path: str, content: str) -> ModelToolCall:
    arguments = msgspec.json.encode({"path": path, "content": content}).decode()
    return ModelToolCall(f"call_{secrets.token_hex(8)}", "write", arguments)
