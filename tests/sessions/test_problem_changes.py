"""Problems that tool calls add and remove, by what an editor reports after a change."""

from pathlib import Path

import pytest

from portico.domain.events import AnyPayload, ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.ids import TurnId
from portico.domain.problems import FileProblems, Problem
from portico.domain.values import DiffPart, Location
from portico.editors.problem_reports import MOST_FILES, WindowProblems
from portico.sessions.content.problem_changes import SETTLE_SECONDS, ProblemChanges
from portico.testing.clock import ManualClock

TURN = TurnId("t1")
ODD = Problem(line=3, severity="warning", message="unused name", source="linter")
BROKEN = Problem(line=7, severity="error", message="unknown name", source="checker")


class Place:
    """A session in a folder, with an editor that reports problems."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.reports = WindowProblems()
        self.told: list[tuple[TurnId | None, AnyPayload]] = []
        self.changes = ProblemChanges(
            folder, self.clock, self.reports, lambda payload, turn: self.told.append((turn, payload))
        )

    def report(self, name: str, *problems: Problem) -> None:
        self.reports.update("window", str(self.folder / name), problems)

    def edit(self, name: str, tool_id: str = "c1", turn: TurnId = TURN) -> None:
        started = ToolStarted(tool_id=tool_id, title="Edit", tool_kind="edit", status="in_progress")
        content = (DiffPart(path=str(self.folder / name), new_text=""),)
        self.changes.note(started, turn)
        self.changes.note(ToolCompleted(tool_id=tool_id, success=True, duration_ms=1, content=content), turn)

    @property
    def files(self) -> list[tuple[str, tuple[FileProblems, ...] | None]]:
        updates = [payload for _, payload in self.told]
        return [(one.tool_id, one.problems) for one in updates if isinstance(one, ToolUpdated)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    return Place(folder)


def test_a_call_is_told_what_it_added_and_removed_also_after_its_turn(place: Place) -> None:
    place.report("a.py", ODD)
    place.edit("a.py")
    place.report("a.py", BROKEN)
    path = str(place.folder / "a.py")
    assert place.files == [("c1", (FileProblems(path=path, added=(BROKEN,), removed=(ODD,)),))]
    assert place.told[0][0] == TURN


def test_a_problem_whose_line_has_moved_is_the_same_and_a_second_one_is_another(place: Place) -> None:
    place.report("a.py", ODD)
    place.edit("a.py")
    moved = Problem(line=90, severity="warning", message="unused name", source="linter")
    place.report("a.py", moved)
    assert place.files == []
    place.report("a.py", moved, ODD)
    assert [len(problems[0].added) for _, problems in place.files if problems] == [1]


def test_a_list_that_settles_replaces_what_was_told(place: Place) -> None:
    place.edit("a.py")
    place.report("a.py", BROKEN)
    place.report("a.py", BROKEN)
    place.report("a.py")
    assert [problems for _, problems in place.files] == [
        (FileProblems(path=str(place.folder / "a.py"), added=(BROKEN,)),),
        (),
    ]


def test_the_last_call_that_changed_a_file_gets_what_comes(place: Place) -> None:
    place.edit("a.py", "first")
    place.report("a.py", ODD)
    place.edit("a.py", "second")
    place.edit("b.py", "third")
    place.report("a.py", ODD, BROKEN)
    assert [(tool, [one.added for one in problems or ()]) for tool, problems in place.files] == [
        ("first", [(ODD,)]),
        ("second", [(BROKEN,)]),
    ]


async def test_what_comes_much_later_or_in_the_next_turn_is_not_the_calls(place: Place) -> None:
    place.edit("a.py")
    await place.clock.advance(SETTLE_SECONDS + 1)
    place.report("a.py", BROKEN)
    place.edit("b.py", "c2")
    place.changes.begin_turn()
    place.report("b.py", BROKEN)
    assert place.files == []


def test_files_that_are_read_or_lie_outside_are_not_followed(place: Place) -> None:
    reads = ToolStarted(
        tool_id="r",
        title="Read",
        tool_kind="read",
        status="in_progress",
        locations=(Location(path=str(place.folder / "a.py")),),
    )
    place.changes.note(reads, TURN)
    place.edit("../b.py")
    place.report("a.py", BROKEN)
    place.report("../b.py", BROKEN)
    assert place.files == []


def test_what_a_window_reported_goes_with_it_and_a_closed_session_hears_nothing(place: Place) -> None:
    place.report("a.py", ODD)
    place.reports.forget("window")
    assert place.reports.known(place.folder, "a.py") == ()
    place.edit("a.py")
    place.changes.close()
    place.report("a.py", BROKEN)
    assert place.files == []


def test_what_is_kept_is_bounded(place: Place) -> None:
    for number in range(MOST_FILES + 5):
        place.report(f"{number}.py", *[ODD] * 300)
    assert place.reports.known(place.folder, "0.py") == ()
    assert len(place.reports.known(place.folder, f"{MOST_FILES}.py")) == 200
