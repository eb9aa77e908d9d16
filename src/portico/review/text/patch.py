"""Unified patch of a change, in the form that git writes and reads.

The patch is bytes, as the files are: lines end at line feeds only, and what git calls binary is not shown.
"""

import hashlib
import re
from collections.abc import Iterator

import msgspec

from portico.review.text.change_set import LINK_MODE, ChangeOperation, FileChange
from portico.review.text.diffs import Hunk, LineDiff, SegmentKind, diff_lines
from portico.review.text.lines import LineBreaks, looks_binary, split_lines

_SIGNS = {SegmentKind.SAME: b" ", SegmentKind.REMOVED: b"-", SegmentKind.ADDED: b"+"}
_HEADING = re.compile(rb"^[A-Za-z_$]")
_HEADING_BYTES = 80
_QUOTED = {
    0x07: b"\\a", 0x08: b"\\b", 0x09: b"\\t", 0x0A: b"\\n", 0x0B: b"\\v", 0x0C: b"\\f", 0x0D: b"\\r",
    0x22: b'\\"', 0x5C: b"\\\\",
}  # fmt: skip


def unified_patch(change: FileChange, compared: LineDiff | None = None) -> bytes:
    """The patch of one change; empty if it changes nothing. What is `compared` already is not compared again."""
    if change.links and _mode_differs(change):
        # A link in the place of a file, or the other way: to git one goes, and the other comes.
        gone = msgspec.structs.replace(change, operation=ChangeOperation.DELETE, new=None, new_mode=None)
        made = msgspec.structs.replace(change, operation=ChangeOperation.CREATE, old=None, old_mode=None)
        return unified_patch(gone) + unified_patch(made)
    old = b"" if change.old is None else change.old.loaded()
    new = b"" if change.new is None else change.new.loaded()
    binary = looks_binary(old) or looks_binary(new)
    text = None if binary else _by_line_feeds(old, new, compared)
    lines = [*_mode_lines(change), *_rename_lines(change, old, new, text)]
    differs = old != new or change.operation in {ChangeOperation.CREATE, ChangeOperation.DELETE}
    if differs:
        lines.append(_index_line(change, old, new))
    if not lines:
        return b""
    before, after = _name(b"a/", change.old_path or change.path), _name(b"b/", change.path)
    patch = [b"diff --git %s %s\n" % (before, after), *(line + b"\n" for line in lines)]
    if old != new:
        before = b"/dev/null" if change.old is None else before
        after = b"/dev/null" if change.new is None else after
        if text is None:
            patch.append(b"Binary files %s and %s differ\n" % (before, after))
        else:
            patch += [b"--- %s\n" % _tabbed(before), b"+++ %s\n" % _tabbed(after)]
            patch += _body(old, text)
    return b"".join(patch)


def _by_line_feeds(old: bytes, new: bytes, compared: LineDiff | None) -> LineDiff:
    if compared is not None and compared.breaks is LineBreaks.LINE_FEED:
        return compared
    return diff_lines(old, new, LineBreaks.LINE_FEED)


def _mode_lines(change: FileChange) -> Iterator[bytes]:
    if change.operation is ChangeOperation.CREATE:
        yield b"new file mode " + _mode(change.new_mode)
    elif change.operation is ChangeOperation.DELETE:
        yield b"deleted file mode " + _mode(change.old_mode)
    elif _mode_differs(change):
        yield b"old mode " + _mode(change.old_mode)
        yield b"new mode " + _mode(change.new_mode)


def _rename_lines(change: FileChange, old: bytes, new: bytes, text: LineDiff | None) -> Iterator[bytes]:
    if change.old_path is None:
        return
    similarity = 100
    if old != new:
        largest = max(len(old), len(new))
        removed = largest if text is None else sum(_size(one, SegmentKind.REMOVED) for one in text.hunks)
        similarity = min(99, 100 * max(0, len(old) - removed) // largest)
    yield b"similarity index %d%%" % similarity
    yield b"rename from " + _name(b"", change.old_path)
    yield b"rename to " + _name(b"", change.path)


def _index_line(change: FileChange, old: bytes, new: bytes) -> bytes:
    before = b"0" * 7 if change.old is None else _blob(old)
    after = b"0" * 7 if change.new is None else _blob(new)
    stays = change.old is not None and change.new is not None and not _mode_differs(change)
    return b"index %s..%s" % (before, after) + (b" " + _mode(change.old_mode) if stays else b"")


def _body(old: bytes, text: LineDiff) -> Iterator[bytes]:
    heading = b""
    looked = 0
    for hunk in text.hunks:
        for line in reversed(split_lines(old[looked : hunk.old_offset])):
            if _HEADING.match(line):
                heading = b" " + line[:_HEADING_BYTES].rstrip()
                break
        looked = hunk.old_offset
        before = _range(hunk.old_start, hunk.old_lines)
        yield b"@@ -%s +%s @@%s\n" % (before, _range(hunk.new_start, hunk.new_lines), heading)
        for segment in hunk.segments:
            sign = _SIGNS[segment.kind]
            for line in split_lines(segment.data):
                yield sign + line
                if not line.endswith(b"\n"):
                    yield b"\n\\ No newline at end of file\n"


def _range(start: int, lines: int) -> bytes:
    return b"%d" % start if lines == 1 else b"%d,%d" % (start, lines)


def _size(hunk: Hunk, kind: SegmentKind) -> int:
    return sum(len(segment.data) for segment in hunk.segments if segment.kind is kind)


def _mode(bits: int | None) -> bytes:
    """Git knows two kinds of files, those that can be run and the others, and links."""
    if bits == LINK_MODE:
        return b"120000"
    return b"100755" if bits is not None and bits & 0o100 else b"100644"


def _mode_differs(change: FileChange) -> bool:
    if change.old is None or change.new is None:
        return False
    if not change.links and (change.old_mode is None or change.new_mode is None):
        return False
    return _mode(change.old_mode) != _mode(change.new_mode)


def _blob(data: bytes) -> bytes:
    """The begin of the name under which git keeps such a content."""
    digest = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()[:7].encode()


def _name(prefix: bytes, path: str) -> bytes:
    """A path as git writes it: in quotes if there are characters in it that could be misread."""
    raw = prefix + path.encode("utf-8", "surrogateescape")
    if not any(byte < 0x20 or byte >= 0x7F or byte in _QUOTED for byte in raw):
        return raw
    return b'"%s"' % b"".join(map(_escaped, raw))


def _escaped(byte: int) -> bytes:
    if byte in _QUOTED:
        return _QUOTED[byte]
    return b"\\%03o" % byte if byte < 0x20 or byte >= 0x7F else bytes([byte])


def _tabbed(name: bytes) -> bytes:
    """A name with a space ends in a tab, so that patch programs see where it ends."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name
