"""For any tree and any edits: what is applied can be taken back, and parts in any order make the whole."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from portico.domain.reviews import ProposedFile
from portico.review.files.atomic_apply import Applier
from portico.review.proposals.lifecycle import Proposals
from portico.review.proposals.selection import SelectedFile
from portico.review.text.change_set import ChangeSet
from portico.testing.clock import ManualClock
from tests.review.folders import Files, change, fill, seen, trees_and_edits

LINES = st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\xff\n", b"\n"])
GAP = b"".join(b"gap %d\n" % number for number in range(8))


@st.composite
def edited_texts(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two versions of a text that differ at places far enough from each other to be hunks of their own."""
    old: list[bytes] = []
    new: list[bytes] = []
    for _ in range(draw(st.integers(1, 5))):
        old += [*draw(st.lists(LINES, max_size=3)), GAP]
        new += [*draw(st.lists(LINES, max_size=3)), GAP]
    ends = st.sampled_from([b"", b"no end", b"other end"])
    return b"".join([*old, draw(ends)]), b"".join([*new, draw(ends)])


def _some_hunks(file: ProposedFile) -> st.SearchStrategy[tuple[str, ...] | None]:
    """Some hunks of a file, or all of it."""
    if not file.hunks:
        return st.none()
    known = st.sampled_from([one.hunk_id for one in file.hunks])
    return st.none() | st.lists(known, unique=True, min_size=1).map(tuple)


def make(home: Path, before: Files) -> Proposals:
    fill(home / "work", before)
    return Proposals(home / "proposals", Applier(home / "applies"), ManualClock())


@settings(max_examples=60)
@given(trees_and_edits())
def test_an_apply_that_is_taken_back_leaves_every_byte_and_mode_as_it_was(
    case: tuple[Files, ChangeSet, Files],
) -> None:
    before, changes, after = case
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        proposals = make(home, before)
        was = seen(home / "work")
        proposal = proposals.put("s", home / "work", changes, "turn")
        if proposal is None:
            return
        proposals.apply(proposal.id, 1)
        files = {path: one for path, one in seen(home / "work").items() if one[0] is not None}
        assert files == after
        undone = proposals.undo(proposal.id, 2).proposal
        assert seen(home / "work") == was
        assert {one.path: (one.old, one.new) for one in undone.changes.changes} == {
            one.path: (one.old, one.new) for one in proposal.changes.changes
        }
        proposals.apply(proposal.id, 3)
        files = {path: one for path, one in seen(home / "work").items() if one[0] is not None}
        assert files == after


@settings(max_examples=40)
@given(trees_and_edits(), st.dictionaries(st.sampled_from("xyz"), edited_texts(), min_size=1), st.data())
def test_parts_in_any_order_and_then_the_rest_make_the_same_as_all_at_once(
    case: tuple[Files, ChangeSet, Files], texts: dict[str, tuple[bytes, bytes]], data: st.DataObject
) -> None:
    before, changes, after = case
    before = before | {path: (old, 0o644) for path, (old, _) in texts.items()}
    after = after | {path: (new, 0o755) for path, (_, new) in texts.items()}
    edits = [
        change(path, old, new, old_mode=0o644, new_mode=0o755) for path, (old, new) in sorted(texts.items())
    ]
    changes = ChangeSet((*changes.changes, *edits), emptied=changes.emptied)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        proposals = make(home, before)
        was = seen(home / "work")
        proposal = proposals.put("s", home / "work", changes, "turn")
        assert proposal is not None
        steps = 0
        while proposal.status == "open":
            files = proposals.payload(proposal.id).files
            picked = data.draw(st.lists(st.sampled_from(files), unique_by=lambda one: one.path))
            chosen = [SelectedFile(file.path, data.draw(_some_hunks(file))) for file in picked]
            steps += 1
            proposal = proposals.apply(proposal.id, proposal.revision, () if steps > 4 else chosen).proposal
        found = {path: one for path, one in seen(home / "work").items() if one[0] is not None}
        assert found == after
        while proposal.can_undo:
            proposal = proposals.undo(proposal.id, proposal.revision).proposal
        assert seen(home / "work") == was


@settings(max_examples=60)
@given(edited_texts())
def test_all_hunks_chosen_one_by_one_make_the_new_content(texts: tuple[bytes, bytes]) -> None:
    old, new = texts
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        proposals = make(home, {"a": (old, 0o644)})
        proposal = proposals.put("s", home / "work", ChangeSet((change("a", old, new),)), "turn")
        assert proposal is not None
        hunks = tuple(one.hunk_id for one in proposals.payload(proposal.id).files[0].hunks)
        if not hunks:
            assert old == new
            return
        proposals.apply(proposal.id, 1, [SelectedFile("a", hunks)])
        assert (home / "work" / "a").read_bytes() == new


@settings(max_examples=40)
@given(edited_texts(), st.data())
def test_to_give_hunks_up_and_apply_the_rest_is_to_apply_the_others(
    texts: tuple[bytes, bytes], data: st.DataObject
) -> None:
    old, new = texts
    found = []
    with tempfile.TemporaryDirectory() as name:
        for way in ("one", "other"):
            home = Path(name) / way
            proposals = make(home, {"a": (old, 0o644)})
            proposal = proposals.put("s", home / "work", ChangeSet((change("a", old, new),)), "turn")
            assert proposal is not None
            hunks = [one.hunk_id for one in proposals.payload(proposal.id).files[0].hunks]
            if way == "one":
                given_up = data.draw(st.lists(st.sampled_from(hunks), unique=True)) if hunks else []
                if not given_up or len(given_up) == len(hunks):
                    return
                proposals.discard(proposal.id, 1, [SelectedFile("a", tuple(given_up))])
                proposals.apply(proposal.id, 2)
            else:
                others = tuple(one for one in hunks if one not in given_up)
                proposals.apply(proposal.id, 1, [SelectedFile("a", others)])
            found.append((home / "work" / "a").read_bytes())
    assert found[0] == found[1]
