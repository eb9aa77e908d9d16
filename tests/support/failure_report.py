"""Keeps what is printed of a failed test readable: wide enough for its reason, and without whole pages."""

from collections.abc import Iterator

import pytest

# A log that is read in a file has no width of its own; pytest would cut its lines at 80 characters.
WIDTH = 240
SNAPSHOT_LINES = 40
_SNAPSHOT = "\nAria snapshot:\n"


def widen(config: pytest.Config) -> None:
    """Leave room for the reasons in the summary when the output goes to a file or a pipe."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not reporter.isatty:
        config.get_terminal_writer().fullwidth = WIDTH


def shorten_snapshots(error: BaseException) -> None:
    """Cut the page that Playwright appends to a failed expectation: the whole of it hides the reason."""
    for each in _chain(error):
        text = str(each)
        if isinstance(each, AssertionError) and _SNAPSHOT in text:
            reason, _, snapshot = text.partition(_SNAPSHOT)
            lines = snapshot.splitlines()
            more = len(lines) - SNAPSHOT_LINES
            left_out = [f"… {more} more lines"] if more > 0 else []
            each.args = (reason + _SNAPSHOT + "\n".join(lines[:SNAPSHOT_LINES] + left_out),)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
