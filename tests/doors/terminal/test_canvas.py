"""The live region at the bottom of the terminal: redrawn in place, as little as possible."""

from hypothesis import given, settings
from hypothesis import strategies as st

from portico.doors.terminal.render.canvas import LiveRegion
from tests.doors.terminal.screen import Screen

LINES = st.lists(
    st.sampled_from(("one", "two", "", "three words here", "漢字", "\x1b[31mred\x1b[0m")), max_size=5
)


def region_on(screen: Screen) -> LiveRegion:
    def write(text: str) -> None:
        screen.write(text)

    return LiveRegion(write, lambda: screen.width)


@settings(deadline=None)
@given(st.lists(st.tuples(LINES, LINES), max_size=8))
def test_the_screen_shows_all_permanent_lines_and_then_the_live_ones(
    frames: list[tuple[list[str], list[str]]],
) -> None:
    screen = Screen()
    region = region_on(screen)
    written: list[str] = []
    for permanent, live in frames:
        region.draw(permanent, live)
        written += permanent
        wanted = "\n".join((*written, *live)).replace("\x1b[31m", "").replace("\x1b[0m", "")
        assert screen.text == wanted.rstrip("\n") + "\n"


def test_lines_that_did_not_change_are_not_written_again() -> None:
    screen = Screen()
    region = region_on(screen)
    region.draw((), ("answer", "", "status 1"))
    before = len(screen.raw)
    region.draw((), ("answer", "", "status 2"))
    assert "answer" not in screen.raw[before:]
    before = len(screen.raw)
    region.draw((), ("answer", "", "status 2"))
    assert screen.raw[before:] == ""


def test_a_block_that_becomes_permanent_as_it_stood_is_not_written_again() -> None:
    screen = Screen()
    region = region_on(screen)
    region.draw((), ("finished block", "status"))
    before = len(screen.raw)
    region.draw(("finished block",), ("next", "status"))
    assert "finished block" not in screen.raw[before:]
    assert screen.text == "finished block\nnext\nstatus\n"


def test_when_the_terminal_became_narrower_the_wrapped_rows_are_cleared_too() -> None:
    width = 40
    written: list[str] = []
    region = LiveRegion(written.append, lambda: width)
    region.draw((), ("\x1b[1m" + "x" * 30 + "\x1b[0m", "status"))
    width = 20
    region.draw((), ("new",))
    assert written[-1].count("\x1b[A") == 2
