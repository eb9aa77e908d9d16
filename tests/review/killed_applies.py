"""A change of every kind to a small folder, for the tests that kill an apply of it."""

from pathlib import Path

from portico.review.files.atomic_apply import AppliedChanges, Applier
from portico.review.text.change_set import LINK_MODE, ChangeOperation, ChangeSet, FileChange, FileContent
from tests.review.folders import Files, Seen, change, fill, seen

FILES: Files = {
    "a": (b"one\n", 0o644),
    "b": (b"two\n", 0o755),
    "d/c": (b"three\n", 0o600),
    "d/e/f": (b"four\n", 0o644),
    "g": (b"was a file\n", 0o644),
    "k": (b"./a", LINK_MODE),
    "m/n": (b"in a folder\n", 0o644),
    "o": (b"./m", LINK_MODE),
    "p": (b"moved", LINK_MODE),
}
CHANGES = ChangeSet(
    (
        change("a", b"one\n", b"ONE\n" * 2000),
        change("b", b"two\n", b"two\n", old_mode=0o755, new_mode=0o644),
        FileChange(
            path="moved/c",
            old_path="d/c",
            operation=ChangeOperation.RENAME,
            old=FileContent.of(b"three\n"),
            new=FileContent.of(b"3\n"),
        ),
        change("d/e/f", b"four\n", None),
        change("g", b"was a file\n", None),
        change("g/h", None, b"now a folder\n"),
        change("new/deep/file", None, b"fresh\n", new_mode=0o755),
        change("k", b"./a", b"./new", old_mode=LINK_MODE, new_mode=LINK_MODE),
        change("l", None, b"nowhere", new_mode=LINK_MODE),
        change("m/n", b"in a folder\n", None),
        change("m", None, b"new", new_mode=LINK_MODE),
        change("o", b"./m", None, old_mode=LINK_MODE),
        change("o/q", None, b"in a folder now\n"),
        change("p", b"moved", b"a file now\n", old_mode=LINK_MODE, new_mode=0o644),
    ),
    emptied=("d/e", "d", "m"),
)


def both_states(home: Path) -> tuple[Seen, Seen, ChangeSet]:
    """The folder before and after the change, with the way back; it is left as before."""
    fill(home / "work", FILES)
    before = seen(home / "work")
    applied = Applier(home / "state").apply(home / "work", CHANGES)
    assert isinstance(applied, AppliedChanges)
    after = seen(home / "work")
    Applier(home / "state").apply(home / "work", applied.undo)
    assert seen(home / "work") == before != after
    return before, after, applied.undo
