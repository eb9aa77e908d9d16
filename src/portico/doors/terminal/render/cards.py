"""Rich renderables for tool calls, plans, notices, errors, permissions, questions and turn footers."""

from collections.abc import Iterator, Sequence

from msgspec import Raw
from rich.console import Group, RenderableType
from rich.text import Text

from portico.domain.events import (
    ErrorReported,
    Notice,
    PermissionRequested,
    PermissionResolved,
    QuestionAnswered,
    QuestionAsked,
    TurnEnded,
    UsageUpdated,
)
from portico.domain.turns import TurnState
from portico.domain.values import DiffPart, PlanEntry, TextPart
from portico.doors.terminal import labels
from portico.doors.terminal.layout import FittedLine, PrefixedLines, barred, indented
from portico.doors.terminal.permission_keys import keyed_options
from portico.doors.terminal.render.diff_view import DiffRow, DiffView, compare
from portico.doors.terminal.render.tool_view import OUTPUT_ROWS, ROW_LENGTH, ToolView, output_lines
from portico.doors.terminal.sanitizer import clean, clean_line
from portico.doors.terminal.theme import ACCENT, BAD, CAUTION, DIM, GOOD, STRONG, Signs, kind_sign, plan_sign

_DETAIL_INDENT = 4
_DIFF_ROWS = 16
_LIVE_OUTPUT = 3
_TEXT_ROWS = 4
_ERROR_TAIL = 8
_CARD_ROWS = 24
_DETAIL_ROWS = 6


def one_line(*parts: str | tuple[str, str] | Text) -> Text:
    """Text that is cut, not wrapped, at the edge of the terminal."""
    text = Text.assemble(*parts)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def tool_line(view: ToolView, signs: Signs, *, frame: int = 0, running_ms: int = 0) -> RenderableType:
    """State, kind and title of a tool call, then its changes and duration."""
    sign, style = signs.spinner[frame % len(signs.spinner)], ACCENT
    if view.success is not None:
        sign, style = (signs.done, GOOD) if view.success else (signs.failed, BAD)
    running = view.success is None and running_ms >= 1000
    facts = [*view.facts, *([labels.elapsed_time(running_ms)] if running else [])]
    behind = Text("  " + f" {signs.dot} ".join(facts) if facts else "", DIM)
    named = _named_diff(view.diffs, view.title, view.workspace) if view.success is not None else None
    if named is not None:
        behind = diff_counts(compare(named), signs) + behind
    return FittedLine(_tool_words(view, signs, sign, style), behind)


def unfinished_tool_line(view: ToolView, signs: Signs) -> RenderableType:
    return FittedLine(_tool_words(view, signs, signs.stopped, DIM), Text("  not finished", DIM))


def _tool_words(view: ToolView, signs: Signs, sign: str, style: str) -> Text:
    return Text.assemble((sign, style), (f" {kind_sign(view.kind, signs)} ", DIM), view.title)


def _named_diff(diffs: Sequence[DiffPart], title: str, workspace: str) -> DiffPart | None:
    """The only diff, if the title already names its file."""
    if len(diffs) == 1 and labels.short_path(diffs[0].path, workspace) in title:
        return diffs[0]
    return None


def live_output(view: ToolView) -> RenderableType | None:
    """The last lines of a running command."""
    lines = output_lines(view.output[-ROW_LENGTH * _LIVE_OUTPUT :])[-_LIVE_OUTPUT:]
    return indented(Group(*(_shown_output(line) for line in lines)), _DETAIL_INDENT) if lines else None


def tool_detail(
    view: ToolView, signs: Signs, *, known_diffs: Sequence[DiffPart] = ()
) -> RenderableType | None:
    """Diffs and output of a finished tool call, without the diffs that were shown before."""
    parts: list[RenderableType] = []
    for part in view.diffs:
        diff = compare(part)
        if part is not _named_diff(view.diffs, view.title, view.workspace):
            parts.append(diff_title(diff, signs, workspace=view.workspace))
        if part not in known_diffs:
            parts += diff_rows(diff, signs, _DIFF_ROWS)
    if view.output.strip():
        parts += _excerpt_of_output(view, signs)
    elif not view.diffs or not view.success:
        parts += _excerpt_of_text(view, signs)
    return indented(Group(*parts), _DETAIL_INDENT) if parts else None


def diff_title(diff: DiffView, signs: Signs, *, workspace: str) -> RenderableType:
    path = labels.short_path(diff.path, workspace)
    return FittedLine(Text.assemble((path, STRONG)), diff_counts(diff, signs))


def diff_counts(diff: DiffView, signs: Signs) -> Text:
    """The lines that a diff adds and removes."""
    added = f" +{diff.added}" if diff.added or not diff.removed else ""
    removed = f" {signs.minus}{diff.removed}" if diff.removed else ""
    return Text.assemble((" new" if diff.created else "", DIM), (added, GOOD), (removed, BAD))


def diff_rows(diff: DiffView, signs: Signs, limit: int) -> Iterator[RenderableType]:
    """The first rows of a diff, and how many more there are."""
    if not diff.rows and not diff.created:
        yield Text("only line endings or invisible characters change", DIM)
    width = len(str(max((row.line for row in diff.rows), default=0)))
    for row in diff.rows[:limit]:
        yield _diff_row(row, signs, width)
    yield from _more(len(diff.rows) - limit, signs)


def _diff_row(row: DiffRow, signs: Signs, width: int) -> RenderableType:
    if row.mark == "…":
        return Text(signs.ellipsis.rjust(width), DIM)
    style = {"+": GOOD, "-": BAD, " ": DIM}[row.mark]
    mark = signs.minus if row.mark == "-" else row.mark
    return one_line((f"{row.line:>{width}} ", DIM), (f"{mark} {row.text[:ROW_LENGTH]}", style))


def _more(count: int, signs: Signs, what: str = "more line") -> Iterator[Text]:
    if count > 0:
        yield Text(f"{signs.ellipsis} {labels.pluralize(count, what)}", DIM)


def _excerpt_of_output(view: ToolView, signs: Signs) -> Iterator[RenderableType]:
    earlier, lines = view.output_tail(view.output)
    yield from _more(earlier, signs, "earlier line")
    yield from (_shown_output(line) for line in lines)


def _excerpt_of_text(view: ToolView, signs: Signs) -> Iterator[RenderableType]:
    lines = clean(view.text).strip("\n").splitlines()
    if view.kind == "read" and view.success:
        return
    limit = _TEXT_ROWS if view.success else 2 * OUTPUT_ROWS
    yield from (one_line((line[:ROW_LENGTH].expandtabs(4), DIM)) for line in lines[:limit])
    yield from _more(len(lines) - limit, signs)


def _shown_output(line: str) -> Text:
    text = Text.from_ansi(line[:ROW_LENGTH].expandtabs(8), style=DIM)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def plan(entries: Sequence[PlanEntry], signs: Signs, *, limit: int) -> RenderableType:
    """A checklist; a long one shows the part around the current step."""
    current = next((index for index, entry in enumerate(entries) if entry.status != "completed"), 0)
    start = max(0, min(current - limit // 3, len(entries) - limit))
    rows: list[RenderableType] = list(_more(start, signs, "earlier step"))
    for entry in entries[start : start + limit]:
        style = {"completed": GOOD, "in_progress": ACCENT, "pending": DIM}[entry.status]
        text = Text(clean_line(entry.content), DIM if entry.status != "in_progress" else "")
        rows.append(PrefixedLines(text, f"{plan_sign(entry, signs)} ", style))
    rows += _more(len(entries) - start - limit, signs, "more step")
    return Group(*rows)


def notice(payload: Notice, signs: Signs) -> RenderableType:
    sign, style = {
        "info": (signs.info, DIM),
        "warning": (signs.warning, CAUTION),
        "error": (signs.failed, BAD),
    }[payload.level]
    line = Text(labels.notice_text(payload), DIM if payload.level == "info" else "")
    details = labels.notice_details(payload)
    shown = [Text(row[:ROW_LENGTH], DIM) for row in details[:_DETAIL_ROWS]]
    more = _more(len(details) - _DETAIL_ROWS, signs)
    return PrefixedLines(Group(line, *shown, *more), f"{sign} ", style)


def error(payload: ErrorReported, signs: Signs) -> RenderableType:
    """Message, suggestion and the end of the agent's stderr."""
    details = payload.details
    parts: list[RenderableType] = [Text(clean(payload.message).strip(), STRONG)]
    if details.suggestion:
        parts.append(Text(clean(details.suggestion).strip()))
    if details.stderr and details.stderr.strip():
        lines = output_lines(details.stderr)
        parts += [Text(), *_more(len(lines) - _ERROR_TAIL, signs, "earlier line")]
        parts += [Text(Text.from_ansi(line).plain, DIM, overflow="fold") for line in lines[-_ERROR_TAIL:]]
    facts = filter(
        None, (payload.code.value, clean_line(details.agent or ""), clean_line(details.exit_status or ""))
    )
    parts.append(Text(f" {signs.dot} ".join(facts), DIM))
    return barred(Group(*parts), signs.bar, BAD)


def permission(request: PermissionRequested, signs: Signs, *, workspace: str) -> RenderableType:
    """A permission request with its details and options."""
    title = labels.title_text(request.title, "Permission", workspace=workspace)
    kind = f"  {request.tool_kind.replace('_', ' ')}" if request.tool_kind != "other" else ""
    named = _named_diff(_diffs(request), title, workspace)
    counts = diff_counts(compare(named), signs) if named else Text()
    parts: list[RenderableType] = [Text.assemble((title, STRONG), counts, (kind, DIM))]
    parts += _asked_for(request, signs, workspace)
    parts.append(Text())
    for keyed in keyed_options(request):
        style = GOOD if keyed.allows else BAD
        name = Text.assemble(keyed.name, (f"  {keyed.letter}", DIM))
        parts.append(PrefixedLines(name, f"{keyed.number}  ", style))
    return barred(Group(*parts), signs.bar, CAUTION)


def _asked_for(request: PermissionRequested, signs: Signs, workspace: str) -> Iterator[RenderableType]:
    """The diff if there is one; else the command or the values, and their locations."""
    title = labels.title_text(request.title, workspace=workspace)
    diffs = _diffs(request)
    for part in diffs:
        diff = compare(part)
        if part is not _named_diff(diffs, title, workspace):
            yield diff_title(diff, signs, workspace=workspace)
        yield from diff_rows(diff, signs, _CARD_ROWS)
    texts = [part.text for part in request.content if isinstance(part, TextPart)]
    facts = [] if diffs else labels.input_facts(request.input) or _titled_command(request)
    # A title is one line, in which the lines of a command would run together.
    values = [line for line in facts if len(facts) > 1 or line not in title]
    known = "\n".join((title, *values, *(part.path for part in diffs)))
    places = [clean_line(place.path) for place in request.locations]
    yield from _some(clean("\n".join(texts)).strip("\n").splitlines(), "", signs)
    yield from _some(values, ACCENT, signs)
    yield from _some([place for place in places if place not in known], DIM, signs)


def _titled_command(request: PermissionRequested) -> list[str]:
    """A command that only the title contains, without backticks."""
    command = clean(request.title).strip()
    if command.startswith("`") and command.endswith("`"):
        command = command.strip("`")
    return command.splitlines() if request.tool_kind == "execute" else []


def _diffs(request: PermissionRequested) -> list[DiffPart]:
    return [part for part in request.content if isinstance(part, DiffPart)]


def _some(lines: Sequence[str], style: str, signs: Signs) -> Iterator[RenderableType]:
    yield from (Text(line, style, overflow="fold") for line in lines[:_CARD_ROWS])
    yield from _more(len(lines) - _CARD_ROWS, signs)


def permission_result(
    resolved: PermissionResolved, request: PermissionRequested | None, signs: Signs
) -> RenderableType:
    allowed = resolved.outcome == "allowed"
    sign, style = (signs.done, GOOD) if allowed else (signs.failed, CAUTION)
    return PrefixedLines(Text(labels.permission_words(resolved, request), DIM), f"{sign} ", style)


def question(asked: QuestionAsked, signs: Signs) -> RenderableType:
    """A question. Its fields are asked for one by one below."""
    parts: list[RenderableType] = [Text(clean(asked.message).strip(), STRONG)]
    parts += [Text(clean(words).strip()) for words in (asked.title, asked.description) if words]
    if asked.url:
        parts.append(Text(clean_line(asked.url), ACCENT, overflow="fold"))
    parts.append(Text("Esc to decline", DIM))
    return barred(Group(*parts), signs.bar, CAUTION)


def answer(answered: QuestionAnswered, asked: QuestionAsked | None, signs: Signs) -> Iterator[RenderableType]:
    """Outcome and answers, without secrets."""
    accepted = answered.action == "accept"
    sign, style = (signs.done, GOOD) if accepted else (signs.failed, CAUTION)
    yield PrefixedLines(Text(labels.answer_words(answered, asked), DIM), f"{sign} ", style)
    for line in labels.answer_lines(answered, asked):
        yield PrefixedLines(Text(line, DIM), "    ")


def thought_line(text: str, signs: Signs, *, frame: int | None = None, milliseconds: int = 0) -> Text:
    """A thought on one line: its end while it streams, its beginning afterwards."""
    words = clean_line(text.replace("*", "").replace("#", ""))
    if frame is not None:
        return one_line((signs.spinner[frame % len(signs.spinner)], ACCENT), (f" Thinking  {words}", DIM))
    took = f" for {labels.duration(milliseconds)}" if milliseconds >= 100 else ""
    return one_line((f"{signs.thought} Thought{took}", DIM), (f"  {words}", "dim italic"))


def working_line(words: str, seconds: int, signs: Signs, *, frame: int | None) -> Text:
    """Status of the turn and elapsed time; with a spinner unless another one is shown."""
    clock = f" {signs.dot} {labels.elapsed_time(seconds * 1000)}" if seconds >= 1 else ""
    sign = signs.info if frame is None else signs.spinner[frame % len(signs.spinner)]
    return one_line((sign, ACCENT), (f" {words}{clock} {signs.dot} Ctrl-C to stop", DIM))


def footer(ended: TurnEnded, usage: UsageUpdated | None, signs: Signs) -> RenderableType:
    sign, style = {
        TurnState.CANCELED: (signs.stopped, CAUTION),
        TurnState.FAILED: (signs.failed, BAD),
        TurnState.INTERRUPTED: (signs.stopped, CAUTION),
    }.get(ended.state, (signs.done, GOOD))
    facts = labels.turn_facts(ended, usage)
    return PrefixedLines(Text(f" {signs.dot} ".join(facts), DIM), f"{sign} ", style)


def prompt(text: str, signs: Signs) -> RenderableType:
    """A prompt, for a session that is shown again."""
    return PrefixedLines(Text(clean(text).strip(), STRONG), f"{signs.prompt} ", ACCENT)


def sent_along(blocks: Sequence[Raw]) -> RenderableType:
    """The attachments of a prompt, one per line."""
    return indented(Group(*(one_line((labels.describe_block(block), DIM)) for block in blocks)), 2)
