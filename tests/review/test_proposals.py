"""Proposals of an agent: shown, applied by file and hunk, discarded, undone, with nothing lost on the way."""

import errno
import shutil
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portico.domain.errors import InvalidInput, PermissionDenied, StoreFailed
from portico.review.files.atomic_apply import Applier
from portico.review.files.disk import Disk
from portico.review.proposals.lifecycle import Proposals
from portico.review.proposals.protection import Protection
from portico.review.proposals.selection import SelectedFile
from portico.review.text.change_set import ChangeOperation, ChangeSet, FileChange, FileContent
from portico.testing.clock import ManualClock
from tests.review.folders import change, fill, seen

LINES = [b"line %d\n" % number for number in range(40)]
OLD = b"".join(LINES)
NEW = b"".join([b"first\n", *LINES[1:20], b"middle\n", *LINES[21:39], b"last\n"])


@pytest.fixture
def work(tmp_path: Path) -> Path:
    fill(tmp_path / "work", {"long": (OLD, 0o644), "short": (b"short\n", 0o644)})
    return tmp_path / "work"


@pytest.fixture
def proposals(tmp_path: Path) -> Proposals:
    return make(tmp_path)


def make(home: Path, protection: Protection | None = None) -> Proposals:
    """As another process would."""
    return Proposals(
        home / "proposals",
        Applier(home / "applies"),
        ManualClock(),
        lambda _: protection or Protection(),
    )


CHANGES = ChangeSet(
    (change("long", OLD, NEW), change("short", b"short\n", None), change("d/new", None, b"new\n"))
)


def test_what_is_proposed_touches_no_file_and_is_there_for_the_next_process(
    tmp_path: Path, work: Path, proposals: Proposals
) -> None:
    before = seen(work)
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    assert seen(work) == before
    payload = make(tmp_path).payload(proposal.id)
    assert (payload.status, payload.revision, payload.can_undo) == ("open", 1, False)
    assert [(one.path, one.operation, one.added, one.removed) for one in payload.files] == [
        ("long", "update", 3, 3),
        ("short", "delete", 0, 1),
        ("d/new", "create", 1, 0),
    ]
    assert len(payload.files[0].hunks) == 3
    assert "+middle" in payload.files[0].diff


def test_applying_everything_writes_it_and_taking_it_back_leaves_no_trace(
    work: Path, proposals: Proposals
) -> None:
    before = seen(work)
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    applied = proposals.apply(proposal.id, 1)
    assert (applied.proposal.status, applied.proposal.revision) == ("applied", 2)
    assert (work / "long").read_bytes() == NEW
    assert not (work / "short").exists()
    undone = proposals.undo(proposal.id, 2)
    assert (undone.proposal.status, undone.proposal.can_undo) == ("open", False)
    assert seen(work) == before
    assert proposals.apply(proposal.id, 3).proposal.status == "applied"
    assert (work / "d/new").read_bytes() == b"new\n"


def test_a_hunk_is_applied_alone_and_the_others_stay_proposed(work: Path, proposals: Proposals) -> None:
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    middle = proposals.payload(proposal.id).files[0].hunks[1].hunk_id
    decided = proposals.apply(proposal.id, 1, [SelectedFile("long", (middle,))])
    assert (work / "long").read_bytes() == OLD.replace(b"line 20\n", b"middle\n")
    assert decided.proposal.status == "open"
    left = proposals.payload(proposal.id).files
    assert [(one.path, len(one.hunks), one.added) for one in left] == [
        ("long", 2, 2),
        ("short", 1, 0),
        ("d/new", 1, 1),
    ]
    proposals.apply(proposal.id, 2)
    assert (work / "long").read_bytes() == NEW


def test_a_hunk_that_is_discarded_is_never_written(work: Path, proposals: Proposals) -> None:
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    middle = proposals.payload(proposal.id).files[0].hunks[1].hunk_id
    proposals.discard(proposal.id, 1, [SelectedFile("long", (middle,)), SelectedFile("short")])
    proposals.apply(proposal.id, 2)
    assert (work / "long").read_bytes() == NEW.replace(b"middle\n", b"line 20\n")
    assert (work / "short").read_bytes() == b"short\n"


def test_discarding_all_closes_the_proposal(work: Path, proposals: Proposals) -> None:
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    assert proposals.discard(proposal.id, 1).proposal.status == "discarded"
    assert proposals.current("s") is None
    with pytest.raises(InvalidInput, match="nothing left to apply"):
        proposals.apply(proposal.id, 2)


def test_who_looks_at_an_old_revision_is_told_to_look_again(work: Path, proposals: Proposals) -> None:
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    proposals.apply(proposal.id, 1, [SelectedFile("short")])
    for decide in (proposals.apply, proposals.discard, proposals.undo):
        with pytest.raises(InvalidInput, match="now at revision 2, not 1") as failure:
            decide(proposal.id, 1)
        assert failure.value.suggestion == "Review it again, then decide."


def test_the_next_turn_takes_the_place_of_what_waits(work: Path, proposals: Proposals) -> None:
    first = proposals.put("s", work, CHANGES, "turn")
    again = proposals.put("s", work, CHANGES, "turn")
    assert first == again, "Nothing new was proposed, so nothing is told."
    other = proposals.put("s", work, ChangeSet((change("short", b"short\n", b"longer\n"),)), "turn")
    assert first is not None
    assert other is not None
    assert (other.id, other.revision) == (first.id, 2)
    gone = proposals.put("s", work, ChangeSet(), "turn")
    assert gone is not None
    assert gone.status == "discarded"
    assert proposals.put("s", work, ChangeSet(), "turn") is None


def test_what_a_tool_proposes_in_two_calls_waits_together(work: Path, proposals: Proposals) -> None:
    proposals.put("s", work, ChangeSet((change("a", None, b"a\n"), change("b", None, b"b\n"))), "tool")
    both = proposals.put("s", work, ChangeSet((change("b", None, b"B\n"),)), "tool")
    assert both is not None
    proposals.apply(both.id, both.revision)
    assert ((work / "a").read_bytes(), (work / "b").read_bytes()) == (b"a\n", b"B\n")


def test_lines_that_the_person_changed_elsewhere_stay_through_apply_and_undo(
    work: Path, proposals: Proposals
) -> None:
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    (work / "long").write_bytes(OLD.replace(b"line 10\n", b"mine\n"))
    applied = proposals.apply(proposal.id, 1)
    assert applied.merged == ("long",)
    assert (work / "long").read_bytes() == NEW.replace(b"line 10\n", b"mine\n")
    (work / "long").write_bytes((work / "long").read_bytes().replace(b"line 30\n", b"mine too\n"))
    proposals.undo(proposal.id, 2)
    expected = OLD.replace(b"line 10\n", b"mine\n").replace(b"line 30\n", b"mine too\n")
    assert (work / "long").read_bytes() == expected


@pytest.mark.parametrize(("side", "kept"), [("agent", b"middle\n"), ("person", b"mine\n")])
def test_a_collision_writes_nothing_until_a_side_is_chosen(
    work: Path, proposals: Proposals, side: str, kept: bytes
) -> None:
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    (work / "long").write_bytes(OLD.replace(b"line 20\n", b"mine\n"))
    before = seen(work)
    decided = proposals.apply(proposal.id, 1)
    assert decided.conflicted == ("long",)
    assert seen(work) == before
    assert [one.conflict for one in proposals.payload(proposal.id).files] == [True, False, False]
    _, sides = proposals.file(proposal.id, "long")
    assert [(one.base, one.person, one.agent) for one in sides.conflicts] == [
        (b"line 20\n", b"mine\n", b"middle\n")
    ]
    choice = {"long": side}
    applied = proposals.apply(proposal.id, 2, resolve=choice)  # type: ignore[arg-type]
    assert applied.proposal.status == "applied"
    assert (work / "long").read_bytes() == NEW.replace(b"middle\n", kept), "Other lines of the agent come."
    proposals.undo(proposal.id, 3)
    assert seen(work) == before


def test_a_file_that_is_deleted_here_and_changed_there_is_a_collision(
    work: Path, proposals: Proposals
) -> None:
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    (work / "short").write_bytes(b"not so short\n")
    (work / "long").unlink()
    assert proposals.apply(proposal.id, 1).conflicted == ("long", "short")
    proposals.apply(proposal.id, 2, resolve={"long": "person", "short": "agent"})
    assert sorted(seen(work)) == ["d", "d/new"]


def test_a_collision_is_seen_before_anybody_tries_to_apply(work: Path, proposals: Proposals) -> None:
    (work / "long").write_bytes(OLD.replace(b"line 20\n", b"mine\n"))
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    assert [one.conflict for one in proposals.payload(proposal.id).files] == [True, False, False]


def test_of_two_who_decide_at_once_one_is_told_to_look_again(tmp_path: Path, work: Path) -> None:
    proposal = make(tmp_path).put("s", work, CHANGES, "turn")
    assert proposal is not None
    outcomes: list[str] = []

    def decide() -> None:
        try:
            outcomes.append(make(tmp_path).apply(proposal.id, 1).proposal.status)
        except InvalidInput as error:
            outcomes.append(error.message)

    people = [threading.Thread(target=decide) for _ in range(4)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert sorted(outcomes)[-1] == "applied"
    assert outcomes.count("The proposal is now at revision 2, not 1.") == 3


def test_a_full_disk_behind_the_record_leaves_files_and_proposal_as_they_were(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposals = make(tmp_path)
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    (work / "long").write_bytes(OLD.replace(b"line 10\n", b"mine\n"))
    before = seen(work)
    write_new = Disk.write_new

    def full(self: Disk, path: Path, *rest: Any) -> None:
        if path.suffix == ".pack":
            raise OSError(errno.ENOSPC, "No space left on device")
        write_new(self, path, *rest)

    monkeypatch.setattr(Disk, "write_new", full)
    with pytest.raises(StoreFailed, match=r"No space left on device.*everything is as it was"):
        proposals.apply(proposal.id, 1)
    with pytest.raises(StoreFailed, match="No space left"):
        proposals.put("s", work, ChangeSet((change("other", None, b"x\n"),)), "turn")
    monkeypatch.undo()
    assert seen(work) == before
    assert proposals.get(proposal.id) == proposal
    assert proposals.apply(proposal.id, 1).proposal.status == "applied"


def test_a_content_that_is_damaged_on_the_disk_is_never_written(tmp_path: Path, work: Path) -> None:
    proposals = make(tmp_path)
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    before = seen(work)
    (pack,) = (tmp_path / "proposals").rglob("*.pack")
    pack.write_bytes(pack.read_bytes().replace(b"middle", b"MIDDLE"))
    with pytest.raises(StoreFailed, match="damaged"):
        proposals.apply(proposal.id, 1)
    assert seen(work) == before


def test_a_renamed_file_can_be_taken_with_some_of_its_hunks(work: Path, proposals: Proposals) -> None:
    before = seen(work)
    renamed = FileChange(
        path="d/long",
        old_path="long",
        operation=ChangeOperation.RENAME,
        old=FileContent.of(OLD),
        new=FileContent.of(NEW),
        old_mode=0o644,
        new_mode=0o755,
    )
    proposal = proposals.put("s", work, ChangeSet((renamed,)), "turn")
    assert proposal is not None
    first = proposals.payload(proposal.id).files[0].hunks[0].hunk_id
    proposals.apply(proposal.id, 1, [SelectedFile("d/long", (first,))])
    assert seen(work)["d/long"] == (OLD.replace(b"line 0\n", b"first\n"), 0o644)
    assert "long" not in seen(work)
    proposals.apply(proposal.id, 2)
    assert seen(work)["d/long"] == (NEW, 0o755)
    proposals.undo(proposal.id, 3)
    assert proposals.undo(proposal.id, 4).proposal.changes == proposal.changes
    assert seen(work) == before


def test_a_workspace_that_is_gone_is_said_to_be(tmp_path: Path, work: Path) -> None:
    proposals = make(tmp_path)
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    shutil.rmtree(work)
    with pytest.raises(InvalidInput, match="is not a folder"):
        proposals.apply(proposal.id, 1)
    assert proposals.get(proposal.id).revision == 1


def test_an_undo_that_would_lose_the_persons_lines_does_nothing(work: Path, proposals: Proposals) -> None:
    proposal = proposals.put("s", work, CHANGES, "turn")
    assert proposal is not None
    proposals.apply(proposal.id, 1)
    (work / "long").write_bytes(NEW.replace(b"middle\n", b"mine\n"))
    before = seen(work)
    assert proposals.undo(proposal.id, 2).conflicted == ("long",)
    assert seen(work) == before
    proposals.undo(proposal.id, 2, resolve={"long": "person"})
    assert (work / "long").read_bytes() == OLD.replace(b"line 20\n", b"mine\n")


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "a/id_rsa", "lib/x.py", "LIB/x.py", ".git/config", ".GIT/hooks/x", ".netrc", "web/.npmrc"),
        *(".pypirc", ".aws/credentials", "home/.docker/config.json", ".Kube/Config", ".ssh/known_hosts"),
    ],
)
def test_a_denied_file_is_shown_and_never_written(tmp_path: Path, work: Path, path: str) -> None:
    proposals = make(tmp_path, Protection(deny=("lib/",)))
    changes = ChangeSet((change(path, None, b"x\n"), change("fine", None, b"y\n")))
    proposal = proposals.put("s", work, changes, "turn")
    assert proposal is not None
    file = proposals.payload(proposal.id).files[0]
    assert file.denied
    assert file.warning is not None
    assert "cannot be applied" in file.warning
    with pytest.raises(PermissionDenied, match="cannot be applied"):
        proposals.apply(proposal.id, 1, [SelectedFile(path)])
    decided = proposals.apply(proposal.id, 1)
    assert (decided.refused, decided.proposal.status) == ((path,), "applied")
    assert not (work / path).exists()
    assert (work / "fine").exists()
    left = proposals.put("s", work, ChangeSet((change(path, None, b"x\n"),)), "turn")
    assert left is not None
    assert left.id == proposal.id, "What was refused is not proposed over and over."


def test_what_may_be_a_secret_is_in_no_event_and_shown_to_who_asks(work: Path, proposals: Proposals) -> None:
    proposal = proposals.put("s", work, ChangeSet((change(".env", None, b"KEY=hush\n"),)), "turn")
    assert proposal is not None
    payload = proposals.payload(proposal.id)
    assert b"hush" not in msgspec.json.encode(payload)
    assert payload.files[0].shortened
    shown, _ = proposals.file(proposal.id, ".env")
    assert "+KEY=hush" in shown.diff


def test_with_an_allow_list_only_what_it_names_can_be_changed(tmp_path: Path, work: Path) -> None:
    proposals = make(tmp_path, Protection(allow=("src/**/*.py",)))
    names = ("src/a.py", "src/deep/er/b.py", "src/c.js", "d.py")
    proposal = proposals.put("s", work, ChangeSet(tuple(change(one, None, b"1\n") for one in names)), "turn")
    assert proposal is not None
    assert proposal.denied == {"src/c.js", "d.py"}


def test_a_link_that_leads_out_cannot_be_written_through(tmp_path: Path, work: Path) -> None:
    (tmp_path / "outside").mkdir()
    (work / "out").symlink_to(tmp_path / "outside")
    proposals = make(tmp_path)
    proposal = proposals.put("s", work, ChangeSet((change("out/x", None, b"x\n"),)), "turn")
    assert proposal is not None
    assert proposals.payload(proposal.id).files[0].denied
    with pytest.raises(PermissionDenied):
        proposals.apply(proposal.id, 1, [SelectedFile("out/x")])
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize(
    ("path", "old", "new", "word"),
    [
        ("a", b"1\r\n2\r\n", b"1\n2\n", "line ends change from CRLF to LF"),
        ("a", "ä\n".encode(), "ä\n".encode("latin-1"), "encoding changes from utf-8 to latin-1"),
        ("a", None, b"x" * (1024 * 1024 + 1), "It is large (1.0 MB)"),
    ],
)
def test_what_is_easily_overlooked_is_said(
    work: Path, proposals: Proposals, path: str, old: bytes | None, new: bytes, word: str
) -> None:
    fill(work, {} if old is None else {path: (old, 0o644)})
    proposal = proposals.put("s", work, ChangeSet((change(path, old, new),)), "turn")
    assert proposal is not None
    assert word in (proposals.payload(proposal.id).files[0].warning or "")


def test_a_file_that_becomes_a_program_is_said_to(work: Path, proposals: Proposals) -> None:
    changes = ChangeSet((change("short", b"short\n", b"short\n", old_mode=0o644, new_mode=0o755),))
    proposal = proposals.put("s", work, changes, "turn")
    assert proposal is not None
    assert proposals.payload(proposal.id).files[0].warning == "It becomes a program (644 → 755)."
    proposals.apply(proposal.id, 1)
    assert (work / "short").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("path", "data", "generated"),
    [
        ("uv.lock", b"x\n", True),
        ("web/package-lock.json", b"{}\n", True),
        ("a.min.js", b"x", True),
        ("bundle.js", b"x" * 5000, True),
        ("schema.py", b"# Code generated by a tool. DO NOT EDIT.\n", True),
        ("node_modules/left/pad.js", b"x\n", True),
        ("blocks.py", b"def generate(): ...\n", False),
        ("built/x", b"x\n", True),
    ],
)
def test_files_that_programs_write_are_marked(
    work: Path, proposals: Proposals, path: str, data: bytes, generated: bool
) -> None:
    proposal = proposals.put("s", work, ChangeSet((change(path, None, data),)), "turn", ignored={"built/x"})
    assert proposal is not None
    assert proposals.payload(proposal.id).files[0].generated is generated


def test_a_proposal_of_any_size_is_told_in_bounded_words(work: Path, proposals: Proposals) -> None:
    few = [change(f"large{number}", None, b"word\n" * 10_000) for number in range(8)]
    huge = [change("huge", None, b"word\n" * 30_000)]
    many = [change(f"d/{number}", None, b"x\n") for number in range(2100)]
    proposal = proposals.put("s", work, ChangeSet((*huge, *few, *many)), "turn")
    assert proposal is not None
    payload = proposals.payload(proposal.id)
    assert (len(payload.files), payload.unlisted) == (2000, 109)
    assert payload.files[0].shortened
    assert payload.files[0].added == 30_000
    told = sum(len(one.diff.encode()) for one in payload.files)
    assert 128 * 1024 < told <= 256 * 1024
    shown, sides = proposals.file(proposal.id, "huge")
    assert (shown.shortened, len(shown.hunks), sides.agent) == (False, 1, b"word\n" * 30_000)


def test_binary_files_come_whole_and_byte_for_byte(work: Path, proposals: Proposals) -> None:
    fill(work, {"picture": (b"\0\1\2" * 1000, 0o644)})
    proposal = proposals.put("s", work, ChangeSet((change("picture", b"\0\1\2" * 1000, b"\0\3"),)), "turn")
    assert proposal is not None
    file = proposals.payload(proposal.id).files[0]
    assert (file.binary, file.hunks, file.added) == (True, (), 0)
    proposals.apply(proposal.id, 1)
    assert (work / "picture").read_bytes() == b"\0\3"


def test_contents_that_nothing_speaks_of_any_more_are_removed(
    tmp_path: Path, work: Path, proposals: Proposals
) -> None:
    for number in range(5):
        changes = ChangeSet((change("a", None, b"%d\n" % number),))
        proposals.put("s", work, changes, "turn")
    assert len(list((tmp_path / "proposals").rglob("*.pack"))) == 1
    proposals.forget("s")
    assert not list((tmp_path / "proposals").iterdir())


def test_ids_of_other_programs_are_no_paths(tmp_path: Path, work: Path, proposals: Proposals) -> None:
    proposal = proposals.put("../../a b/ü", work, CHANGES, "turn")
    assert proposal is not None
    assert proposals.get(proposal.id).session == "../../a b/ü"
    assert {one.name for one in tmp_path.iterdir()} == {"work", "proposals"}
    with pytest.raises(InvalidInput, match="no proposal"):
        proposals.get("../x")
