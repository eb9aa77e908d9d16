"""Rich renderables for proposals and restored checkpoints."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from portico.domain.events import CheckpointCreated, CheckpointRestored, Notice, ProposalUpdated
from portico.domain.reviews import FileOperation, ProposedFile
from portico.domain.values import ToolKind
from portico.doors.terminal.labels import pluralize
from portico.doors.terminal.layout import FittedLine, PrefixedLines, barred
from portico.doors.terminal.review import proposal_labels
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.theme import ACCENT, BAD, CAUTION, DIM, GOOD, STRONG, Signs, kind_sign

_FILES = 20
_KINDS: dict[FileOperation, ToolKind] = {"update": "edit", "delete": "delete", "rename": "move"}


def proposal(
    updated: ProposalUpdated, session_id: str, signs: Signs, *, among_others: bool = False
) -> RenderableType:
    """A proposal file by file, and the commands for it."""
    title = proposal_labels.proposal_title(updated, signs.minus)
    ways = list(_ways(proposal_labels.proposal_commands(updated, session_id, among_others=among_others)))
    if updated.status != "open":
        sign, style = (signs.done, GOOD) if updated.status == "applied" else (signs.stopped, CAUTION)
        return PrefixedLines(Group(Text(title), *ways), f"{sign} ", style)
    rows = [row for file in updated.files[:_FILES] for row in _file(file, signs)]
    more = max(0, len(updated.files) - _FILES) + updated.unlisted
    rows += [Text(f"{signs.ellipsis} {pluralize(more, 'more file')}", DIM)] if more > 0 else []
    return barred(Group(Text(title, STRONG), *rows, *ways), signs.bar, ACCENT)


def restored(payload: CheckpointRestored, session_id: str, signs: Signs) -> RenderableType:
    words = Text(proposal_labels.restored_words(payload))
    ways = _ways(proposal_labels.restore_commands(payload, session_id))
    return PrefixedLines(Group(words, *ways), f"{signs.done} ", GOOD)


def notice_actions(payload: Notice, session_id: str) -> Iterator[RenderableType]:
    """Commands that show and restore what a notice is about."""
    for way in _ways(proposal_labels.notice_commands(payload, session_id)):
        yield PrefixedLines(way, "  ")


def left_out(payload: CheckpointCreated, signs: Signs) -> RenderableType | None:
    words = proposal_labels.left_out_words(payload)
    return PrefixedLines(Text(words, DIM), f"{signs.info} ", DIM) if words else None


def _file(file: ProposedFile, signs: Signs) -> Iterator[RenderableType]:
    sign = "+" if file.operation == "create" else kind_sign(_KINDS[file.operation], signs)
    added, removed = proposal_labels.file_counts(file, signs.minus)
    marks = proposal_labels.file_marks(file)
    serious = CAUTION if file.conflict or file.denied else DIM
    behind = Text.assemble(
        (f" {added}" if added else "", GOOD),
        (f" {removed}" if removed else "", BAD),
        (f"  {f' {signs.dot} '.join(marks)}" if marks else "", serious),
    )
    yield FittedLine(Text.assemble((f"{sign} ", DIM), proposal_labels.file_path(file)), behind)
    if file.warning:
        yield PrefixedLines(Text(clean_line(file.warning), CAUTION), "  ")


def _ways(ways: Sequence[tuple[str, str]]) -> Iterator[RenderableType]:
    width = max((len(what) for what, _ in ways), default=0)
    for what, command in ways:
        yield Text.assemble((f"{what:<{width}}  ", DIM), (command, ACCENT), overflow="fold")
