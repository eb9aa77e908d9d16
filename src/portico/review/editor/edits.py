"""Editor edits that come to the same files as a plan for the disk. Pure.

A window has texts: it makes no programs and no links, and it writes a new file as it pleases. What it could not
write as planned is not asked of it at all.
"""

import re
from collections.abc import Mapping
from pathlib import PurePath

from portico.domain.windows import WindowEdit
from portico.review.editor.unsaved_buffers import UnsavedBuffer
from portico.review.files.apply_plan import ApplyPlan, PlannedWrite
from portico.review.text.change_set import LINK_MODE
from portico.review.text.lines import DecodedText, Encoding, read_text

_MOST_FILES = 500
_FILE_BYTES = 2 * 1024 * 1024
_ALL_BYTES = 8 * 1024 * 1024
_PLAIN_MODES = {None, 0o644, 0o664}
_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def edits_of(plan: ApplyPlan, buffers: Mapping[str, UnsavedBuffer]) -> tuple[WindowEdit, ...] | None:
    """The edit, in order; None where only the disk will do."""
    if len(plan.writes) > _MOST_FILES or sum(len(one.data or b"") for one in plan.writes) > _ALL_BYTES:
        return None
    edits: dict[str, WindowEdit] = {}
    folders = {folder.path for folder in plan.intent.emptied}
    for write in plan.writes:
        place = write.step.target
        if write.data is None and place in buffers:
            return None  # A window that brings it back would have saved what the person had not.
        one = _edit(write, buffers.get(place))
        # Files that change places, or a file in the place of a folder, are more than one step to a window.
        if one is None or place in edits or place in folders:
            return None
        edits[place] = one
    if any(str(parent) in edits for place in edits for parent in PurePath(place).parents):
        return None
    return tuple(edits.values())


def is_same(one: str | None, other: str | None) -> bool:
    """Whether two texts are one to an editor, which keeps line ends and marks beside the text."""
    if one is None or other is None:
        return one is other
    return _plain(one) == _plain(other)


def _edit(write: PlannedWrite, buffer: UnsavedBuffer | None) -> WindowEdit | None:
    if write.mode == LINK_MODE or (write.found is not None and write.found.mode == LINK_MODE):
        return None
    found = None if write.found is None else _text(write.found.data)
    wanted = None if write.data is None else _text(write.data)
    if (write.found is not None and found is None) or (write.data is not None and wanted is None):
        return None
    if wanted is not None and not _keeps_form(write, found, wanted):
        return None
    content = None if wanted is None else wanted.content
    expected = None if found is None else found.content
    if buffer is not None:
        expected = buffer.text
        if content is not None and "\r" not in buffer.text and "\n" in buffer.text:
            content = content.replace("\r\n", "\n")
    return WindowEdit(
        path=write.step.target if buffer is None else buffer.name, expected=expected, content=content
    )


def _text(data: bytes) -> DecodedText | None:
    """A file that an editor shows as it is: short, in Unicode, with one kind of line end."""
    text = read_text(data) if len(data) <= _FILE_BYTES else None
    if text is None or text.encoding is Encoding.LATIN_1:
        return None
    ends = set(_LINE_ENDS.findall(text.content))
    return text if len(ends) <= 1 and "\r" not in ends else None


def _keeps_form(write: PlannedWrite, found: DecodedText | None, wanted: DecodedText) -> bool:
    """Whether a file stays in the encoding and with the rights that it has; a new one gets the usual ones."""
    if found is None:
        return wanted.encoding is Encoding.UTF_8 and write.mode in _PLAIN_MODES and "\r" not in wanted.content
    return wanted.encoding is found.encoding and write.found is not None and write.mode == write.found.mode


def _plain(text: str) -> str:
    return _LINE_ENDS.sub("\n", text.removeprefix("\ufeff"))
