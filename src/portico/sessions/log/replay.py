"""Summary of the conversation so far, sent with the next prompt to an agent that has lost it."""

from collections.abc import Iterable, Sequence

from portico.acp import _schema as acp
from portico.domain.content_blocks import describe_block
from portico.domain.events import Event, PromptSubmitted, StateChanged, TextDelta, ToolStarted
from portico.domain.values import AgentSession

MAX_CHARACTERS = 12_000
EVENTS_LOOKED_AT = 2_000
LAST_EVENTS = 50

_ADDRESS = "portico:///earlier-conversation"
_OPENING = (
    "This conversation was interrupted and you no longer have it. Here is what was said, "
    "oldest first; the newest message follows after it."
)


def summarize(events: Iterable[Event]) -> str | None:
    """Summary of the conversation, which keeps its latest parts; None if it is empty."""
    pieces: list[str] = []
    speaker = None
    for event in events:
        match event.payload:
            case PromptSubmitted(text=text, blocks=blocks):
                said = "\n".join(filter(None, (text, *map(describe_block, blocks))))
                speaker = _say(pieces, speaker, "Person", said)
            case TextDelta(text=text):
                speaker = _say(pieces, speaker, "Agent", text)
            case ToolStarted(title=title):
                speaker = _say(pieces, None, "Agent used a tool", title)
            case _:
                continue
    text = "".join(pieces).strip()
    if not text:
        return None
    if len(text) > MAX_CHARACTERS:
        text = "…" + text[-MAX_CHARACTERS:]
    return f"<earlier-conversation>\n{_OPENING}\n\n{text}\n</earlier-conversation>"


def with_history(
    summary: str | None, prompt: list[acp.ContentBlock], takes: acp.PromptCapabilities
) -> list[acp.ContentBlock]:
    """A prompt with the summary, as a resource if the agent accepts that, since the text may be a command."""
    if summary is None:
        return prompt
    if takes.embedded_context:
        resource = acp.EmbeddedResourceResource(uri=_ADDRESS, mime_type="text/plain", text=summary)
        return [*prompt, acp.EmbeddedResource(resource=resource)]
    return [acp.TextContent(text=summary), *prompt]


def needs_summary(events: Sequence[Event]) -> bool:
    """Whether a summary was announced for the next prompt, and there has been none since."""
    for event in reversed(events):
        match event.payload:
            case PromptSubmitted():
                return False
            case StateChanged(agent_session=AgentSession(attached_by=way)):
                return way == "replay"
            case _:
                continue
    return False


def _say(pieces: list[str], before: str | None, speaker: str, text: str) -> str:
    pieces.append(text if speaker == before else f"\n{speaker}: {text}")
    return speaker
