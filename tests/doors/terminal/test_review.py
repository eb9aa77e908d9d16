"""Proposals and checkpoints on a terminal, in a pipe, and in the bar below a chat."""

from collections.abc import Callable

import msgspec

from portico.domain.events import (
    CheckpointCreated,
    CheckpointRestored,
    Notice,
    ProposalUpdated,
)
from portico.domain.notice_codes import CHANGED_OUTSIDE_REVIEW
from portico.domain.reviews import ProposedFile
from portico.doors.terminal.input.chat_status import ChatStatus
from portico.doors.terminal.render.plain_renderer import PlainRenderer
from tests.doors.terminal.support import RUNNING, Stage, ended, feed, make_event, picture, started, text

PROPOSAL = ProposalUpdated(
    proposal_id="p1",
    revision=1,
    status="open",
    origin="turn",
    files=(
        ProposedFile(path="src/app.py", operation="update", added=3, removed=1),
        ProposedFile(path="notes.md", operation="create", added=2),
        ProposedFile(path="b.py", old_path="a.py", operation="rename", conflict=True),
        ProposedFile(path=".env", operation="update", added=1, denied=True, warning="It may hold secrets."),
        ProposedFile(path="x.png", operation="delete", binary=True),
    ),
    unlisted=3,
)
APPLIED = ProposalUpdated(proposal_id="p1", revision=2, status="applied", origin="turn", can_undo=True)
RESTORED = CheckpointRestored(checkpoint_id="c1", kept_checkpoint_id="c2", files=2, proposal_id="p2")


def plain(write: Callable[[str], None]) -> PlainRenderer:
    return PlainRenderer(lambda _: None, write)


def test_a_proposal_is_a_list_of_files_and_the_commands_that_decide_on_it() -> None:
    shown = Stage().show(started(), RUNNING, text("Done."), PROPOSAL, ended())
    assert shown == picture(
        """
        Done.

        ▌ Proposed: 8 files +6 −1
        ▌ ✎ src/app.py +3 −1
        ▌ + notes.md +2  new
        ▌ ↪ a.py → b.py  renamed · conflict: you changed or removed it
        ▌ ✎ .env +1  cannot be applied
        ▌   It may hold secrets.
        ▌ − x.png  deleted · binary
        ▌ … 3 more files
        ▌ show     portico review show s1 --diff
        ▌ apply    portico review apply --session s1
        ▌ discard  portico review discard --session s1

        ✓ 2.3s
        """
    )


def test_what_became_of_it_is_one_line_and_the_way_back() -> None:
    shown = Stage().show(started(), APPLIED, RESTORED)
    assert shown == picture(
        """
        ✓ Applied to your files
          undo  portico review undo --session s1

        ✓ Restored checkpoint c1: 2 files changed
          your changes since  portico review show s1 --proposal p2 --diff
          undo this restore   portico checkpoints restore c2 --session s1
        """
    )


OUTSIDE = Notice(
    level="warning",
    text="This file changed in your folder during this turn, outside the review: a.txt.",
    details="changed: a.txt",
    code=CHANGED_OUTSIDE_REVIEW,
    paths=("a.txt",),
    checkpoint_id="c1",
)


def test_files_that_changed_outside_the_review_come_with_the_commands_that_put_them_back() -> None:
    assert Stage(width=100).show(started(), OUTSIDE) == picture(
        """
        ! This file changed in your folder during this turn, outside the review: a.txt.
          changed: a.txt
          show     portico checkpoints diff c1 --session s1
          restore  portico checkpoints restore c1 --session s1
        """
    )
    lines: list[str] = []
    feed(plain(lines.append), OUTSIDE)
    assert "".join(lines).splitlines() == [
        "warning: This file changed in your folder during this turn, outside the review: a.txt.",
        "  changed: a.txt",
        "  show: portico checkpoints diff c1 --session s1",
        "  restore: portico checkpoints restore c1 --session s1",
    ]


def test_a_long_path_is_cut_and_its_counts_stay_in_sight() -> None:
    long = ProposedFile(path=f"{'folder/' * 12}name.py", operation="update", added=12, removed=3)
    shown = Stage(width=40).show(msgspec.structs.replace(PROPOSAL, files=(long,), unlisted=0))
    assert "… +12 −3" in shown


def test_a_checkpoint_is_taken_in_silence_unless_it_lacks_something() -> None:
    taken = CheckpointCreated(checkpoint_id="c1", label="fix it", moment="before_turn")
    assert Stage().show(started(), taken).strip() == ""
    lacking = msgspec.structs.replace(taken, left_out=2)
    assert "does not include 2 files" in Stage().show(started(), lacking)
    notes: list[str] = []
    feed(plain(notes.append), started(), taken)
    assert notes == []
    feed(plain(notes.append), started(), lacking)
    assert notes[0].startswith("info: The checkpoint does not include 2 files")


def test_a_pipe_gets_the_same_as_lines_beside_the_answer() -> None:
    notes: list[str] = []
    feed(plain(notes.append), started(), PROPOSAL, APPLIED, RESTORED)
    assert "".join(notes) == picture(
        """
        proposed: 8 files +6 -1
          src/app.py  +3 -1
          notes.md  +2  new
          a.py → b.py  renamed, conflict: you changed or removed it
          .env  +1  cannot be applied
            It may hold secrets.
          x.png  deleted, binary
          and 3 more files
          show: portico review show s1 --diff
          apply: portico review apply --session s1
          discard: portico review discard --session s1
        applied to your files
          undo: portico review undo --session s1
        restored checkpoint c1: 2 files changed
          your changes since: portico review show s1 --proposal p2 --diff
          undo this restore: portico checkpoints restore c2 --session s1
        """
    )


def test_hostile_names_reach_no_terminal() -> None:
    evil = ProposedFile(path="a\x1b[2Jb\nc.py", operation="update", added=1, warning="x\x1b]0;pwned\x07")
    notes: list[str] = []
    proposal = msgspec.structs.replace(PROPOSAL, files=(evil,), unlisted=0)
    feed(plain(notes.append), started(), proposal)
    assert "\x1b" not in "".join(notes) + Stage().show(started(), proposal)
    assert len([line for line in "".join(notes).splitlines() if "c.py" in line]) == 1


def test_the_bar_below_a_chat_says_how_much_is_proposed_until_it_is_decided() -> None:
    status = ChatStatus(agent="porter", session_id="s1", workspace="/work/app")
    assert "proposed" not in status.toolbar(80)
    status = status.after(make_event(PROPOSAL))
    assert "8 files proposed" in status.toolbar(80)
    assert "proposed" not in status.after(make_event(APPLIED)).toolbar(80)
