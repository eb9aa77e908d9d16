"""Printer of proposals, diffs and checkpoints: coloured on a terminal, a plain git patch in a pipe.

In a pipe a diff is a patch that git can apply, and nothing else.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from portico.domain.events import ProposalUpdated
from portico.domain.reviews import ProposedFile, ProposedHunk
from portico.doors.terminal.labels import age, pluralize
from portico.doors.terminal.output import is_plain_output, make_writer, plain_columns
from portico.doors.terminal.review import proposal_labels
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.sessions.review_actions import CheckpointSummary, FileConflict, FileContents

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class ReviewPrinter:
    """Prints proposals and checkpoints. `term` is the TERM of the environment."""

    def __init__(self, term: str, output: TextIO | None = None) -> None:
        self._output = output or sys.stdout
        self._term = term
        self._write = make_writer(self._output)

    @property
    def plain(self) -> bool:
        return is_plain_output(self._output, self._term)

    def line(self, words: str) -> None:
        self._write(f"{words}\n")

    def proposal(self, proposal: ProposalUpdated, session_id: str, *, among_others: bool = False) -> None:
        """Print the files of a proposal and the commands for it."""
        if not self.plain:
            from rich.console import Console

            from portico.doors.terminal.review.proposal_cards import proposal as card
            from portico.doors.terminal.theme import signs_for

            console = Console(file=self._output, highlight=False, markup=False, emoji=False)
            signs = signs_for(console.encoding)
            console.print(card(proposal, session_id, signs, among_others=among_others))
            return
        self.line(proposal_labels.proposal_title(proposal))
        self.files(proposal.files, proposal.unlisted)
        for what, command in proposal_labels.proposal_commands(
            proposal, session_id, among_others=among_others
        ):
            self.line(f"  {what}: {command}")

    def files(self, files: Iterable[ProposedFile], unlisted: int) -> None:
        for line in proposal_labels.file_lines(files, unlisted):
            self.line(f"  {line}")

    def diffs(self, files: Iterable[ProposedFile]) -> None:
        """Print patches. A binary file is only named."""
        for file in files:
            if file.diff:
                self._patch(_named(file.diff, file.hunks) if self._output.isatty() else file.diff)
            elif self._output.isatty():
                self.line(f"{proposal_labels.file_path(file)}: {', '.join(proposal_labels.file_marks(file))}")
            else:
                make_writer(sys.stderr)(
                    f"portico: {proposal_labels.file_path(file)} is binary and not part of the patch.\n"
                )

    def contents(self, contents: FileContents) -> None:
        """Print one file: its patch with hunk names, and its conflicts."""
        if contents.diff:
            self._patch(_named(contents.diff, contents.hunks))
        else:
            self.line(f"{clean_line(contents.path)} is a binary file.")
        for conflict in contents.conflicts:
            self.line(f"\nconflict at line {conflict.line}")
            for line in _sides(conflict):
                self.line(line)

    def checkpoints(self, checkpoints: Sequence[CheckpointSummary], now_ms: int) -> None:
        rows = [
            (
                clean_line(one.checkpoint_id),
                age(one.at, now_ms),
                f"Before: {label}" if one.moment == "before_turn" else label,
                f"without {pluralize(one.left_out, 'file')}" if one.left_out else "",
            )
            for one in checkpoints
            for label in (clean_line(one.label),)
        ]
        self._write(plain_columns(rows))

    def _patch(self, patch: str) -> None:
        if not self._output.isatty():
            self._write(patch)
            return
        for line in clean(patch).removesuffix("\n").split("\n"):
            self.line(_coloured(line) if not self.plain else line)


def _coloured(line: str) -> str:
    if line.startswith(("diff ", "--- ", "+++ ")):
        return f"{_BOLD}{line}{_PLAIN}"
    colour = _COLOURS.get(line[:1])
    return f"{colour}{line}{_PLAIN}" if colour else line


def _named(patch: str, hunks: Sequence[ProposedHunk]) -> str:
    """The patch with the name of each hunk in its header, where git allows any text."""
    names = iter(hunks)
    lines = patch.split("\n")
    for place, line in enumerate(lines):
        if line.startswith("@@ ") and (hunk := next(names, None)) is not None:
            lines[place] = f"@@ {line.split(' @@', 1)[0][3:]} @@ hunk {hunk.hunk_id}"
    return "\n".join(lines)


def _sides(conflict: FileConflict) -> Iterator[str]:
    for name, text in (("yours", conflict.person), ("the agent's", conflict.agent)):
        yield f"  {name}:" if text is not None else f"  {name}: deleted"
        yield from (f"    {line}" for line in clean(text or "").splitlines())
