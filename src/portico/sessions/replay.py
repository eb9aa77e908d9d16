"""An earlier conversation in a few thousand characters, for an agent that has forgotten it."""

from collections.abc import Iterable

from portico.domain.events import Event, PromptSubmitted, TextDelta, ToolStarted

MAX_CHARACTERS = 12_000
EVENTS_LOOKED_AT = 2_000

_OPENING = (
    "This conversation was interrupted and you no longer have it. Here is what was said, "
    "oldest first; the newest message follows after it."
)


def summarize(events: Iterable[Event]) -> str | None:
    """What person and agent said, the latest parts kept; None if they said nothing yet."""
    pieces: list[str] = []
    speaker = None
    for event in events:
        match event.payload:
            case PromptSubmitted(text=text):
                speaker = _say(pieces, speaker, "Person", text)
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


def _say(pieces: list[str], before: str | None, speaker: str, text: str) -> str:
    pieces.append(text if speaker == before else f"\n{speaker}: {text}")
    return speaker
