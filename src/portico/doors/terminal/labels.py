"""Short labels for facts of a session: durations, counts, costs, titles, outcomes. Safe to print."""

import unicodedata
from datetime import UTC, datetime
from pathlib import PurePath

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain import codecs, content_blocks
from portico.domain.events import (
    Notice,
    PermissionRequested,
    PermissionResolved,
    PlanUpdated,
    QuestionAnswered,
    QuestionAsked,
    TodosUpdated,
    TurnEnded,
    UsageUpdated,
)
from portico.domain.turns import TurnState
from portico.domain.values import RETOLD, PermissionOption, PlanEntry, SandboxStatus
from portico.doors.terminal.sanitizer import clean, clean_line

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_VALUE_LENGTH = 400


def duration(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    if seconds < _MINUTE:
        return f"{max(seconds, 0.1):.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f}m {seconds % _MINUTE:02.0f}s"
    return f"{seconds // _HOUR:.0f}h {seconds % _HOUR // _MINUTE:02.0f}m"


def elapsed_time(milliseconds: int) -> str:
    """A duration in whole seconds, for a running clock."""
    seconds = milliseconds // 1000
    return f"{seconds}s" if seconds < _MINUTE else duration(seconds * 1000)


def age(at_ms: int, now_ms: int) -> str:
    """Age, for a narrow column."""
    seconds = max(0, now_ms - at_ms) // 1000
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 30 * _DAY:
        return f"{seconds // _DAY}d"
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")


def number(value: int) -> str:
    if value < 1000:
        return str(value)
    if value < 999_950:
        return f"{value / 1000:.1f}k" if value < 99_950 else f"{value / 1000:.0f}k"
    return f"{value / 1_000_000:.1f}M"


def pluralize(value: int, noun: str) -> str:
    return f"{value} {noun}" if value == 1 else f"{value} {noun}s"


def money(cost: float, currency: str | None) -> str:
    amount = f"{cost:.2f}" if cost >= 0.1 or cost == 0 else f"{cost:.4f}".rstrip("0")
    code = clean_line(currency or "USD")
    return f"${amount}" if code == "USD" else f"{amount} {code}"


def sandbox_text(sandbox: SandboxStatus | None) -> str:
    """The agent's sandbox in two words; empty if none was requested."""
    if sandbox is None:
        return ""
    return "not sandboxed" if sandbox.level == "none" else f"sandbox: {sandbox.level}"


def usage_facts(usage: UsageUpdated | None) -> list[str]:
    """Tokens, share of the context and cost, as far as known."""
    if usage is None:
        return []
    facts: list[str] = []
    if usage.input_tokens is not None or usage.output_tokens is not None:
        facts.append(f"{number((usage.input_tokens or 0) + (usage.output_tokens or 0))} tokens")
    if usage.used is not None and usage.size:
        facts.append(f"{usage.used / usage.size:.0%} of context")
    elif usage.used is not None and not facts:
        facts.append(f"{number(usage.used)} tokens")
    if usage.cost is not None:
        facts.append(money(usage.cost, usage.currency))
    return facts


def turn_facts(ended: TurnEnded, usage: UsageUpdated | None) -> list[str]:
    """Footer of a turn: outcome unless completed, duration, tools and usage."""
    how = {
        TurnState.CANCELED: ["stopped"],
        TurnState.FAILED: ["failed"],
        TurnState.INTERRUPTED: ["interrupted"],
    }.get(ended.state, [])
    if ended.stop_reason in ("max_tokens", "max_turn_requests", "refusal"):
        how = [ended.stop_reason.replace("_", " ")]
    tools = [pluralize(ended.tools_used, "tool")] if ended.tools_used else []
    if ended.stop_reason == RETOLD:
        return ["replayed by the agent", *tools]
    return [*how, duration(ended.duration_ms), *tools, *usage_facts(usage)]


def notice_text(notice: Notice) -> str:
    text = clean_line(notice.text)
    return f"{text} (×{notice.count})" if notice.count > 1 else text


def notice_details(notice: Notice) -> list[str]:
    """Details of a notice, as lines."""
    return clean(notice.details or "").strip().splitlines()


def plan_entries(payload: PlanUpdated | TodosUpdated) -> tuple[PlanEntry, ...]:
    """Entries of a plan or a todo list, which look the same in a terminal."""
    if isinstance(payload, PlanUpdated):
        return payload.entries
    return tuple(
        PlanEntry(content=todo.content, priority=todo.priority, status=todo.status) for todo in payload.todos
    )


def plan_progress(entries: tuple[PlanEntry, ...]) -> str:
    done = sum(entry.status == "completed" for entry in entries)
    current = next((entry.content for entry in entries if entry.status == "in_progress"), "")
    progress = f"plan {done}/{len(entries)}"
    return f"{progress}: {clean_line(current)}" if current else progress


def title_text(title: str, fallback: str = "tool", *, workspace: str = "") -> str:
    """A tool's title on one line, with relative paths and without backticks."""
    line = clean_line(title).replace("`", "")
    return (line.replace(f"{workspace.rstrip('/')}/", "") if workspace.strip("/") else line) or fallback


def short_path(path: str, workspace: str = "", home: str = "") -> str:
    """A path relative to the workspace or to the home folder."""
    pure = PurePath(path)
    if workspace and path != workspace and pure.is_relative_to(workspace):
        return clean_line(str(pure.relative_to(workspace)))
    if home and pure.is_relative_to(home):
        return clean_line(str(PurePath("~") / pure.relative_to(home)))
    return clean_line(path)


def describe_block(raw: Raw | UnsetType) -> str:
    """Short description of a content block that is not text: an image, audio, a file."""
    return "" if raw is UNSET else clean_line(content_blocks.describe_block(raw))


def input_facts(raw: Raw | UnsetType) -> list[str]:
    """Input of a tool as lines: the command if there is one, else each value by name."""
    if raw is UNSET:
        return []
    try:
        values = codecs.decode_json(raw)
    except msgspec.MsgspecError:
        return []
    if not isinstance(values, dict):
        return [_value(values)]
    if command := values.get("command") or values.get("cmd"):
        arguments = values.get("args")
        words = command if isinstance(command, list) else [command]
        words = words + arguments if isinstance(arguments, list) else words
        return clean(" ".join(str(word) for word in words)).splitlines()
    return [f"{clean_line(str(name))}: {_value(value)}" for name, value in values.items()]


def permission_words(resolved: PermissionResolved, request: PermissionRequested | None) -> str:
    """Outcome of a permission request, and who decided."""
    chosen = _option(request, resolved.option_id)
    outcome = {"allowed": "Allowed", "denied": "Denied", "canceled": "Canceled"}[resolved.outcome]
    person = f"by {clean_line(resolved.person)}" if resolved.person else ""
    who = {"person": person, "policy": "by a rule", "nobody": "no one could be asked"}[resolved.by]
    if resolved.outcome == "canceled":
        who = ""
    elif resolved.rule:
        who = f"by the rule {clean_line(resolved.rule)}"
    title = title_text(request.title) if request else ""
    return ": ".join(filter(None, (f"{outcome} ({chosen})" if chosen else outcome, title))) + (
        f", {who}" if who else ""
    )


def answer_words(answered: QuestionAnswered, asked: QuestionAsked | None) -> str:
    """Outcome of a question."""
    outcome = {"accept": "Answered", "decline": "Declined", "cancel": "Canceled"}[answered.action]
    who = ", no one could be asked" if (answered.by, answered.action) == ("nobody", "decline") else ""
    message = clean_line(asked.message) if asked else ""
    return (f"{outcome}: {message}" if message else outcome) + who


def answer_lines(answered: QuestionAnswered, asked: QuestionAsked | None) -> list[str]:
    """Answers field by field, without secrets."""
    titles = {field.name: field.title or field.name for field in asked.fields} if asked else {}
    said = [
        f"{clean_line(titles.get(name, name))}: {_value(value)}" for name, value in answered.content.items()
    ]
    return said + [f"{clean_line(titles.get(name, name))}: (not stored)" for name in answered.withheld]


def option_name(option: PermissionOption) -> str:
    return clean_line(option.name) or option.kind.replace("_", " ")


def _option(request: PermissionRequested | None, option_id: str | None) -> str:
    options = request.options if request else ()
    return next((option_name(option) for option in options if option.option_id == option_id), "")


def _value(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    line = clean_line(text[: 2 * _VALUE_LENGTH])
    return line if len(line) <= _VALUE_LENGTH else line[: _VALUE_LENGTH - 1] + "…"


def display_width(text: str) -> int:
    """Approximate width of a text in columns, without rich."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
