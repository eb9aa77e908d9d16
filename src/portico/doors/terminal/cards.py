"""How each kind of event looks on a terminal: pure functions from what is known to what rich can show."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from portico.domain.events import (
    DiffPart,
    ErrorReported,
    Notice,
    PermissionRequested,
    PermissionResolved,
    PlanEntry,
    TextPart,
    ToolPart,
    TurnEnded,
    UsageUpdated,
)
from portico.domain.turns import TurnState
from portico.doors.terminal import phrasing
from portico.doors.terminal.diffs import Diff, DiffRow, compare
from portico.doors.terminal.look import ACCENT, BAD, CAUTION, DIM, GOOD, STRONG, Signs, kind_sign, plan_sign
from portico.doors.terminal.permission_keys import keyed_options
from portico.doors.terminal.prefixed import Prefixed, barred, indented
from portico.doors.terminal.sanitize import clean, clean_line, clean_output
from portico.doors.terminal.tool_view import ToolView

_DETAIL_INDENT = 4
_DIFF_ROWS = 16
_LIVE_OUTPUT = 3
_OUTPUT_ROWS = 8
_TEXT_ROWS = 4
_ERROR_TAIL = 8
_CARD_ROWS = 24
_ROW_LENGTH = 2000


def one_line(*parts: str | tuple[str, str] | Text) -> Text:
    """Text that is cut, not wrapped, where the terminal ends."""
    text = Text.assemble(*parts)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def tool_line(view: ToolView, signs: Signs, *, frame: int = 0, running_ms: int = 0) -> Text:
    """State, kind, title and time of a tool call."""
    sign, style = signs.spinner[frame % len(signs.spinner)], ACCENT
    if view.success is not None:
        sign, style = (signs.done, GOOD) if view.success else (signs.failed, BAD)
    milliseconds = view.duration_ms if view.success is not None else running_ms
    facts = [view.exit_words] if view.exit_words else []
    facts += [phrasing.duration(milliseconds)] if milliseconds >= 100 else []
    tail = f"  {f' {signs.dot} '.join(facts)}" if facts else ""
    return one_line((sign, style), (f" {kind_sign(view.kind, signs)} ", DIM), view.title, (tail, DIM))


def unfinished_tool_line(view: ToolView, signs: Signs) -> Text:
    return one_line((signs.stopped, DIM), (f" {kind_sign(view.kind, signs)} {view.title}  not finished", DIM))


def live_output(view: ToolView) -> RenderableType | None:
    """The last lines of a command that still runs."""
    lines = _output_lines(view.output)[-_LIVE_OUTPUT:]
    return indented(Group(*(_shown_output(line) for line in lines)), _DETAIL_INDENT) if lines else None


def tool_detail(
    view: ToolView, signs: Signs, *, known_diffs: Sequence[DiffPart] = ()
) -> RenderableType | None:
    """What a finished tool has to show for itself; a diff that was shown before is only counted."""
    parts: list[RenderableType] = []
    for part in view.diffs:
        diff = compare(part)
        parts.append(diff_title(diff, signs))
        if part not in known_diffs:
            parts += diff_rows(diff, signs, _DIFF_ROWS)
    if view.output.strip():
        parts += _excerpt_of_output(view, signs)
    elif not view.diffs or not view.success:
        parts += _excerpt_of_text(view, signs)
    return indented(Group(*parts), _DETAIL_INDENT) if parts else None


def diff_title(diff: Diff, signs: Signs) -> Text:
    counts: list[str | tuple[str, str]] = []
    if diff.added or not diff.removed:
        counts.append((f" +{diff.added}", GOOD))
    if diff.removed:
        counts.append((f" {signs.minus}{diff.removed}", BAD))
    return one_line((clean_line(diff.path), STRONG), (" new" if diff.created else "", DIM), *counts)


def diff_rows(diff: Diff, signs: Signs, limit: int) -> Iterator[RenderableType]:
    """The first rows of a diff, and how many more there are."""
    if not diff.rows and not diff.created:
        yield Text("only line ends or characters that cannot be seen change", DIM)
    width = len(str(max((row.line for row in diff.rows), default=0)))
    for row in diff.rows[:limit]:
        yield _diff_row(row, signs, width)
    yield from _more(len(diff.rows) - limit, signs)


def _diff_row(row: DiffRow, signs: Signs, width: int) -> RenderableType:
    if row.mark == "…":
        return Text(signs.ellipsis.rjust(width), DIM)
    style = {"+": GOOD, "-": BAD, " ": DIM}[row.mark]
    mark = signs.minus if row.mark == "-" else row.mark
    return one_line((f"{row.line:>{width}} ", DIM), (f"{mark} {row.text[:_ROW_LENGTH]}", style))


def _more(count: int, signs: Signs, what: str = "more line") -> Iterator[Text]:
    if count > 0:
        yield Text(f"{signs.ellipsis} {phrasing.counted(count, what)}", DIM)


def _excerpt_of_output(view: ToolView, signs: Signs) -> Iterator[RenderableType]:
    """The end of what a command printed, because that is where it says how it went."""
    lines = _output_lines(view.output)
    limit = _OUTPUT_ROWS if view.success else 2 * _OUTPUT_ROWS
    total = max(len(lines), view.output_lines)
    yield from _more(total - limit, signs, "earlier line")
    yield from (_shown_output(line) for line in lines[-limit:])


def _excerpt_of_text(view: ToolView, signs: Signs) -> Iterator[RenderableType]:
    lines = clean(view.text).strip("\n").splitlines()
    if view.kind == "read" and view.success:
        return
    limit = _TEXT_ROWS if view.success else 2 * _OUTPUT_ROWS
    yield from (one_line((line[:_ROW_LENGTH].expandtabs(4), DIM)) for line in lines[:limit])
    yield from _more(len(lines) - limit, signs)


def _output_lines(output: str) -> list[str]:
    return clean_output(output).strip("\n").splitlines()


def _shown_output(line: str) -> Text:
    text = Text.from_ansi(line[:_ROW_LENGTH].expandtabs(8), style=DIM if "\x1b" not in line else "")
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def plan(entries: Sequence[PlanEntry], signs: Signs, *, limit: int) -> RenderableType:
    """A checklist; a long one shows the part around the step under way."""
    current = next((index for index, entry in enumerate(entries) if entry.status != "completed"), 0)
    start = max(0, min(current - limit // 3, len(entries) - limit))
    rows: list[RenderableType] = list(_more(start, signs, "earlier step"))
    for entry in entries[start : start + limit]:
        style = {"completed": GOOD, "in_progress": ACCENT, "pending": DIM}[entry.status]
        text = Text(clean_line(entry.content), DIM if entry.status != "in_progress" else "")
        rows.append(Prefixed(text, Text(f"{plan_sign(entry, signs)} ", style)))
    rows += _more(len(entries) - start - limit, signs, "more step")
    return Group(*rows)


def notice(payload: Notice, signs: Signs) -> RenderableType:
    sign, style = {
        "info": (signs.info, DIM),
        "warning": (signs.warning, CAUTION),
        "error": (signs.failed, BAD),
    }[payload.level]
    return Prefixed(
        Text(phrasing.notice_text(payload), DIM if payload.level == "info" else ""), Text(f"{sign} ", style)
    )


def error(payload: ErrorReported, signs: Signs) -> RenderableType:
    """What happened, what to do about it, and the agent's last words."""
    details = payload.details
    parts: list[RenderableType] = [Text(clean(payload.message).strip(), STRONG)]
    if details.suggestion:
        parts.append(Text(clean(details.suggestion).strip()))
    if details.stderr and details.stderr.strip():
        lines = _output_lines(details.stderr)
        parts += [Text(), *_more(len(lines) - _ERROR_TAIL, signs, "earlier line")]
        parts += [Text(Text.from_ansi(line).plain, DIM, overflow="fold") for line in lines[-_ERROR_TAIL:]]
    facts = filter(None, (payload.code.value, clean_line(details.agent or ""), details.exit_status))
    parts.append(Text(f" {signs.dot} ".join(facts), DIM))
    return barred(Group(*parts), signs.bar, BAD)


def permission(request: PermissionRequested, signs: Signs) -> RenderableType:
    """What the agent wants to do, in full, and the answers it offers."""
    title = Text(phrasing.title_text(request.title, "Permission"), STRONG)
    title.append(f"  {request.tool_kind.replace('_', ' ')}", DIM)
    parts: list[RenderableType] = [title]
    parts += _asked_for(request, signs)
    parts.append(Text())
    for keyed in keyed_options(request.options):
        style = GOOD if keyed.option.kind.startswith("allow") else BAD
        name = Text.assemble(phrasing.option_name(keyed.option), (f"  {keyed.letter}", DIM))
        parts.append(Prefixed(name, Text(f"{keyed.number}  ", style)))
    return barred(Group(*parts), signs.bar, CAUTION)


def _asked_for(request: PermissionRequested, signs: Signs) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for part in request.content:
        parts += _asked_part(part, signs)
    if any(isinstance(part, DiffPart) for part in request.content):
        return parts
    lines = [
        line for line in phrasing.input_facts(request.input) if line != phrasing.title_text(request.title)
    ]
    parts += [Text(line, ACCENT, overflow="fold") for line in lines[:_CARD_ROWS]]
    parts += _more(len(lines) - _CARD_ROWS, signs)
    shown = "\n".join((request.title, *lines))
    paths = [place.path for place in request.locations if place.path not in shown]
    parts += [Text(clean_line(path), DIM, overflow="fold") for path in paths[:_CARD_ROWS]]
    return parts


def _asked_part(part: ToolPart, signs: Signs) -> list[RenderableType]:
    match part:
        case DiffPart():
            diff = compare(part)
            return [diff_title(diff, signs), *diff_rows(diff, signs, _CARD_ROWS)]
        case TextPart(text=text):
            lines = clean(text).strip("\n").splitlines()
            shown: list[RenderableType] = [Text(line, overflow="fold") for line in lines[:_CARD_ROWS]]
            return [*shown, *_more(len(lines) - _CARD_ROWS, signs)]
        case _:
            return []


def permission_result(
    resolved: PermissionResolved, request: PermissionRequested | None, signs: Signs
) -> RenderableType:
    allowed = resolved.outcome == "allowed"
    sign = Text(f"{signs.done if allowed else signs.failed} ", GOOD if allowed else CAUTION)
    return Prefixed(Text(phrasing.permission_words(resolved, request), DIM), sign)


def thought_line(text: str, signs: Signs, *, frame: int | None = None, milliseconds: int = 0) -> Text:
    """One line for all of a thought: its newest words while it lasts, its first when it is over."""
    words = clean_line(text.replace("*", "").replace("#", ""))
    if frame is not None:
        return one_line((signs.spinner[frame % len(signs.spinner)], ACCENT), (f" Thinking  {words}", DIM))
    took = f" for {phrasing.duration(milliseconds)}" if milliseconds >= 100 else ""
    return one_line((f"{signs.thought} Thought{took}", DIM), (f"  {words}", "dim italic"))


def working_line(words: str, seconds: int, signs: Signs, *, frame: int) -> Text:
    clock = f" {signs.dot} {phrasing.duration(seconds * 1000)}" if seconds >= 1 else ""
    sign = signs.spinner[frame % len(signs.spinner)]
    return one_line((sign, ACCENT), (f" {words}{clock} {signs.dot} Ctrl-C stops", DIM))


def footer(ended: TurnEnded, usage: UsageUpdated | None, signs: Signs) -> Text:
    sign, style = {
        TurnState.CANCELED: (signs.stopped, CAUTION),
        TurnState.FAILED: (signs.failed, BAD),
        TurnState.INTERRUPTED: (signs.stopped, CAUTION),
    }.get(ended.state, (signs.done, GOOD))
    facts = phrasing.turn_facts(ended, usage)
    return Text.assemble((sign, style), (f" {f' {signs.dot} '.join(facts)}", DIM))


def prompt(text: str, signs: Signs) -> RenderableType:
    """What the person wrote, for a session that is read again."""
    return Prefixed(Text(clean(text).strip(), STRONG), Text(f"{signs.prompt} ", ACCENT))
