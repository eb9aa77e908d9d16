"""For random trees, edits and unsaved texts: the way through a window comes to what the way to the disk does."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from portico.domain.errors import InvalidInput
from portico.review.editor.unsaved_buffers import see
from portico.review.editor.window_apply import WindowApplier
from portico.review.files.atomic_apply import AppliedChanges, Applier, ApplyReceipt, ConflictedChanges
from portico.review.text.change_set import ChangeSet
from portico.testing.windows import MemoryWindow, MemoryWindows
from tests.review.folders import Files, Seen, fill, seen, trees_and_edits


def on_screen(window: MemoryWindow) -> dict[str, str | None]:
    return {name: window.text(name) for name in window.unsaved()}


def contents(found: Seen) -> dict[str, bytes | None]:
    return {path: content for path, (content, _) in found.items()}


def apply(
    window: MemoryWindow, home: str, root: Path, changes: ChangeSet
) -> AppliedChanges | ConflictedChanges | None:
    """Outcome; None if it was refused because of unsaved changes."""
    state = Path(home, "own")
    state.mkdir(exist_ok=True)
    windows = MemoryWindows(window)

    async def carry_out() -> AppliedChanges | ConflictedChanges:
        view = await see(windows, "s1", root)
        loop = asyncio.get_running_loop()
        writer = WindowApplier(Applier(state), windows, loop, "s1", view, doing="applying")
        receipt = ApplyReceipt(state / "receipt.json", lambda _: b"{}")
        return await asyncio.to_thread(writer.apply, root, changes, receipt)

    try:
        return asyncio.run(carry_out())
    except InvalidInput:
        return None


@settings(max_examples=60, deadline=None)
@given(trees_and_edits())
def test_both_ways_make_the_same_files_and_take_them_back(
    made: tuple[Files, ChangeSet, Files],
) -> None:
    before, changes, _ = made
    with tempfile.TemporaryDirectory() as home:
        plain, through = Path(home, "plain"), Path(home, "through")
        fill(plain, before)
        fill(through, before)
        start = contents(seen(through))
        window = MemoryWindow(through)
        Applier(Path(home, "state")).apply(plain, changes)
        applied = apply(window, home, through, changes)
        assert isinstance(applied, AppliedChanges)
        assert contents(seen(through)) == contents(seen(plain))
        apply(window, home, through, applied.undo)
        assert contents(seen(through)) == start


@settings(max_examples=60, deadline=None)
@given(trees_and_edits(), st.data())
def test_beside_unsaved_texts_all_is_applied_and_taken_back_or_nothing_is_touched(
    made: tuple[Files, ChangeSet, Files], data: st.DataObject
) -> None:
    before, changes, _ = made
    with tempfile.TemporaryDirectory() as home:
        root = Path(home, "root")
        fill(root, before)
        window = MemoryWindow(root)
        for path in sorted(before):
            if data.draw(st.booleans()) and b"\0" not in before[path][0]:
                window.type(
                    path, data.draw(st.sampled_from(["", "typed\n", "one\ntyped\n", "two\r\ntyped\r\n"]))
                )
        start = seen(root), on_screen(window)
        applied = apply(window, home, root, changes)
        if not isinstance(applied, AppliedChanges):
            assert (seen(root), on_screen(window)) == start
            return
        after = seen(root), on_screen(window)
        if isinstance(apply(window, home, root, applied.undo), AppliedChanges):
            texts = {name: window.text(name) for name in start[1]}
            assert (contents(seen(root)), texts) == (contents(start[0]), start[1])
        else:
            # A file that has to become a program again, which no window can make it.
            assert (seen(root), on_screen(window)) == after
