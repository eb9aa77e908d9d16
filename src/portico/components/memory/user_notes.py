"""Notes of the user, for all workspaces: a file in the configuration folder, with the versions before each change."""

import os
import time
from pathlib import Path

from portico.components.memory.notes import LARGEST_FILE, Notes
from portico.domain.errors import InvalidInput
from portico.files import real_path

_FILE = "notes.md"
_EARLIER = "earlier"
MOST_EARLIER = 20


class UserNotes:
    """The notes in a folder, which need not be there yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))
        self.path = self._folder / _FILE

    def text(self) -> str | None:
        """The file as it is; None if there is none."""
        try:
            return real_path.read(self.path, limit=LARGEST_FILE).decode(errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidInput(f"{self.path} cannot be read: {error.strerror}.") from error

    def read(self) -> Notes:
        text = self.text()
        return Notes() if text is None else Notes.parse(text)

    def write(self, text: str) -> None:
        """Replace the file. What was there can be taken back with `undo`."""
        before = self.text()
        try:
            place = self._folder / _EARLIER / f"{time.time_ns():020}.md"
            real_path.replace_content(place, (before or "").encode())
            for old in self._earlier()[:-MOST_EARLIER]:
                real_path.unlink(old, missing_ok=True)
            real_path.replace_content(self.path, text.encode())
        except OSError as error:
            raise InvalidInput(f"{self.path} cannot be written: {error.strerror}.") from error

    def undo(self) -> tuple[str, str]:
        """Take back the last change; the text before and after that. InvalidInput if there is none."""
        earlier = self._earlier()
        if not earlier:
            raise InvalidInput("There is no change of your notes to undo.")
        before = self.text() or ""
        try:
            kept = real_path.read(earlier[-1], limit=LARGEST_FILE)
            real_path.replace_content(self.path, kept)
            real_path.unlink(earlier[-1])
        except OSError as error:
            raise InvalidInput(f"{self.path} cannot be restored: {error.strerror}.") from error
        return before, kept.decode(errors="replace")

    def _earlier(self) -> list[Path]:
        folder = self._folder / _EARLIER
        try:
            return [folder / name for name in sorted(real_path.names(folder))]
        except FileNotFoundError:
            return []
