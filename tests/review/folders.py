"""Folders of files for the tests of applying: written, looked at as a whole, and changed at random."""

import os
import stat
from pathlib import Path

from hypothesis import strategies as st

from portico.review.text.change_set import LINK_MODE, ChangeOperation, ChangeSet, FileChange, FileContent

Files = dict[str, tuple[bytes, int]]
Seen = dict[str, tuple[bytes | None, int]]

NAMES = st.sampled_from(["a", "b", "c.txt", "d/a", "d/b", "d/e/f", "g/h", "ü/x"])
CONTENTS = st.sampled_from([b"", b"one\n", b"two\r\n", b"\0\xff", b"long\n" * 50])
MODES = st.sampled_from([0o644, 0o755, 0o600, 0o444])
LINKS = st.tuples(st.sampled_from([b"a", b"./b", b"c.txt", b"nowhere"]), st.just(LINK_MODE))
SIDES = st.one_of(st.tuples(CONTENTS, MODES), st.tuples(CONTENTS, MODES), LINKS)


def fill(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (content, mode) in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if mode == LINK_MODE:
            (folder / name).symlink_to(os.fsdecode(content))
            continue
        (folder / name).write_bytes(content)
        (folder / name).chmod(mode)


def seen(folder: Path) -> Seen:
    """Everything in a folder: names, contents and modes; of links where they lead, and LINK_MODE."""
    found: Seen = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = (os.fsencode(os.readlink(path)), LINK_MODE)  # noqa: PTH115 - as it is written
            continue
        content = path.read_bytes() if path.is_file() else None
        found[name] = (content, stat.S_IMODE(path.lstat().st_mode))
    return found


def change(path: str, old: bytes | None, new: bytes | None, **more: int | None) -> FileChange:
    operation = (
        ChangeOperation.CREATE
        if old is None
        else ChangeOperation.DELETE
        if new is None
        else ChangeOperation.UPDATE
    )
    return FileChange(
        path=path,
        operation=operation,
        old=None if old is None else FileContent.of(old),
        new=None if new is None else FileContent.of(new),
        old_mode=more.get("old_mode"),
        new_mode=more.get("new_mode"),
    )


@st.composite
def trees_and_edits(draw: st.DrawFn) -> tuple[Files, ChangeSet, Files]:
    """A tree, random changes to it, and the files that must be there afterwards."""
    before: Files = draw(st.dictionaries(NAMES, SIDES, max_size=6))
    after = dict(before)
    changes: list[FileChange] = []
    for path in sorted(before):
        content, mode = before[path]
        match draw(st.sampled_from(["leave", "update", "delete", "rename"])):
            case "update":
                new, new_mode = draw(SIDES)
                changes.append(change(path, content, new, old_mode=mode, new_mode=new_mode))
                after[path] = (new, new_mode)
            case "delete":
                changes.append(change(path, content, None, old_mode=mode))
                del after[path]
            case "rename" if mode != LINK_MODE:
                new = draw(CONTENTS)
                target = f"moved/{path}"
                was, becomes = FileContent.of(content), FileContent.of(new)
                changes.append(
                    FileChange(
                        path=target, old_path=path, operation=ChangeOperation.RENAME, old=was, new=becomes
                    )
                )
                del after[path]
                after[target] = (new, mode)
            case _:
                pass
    for path in sorted(draw(st.sets(NAMES)) - set(before)):
        new, new_mode = draw(SIDES)
        changes.append(change(path, None, new, new_mode=new_mode))
        after[path] = (new, new_mode)
    folders = sorted({parent.as_posix() for path in before for parent in Path(path).parents} - {"."})
    return (
        before,
        ChangeSet(tuple(changes), emptied=tuple(one for one in folders if draw(st.booleans()))),
        after,
    )
