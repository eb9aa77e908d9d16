"""Files and folders mentioned as @path in a prompt, as resource links.

A mention starts a word and names an existing file or folder; a@b or an @ after a backslash is not a mention. The
text of the prompt does not change.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Raw

from portico.domain import codecs
from portico.domain.secret_files import is_private
from portico.sessions.content.attachments import resource_link

_MENTION = re.compile(r"""(?<![^\s(\[{<"'])@(?:"([^"\n]+)"|([^\s"]\S*))""")
_CLOSING = ".,;:!?)]}>\"'"
_MOST_LINKS = 50
_MOST_LOOKED_AT = 1_000


def mentioned(text: str, is_file: Callable[[str], bool]) -> list[str]:
    """The paths that a text mentions, each once, in the order of the text."""
    found: dict[str, None] = {}
    for number, mention in enumerate(_MENTION.finditer(text)):
        if number >= _MOST_LOOKED_AT or len(found) >= _MOST_LINKS:
            break
        quoted, word = mention.groups()
        path = quoted if quoted is not None and is_file(quoted) else _longest(word or "", is_file)
        if path:
            found[path] = None
    return list(found)


def links_in(text: str, workspace: Path) -> tuple[Raw, ...]:
    """Links to the files and folders of a workspace that a text mentions, except for files with secrets."""
    root = workspace.resolve()

    def is_file(path: str) -> bool:
        try:
            place = (root / path).resolve()
            inside = place.is_relative_to(root) and not is_private(place.relative_to(root).parts)
            is_one = place.is_file() or (place.is_dir() and place != root)
            return inside and not is_private(Path(path).parts) and is_one
        except (OSError, ValueError, RuntimeError):  # the last is a loop of links, before Python 3.13
            return False

    return tuple(resource_link((root / path).resolve(), path) for path in mentioned(text, is_file))


def replace_links(blocks: Sequence[Raw], before: str, after: str, workspace: Path) -> tuple[Raw, ...]:
    """The blocks of a prompt whose text has changed: links to the files that it mentions now, and all that was attached."""

    def was_mentioned(block: Raw) -> bool:
        fields = codecs.decode_json(block)
        is_link = isinstance(fields, dict) and fields.get("type") == "resource_link"
        return is_link and any(f"@{quote}{fields.get('name')}" in before for quote in ("", '"'))

    attached = tuple(block for block in blocks if not was_mentioned(block))
    return (*attached, *links_in(after, workspace))


def _longest(word: str, is_file: Callable[[str], bool]) -> str | None:
    """The word without trailing punctuation, if that names a file."""
    while word and not is_file(word):
        if word[-1] not in _CLOSING:
            return None
        word = word[:-1]
    return word or None
