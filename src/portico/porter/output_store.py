"""Stores outputs too large for the model, which sees both ends and can page through the rest."""

import re
from pathlib import Path

from portico.domain.errors import InvalidInput, StoreFailed
from portico.files.private import make_private_folder

LONGEST = 30_000
PAGE = 20_000
LARGEST_KEPT = 50 * 1024 * 1024
_HEAD, _TAIL = 16_000, 8_000
_NAME = re.compile(r"output-\d{1,9}")


class OutputStore:
    """The large outputs of one session, one file each. The folder is created with the first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def cut(self, text: str, longest: int = LONGEST) -> str:
        """Return the text, or its beginning and end with a note on how to read the rest."""
        if len(text) <= longest:
            return text
        name = self._put(text[:LARGEST_KEPT])
        left_out = len(text) - _HEAD - _TAIL
        lost = len(text) - LARGEST_KEPT
        note = f" The last {lost} characters were dropped." if lost > 0 else ""
        return (
            f"{text[:_HEAD]}\n\n[{left_out} of {len(text)} characters are omitted here. "
            f'Read them with read_output(name="{name}", offset={_HEAD}), or request less.{note}]\n\n{text[-_TAIL:]}'
        )

    def read(self, name: str, offset: int) -> str:
        """Return a page of an output, with a note on where to continue. Blocks: it reads a file."""
        if _NAME.fullmatch(name) is None:
            raise InvalidInput(f"Unknown output {name!r}: use the name given where the output was cut.")
        try:
            text = (self._folder / name).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise InvalidInput(f"The output {name!r} is gone: repeat the call.") from error
        except OSError as error:
            raise StoreFailed(f"Porter cannot read {self._folder / name}: {error.strerror}.") from error
        page = text[offset : offset + PAGE]
        if not page:
            raise InvalidInput(f"{name} has only {len(text)} characters; the offset {offset} is too large.")
        end = offset + len(page)
        if end >= len(text):
            return page
        return f"{page}\n\n[{len(text) - end} more characters: continue with offset={end}]"

    def _put(self, text: str) -> str:
        try:
            make_private_folder(self._folder)
            number = 1 + sum(1 for _ in self._folder.iterdir())
            path = self._folder / f"output-{number}"
            path.touch(mode=0o600)
            path.write_bytes(text.encode("utf-8", "replace"))
        except OSError as error:
            raise StoreFailed(f"Porter cannot store a large output: {error.strerror}.") from error
        return path.name
