"""Estimates how many tokens a history takes, corrected by what the provider reports."""

from collections.abc import Iterable

from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelImage,
    ModelRequest,
    ModelText,
    ModelThinking,
    ModelToolCall,
    ToolMessage,
    UserMessage,
)

_CHARACTERS_PER_TOKEN = 3.6
_TOKENS_PER_IMAGE = 1500
_TOKENS_PER_MESSAGE = 8


class TokenEstimate:
    """Estimates tokens by text length. Each response of a model corrects the estimate."""

    def __init__(self) -> None:
        self._factor = 1.0

    def tokens(self, messages: Iterable[Message]) -> int:
        return int(self._factor * sum(map(_guess, messages)))

    def of_request(self, request: ModelRequest) -> int:
        fixed = len(request.system) + sum(len(tool.description) + len(tool.schema) for tool in request.tools)
        return int(self._factor * fixed / _CHARACTERS_PER_TOKEN) + self.tokens(request.messages)

    def learn(self, request: ModelRequest, measured: int) -> None:
        """Adjust the estimate to the tokens a provider counted, if it counts any."""
        guessed = self.of_request(request) / self._factor
        if measured > 0 and guessed > 500:
            self._factor = min(max(measured / guessed, 0.5), 2.0)


def _guess(message: Message) -> float:
    match message:
        case UserMessage(parts=parts) | AssistantMessage(parts=parts):
            return _TOKENS_PER_MESSAGE + sum(map(_part, parts))
        case ToolMessage(results=results):
            return sum(_TOKENS_PER_MESSAGE + sum(map(_part, result.parts)) for result in results)


def _part(part: ModelText | ModelImage | ModelThinking | ModelToolCall) -> float:
    match part:
        case ModelText(text=text) | ModelThinking(text=text):
            return len(text) / _CHARACTERS_PER_TOKEN
        case ModelToolCall(name=name, arguments=arguments):
            return (len(name) + len(arguments)) / _CHARACTERS_PER_TOKEN
        case ModelImage():
            return _TOKENS_PER_IMAGE
