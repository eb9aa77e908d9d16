"""The notes of a workspace: a Markdown file with one section for each topic.

What stands before the first section is the person's, and is kept as it is.
"""

import os
import re
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.redaction import without_secrets
from portico.files import real_path

FILE = ".portico/memory/notes.md"
LARGEST_FILE = 256 * 1024
LONGEST_NOTE = 4000
LONGEST_TOPIC = 80
_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_OPENING = "# Notes\n\nKept by agents with the tools of Portico. Edit or delete what you like.\n"


class Note(msgspec.Struct, frozen=True):
    topic: str
    text: str


class Notes(msgspec.Struct, frozen=True):
    """The file as it was read. `opening` is what stands before the first section."""

    opening: str = _OPENING
    notes: tuple[Note, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Notes":
        opening, *parts = _HEADING.split(text.replace("\r\n", "\n"))
        sections = zip(parts[::2], parts[1::2], strict=True)
        return cls(opening, tuple(Note(topic, body.strip("\n")) for topic, body in sections))

    def render(self) -> str:
        sections = [f"## {note.topic}\n\n{note.text}\n" for note in self.notes]
        return "\n".join([self.opening.rstrip("\n") + "\n", *sections])

    def find(self, topic: str) -> Note | None:
        return next((note for note in self.notes if note.topic.casefold() == topic.casefold()), None)

    def search(self, query: str) -> tuple[Note, ...]:
        """Notes that have all words of the query in topic or text; all notes if it is empty."""
        words = query.casefold().split()
        return tuple(
            note
            for note in self.notes
            if all(word in f"{note.topic}\n{note.text}".casefold() for word in words)
        )

    def with_note(self, note: Note) -> "Notes":
        """The notes with one more, in the place of that on the same topic. InvalidInput if it cannot be kept."""
        _check(note)
        known = self.find(note.topic)
        if known is None:
            return msgspec.structs.replace(self, notes=(*self.notes, note))
        return msgspec.structs.replace(self, notes=tuple(note if one is known else one for one in self.notes))

    def without(self, topic: str) -> "Notes":
        """The notes without one. InvalidInput if there is none on the topic."""
        known = self.find(topic)
        if known is None:
            topics = ", ".join(note.topic for note in self.notes) or "none"
            raise InvalidInput(f'There is no note on "{topic}". Topics: {topics}.')
        return msgspec.structs.replace(self, notes=tuple(one for one in self.notes if one is not known))


def _check(note: Note) -> None:
    if (
        not note.topic.strip()
        or "\n" in note.topic
        or len(note.topic) > LONGEST_TOPIC
        or note.topic.startswith("#")
    ):
        raise InvalidInput(f"A topic is a few words on one line, up to {LONGEST_TOPIC} characters.")
    if not note.text.strip() or len(note.text) > LONGEST_NOTE:
        raise InvalidInput(f"A note has up to {LONGEST_NOTE} characters of text.")
    if _HEADING.search(note.text):
        raise InvalidInput("A note has no headings of the second level: those are topics.")
    for text in (note.topic, note.text):
        if without_secrets(text) != text:
            raise InvalidInput(
                "The note seems to have a password, key or token in it, so it was not kept.",
                suggestion="Say where the secret is kept, not what it is.",
            )


def read_notes(cwd: str) -> Notes:
    """The notes in a folder. InvalidInput if there is something else where the file belongs."""
    path = Path(os.path.realpath(cwd)) / FILE
    try:
        return Notes.parse(real_path.read(path, limit=LARGEST_FILE).decode(errors="replace"))
    except FileNotFoundError:
        return Notes()
    except OSError as error:
        raise InvalidInput(f"{FILE} cannot be read: {error.strerror}.") from error
