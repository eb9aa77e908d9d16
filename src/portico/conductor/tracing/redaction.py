"""Removes secrets from traced frames, by known value and by field name.

A value that was found under such a name is known from then on. What is not a secret stays as the bytes it was.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.rpc.tap import SECRET_NAME, SHORTEST_SECRET, secrets_in

HIDDEN = "[hidden]"
# Narrower than the names of variables: `inputTokens` and `key` are fields of many harmless things.
_SECRET_FIELD = re.compile(
    r"[-_]key$|(?:api|access|private|signing|encryption)key$|token$|secret|passw(?:or)?d|credential"
    r"|authorization$|cookie$",
    re.IGNORECASE,
)
_SECRET_HEADER = re.compile(r"authorization$|cookie$", re.IGNORECASE)
_WORDS = "key|token|secret|passw|credential|authorization|cookie"
_TELLING = re.compile(_WORDS.encode(), re.IGNORECASE)
_AFTER_WORD = re.compile(f"({_WORDS}).*", re.IGNORECASE | re.DOTALL)
_SHORTEST_PIECE = 3
_ANSWERED = b'"action"'


class FrameRedactor:
    """Knows the secrets of one process, and learns those that go by."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._bytes: re.Pattern[bytes] | None = None
        self.learn(environ)

    def learn(self, environ: Mapping[str, str]) -> None:
        """Know the secrets of another environment too."""
        self._know(secrets_in(environ))

    def frame(self, line: bytes) -> Raw:
        """A line as JSON without secrets; as text if it cannot be searched."""
        line = line.strip()
        if not self._may_have_secrets(line):
            return Raw(line)
        try:
            before = codecs.decode_json(line)
            after = self._clean(_without_answers(before))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Raw(msgspec.json.encode(self.text(line.decode("utf-8", "replace"))))
        return Raw(line) if after == before else Raw(msgspec.json.encode(after))

    def text(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)

    def sample(self, text: str) -> str:
        """The beginning of something that is no JSON: nothing after a telling word, and no half of a secret."""
        text = _AFTER_WORD.sub(rf"\1{HIDDEN}", self.text(text))
        for secret in self._secrets:
            for length in range(len(secret) - 1, _SHORTEST_PIECE, -1):
                if text.endswith(secret[:length]):
                    return text[:-length] + HIDDEN
        return text

    def _may_have_secrets(self, line: bytes) -> bool:
        """A quick look. An escaped character may be part of a secret, so that takes a closer one."""
        if b"\\" in line or _TELLING.search(line) or _ANSWERED in line:
            return True
        return self._bytes is not None and self._bytes.search(line) is not None

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._clean(item) for item in value]
        if not isinstance(value, dict):
            return value
        named = value.get("name")
        if isinstance(named, str) and (SECRET_NAME.search(named) or _SECRET_HEADER.search(named)):
            value = {**value, "value": self._hidden(value["value"])} if "value" in value else value
        return {
            self.text(name): self._hidden(item) if _SECRET_FIELD.search(name) else self._clean(item)
            for name, item in value.items()
        }

    def _hidden(self, value: Any) -> Any:
        """A value that stands under a secret's name. Numbers are counts, and other things have names inside."""
        if not isinstance(value, str) or not value or value == HIDDEN:
            return self._clean(value)
        self._know({word for word in (value, *value.split()[-1:]) if len(word) >= SHORTEST_SECRET})
        return HIDDEN

    def _know(self, secrets: set[str]) -> None:
        if secrets <= self._secrets:
            return
        self._secrets |= secrets
        longest_first = sorted(self._secrets, key=lambda secret: (-len(secret), secret))
        alternatives = "|".join(map(re.escape, longest_first))
        self._pattern = re.compile(alternatives)
        self._bytes = re.compile(alternatives.encode("utf-8", "surrogateescape"))


def _without_answers(message: Any) -> Any:
    """The message with a person's answers hidden: any field of a form may be secret."""
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict) or "action" not in result or not isinstance(result.get("content"), dict):
        return message
    content = dict.fromkeys(result["content"], HIDDEN)
    return {**message, "result": {**result, "content": content}}
