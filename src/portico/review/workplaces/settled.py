"""What becomes of a file of a workplace once the person has applied or given up a part of it. Pure.

Two questions are answered for each file: what the agent's tree shall hold, and what its changes count from. An
agent's work that was neither applied nor given up stays, and so do lines that the person wrote meanwhile.
"""

from typing import NamedTuple

from portico.review.text.changes import LINK_MODE, ChangeSet, Content, Operation, opened_no_further
from portico.review.text.merging import merge


class Version(NamedTuple):
    """A file: what it holds, and its permission bits; or where a link leads, and LINK_MODE."""

    data: bytes
    mode: int


class Part(NamedTuple):
    """What a change does at one path. A content that is None is no file; a mode that is None is not meant."""

    old: bytes | None = None
    new: bytes | None = None
    old_mode: int | None = None
    new_mode: int | None = None


class Settled(NamedTuple):
    """What the workplace holds from now on, and what its changes count from."""

    own: Version | None
    base: Version | None


class Unclear(Exception):
    """A part that cannot be told from the rest any more."""


def parts(changes: ChangeSet) -> dict[str, Part]:
    """By path. A rename is a file that goes and one that comes."""
    found: dict[str, Part] = {}
    for one in changes.changes:
        source = one.old_path if one.operation is Operation.RENAME else one.path
        if one.old is not None and source is not None:
            before = found.get(source, Part())
            found[source] = before._replace(old=_bytes(one.old), old_mode=one.old_mode)
        if one.new is not None:
            before = found.get(one.path, Part())
            found[one.path] = before._replace(new=_bytes(one.new), new_mode=one.new_mode)
    return found


def without(own: Version | None, given_up: Part) -> Version | None:
    """What the agent has, less what was given up."""
    if own is None:
        back = given_up.old if given_up.new is None else None
        return None if back is None else Version(back, given_up.old_mode or 0o644)
    if given_up.new is None:
        return own
    mode = own.mode
    if given_up.old_mode is not None and _was_proposed_with(given_up.new_mode, own):
        mode = given_up.old_mode
    if own.data == given_up.new:
        return None if given_up.old is None else Version(given_up.old, mode)
    if LINK_MODE in (own.mode, given_up.old_mode, given_up.new_mode):
        raise Unclear
    merged = merge(given_up.new, given_up.old or b"", own.data).merged
    if merged is None:
        raise Unclear
    return None if given_up.old is None and not merged else Version(merged, mode)


def after_apply(own: Version | None, applied: Part, person: Version | None, base_mode: int | None) -> Settled:
    """Once a part is in the person's file: the base moves there, and the rest of the agent's work stays."""
    if own is None or applied.new is None:
        if own is None and applied.new is None:
            return Settled(person, person)
        if own is None:
            return Settled(None, person)
        return Settled(own, None)
    if person is None:
        if own.data == applied.new:
            return Settled(None, None)
        return Settled(own, Version(applied.new, applied.new_mode or own.mode))
    meant = base_mode if applied.new_mode is None else applied.new_mode
    mode = person.mode if _was_proposed_with(meant, own) else own.mode
    if own.data == applied.new:
        return Settled(Version(person.data, mode), person)
    if LINK_MODE in (own.mode, person.mode, applied.new_mode):
        return Settled(own, person)
    merged = merge(applied.new, person.data, own.data).merged
    if merged is None:
        return Settled(own, Version(applied.new, person.mode))
    return Settled(Version(merged, mode), person)


def _was_proposed_with(mode: int | None, own: Version) -> bool:
    """Whether the agent's file has a mode, but for rights that no proposal gives."""
    return mode is not None and mode in (own.mode, opened_no_further(mode, own.mode))


def _bytes(content: Content) -> bytes:
    return content.loaded()
